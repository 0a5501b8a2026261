//! Scripts of SCTP: chunks of each type in an association, and what a kernel says beside a message.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sluice_sctp::kernel::message::{Place, to_addresses, to_place};

use super::Entry;
use crate::script::{Step, push};
use crate::targets::sctp::{
    ANCILLARY, CHUNKS_TO_CLIENT, CHUNKS_TO_SERVER, DATA, DATAGRAM, NAME, NOTIFICATION,
    OTHER_ADDRESS,
};

/// Types of chunks (RFC 9260, 3.2; RFC 5061, RFC 3758, RFC 4895, RFC 6525).
const TYPES: &[(&str, u8)] = &[
    ("data", 0),
    ("init", 1),
    ("init_ack", 2),
    ("sack", 3),
    ("heartbeat", 4),
    ("heartbeat_ack", 5),
    ("abort", 6),
    ("shutdown", 7),
    ("shutdown_ack", 8),
    ("error", 9),
    ("cookie_echo", 10),
    ("cookie_ack", 11),
    ("shutdown_complete", 14),
    ("auth", 15),
    ("asconf_ack", 128),
    ("reconfig", 130),
    ("forward_tsn", 192),
    ("asconf", 193),
];

fn script(steps: &[(u8, &[u8])]) -> Vec<u8> {
    let mut octets = Vec::new();
    for (kind, bytes) in steps {
        let step = Step {
            kind: *kind,
            wait: 0,
            bytes,
        };
        push(&mut octets, step);
    }
    octets
}

/// A chunk of 20 octets whose values count up.
fn chunk(kind: u8) -> Vec<u8> {
    [
        &[kind, 3, 0, 20][..],
        &std::array::from_fn::<u8, 16, _>(|at| at as u8),
    ]
    .concat()
}

/// Samples.
pub(super) fn scripts() -> Vec<Entry> {
    let of_type = |(name, kind): &(&str, u8)| {
        let (one, two) = (chunk(*kind), chunk(*kind));
        let steps: [(u8, &[u8]); 3] = [
            (CHUNKS_TO_SERVER, &one),
            (CHUNKS_TO_CLIENT, &two),
            (CHUNKS_TO_SERVER, &DATA),
        ];
        Entry::new(name, script(&steps))
    };
    let mut entries: Vec<Entry> = TYPES.iter().map(of_type).collect();
    let place = Place {
        number: 7,
        stream: 3,
        ppid: 60,
    };
    let ancillary = to_place(place, 0);
    let name = to_addresses(&[SocketAddr::new(
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        38_412,
    )]);
    let mut notification = [0; 24];
    notification[..2].copy_from_slice(&0x8001u16.to_ne_bytes());
    notification[16] = 9;
    let steps: [(u8, &[u8]); 3] = [
        (ANCILLARY, &ancillary),
        (NOTIFICATION, &notification),
        (NAME, &name),
    ];
    entries.push(Entry::new("what_a_kernel_says", script(&steps)));
    let datagram = [&[0; 12][..], &chunk(1)].concat();
    let steps: [(u8, &[u8]); 3] = [
        (DATAGRAM, &datagram),
        (OTHER_ADDRESS, &datagram),
        (7, &[1; 20]),
    ];
    entries.push(Entry::new("datagrams", script(&steps)));
    entries
}
