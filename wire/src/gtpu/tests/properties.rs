//! What holds for all bytes and all values.

use crate::checksum::Sum;
use crate::gtpu::*;
use crate::ids::{Qfi, Teid};
use crate::ipv4::{Ipv4, TooLong};
use crate::udp::Udp;
use core::net::{IpAddr, Ipv4Addr};
use proptest::option::of;
use proptest::prelude::*;

fn any_qfi() -> impl Strategy<Value = Qfi> {
    (0..=Qfi::MAX).prop_map(|value| Qfi::new(value).unwrap())
}

fn any_teid() -> impl Strategy<Value = Teid> {
    (1..=u32::MAX).prop_map(|value| Teid::new(value).unwrap())
}

fn any_downlink() -> impl Strategy<Value = PduSessionInformation> {
    let sequence = of(0u32..1 << 24);
    (
        any_qfi(),
        any::<bool>(),
        of(0u8..8),
        of(any::<u64>()),
        sequence,
        of(any::<u32>()),
    )
        .prop_map(
            |(qfi, rqi, ppi, dl_sending_time_stamp, dl_qfi_sequence_number, mbs)| {
                PduSessionInformation::Downlink(DlPduSessionInformation {
                    qfi,
                    rqi,
                    ppi: ppi.and_then(Ppi::new),
                    dl_sending_time_stamp,
                    dl_qfi_sequence_number,
                    dl_mbs_qfi_sequence_number: mbs,
                })
            },
        )
}

fn any_uplink() -> impl Strategy<Value = PduSessionInformation> {
    let monitoring = of(any::<[u64; 3]>());
    let results = (of(any::<u32>()), of(any::<u32>()), of(any::<u32>()));
    let rest = (of(0u32..1 << 24), of(any::<bool>()));
    (any_qfi(), monitoring, results, rest).prop_map(|(qfi, stamps, results, rest)| {
        PduSessionInformation::Uplink(UlPduSessionInformation {
            qfi,
            monitoring: stamps.map(|[a, b, c]| MonitoringTimeStamps {
                dl_sending_repeated: a,
                dl_received: b,
                ul_sending: c,
            }),
            dl_delay_result_ms: results.0,
            ul_delay_result_ms: results.1,
            ul_qfi_sequence_number: rest.0,
            n3_n9_delay_result_ms: results.2,
            d1_ul_pdcp_delay_included: rest.1,
        })
    })
}

/// Bytes that often are nearly a message: a plausible header, chain and length before noise.
fn near_message() -> impl Strategy<Value = Vec<u8>> {
    let ty = prop::sample::select(vec![1u8, 2, 26, 31, 253, 254, 255, 255, 255]);
    let flags = prop::sample::select(vec![0x30u8, 0x31, 0x32, 0x34, 0x34, 0x36, 0x37, 0x50]);
    let next = prop::sample::select(vec![0u8, 0x85, 0x85, 0x40, 0x20, 0xc0]);
    let noise = prop::collection::vec(prop_oneof![any::<u8>(), 0u8..3, Just(0x85)], 0..64);
    (flags, ty, any_teid(), next, noise, any::<bool>()).prop_map(
        |(flags, ty, teid, next, noise, short)| {
            let body = [&[0, 0, 0, next][..], &noise].concat();
            let len = body.len() as u16 - u16::from(short);
            let head = [flags, ty, (len >> 8) as u8, len as u8];
            [&head[..], &teid.get().to_be_bytes(), &body].concat()
        },
    )
}

/// Reads `bytes` in every way there is and checks what must hold of the results.
fn read_every_way(bytes: &[u8]) -> Result<(), TestCaseError> {
    let message = Message::parse(bytes);
    match GPdu::parse(bytes) {
        Ok(g_pdu) => {
            prop_assert_eq!(
                message,
                Ok(Message::GPdu(g_pdu)),
                "the usual form reads the same"
            );
            let end = usize::from(g_pdu.payload_offset) + usize::from(g_pdu.payload_len);
            prop_assert!(end <= bytes.len());
            prop_assert_eq!(
                g_pdu.payload(bytes).map(<[u8]>::len),
                Some(g_pdu.payload_len.into())
            );
            prop_assert_eq!(g_pdu.qfi.is_some(), g_pdu.pdu_type.is_some());
            if let Ok(container) = g_pdu.container(bytes) {
                prop_assert_eq!(container.map(|c| c.qfi()), g_pdu.qfi);
            }
        }
        Err(GtpuError::NotGPdu(ty)) => prop_assert_eq!(Some(&ty.0), bytes.get(1)),
        Err(error) => prop_assert_eq!(message, Err(error)),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_parse_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        read_every_way(&bytes)?;
        let _ = PduSessionInformation::parse(&bytes);
        prop_assert!(Ies::new(&bytes).count() <= bytes.len());
        for first in [0x85, 0x40, 0xff] {
            let chain = Extensions::new(ExtensionType(first), &bytes);
            prop_assert!(chain.count() <= MAX_EXTENSION_HEADERS + 1);
        }
    }

    #[test]
    fn nearly_right_messages_parse_or_are_refused(bytes in near_message()) {
        read_every_way(&bytes)?;
    }
}

