//! tshark reads every GTP-U message that we can write, complains about none, and agrees on every
//! field.

// Functions outside `#[test]` too fail the test by it.
#![allow(clippy::unwrap_used)]

use crate::common::{ask_tshark, check, tshark_is_installed};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_wire::checksum::Sum;
use sluice_wire::gtpu::*;
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::udp::UdpHeader;

const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

fn teid(value: u32) -> Teid {
    Teid::new(value).unwrap()
}

fn qfi(value: u8) -> Qfi {
    Qfi::new(value).unwrap()
}

/// IPv4 and UDP around a GTP-U message.
fn packet(message: &[u8]) -> Vec<u8> {
    let ports = UdpHeader {
        source_port: PORT,
        destination_port: PORT,
    };
    let udp = [&ports.to_bytes(GNB, UPF, message).unwrap()[..], message].concat();
    let ip = Ipv4Header::new(Protocol::UDP, GNB, UPF)
        .to_bytes(udp.len())
        .unwrap();
    [&ip[..], &udp].concat()
}

/// A UE's UDP datagram, to be carried.
fn inner() -> Vec<u8> {
    let (ue, server) = (Ipv4Addr::new(10, 45, 0, 2), Ipv4Addr::new(198, 51, 100, 1));
    let ports = UdpHeader {
        source_port: 40_000,
        destination_port: 9,
    };
    let udp = [&ports.to_bytes(ue, server, b"data").unwrap()[..], b"data"].concat();
    let ip = Ipv4Header::new(Protocol::UDP, ue, server)
        .to_bytes(udp.len())
        .unwrap();
    [&ip[..], &udp].concat()
}

fn g_pdu(container: PduSessionInformation) -> Vec<u8> {
    let inner = inner();
    let mut header = [0; 12 + MAX_CONTAINER_LEN];
    let len = write_g_pdu_header(&mut header, teid(0x100), &container, inner.len()).unwrap();
    packet(&[&header[..len], &inner].concat())
}

fn error_indication(indication: &ErrorIndication) -> Vec<u8> {
    let mut out = [0; 40];
    let len = write_error_indication(&mut out, 7, indication).unwrap();
    packet(&out[..len])
}

fn outer(container: Option<ShortContainer>) -> Vec<u8> {
    let outer = OuterIpv4::new(UPF, GNB, 64, true);
    let fields = OuterFields {
        tos: 0xb8,
        identification: 0,
        source_port: 50_000,
        teid: teid(0xdead_beef),
    };
    let inner = inner();
    let head = match container {
        Some(container) => {
            let mut head = [0; OUTER_IPV4_LEN];
            outer
                .write(&mut head, &fields, container, inner.len())
                .unwrap();
            head.to_vec()
        }
        None => {
            let mut head = [0; OUTER_IPV4_PLAIN_LEN];
            outer.write_plain(&mut head, &fields, inner.len()).unwrap();
            head.to_vec()
        }
    };
    [head, inner].concat()
}

#[test]
fn path_management_reads_as_it_was_meant() {
    let fields = "gtp.message gtp.teid gtp.length gtp.seq_number gtp.recovery gtp.ext_hdr_type";
    let request = packet(&echo_request(0x1234));
    let response = packet(&echo_response(0x1234));
    let notification = packet(&supported_extension_headers_notification(3));
    let cases = [
        (request, "0x01 0x00000000 4 0x1234 - -"),
        (response, "0x02 0x00000000 6 0x1234 0 -"),
        (notification, "0x1f 0x00000000 8 0x0003 - 133,64"),
    ];
    check("path", fields, &cases);
}

