//! Scripts for the control core: see `targets::control_core` for what a step's kind means.

use super::Entry;
use super::frames::{self, DN_MAC, DOWN, GNB, GNB_MAC, N3_MAC, N6, SERVER, UP, UPF, arp, from_dn};
use super::gtpu;
use super::write::{Do, ethernet, icmp, ipv4, script, udp};

const N3_FRAME: u8 = 0;
const N6_FRAME: u8 = 1;
const RESOLVE_HOP: u8 = 2;
const RESOLVE_ON_LINK: u8 = 3;
const UNKNOWN_TEID: u8 = 4;
const TTL_EXCEEDED: u8 = 5;
const TOO_BIG: u8 = 6;
const TICK: u8 = 7;
const HOLD_PEER: u8 = 8;
const RELEASE_PEER: u8 = 9;
const RAW: u8 = 11;

pub(super) fn scripts() -> Vec<Entry> {
    let mut all = neighbours();
    all.push(stale_numbers());
    all.extend(notices());
    all.extend(every_frame());
    all.extend(every_message());
    all
}

/// The gNB's frames come in on VLAN 30 here.
fn from_gnb(kind: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(N3_MAC, GNB_MAC, 30, kind, payload)
}

fn gnb_answers() -> Vec<u8> {
    from_gnb(0x0806, &arp(2, GNB_MAC, GNB, UPF))
}

fn neighbours() -> Vec<Entry> {
    let asks = ethernet([0xff; 6], GNB_MAC, 30, 0x0806, &arp(1, GNB_MAC, GNB, UPF));
    let for_ue = ethernet(
        [0xff; 6],
        DN_MAC,
        0,
        0x0806,
        &arp(1, DN_MAC, SERVER, [10, 45, 0, 7]),
    );
    let server = ethernet(
        frames::N6_MAC,
        DN_MAC,
        0,
        0x0806,
        &arp(2, DN_MAC, SERVER, N6),
    );
    let on_link = [1, 0, 0, 80];
    let far = [100, 64, 0, 1];
    vec![
        script(
            "arp_request_answered",
            &[(N3_FRAME, 0, &asks), (TICK, 31, &[]), (TICK, 2, &[])],
        ),
        script("arp_for_a_ue_answered", &[(N6_FRAME, 0, &for_ue)]),
        script(
            "station_found",
            &[
                (RESOLVE_ON_LINK, 0, &on_link),
                (TICK, 1, &[]),
                (N6_FRAME, 0, &server),
                (TICK, 31, &[]),
            ],
        ),
        script(
            "station_silent",
            &[
                (RESOLVE_ON_LINK, 0, &on_link),
                (TICK, 1, &[]),
                (TICK, 1, &[]),
                (TICK, 1, &[]),
                (RESOLVE_ON_LINK, 0, &on_link),
                (TICK, 1, &[]),
            ],
        ),
        script(
            "gateway_wanted",
            &[
                (RESOLVE_HOP, 0, &[0; 4]),
                (RESOLVE_HOP, 0, &[0, 0, 0, 1]),
                (TICK, 2, &[]),
            ],
        ),
        script(
            "peers_come_and_go",
            &[
                (HOLD_PEER, 0, &GNB),
                (HOLD_PEER, 0, &GNB),
                (HOLD_PEER, 0, &far),
                (RELEASE_PEER, 0, &[0]),
                (RELEASE_PEER, 0, &[0]),
                (HOLD_PEER, 0, &[192, 0, 2, 60]),
                (TICK, 4, &[]),
            ],
        ),
    ]
}

/// Workers look at the tables a moment longer than the station lives: they ask for its number.
fn stale_numbers() -> Entry {
    let (one, two, three) = ([1, 0, 0, 80], [1, 0, 0, 81], [1, 0, 0, 82]);
    let mut all: Vec<Do<'_>> = vec![(RESOLVE_ON_LINK, 0, &one)];
    all.extend([(TICK, 1, &[][..]); 4]);
    // The two gateways and the static neighbour have the numbers before.
    all.push((RESOLVE_HOP, 0, &[0, 0, 0, 3]));
    all.extend([(TICK, 1, &[][..]); 4]);
    all.push((RESOLVE_ON_LINK, 0, &two));
    all.push((RESOLVE_ON_LINK, 0, &three));
    script("station_wanted_by_the_number_that_it_had", &all)
}

fn notices() -> Vec<Entry> {
    let up = ipv4(17, UP, 0, &udp(1, 2, &[7; 40]));
    let down = ipv4(17, DOWN, 0, &udp(1, 2, &[7; 40]));
    let error = ipv4(1, UP, 0, &icmp(3, 3, [0; 4], &down));
    let unknown = [&[0; 4][..], &GNB, &[0, 0, 0x12, 0x34]].concat();
    let too_big = [&[5, 0xb0][..], &down].concat();
    let gateway = [198, 51, 100, 254];
    let answer = ethernet(
        frames::N6_MAC,
        DN_MAC,
        0,
        0x0806,
        &arp(2, DN_MAC, gateway, N6),
    );
    vec![
        script(
            "unknown_teid_indicated",
            &[
                (UNKNOWN_TEID, 0, &unknown),
                (N3_FRAME, 0, &gnb_answers()),
                (UNKNOWN_TEID, 0, &unknown),
                (UNKNOWN_TEID, 0, &unknown),
            ],
        ),
        script(
            "ttl_exceeded_to_a_ue",
            &[(TTL_EXCEEDED, 0, &up), (TTL_EXCEEDED, 0, &error)],
        ),
        script(
            "too_big_to_a_server",
            &[
                (TOO_BIG, 0, &too_big),
                (N6_FRAME, 0, &answer),
                (TOO_BIG, 0, &too_big),
            ],
        ),
    ]
}

/// Every sample frame at both ports and past the path.
fn every_frame() -> Vec<Entry> {
    let around = |e: &Entry| {
        let raw = [&[0][..], &e.bytes].concat();
        let mut tagged = e.bytes.clone();
        tagged.splice(12..12, [0x81, 0, 0, 30]);
        script(
            &e.name,
            &[
                (N3_FRAME, 0, &tagged),
                (N6_FRAME, 0, &e.bytes),
                (RAW, 0, &raw),
            ],
        )
    };
    let mut all: Vec<_> = frames::frames().iter().map(around).collect();
    let unserved = from_dn(&ipv4(17, (SERVER, N6), 0, &udp(1, 9, b"discard")));
    let unknown = from_dn(&ipv4(47, (SERVER, N6), 0, &[0; 8]));
    all.push(script("port_unreachable", &[(N6_FRAME, 0, &unserved)]));
    all.push(script("protocol_unreachable", &[(N6_FRAME, 0, &unknown)]));
    all
}

/// Every sample GTP-U message from the gNB.
fn every_message() -> Vec<Entry> {
    let around = |e: &Entry| {
        let frame = from_gnb(0x0800, &ipv4(17, (GNB, UPF), 0, &udp(2152, 2152, &e.bytes)));
        script(&format!("gtpu_{}", e.name), &[(N3_FRAME, 0, &frame)])
    };
    gtpu::messages().iter().map(around).collect()
}
