//! Scripts for the packet path: see `targets::packet_path` for what a step's kind means.

use super::Entry;
use super::frames::{self, DOWN, SERVER, UP, from_dn, from_gnb};
use super::write::{self, Do, ipv4, udp};

const N3: u8 = 0;
const N6: u8 = 1;
const TXN: u8 = 2;
const TABLES: u8 = 3;
const TRANSMIT: u8 = 5;
const RECEIVE: u8 = 6;
const WAIT: u8 = 7;
/// Two octets for each shard (or queue, with 0x80) and who is to have it.
const MOVE: u8 = 7;
const TOGETHER: u8 = 8;

/// The shards of the first sessions to one worker or the other, and now and then a queue.
const MOVES: [&[u8]; 4] = [
    &[0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1],
    &[0, 2, 1, 2, 2, 2, 3, 2, 1, 0x81],
    &[0, 0, 1, 0, 2, 1, 3, 2, 0, 0x82],
    &[0, 1, 1, 2, 0, 0x80, 1, 0x80],
];

/// The TEID of a slot in the rig.
const fn teid(slot: u32) -> u32 {
    1 << 31 | 5 << 12 | slot
}

pub(super) fn scripts() -> Vec<Entry> {
    let up = ipv4(17, UP, 0, &udp(4000, 80, b"hello"));
    let down = ipv4(17, DOWN, 0, &udp(80, 4000, b"world"));
    let uplink = from_gnb(teid(UE_SLOT), 9, &up);
    let downlink = from_dn(&down);
    let mut all = vec![
        script(
            "uplink_and_downlink",
            0,
            &[(N3, 0, &uplink), (N6, 0, &downlink)],
        ),
        script("three_workers", 2, &[(N3, 0, &uplink), (N6, 0, &downlink)]),
        moving(&uplink, &downlink),
        script(
            "narrow_ports_and_few_buffers",
            0x0c,
            &vec![(N3 | TOGETHER, 0, &uplink[..]); 40],
        ),
        script(
            "nobody_answered_arp",
            0xf0,
            &[
                (N3, 0, &uplink),
                (N6, 0, &downlink),
                (TABLES, 0, &[0]),
                (WAIT, 1, &[]),
                (TABLES, 0, &[0xff]),
                (N3, 0, &uplink),
                (WAIT, 4, &[]),
            ],
        ),
        script(
            "gate_rate_and_deletion",
            0,
            &[
                (N3, 0, &uplink),
                (TXN, 0, &[0, 1, 0, 0x49, 0, 0, 0]),
                (N3, 0, &uplink),
                (TXN, 0, &[0, 1, 0, 0x41, 9, 0, 0x55]),
                (N3, 0, &uplink),
                (N3, 0, &uplink),
                (TXN, 0, &[0, 0, 0, 0, 0, 0, 0]),
                (TXN, 0, &[0, 5, 0, 0, 0, 0, 0]),
                (N3, 0, &uplink),
            ],
        ),
        script(
            "handover_with_end_marker",
            0,
            &[
                (N6, 0, &downlink),
                (TXN, 0, &[1, 0, 9, 1, 1, 0x15, 7, 0, 0]),
                (N6, 0, &downlink),
            ],
        ),
        script(
            "control_core_sends",
            0,
            &[
                (TRANSMIT, 0, &[1, 2, 3]),
                (RECEIVE, 0, &downlink),
                (TRANSMIT | TOGETHER, 0, &[0; 60]),
                (N6, 0, &downlink),
            ],
        ),
    ];
    all.extend(of_other_sessions(&up));
    all.extend(fragments(&uplink));
    all.extend(every_frame());
    all
}

/// Packets of both directions, while shards and receive queues go from worker to worker.
fn moving(uplink: &[u8], downlink: &[u8]) -> Entry {
    let steps: Vec<Do<'_>> = (0..24)
        .flat_map(|n| {
            let together = if n % 3 == 0 { 0 } else { TOGETHER };
            [
                (N3 | TOGETHER, 0, uplink),
                (N6 | TOGETHER, 0, downlink),
                (MOVE | together, 0, MOVES[n % 4]),
            ]
        })
        .collect();
    script("shards_and_queues_move_meanwhile", 2, &steps)
}

/// The shard of the UE's address.
const UE_SLOT: u32 = 0x007;

