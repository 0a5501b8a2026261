//! GTP-U messages of every kind (TS 29.281, 7).

use super::Entry;
use super::write::{gtpu, ipv4, udp, uplink};

const INNER: ([u8; 4], [u8; 4]) = ([10, 45, 0, 7], [198, 51, 100, 80]);

pub(super) fn messages() -> Vec<Entry> {
    let inner = ipv4(17, INNER, 0, &udp(4000, 80, b"hello"));
    let mut all = signalling();
    let mut add = |name, bytes| all.push(Entry::new(name, bytes));
    add("g_pdu_plain", gtpu(0x30, 255, 0x8000_5001, &inner));
    add("g_pdu_usual", uplink(0x8000_5001, 9, &inner));
    add(
        "g_pdu_sequence",
        gtpu(0x32, 255, 7, &[&[0x12, 0x34, 0, 0][..], &inner].concat()),
    );
    add(
        "g_pdu_n_pdu",
        gtpu(0x31, 255, 7, &[&[0, 0, 5, 0][..], &inner].concat()),
    );
    add("g_pdu_empty", gtpu(0x30, 255, 7, &[]));
    add("g_pdu_teid_0", gtpu(0x30, 255, 0, &inner));
    let downlink = [0, 0, 0, 0x85, 2, 0x0e, 0xc9, 0xe0, 1, 2, 3, 0];
    add(
        "g_pdu_downlink_cut_container",
        gtpu(0x34, 255, 7, &downlink),
    );
    add(
        "g_pdu_downlink_all_fields",
        gtpu(0x34, 255, 7, &all_downlink(&inner)),
    );
    add(
        "g_pdu_uplink_all_fields",
        gtpu(0x34, 255, 7, &all_uplink(&inner)),
    );
    let chain = [
        0, 0, 0, 0x40, 1, 0x08, 0x68, 0x03, 1, 0xaa, 0xbb, 0x20, 1, 5, 0, 0x85, 1, 0x10, 9, 0,
    ];
    add(
        "g_pdu_extension_chain",
        gtpu(0x36, 255, 7, &[&chain[..], &inner].concat()),
    );
    let must = [0, 0, 0, 0xc9, 1, 0, 0, 0];
    add(
        "g_pdu_unknown_extension_must_be_comprehended",
        gtpu(0x34, 255, 7, &must),
    );
    add(
        "g_pdu_extension_length_0",
        gtpu(0x34, 255, 7, &[0, 0, 0, 0x85, 0, 0, 0, 0]),
    );
    add("end_marker", gtpu(0x30, 254, 7, &[]));
    add(
        "end_marker_container",
        gtpu(0x34, 254, 7, &[0, 0, 0, 0x85, 1, 0, 9, 0]),
    );
    all
}

fn signalling() -> Vec<Entry> {
    let sequence = [0x12, 0x34, 0, 0];
    let port = [0, 1, 0, 0x40, 1, 0x08, 0x68, 0];
    let teid = [16, 0, 0, 0, 77];
    let v4 = [133, 0, 4, 192, 0, 2, 50];
    let v6 = [&[133, 0, 16][..], &[0x20; 16]].concat();
    let private = [255, 0, 3, 0, 10, 1];
    let message = |kind, parts: &[&[u8]]| gtpu(0x32, kind, 0, &parts.concat());
    [
        ("echo_request", message(1, &[&sequence])),
        (
            "echo_request_private_extension",
            message(1, &[&sequence, &private]),
        ),
        ("echo_response", message(2, &[&sequence, &[14, 0]])),
        ("error_indication", message(26, &[&sequence, &teid, &v4])),
        (
            "error_indication_v6",
            message(26, &[&sequence, &teid, &v6, &private]),
        ),
        (
            "error_indication_udp_port",
            gtpu(0x36, 26, 0, &[&port[..], &teid, &v4].concat()),
        ),
        (
            "supported_extension_headers",
            message(31, &[&sequence, &[141, 2, 0x85, 0x40]]),
        ),
        (
            "tunnel_status",
            gtpu(0x32, 253, 7, &[&sequence[..], &[230, 0, 1, 1]].concat()),
        ),
        ("unknown_message", message(99, &[&sequence])),
        ("gtp_prime", gtpu(0x20, 1, 0, &sequence)),
    ]
    .map(|(name, bytes)| Entry::new(name, bytes))
    .into()
}

/// TS 38.415, figure 5.5.2.1-1: PPP, RQI, QMP, SNP, MSNP.
fn all_downlink(inner: &[u8]) -> Vec<u8> {
    let mut content = vec![0x0e, 0xc9, 0xe0];
    content.extend([1; 8]);
    content.extend([2; 3]);
    content.extend([3; 4]);
    extension(&content, inner)
}

/// TS 38.415, figure 5.5.2.2-1: QMP, both delays, SNP, N3/N9 delay, new IE flags, D1.
fn all_uplink(inner: &[u8]) -> Vec<u8> {
    let mut content = vec![0x1f, 0xc9];
    content.extend([1; 24]);
    content.extend([2; 8]);
    content.extend([3; 3]);
    content.extend([4; 4]);
    content.extend([1, 1]);
    extension(&content, inner)
}

/// Octets 9 to 12, one PDU Session Container, and the payload.
fn extension(content: &[u8], inner: &[u8]) -> Vec<u8> {
    let units = (content.len() + 2).div_ceil(4);
    let mut rest = vec![0, 0, 0, 0x85, units as u8];
    rest.extend(content);
    rest.resize(4 + units * 4 - 1, 0);
    rest.push(0);
    rest.extend(inner);
    rest
}
