//! Literal messages.

use crate::gtpu::*;
use crate::ids::{Qfi, Teid};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A G-PDU for TEID 0x01020304 with an uplink container of QFI 9 and a payload of three octets.
const UPLINK: [u8; 19] = [
    0x34, 255, 0, 11, 1, 2, 3, 4, // version 1, PT, E; length 11; TEID
    0, 0, 0, 0x85, // no sequence number, no N-PDU number, PDU Session Container
    1, 0x10, 9, 0, // 4 octets, PDU type 1, QFI 9, no more
    0xaa, 0xbb, 0xcc,
];

fn teid(value: u32) -> Teid {
    Teid::new(value).unwrap()
}

fn qfi(value: u8) -> Qfi {
    Qfi::new(value).unwrap()
}

/// A G-PDU of TEID 1 with flags `flags` and what follows octet 8.
fn g_pdu(flags: u8, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u16).to_be_bytes();
    [&[flags, 255, len[0], len[1], 0, 0, 0, 1], body].concat()
}

#[test]
fn an_uplink_packet_of_n3_yields_tunnel_flow_and_payload() {
    let parsed = GPdu::parse(&UPLINK).unwrap();
    assert_eq!((parsed.teid, parsed.qfi), (teid(0x0102_0304), Some(qfi(9))));
    assert_eq!((parsed.payload_offset, parsed.payload_len), (16, 3));
    assert_eq!(parsed.payload(&UPLINK), Some(&[0xaa, 0xbb, 0xcc][..]));
    assert_eq!(
        (parsed.pdu_type, parsed.rqi),
        (Some(PduType::Uplink), false)
    );
    let container = UlPduSessionInformation::new(qfi(9)).into();
    assert_eq!(parsed.container(&UPLINK), Ok(Some(container)));
    let header = g_pdu_header_with_container(teid(0x0102_0304), ShortContainer::uplink(qfi(9)), 3);
    assert_eq!(header.unwrap(), UPLINK[..16]);
}

#[test]
fn a_downlink_container_has_its_reflective_qos_bit_beside_the_qfi() {
    let header =
        g_pdu_header_with_container(teid(1), ShortContainer::downlink(qfi(63), true), 0).unwrap();
    assert_eq!(header[12..], [1, 0x00, 0x7f, 0]);
    let parsed = GPdu::parse(&header).unwrap();
    assert_eq!(
        (parsed.pdu_type, parsed.rqi),
        (Some(PduType::Downlink), true)
    );
    assert_eq!((parsed.qfi, parsed.payload_len), (Some(qfi(63)), 0));
}

#[test]
fn a_packet_without_optional_fields_has_its_payload_at_octet_9() {
    let bytes = g_pdu(0x30, &[0x45, 0]);
    let parsed = GPdu::parse(&bytes).unwrap();
    assert_eq!(
        (parsed.payload_offset, parsed.payload_len, parsed.qfi),
        (8, 2, None)
    );
    assert_eq!(parsed.container(&bytes), Ok(None));
    assert_eq!(g_pdu_header(teid(1), 2).unwrap(), bytes[..8]);
}

#[test]
fn any_of_the_three_flags_brings_all_four_octets_and_only_its_own_field_counts() {
    let sequence = g_pdu(0x32, &[0x12, 0x34, 0xff, 0x85, 7]);
    let parsed = GPdu::parse(&sequence).unwrap();
    assert_eq!((parsed.sequence, parsed.payload_offset), (Some(0x1234), 12));
    assert_eq!(
        (parsed.pdu_type, parsed.payload(&sequence)),
        (None, Some(&[7][..]))
    );
    let n_pdu = g_pdu(0x31, &[0x12, 0x34, 0x56, 0x85]);
    let (header, rest) = Header::parse(&n_pdu).unwrap();
    assert_eq!(
        (header.sequence, header.n_pdu, rest.len()),
        (None, Some(0x56), 0)
    );
    assert_eq!(header.next_extension, ExtensionType::NONE);
    assert_eq!(
        GPdu::parse(&g_pdu(0x31, &[0, 0, 0])),
        Err(GtpuError::OptionalFields)
    );
}