proptest! {
    #[test]
    fn a_message_cut_anywhere_is_refused(
        teid in any_teid(), information in prop_oneof![any_downlink(), any_uplink()], tail in 1usize..9,
    ) {
        let mut bytes = [0; 80];
        let len = write_g_pdu_header(&mut bytes, teid, &information, tail).unwrap();
        for cut in 0..len + tail {
            prop_assert!(GPdu::parse(&bytes[..cut]).is_err());
            prop_assert!(Message::parse(&bytes[..cut]).is_err());
        }
        prop_assert!(GPdu::parse(&bytes[..len + tail]).is_ok());
    }

    #[test]
    fn any_container_reads_as_it_was_written(
        teid in any_teid(),
        information in prop_oneof![any_downlink(), any_uplink()],
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = [0; 12 + MAX_CONTAINER_LEN + 40];
        let len = write_g_pdu_header(&mut bytes, teid, &information, payload.len()).unwrap();
        bytes[len..len + payload.len()].copy_from_slice(&payload);
        let parsed = GPdu::parse(&bytes).unwrap();
        prop_assert_eq!((parsed.teid, parsed.qfi), (teid, Some(information.qfi())));
        prop_assert_eq!(parsed.payload(&bytes), Some(&payload[..]));
        prop_assert_eq!(parsed.container(&bytes), Ok(Some(information)));
    }

    #[test]
    fn a_short_container_equals_the_general_one(qfi in any_qfi(), rqi in any::<bool>()) {
        let mut out = [0xff; 4];
        let dl = DlPduSessionInformation { rqi, ..DlPduSessionInformation::new(qfi) };
        PduSessionInformation::from(dl).write(&mut out, ExtensionType::NONE);
        prop_assert_eq!(out, ShortContainer::downlink(qfi, rqi).0);
        let ul = UlPduSessionInformation::new(qfi);
        PduSessionInformation::from(ul).write(&mut out, ExtensionType::NONE);
        prop_assert_eq!(out, ShortContainer::uplink(qfi).0);
    }

    #[test]
    fn an_error_indication_reads_as_it_was_written(
        teid in any::<u32>(), peer in any::<IpAddr>(), port in of(any::<u16>()), sequence in any::<u16>(),
    ) {
        let indication = ErrorIndication { teid, peer, udp_source_port: port };
        let mut out = [0; 40];
        let len = write_error_indication(&mut out, sequence, &indication).unwrap();
        prop_assert_eq!(Message::parse(&out[..len]), Ok(Message::ErrorIndication(indication)));
        for cut in 0..len {
            prop_assert!(Message::parse(&out[..cut]).is_err());
            prop_assert!(write_error_indication(&mut [0; 40][..cut], sequence, &indication).is_none());
        }
    }

    #[test]
    fn the_outer_header_is_a_sound_packet(
        s in any::<u32>(), d in any::<u32>(), ttl in any::<u8>(), df in any::<bool>(),
        tos in any::<u8>(), identification in any::<u16>(), source_port in any::<u16>(),
        teid in any_teid(), qfi in any_qfi(), inner_len in 0usize..2000,
    ) {
        let (source, destination) = (Ipv4Addr::from_bits(s), Ipv4Addr::from_bits(d));
        let outer = OuterIpv4::new(source, destination, ttl, df);
        let fields = OuterFields { tos, identification, source_port, teid };
        let mut head = [0; OUTER_IPV4_LEN];
        outer.write(&mut head, &fields, ShortContainer::uplink(qfi), inner_len).unwrap();
        let packet = [&head[..], &vec![7; inner_len]].concat();
        let ip = Ipv4::parse(&packet).unwrap();
        prop_assert_eq!((ip.source(), ip.destination(), ip.ttl()), (source, destination, ttl));
        prop_assert_eq!((ip.tos(), ip.identification(), ip.dont_fragment()), (tos, identification, df));
        let udp = Udp::parse(ip.payload()).unwrap();
        prop_assert_eq!((udp.source_port(), udp.destination_port()), (source_port, PORT));
        let g_pdu = GPdu::parse(udp.payload()).unwrap();
        prop_assert_eq!((g_pdu.teid, g_pdu.qfi), (teid, Some(qfi)));
        prop_assert_eq!(usize::from(g_pdu.payload_len), inner_len);

        let mut plain = [0; OUTER_IPV4_PLAIN_LEN];
        outer.write_plain(&mut plain, &fields, inner_len).unwrap();
        prop_assert!(Sum::of(&plain[..20]).verifies());
        let packet = [&plain[..], &vec![7; inner_len]].concat();
        let udp_bytes = Ipv4::parse(&packet).unwrap().payload();
        let g_pdu = GPdu::parse(Udp::parse(udp_bytes).unwrap().payload()).unwrap();
        prop_assert_eq!((g_pdu.qfi, usize::from(g_pdu.payload_len)), (None, inner_len));
    }
}

#[test]
fn an_outer_packet_above_65535_octets_is_refused() {
    let outer = OuterIpv4::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 64, true);
    let teid = Teid::new(1).unwrap();
    let fields = OuterFields {
        tos: 0,
        identification: 0,
        source_port: PORT,
        teid,
    };
    let container = ShortContainer::uplink(Qfi::new(1).unwrap());
    let mut head = [0; OUTER_IPV4_LEN];
    assert_eq!(outer.write(&mut head, &fields, container, 65_491), Ok(()));
    assert_eq!(
        outer.write(&mut head, &fields, container, 65_492),
        Err(TooLong)
    );
    let mut plain = [0; OUTER_IPV4_PLAIN_LEN];
    assert_eq!(outer.write_plain(&mut plain, &fields, 65_499), Ok(()));
    assert_eq!(outer.write_plain(&mut plain, &fields, 65_500), Err(TooLong));
    assert_eq!(
        outer.write_plain(&mut plain, &fields, usize::MAX),
        Err(TooLong)
    );
}
