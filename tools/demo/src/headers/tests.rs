//! Headers of captured G-PDUs: which are of one kind, and which are wrong.

use super::*;

/// A G-PDU with a PDU Session Container (QFI 9) around `payload` bytes of UDP, by etherparse.
fn g_pdu(teid: u32, identification: u16, payload: usize) -> Vec<u8> {
    let mut inner = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 60, 0, 2], [198, 18, 6, 2], 64)
        .udp(5000, 5201)
        .write(&mut inner, &vec![7; payload])
        .expect("inner");
    let mut gtp_u = vec![0x34, 0xff];
    gtp_u.extend((inner.len() as u16 + 8).to_be_bytes());
    gtp_u.extend(teid.to_be_bytes());
    gtp_u.extend([0, 0, 0, 0x85, 1, 0x10, 9, 0]);
    gtp_u.extend(inner);
    let mut outer = etherparse::Ipv4Header::new(
        gtp_u.len() as u16 + 8,
        64,
        etherparse::IpNumber::UDP,
        [198, 18, 3, 11],
        [198, 18, 3, 1],
    )
    .expect("outer");
    outer.identification = identification;
    let mut frame = Vec::new();
    etherparse::PacketBuilder::ethernet2([2; 6], [4; 6])
        .ip(etherparse::IpHeaders::Ipv4(outer, Default::default()))
        .udp(50_000 + identification, 2152)
        .write(&mut frame, &gtp_u)
        .expect("frame");
    frame
}

/// As a capture shows it.
fn look(headers: &mut Headers, frame: &[u8]) {
    headers.take(Frame {
        bytes: &frame[..frame.len().min(SNAP_BYTES.into())],
        wire_bytes: frame.len() as u32,
    });
}

#[test]
fn packets_that_differ_in_lengths_and_numbers_are_of_one_kind() {
    let mut headers = Headers::default();
    for number in 0..100 {
        look(&mut headers, &g_pdu(7, number, 10 * usize::from(number)));
    }
    assert_eq!((headers.frames, headers.wrong), (100, 0), "{headers:?}");
    assert_eq!((headers.kinds(), headers.samples()), (1, SAMPLES as u64));
    look(&mut headers, &g_pdu(8, 0, 10));
    assert_eq!(
        (headers.kinds(), headers.samples()),
        (2, SAMPLES as u64 + 1)
    );
}

#[test]
fn any_other_octet_makes_another_kind_which_tshark_sees() {
    // MAC addresses, DSCP, TTL, ports, GTP-U's flags, type, TEID, container.
    for at in [0, 6, 36, 37, 43, 46, 49, 52, 55, 56] {
        let mut headers = Headers::default();
        look(&mut headers, &g_pdu(7, 1, 100));
        let mut odd = g_pdu(7, 1, 100);
        odd[at] ^= 1;
        look(&mut headers, &odd);
        assert_eq!(
            (headers.kinds(), headers.wrong),
            (2, 0),
            "octet {at}: {headers:?}"
        );
        assert_eq!(headers.samples(), 2);
    }
}

#[test]
fn every_wrong_field_is_found_also_in_the_last_of_many() {
    let sound = g_pdu(7, 1, 100);
    let inner = GTP_U + 16;
    let fields = [
        (ETHERNET + 3, "outer IPv4 length"),
        (ETHERNET + 11, "IPv4 header checksum"),
        (UDP + 5, "UDP length"),
        (GTP_U, "GTP-U version"),
        (GTP_U + 3, "GTP-U length"),
        (inner + 3, "IPv4 header checksum"),
        (inner, "IP version"),
        (GTP_U + 12, "cut short in its headers"),
    ];
    for (at, what) in fields {
        let mut headers = Headers::default();
        for number in 0..50 {
            look(&mut headers, &g_pdu(7, number, 100));
        }
        let mut wrong = sound.clone();
        wrong[at] ^= 0x40;
        if what == "outer IPv4 length" {
            refresh_checksum(&mut wrong[ETHERNET..UDP]);
        }
        look(&mut headers, &wrong);
        assert_eq!(headers.wrong, 1, "{what}");
        assert_eq!(headers.first_wrong, [format!("G-PDU 51: {what}")]);
    }
}

#[test]
fn what_the_inner_packet_says_of_its_length_must_be_true() {
    let mut headers = Headers::default();
    let mut frame = g_pdu(7, 1, 100);
    frame[GTP_U + 16 + 3] -= 1;
    refresh_checksum(&mut frame[GTP_U + 16..GTP_U + 36]);
    look(&mut headers, &frame);
    assert_eq!(headers.first_wrong, ["G-PDU 1: inner IP length"]);
}

#[test]
fn no_frame_makes_it_panic() {
    let frame = g_pdu(7, 1, 10);
    for len in 0..frame.len() {
        let mut headers = Headers::default();
        look(&mut headers, &frame[..len]);
        assert_eq!(headers.wrong, 1, "{len}");
    }
}

#[test]
fn kinds_have_a_bound_and_what_is_beyond_is_told() {
    let mut headers = Headers::default();
    for teid in 0..=KINDS_MAX as u32 {
        look(&mut headers, &g_pdu(teid, 1, 10));
    }
    assert_eq!((headers.kinds(), headers.wrong), (KINDS_MAX as u64, 1));
}

fn refresh_checksum(header: &mut [u8]) {
    let (parsed, _) = etherparse::Ipv4Header::from_slice(header).expect("header");
    header[10..12].copy_from_slice(&parsed.calc_header_checksum().to_be_bytes());
}

#[test]
fn tshark_reads_headers_without_what_follows_and_tells_wrong_ones() {
    if !sluice_host::tool::is_installed("tshark") {
        println!("skipped: needs tshark");
        return;
    }
    let mut headers = Headers::default();
    // Another extension header than it is; PDU type 3, which there is not (TS 38.415, 5.5.3).
    for (at, bits) in [(GTP_U, 0), (GTP_U + 11, 1), (GTP_U + 13, 0x20)] {
        let mut frame = g_pdu(7, 1, 1000);
        frame[at] ^= bits;
        look(&mut headers, &frame);
    }
    assert_eq!((headers.samples(), headers.wrong), (3, 0), "{headers:?}");
    let path = std::env::temp_dir().join(format!("sluice-headers-{}", std::process::id()));
    headers.write_samples(&path).expect("write");
    let verdict = sluice_host::tshark::judge(&path).expect("tshark");
    std::fs::remove_file(&path).expect("remove");
    assert_eq!(verdict.frames, 3);
    let complaints = verdict.complaints;
    assert_eq!(complaints.len(), 2, "{complaints:#?}");
    assert!(complaints[0].starts_with("frame 2 ") && complaints[1].starts_with("frame 3 "));
}

#[test]
fn the_inner_packet_may_be_ipv6_and_its_length_is_checked() {
    let mut inner = Vec::new();
    etherparse::PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .tcp(5000, 80, 1, 1000)
        .write(&mut inner, &[7; 100])
        .expect("inner");
    let ipv4 = g_pdu(7, 1, 132);
    let at = ipv4.len() - inner.len();
    let frame = [&ipv4[..at], &inner].concat();
    let mut headers = Headers::default();
    look(&mut headers, &frame);
    assert_eq!((headers.frames, headers.wrong), (1, 0), "{headers:?}");
    let mut wrong = frame;
    wrong[at + 5] += 1;
    look(&mut headers, &wrong);
    assert_eq!(headers.wrong, 1, "{headers:?}");
}