#[test]
fn the_spare_bit_is_ignored_and_so_are_octets_behind_the_length() {
    let mut bytes = [&UPLINK[..], &[0; 7]].concat();
    bytes[0] |= 0x08;
    let parsed = GPdu::parse(&bytes).unwrap();
    assert_eq!(parsed.payload(&bytes), Some(&[0xaa, 0xbb, 0xcc][..]));
    assert_eq!(parsed, GPdu::parse(&UPLINK).unwrap());
}

#[test]
fn each_wrong_field_of_the_header_is_named() {
    let refused = |at: usize, value: u8| {
        let mut bytes = UPLINK;
        bytes[at] = value;
        GPdu::parse(&bytes).unwrap_err()
    };
    assert_eq!(refused(0, 0x54), GtpuError::Version(2));
    assert_eq!(refused(0, 0x24), GtpuError::ProtocolType);
    assert_eq!(refused(3, 12), GtpuError::Length { stated: 12 });
    assert_eq!(refused(1, 254), GtpuError::NotGPdu(MessageType::END_MARKER));
    assert_eq!(GPdu::parse(&UPLINK[..7]), Err(GtpuError::Truncated));
    assert_eq!(
        GPdu::parse(&[0x30, 255, 0, 0, 0, 0, 0, 0]),
        Err(GtpuError::TeidZero)
    );
    assert_eq!(refused(13, 0x20), GtpuError::ReservedPduType(2));
}

#[test]
fn an_unknown_extension_is_skipped_or_refused_by_its_top_bit() {
    for ty in [0x03, 0x20, 0x41, 0x7f] {
        let bytes = g_pdu(0x34, &[0, 0, 0, ty, 1, 9, 9, 0x85, 1, 0x10, 5, 0, 0xee]);
        let parsed = GPdu::parse(&bytes).unwrap();
        assert_eq!((parsed.qfi, parsed.payload_offset), (Some(qfi(5)), 20));
        let container = parsed.container(&bytes).unwrap().unwrap();
        assert_eq!(container.qfi(), qfi(5));
    }
    for ty in [0x81, 0x84, 0xc0, 0xff] {
        let bytes = g_pdu(0x34, &[0, 0, 0, ty, 1, 9, 9, 0]);
        let ty = ExtensionType(ty);
        assert_eq!(
            GPdu::parse(&bytes),
            Err(GtpuError::UnsupportedExtension { ty })
        );
    }
}

#[test]
fn the_two_top_bits_of_a_type_tell_relays_and_endpoints_what_to_do() {
    let rules = |ty: ExtensionType| {
        (
            ty.must_be_comprehended(),
            ty.must_be_comprehended_by_relays(),
            ty.is_relayed(),
        )
    };
    assert_eq!(
        rules(ExtensionType::SERVICE_CLASS_INDICATOR),
        (false, false, true)
    );
    assert_eq!(rules(ExtensionType::UDP_PORT), (false, false, false));
    assert_eq!(
        rules(ExtensionType::PDU_SESSION_CONTAINER),
        (true, false, true)
    );
    assert_eq!(rules(ExtensionType::PDCP_PDU_NUMBER), (true, true, false));
}

#[test]
fn a_chain_without_length_or_end_is_refused() {
    let container = ExtensionType::PDU_SESSION_CONTAINER;
    let zero = g_pdu(0x34, &[0, 0, 0, 0x85, 0, 0, 0, 0]);
    assert_eq!(
        GPdu::parse(&zero),
        Err(GtpuError::ExtensionLengthZero(container))
    );
    let cut = g_pdu(0x34, &[0, 0, 0, 0x85, 2, 0, 0, 0]);
    assert_eq!(
        GPdu::parse(&cut),
        Err(GtpuError::ExtensionTruncated(container))
    );
    let none = g_pdu(0x34, &[0, 0, 0, 0x85]);
    assert_eq!(
        GPdu::parse(&none),
        Err(GtpuError::ExtensionTruncated(container))
    );
    let chain = |n: usize| {
        let mut body = vec![0, 0, 0, 0x20];
        body.extend([1, 0, 0, 0x20].repeat(n - 1));
        body.extend([1, 0, 0, 0]);
        GPdu::parse(&g_pdu(0x34, &body))
    };
    assert!(chain(MAX_EXTENSION_HEADERS).is_ok());
    assert_eq!(
        chain(MAX_EXTENSION_HEADERS + 1),
        Err(GtpuError::TooManyExtensions)
    );
}