#[test]
fn error_indications_read_as_they_were_meant() {
    let v4 = ErrorIndication {
        teid: 0xaabb_ccdd,
        peer: IpAddr::V4(UPF),
        udp_source_port: None,
    };
    let port = ErrorIndication {
        udp_source_port: Some(50_000),
        ..v4
    };
    let v6_peer = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 5));
    let v6 = ErrorIndication {
        peer: v6_peer,
        ..v4
    };
    let fields = "gtp.message gtp.teid gtp.length gtp.seq_number
        gtp.teid_data gtp.gsn_ipv4 gtp.gsn_ipv6 gtp.ext_hdr.udp_port";
    let cases = [
        (
            error_indication(&v4),
            "0x1a 0x00000000 16 0x0007 0xaabbccdd 192.0.2.2 - -",
        ),
        (
            error_indication(&port),
            "0x1a 0x00000000 20 0x0007 0xaabbccdd 192.0.2.2 - 50000",
        ),
        (
            error_indication(&v6),
            "0x1a 0x00000000 28 0x0007 0xaabbccdd - 2001:db8::5 -",
        ),
    ];
    check("error", fields, &cases);
}

/// The fields of a PDU Session Container and the addresses around and inside.
const TUNNEL_FIELDS: &str = "gtp.message gtp.teid gtp.ext_hdr.next gtp.ext_hdr.length
    gtp.ext_hdr.pdu_ses_con.pdu_type gtp.ext_hdr.pdu_ses_con.qos_flow_id
    gtp.ext_hdr.pdu_ses_cont.rqi gtp.ext_hdr.pdu_ses_cont.ppp gtp.ext_hdr.pdu_ses_cont.ppi ip.dst";

#[test]
fn tunnelled_packets_read_as_they_were_meant() {
    let dl = DlPduSessionInformation::new(qfi(9));
    let reflective = DlPduSessionInformation { rqi: true, ..dl };
    let paging = DlPduSessionInformation {
        ppi: Ppi::new(6),
        ..dl
    };
    let ul = UlPduSessionInformation::new(qfi(63));
    let plain = [
        &g_pdu_header(teid(0x100), inner().len()).unwrap()[..],
        &inner(),
    ]
    .concat();
    let cases = [
        (
            packet(&plain),
            "0xff 0x00000100 - - - - - - - 192.0.2.2,198.51.100.1",
        ),
        (
            g_pdu(dl.into()),
            "0xff 0x00000100 0x85,0x00 1 0 9 0 0 - 192.0.2.2,198.51.100.1",
        ),
        (
            g_pdu(reflective.into()),
            "0xff 0x00000100 0x85,0x00 1 0 9 1 0 - 192.0.2.2,198.51.100.1",
        ),
        (
            g_pdu(paging.into()),
            "0xff 0x00000100 0x85,0x00 2 0 9 0 1 6 192.0.2.2,198.51.100.1",
        ),
        (
            g_pdu(ul.into()),
            "0xff 0x00000100 0x85,0x00 1 1 63 - - - 192.0.2.2,198.51.100.1",
        ),
    ];
    check("tunnel", TUNNEL_FIELDS, &cases);
}

#[test]
fn end_markers_read_as_they_were_meant() {
    let with = end_marker_with_container(teid(0x100), ShortContainer::downlink(qfi(9), false));
    let cases = [
        (
            packet(&end_marker(teid(9))),
            "0xfe 0x00000009 - - - - - - - 192.0.2.2",
        ),
        (
            packet(&with),
            "0xfe 0x00000100 0x85,0x00 1 0 9 0 0 - 192.0.2.2",
        ),
    ];
    check("end", TUNNEL_FIELDS, &cases);
}

#[test]
fn containers_with_every_optional_field_are_well_formed() {
    let dl = DlPduSessionInformation {
        rqi: true,
        ppi: Ppi::new(1),
        dl_sending_time_stamp: Some(0xe000_0000_8000_0000),
        dl_qfi_sequence_number: Some(0x01_0203),
        dl_mbs_qfi_sequence_number: Some(0x0405_0607),
        ..DlPduSessionInformation::new(qfi(5))
    };
    let stamps = MonitoringTimeStamps {
        dl_sending_repeated: 1,
        dl_received: 2,
        ul_sending: 3,
    };
    let ul = UlPduSessionInformation {
        monitoring: Some(stamps),
        dl_delay_result_ms: Some(4),
        ul_delay_result_ms: Some(5),
        ul_qfi_sequence_number: Some(6),
        n3_n9_delay_result_ms: Some(7),
        d1_ul_pdcp_delay_included: Some(true),
        ..UlPduSessionInformation::new(qfi(5))
    };
    let fields = "gtp.ext_hdr.next gtp.ext_hdr.length gtp.ext_hdr.pdu_ses_con.pdu_type
        gtp.ext_hdr.pdu_ses_con.qos_flow_id ip.dst";
    let cases = [
        (g_pdu(dl.into()), "0x85,0x00 5 0 5 192.0.2.2,198.51.100.1"),
        (g_pdu(ul.into()), "0x85,0x00 12 1 5 192.0.2.2,198.51.100.1"),
    ];
    check("optional", fields, &cases);
}