fn of_other_sessions(up: &[u8]) -> Vec<Entry> {
    let blocks = ipv4(17, ([10, 45, 0, 9], SERVER), 0, &udp(1, 2, b"x"));
    let foreign = ipv4(17, ([192, 168, 0, 9], SERVER), 0, &udp(1, 2, b"x"));
    let to_foreign = from_dn(&ipv4(17, (SERVER, [192, 168, 0, 9]), 0, &udp(1, 2, b"x")));
    let policed = from_gnb(teid(0x009), 9, &blocks);
    let other = from_gnb(teid(0x009), 5, &blocks);
    let far = ipv4(17, ([10, 45, 0, 7], [203, 0, 113, 9]), 0, &udp(1, 2, b"x"));
    let stranger = ipv4(
        17,
        ([10, 45, 0, 7], [198, 51, 100, 99]),
        0,
        &udp(1, 2, b"x"),
    );
    vec![
        script(
            "rules_in_blocks",
            1,
            &[
                (N3, 0, &policed),
                (N3, 0, &other),
                (TXN, 0, &[0, 4, 0, 0, 9, 1, 0]),
                (N3, 0, &other),
                (TXN, 0, &[0, 2, 0, 0x41, 1, 0, 0, 3, 0, 0, 1, 0, 0]),
                (N3, 0, &policed),
            ],
        ),
        script(
            "relay_to_another_upf",
            0,
            &[(N3, 0, &from_gnb(teid(20), 9, up))],
        ),
        script(
            "foreign_identifiers",
            0x80,
            &[(N3, 0, &from_gnb(0x777, 9, &foreign)), (N6, 0, &to_foreign)],
        ),
        script(
            "unknown_teid",
            0,
            &[
                (N3, 0, &from_gnb(teid(8), 9, up)),
                (N3, 0, &from_gnb(9, 9, up)),
            ],
        ),
        script(
            "routed_and_held",
            0,
            &[
                (N3, 0, &from_gnb(teid(UE_SLOT), 9, &far)),
                (N3, 0, &from_gnb(teid(UE_SLOT), 9, &stranger)),
                (TXN, 0, &[0, 5, 0, 0, 0, 0, 0]),
                (WAIT, 4, &[]),
            ],
        ),
    ]
}

/// Outer fragments in and out of order, and inner packets that must be cut.
fn fragments(uplink: &[u8]) -> Vec<Entry> {
    let outer = &uplink[14 + 20..];
    let (first, second) = outer.split_at(40);
    let piece = |offset: u16, payload: &[u8]| {
        let packet = ipv4(17, (frames::GNB, frames::UPF), offset, payload);
        [&uplink[..14], &packet].concat()
    };
    let (first, second) = (piece(0x2000, first), piece(5, second));
    let large = from_dn(&ipv4(17, DOWN, 0, &udp(1, 2, &[7; 1460])));
    let whole = from_dn(&ipv4(17, DOWN, 0x4000, &udp(1, 2, &[7; 1460])));
    vec![
        script("fragments", 0, &[(N3, 0, &first), (N3, 0, &second)]),
        script(
            "fragments_reversed",
            2,
            &[(N3 | TOGETHER, 0, &second), (N3, 0, &first)],
        ),
        script(
            "fragments_overlap",
            0,
            &[(N3, 0, &first), (N3, 0, &first), (N3, 0, &second)],
        ),
        script("fragment_missing", 0, &[(N3, 0, &second), (WAIT, 2, &[])]),
        script("cut_for_the_tunnel", 0, &[(N6, 0, &large), (N6, 0, &whole)]),
        script(
            "cut_and_held",
            0x10,
            &[(N6, 0, &large), (TABLES, 0, &[0]), (WAIT, 1, &[])],
        ),
    ]
}

/// Every sample frame to both ports.
fn every_frame() -> Vec<Entry> {
    let all = frames::frames();
    let both = |e: &Entry| script(&e.name, 0, &[(N3, 0, &e.bytes), (N6, 0, &e.bytes)]);
    all.iter().map(both).collect()
}

/// A script behind the octet that shapes the rig.
fn script(name: &str, shape: u8, all: &[Do<'_>]) -> Entry {
    let mut entry = write::script(name, all);
    entry.bytes.insert(0, shape);
    entry
}