#[test]
fn a_paging_policy_indicator_stands_behind_the_qfi_and_needs_padding() {
    let information = DlPduSessionInformation {
        ppi: Ppi::new(5),
        ..DlPduSessionInformation::new(qfi(1))
    };
    let mut out = [0xff; 20];
    let len = write_g_pdu_header(&mut out, teid(1), &information.into(), 0).unwrap();
    assert_eq!(
        out[..len],
        g_pdu(0x34, &[0, 0, 0, 0x85, 2, 0, 0x81, 0xa0, 0, 0, 0, 0])
    );
    let parsed = GPdu::parse(&out).unwrap().container(&out).unwrap().unwrap();
    assert_eq!(parsed, information.into());
}

#[test]
fn every_field_of_an_uplink_container_has_its_place() {
    let bytes = [
        &[0x1f, 0xc7][..],
        &[
            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3,
        ],
        &[0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 6, 0, 0, 0, 7],
        &[1, 1],
    ]
    .concat();
    let expected = UlPduSessionInformation {
        qfi: qfi(7),
        monitoring: Some(MonitoringTimeStamps {
            dl_sending_repeated: 1,
            dl_received: 2,
            ul_sending: 3,
        }),
        dl_delay_result_ms: Some(4),
        ul_delay_result_ms: Some(5),
        ul_qfi_sequence_number: Some(6),
        n3_n9_delay_result_ms: Some(7),
        d1_ul_pdcp_delay_included: Some(true),
    };
    assert_eq!(PduSessionInformation::parse(&bytes), Ok(expected.into()));
    let mut out = [0; MAX_CONTAINER_LEN];
    let information = PduSessionInformation::from(expected);
    assert_eq!(
        information.write(&mut out, ExtensionType::NONE),
        Some(MAX_CONTAINER_LEN)
    );
    assert_eq!(out[1..1 + bytes.len()], bytes);
    assert_eq!(information.write(&mut out[..47], ExtensionType::NONE), None);
}

#[test]
fn every_field_of_a_downlink_container_has_its_place() {
    let bytes = [
        0x0e, 0xff, 0xe0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 3, 0, 0, 0, 4,
    ];
    let expected = DlPduSessionInformation {
        qfi: qfi(63),
        rqi: true,
        ppi: Ppi::new(7),
        dl_sending_time_stamp: Some(0x0000_0001_0000_0002),
        dl_qfi_sequence_number: Some(3),
        dl_mbs_qfi_sequence_number: Some(4),
    };
    assert_eq!(PduSessionInformation::parse(&bytes), Ok(expected.into()));
    for len in 0..bytes.len() {
        let cut = PduSessionInformation::parse(&bytes[..len]);
        assert_eq!(cut, Err(GtpuError::ContainerTruncated));
    }
}

#[test]
fn echo_carries_a_sequence_number_and_the_answer_a_recovery_of_zero() {
    let request = [0x32, 1, 0, 4, 0, 0, 0, 0, 0xab, 0xcd, 0, 0];
    assert_eq!(echo_request(0xabcd), request);
    assert_eq!(
        Message::parse(&request),
        Ok(Message::EchoRequest { sequence: 0xabcd })
    );
    let response = [0x32, 2, 0, 6, 0, 0, 0, 0, 0xab, 0xcd, 0, 0, 14, 0];
    assert_eq!(echo_response(0xabcd), response);
    assert_eq!(
        Message::parse(&response),
        Ok(Message::EchoResponse { sequence: 0xabcd })
    );
}

#[test]
fn an_error_indication_names_teid_address_and_port() {
    let peer = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
    let indication = ErrorIndication {
        teid: 0x0a0b_0c0d,
        peer,
        udp_source_port: Some(0x1234),
    };
    let expected = [
        0x36, 26, 0, 20, 0, 0, 0, 0, 0, 5, 0, 0x40, // S and E; UDP Port follows
        1, 0x12, 0x34, 0, // UDP Port
        16, 0x0a, 0x0b, 0x0c, 0x0d, // TEID Data I
        133, 0, 4, 192, 0, 2, 7, // GTP-U Peer Address
    ];
    let mut out = [0; 28];
    assert_eq!(write_error_indication(&mut out, 5, &indication), Some(28));
    assert_eq!(out, expected);
    assert_eq!(
        Message::parse(&out),
        Ok(Message::ErrorIndication(indication))
    );
    assert_eq!(write_error_indication(&mut out[..27], 5, &indication), None);
}