#[test]
fn the_outer_header_of_the_packet_path_reads_as_it_was_meant() {
    let fields = "ip.checksum.status ip.src ip.dst ip.dsfield.dscp udp.srcport udp.dstport
        gtp.teid gtp.ext_hdr.pdu_ses_con.qos_flow_id";
    let front = "1,1 192.0.2.2,10.45.0.2 192.0.2.1,198.51.100.1 46,0 50000,40000 2152,9";
    let with = format!("{front} 0xdeadbeef 44");
    let without = format!("{front} 0xdeadbeef -");
    let container = ShortContainer::downlink(qfi(44), false);
    check(
        "outer",
        fields,
        &[(outer(Some(container)), &with), (outer(None), &without)],
    );
}

/// The same over IPv6: the UDP checksum covers the inner packet, too.
fn outer_ipv6(container: Option<ShortContainer>, form: PlainForm, inner: &[u8]) -> Vec<u8> {
    let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, last);
    let outer = OuterIpv6::new(address(1), address(2), 64);
    let fields = OuterFields {
        tos: 0xb8,
        identification: 0,
        source_port: 50_000,
        teid: teid(0xdead_beef),
    };
    let sum = Sum::of(inner);
    let head = match container {
        Some(container) => {
            let mut head = [0; OUTER_IPV6_LEN];
            let written = outer.write(&mut head, &fields, container, (inner.len(), sum));
            written.unwrap();
            head.to_vec()
        }
        None => {
            let mut head = [0; OUTER_IPV6_PLAIN_LEN];
            let written = outer.write_plain(&mut head, &fields, form, (inner.len(), sum));
            written.unwrap();
            head.to_vec()
        }
    };
    [&head, inner].concat()
}

#[test]
fn the_outer_ipv6_header_of_the_packet_path_reads_as_it_was_meant() {
    let fields = "ipv6.src ipv6.dst ipv6.tclass.dscp udp.checksum.status udp.srcport gtp.message
        gtp.teid gtp.ext_hdr.pdu_ses_con.qos_flow_id ip.dst";
    let front = "2001:db8:3::1 2001:db8:3::2 46";
    let container = ShortContainer::downlink(qfi(44), false);
    let g_pdu = |qfi| format!("{front} 1,1 50000,40000 0xff 0xdeadbeef {qfi} 198.51.100.1");
    let (with, without) = (g_pdu("44"), g_pdu("-"));
    let marker = format!("{front} 1 50000 0xfe 0xdeadbeef - -");
    let inner = inner();
    check(
        "outer-ipv6",
        fields,
        &[
            (outer_ipv6(Some(container), PlainForm::GPdu, &inner), &with),
            (outer_ipv6(None, PlainForm::GPdu, &inner), &without),
            (outer_ipv6(None, PlainForm::EndMarker, &[]), &marker),
        ],
    );
}

#[test]
fn a_damaged_message_does_not_pass_the_check() {
    if !tshark_is_installed() {
        return;
    }
    let passes = |packet: Vec<u8>| {
        std::panic::catch_unwind(|| ask_tshark("damaged", &[packet], &["gtp.message"])).is_ok()
    };
    let mut checksum = packet(&echo_request(1));
    checksum[10] ^= 1;
    assert!(!passes(checksum), "a wrong IPv4 checksum");
    let cut = [0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 9, 0x10, 5, 0];
    assert!(
        !passes(packet(&cut)),
        "an extension header that ends behind the message"
    );
    assert!(passes(packet(&echo_request(1))));
}