#[test]
fn an_error_indication_may_name_an_ipv6_address() {
    let peer = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    let indication = ErrorIndication {
        teid: 1,
        peer,
        udp_source_port: None,
    };
    let mut out = [0; 36];
    assert_eq!(write_error_indication(&mut out, 0, &indication), Some(36));
    assert_eq!(
        Message::parse(&out),
        Ok(Message::ErrorIndication(indication))
    );
    assert_eq!(
        Message::parse(&out[..35]),
        Err(GtpuError::Length { stated: 28 })
    );
}

#[test]
fn an_end_marker_needs_only_its_teid() {
    assert_eq!(end_marker(teid(0x0102_0304)), [0x30, 254, 0, 0, 1, 2, 3, 4]);
    let with = end_marker_with_container(teid(2), ShortContainer::downlink(qfi(3), false));
    assert_eq!(
        with,
        [0x34, 254, 0, 8, 0, 0, 0, 2, 0, 0, 0, 0x85, 1, 0, 3, 0]
    );
    let Ok(Message::EndMarker(marker)) = Message::parse(&with) else {
        panic!("no End Marker");
    };
    assert_eq!((marker.teid, marker.qfi), (teid(2), Some(qfi(3))));
}

#[test]
fn the_notification_lists_what_is_comprehended_with_a_length_of_one_octet() {
    let bytes = [0x32, 31, 0, 8, 0, 0, 0, 0, 0, 9, 0, 0, 141, 2, 0x85, 0x40];
    assert_eq!(supported_extension_headers_notification(9), bytes);
    let expected = Message::SupportedExtensionHeadersNotification {
        supported: &[0x85, 0x40],
    };
    assert_eq!(Message::parse(&bytes), Ok(expected));
}

#[test]
fn tunnel_status_reads_its_flags() {
    let bytes = [0x30, 253, 0, 4, 0, 0, 0, 8, 230, 0, 1, 1];
    let expected = Message::TunnelStatus {
        teid: teid(8),
        flags: Some(1),
    };
    assert_eq!(Message::parse(&bytes), Ok(expected));
}

#[test]
fn elements_that_are_missing_cut_or_unreadable_are_named() {
    let error = |elements: &[u8]| {
        let len = elements.len() as u8 + 4;
        let header = [0x32, 26, 0, len, 0, 0, 0, 0, 0, 0, 0, 0];
        Message::parse(&[&header[..], elements].concat()).unwrap_err()
    };
    assert_eq!(error(&[]), GtpuError::IeMissing(IeType::TEID_DATA_I));
    assert_eq!(
        error(&[16, 0, 0, 0]),
        GtpuError::IeTruncated(IeType::TEID_DATA_I)
    );
    let teid_only = [16, 0, 0, 0, 1];
    assert_eq!(
        error(&teid_only),
        GtpuError::IeMissing(IeType::GTP_U_PEER_ADDRESS)
    );
    let short = [16, 0, 0, 0, 1, 133, 0, 3, 1, 2, 3];
    assert_eq!(
        error(&short),
        GtpuError::IeLength(IeType::GTP_U_PEER_ADDRESS)
    );
    assert_eq!(
        error(&[133, 0]),
        GtpuError::IeTruncated(IeType::GTP_U_PEER_ADDRESS)
    );
    assert_eq!(error(&[99, 0]), GtpuError::IeUnknown(IeType(99)));
    assert_eq!(
        Message::parse(&[0x30, 7, 0, 0, 0, 0, 0, 0]),
        Err(GtpuError::MessageType(MessageType(7)))
    );
}

#[test]
fn a_private_extension_is_walked_over() {
    let body = [255, 0, 3, 0x12, 0x34, 0x56, 14, 0];
    let elements: Vec<_> = Ies::new(&body).map(Result::unwrap).collect();
    assert_eq!(
        elements[0],
        Ie {
            ty: IeType::PRIVATE_EXTENSION,
            value: &[0x12, 0x34, 0x56]
        }
    );
    assert_eq!(
        elements[1],
        Ie {
            ty: IeType::RECOVERY,
            value: &[0]
        }
    );
    assert_eq!(elements.len(), 2);
}
