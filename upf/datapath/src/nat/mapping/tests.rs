//! Mappings of a UE with two units, over time.

use super::*;
use sluice_mem::arena::Arena;
use sluice_mem::shard::{self, ShardCount};

const USER: EntryId = EntryId(5);
const SERVER: u32 = 0xc000_0201;
const TIMEOUTS: NatTimeouts = NatTimeouts {
    udp_s: 300,
    tcp_established_s: 7_440,
    tcp_transitory_s: 240,
    icmp_s: 60,
};

fn clock(now_s: u32) -> Clock<'static> {
    Clock {
        now_s,
        timeouts: &TIMEOUTS,
    }
}

fn remotes(len: usize) -> (Arena<NatRemotes>, Arena<u32>) {
    let numbers = Arena::new("nat-none", 1).unwrap();
    (Arena::new("nat-remotes", len).unwrap(), numbers)
}

/// Units 3 and 4 in chunks of the user's shard; 4 is the newer one.
fn owned(units: u32) -> NatOwned {
    let shards = ShardCount::DEFAULT.get();
    let users = Arena::new("nat-users", shards as usize).unwrap();
    let chunks = Arena::new("nat-chunks", 4 * shards as usize).unwrap();
    let remotes = remotes(4 * shards as usize);
    let mut owned: NatOwned = shard::create(users, chunks, remotes, ShardCount::DEFAULT);
    let mut older = 0;
    for unit in 0..units {
        let chunk = USER.0 + (unit + 1) * shards;
        let chunk_of = owned.ext_mut(chunk).unwrap();
        chunk_of.begin(USER, Unit(3 + unit), older);
        older = chunk;
    }
    *owned.entry_mut(USER.0).unwrap() = NatUser::new(0x0a2d_0007, 0, (older, Unit(2 + units)));
    owned
}

fn chunk_of(number: PublicPort) -> u32 {
    USER.0 + (number.unit().0 - 2) * ShardCount::DEFAULT.get()
}

fn ends(protocol: u8, own_port: u16, kind: Kind) -> Ends {
    Ends {
        protocol,
        own_address: 0x0a2d_0007,
        own_port,
        remote_address: SERVER,
        remote_port: 80,
        kind,
    }
}

fn udp(port: u16) -> Ends {
    ends(17, port, Kind::Datagram)
}

fn tcp(port: u16, flags: u8) -> Ends {
    ends(6, port, Kind::Segment(flags))
}

fn leaves(owned: &mut NatOwned, ends: &Ends, now_s: u32) -> Result<PublicPort, NoPort> {
    outbound(owned, USER, ends, clock(now_s)).map(|place| place.number)
}

/// A packet from outside to a public port.
fn comes(
    owned: &mut NatOwned,
    number: PublicPort,
    ends: &Ends,
    now_s: u32,
    filtered: bool,
) -> Inbound {
    let chunk = chunk_of(number);
    inbound(owned, (USER, chunk), number, ends, (clock(now_s), filtered))
}

#[test]
fn a_port_has_the_same_mapping_whomever_it_sends_to_and_another_protocol_another() {
    let mut owned = owned(2);
    let first = leaves(&mut owned, &udp(5000), 1).unwrap();
    // The newest unit, the low six bits.
    assert_eq!(first, PublicPort::at(Unit(4), 5000 % 64));
    let elsewhere = Ends {
        remote_address: 7,
        ..udp(5000)
    };
    assert_eq!(leaves(&mut owned, &elsewhere, 2), Ok(first));
    let of_tcp = leaves(&mut owned, &tcp(5000, TCP_SYN), 2).unwrap();
    assert_eq!(of_tcp.place(), first.place() + 2, "the next of its parity");
    assert_eq!(
        comes(&mut owned, first, &udp(80), 3, false),
        Inbound::To(0x0a2d_0007, 5000)
    );
    assert_eq!(
        comes(&mut owned, first, &tcp(80, TCP_ACK), 3, false),
        Inbound::Unmapped
    );
}

#[test]
fn all_ports_are_used_by_parity_and_the_bell_rings_once_a_second() {
    let mut owned = owned(2);
    let mut seen = std::collections::HashSet::new();
    for port in 0..128u16 {
        let number = leaves(&mut owned, &udp(2 * port), 1).unwrap();
        assert!(seen.insert(number.0));
        // 64 even places of both units first.
        assert_eq!(number.place() % 2 == 1, port >= 64, "{port}");
    }
    assert_eq!(leaves(&mut owned, &udp(9_001), 1), Err(NoPort::Full(true)));
    assert_eq!(leaves(&mut owned, &udp(9_001), 1), Err(NoPort::Full(false)));
    assert_eq!(leaves(&mut owned, &udp(9_001), 2), Err(NoPort::Full(true)));
    // Those that have one keep it.
    assert!(leaves(&mut owned, &udp(4), 2).is_ok());
    // All but that one end after 300 s.
    let number = leaves(&mut owned, &udp(9_004), 301).unwrap();
    assert!(seen.contains(&number.0));
    let kept = leaves(&mut owned, &udp(4), 301).unwrap();
    assert_ne!(kept, number);
}

#[test]
fn udp_lasts_from_the_last_packet_of_the_ue() {
    let mut owned = owned(1);
    let number = leaves(&mut owned, &udp(5000), 10).unwrap();
    let to = Inbound::To(0x0a2d_0007, 5000);
    assert_eq!(comes(&mut owned, number, &udp(80), 309, false), to);
    let came_too_late = comes(&mut owned, number, &udp(80), 310, false);
    assert_eq!(came_too_late, Inbound::Unmapped);
    let again = leaves(&mut owned, &udp(5000), 1_000).unwrap();
    assert_eq!(again, number, "it begins again at its place");
    let ping = ends(1, 77, Kind::Datagram);
    let number = leaves(&mut owned, &ping, 1_000).unwrap();
    assert_ne!(
        comes(&mut owned, number, &ping, 1_059, false),
        Inbound::Unmapped
    );
    assert_eq!(
        comes(&mut owned, number, &ping, 1_060, false),
        Inbound::Unmapped
    );
}

#[test]
fn tcp_lasts_while_a_connection_is_open() {
    let mut owned = owned(1);
    let number = leaves(&mut owned, &tcp(5000, TCP_SYN), 10).unwrap();
    let is_there = |owned: &mut NatOwned, now_s| {
        // An error about it changes nothing.
        comes(owned, number, &ends(6, 80, Kind::Error), now_s, false) != Inbound::Unmapped
    };
    assert!(is_there(&mut owned, 249) && !is_there(&mut owned, 250));
    let _ = leaves(&mut owned, &tcp(5000, TCP_SYN), 300);
    comes(&mut owned, number, &tcp(80, TCP_SYN | TCP_ACK), 301, false);
    assert!(is_there(&mut owned, 301 + 7_439) && !is_there(&mut owned, 301 + 7_440));
    // Packets of either direction keep an open connection.
    comes(&mut owned, number, &tcp(80, TCP_ACK), 400, false);
    assert!(is_there(&mut owned, 400 + 7_439));
    // Closed by both, it has 240 s more; what comes then does not lengthen it.
    let _ = leaves(&mut owned, &tcp(5000, TCP_FIN | TCP_ACK), 500);
    comes(&mut owned, number, &tcp(80, TCP_FIN | TCP_ACK), 501, false);
    comes(&mut owned, number, &tcp(80, TCP_ACK), 700, false);
    assert!(is_there(&mut owned, 740) && !is_there(&mut owned, 741));
}

#[test]
fn of_two_connections_the_open_one_decides() {
    let mut owned = owned(1);
    let other = |flags| Ends {
        remote_port: 443,
        ..tcp(5000, flags)
    };
    let number = leaves(&mut owned, &tcp(5000, TCP_SYN), 10).unwrap();
    comes(&mut owned, number, &tcp(80, TCP_SYN | TCP_ACK), 10, false);
    let _ = leaves(&mut owned, &other(TCP_SYN), 10);
    comes(&mut owned, number, &other(TCP_SYN | TCP_ACK), 10, false);
    comes(&mut owned, number, &other(TCP_RST), 20, false);
    let error = ends(6, 80, Kind::Error);
    assert_ne!(
        comes(&mut owned, number, &error, 1_000, false),
        Inbound::Unmapped
    );
    comes(&mut owned, number, &tcp(80, TCP_RST), 1_000, false);
    assert_eq!(
        comes(&mut owned, number, &error, 1_240, false),
        Inbound::Unmapped
    );
}

#[test]
fn strangers_are_filtered_by_address_and_the_oldest_of_five_is_forgotten() {
    let mut owned = owned(1);
    let with = |remote_address| Ends {
        remote_address,
        ..udp(5000)
    };
    let number = leaves(&mut owned, &with(1), 1).unwrap();
    assert_eq!(
        comes(&mut owned, number, &with(9), 1, true),
        Inbound::Filtered
    );
    assert_ne!(
        comes(&mut owned, number, &with(9), 1, false),
        Inbound::Filtered
    );
    assert_eq!(
        comes(&mut owned, number, &with(0), 1, true),
        Inbound::Filtered
    );
    for remote in 2..=5 {
        let _ = leaves(&mut owned, &with(remote), 1);
        assert_ne!(
            comes(&mut owned, number, &with(remote), 1, true),
            Inbound::Filtered
        );
    }
    assert_eq!(
        comes(&mut owned, number, &with(1), 1, true),
        Inbound::Filtered
    );
    assert_ne!(
        comes(&mut owned, number, &with(2), 1, true),
        Inbound::Filtered
    );
}

#[test]
fn a_unit_that_went_to_another_ue_is_nobodys_for_the_first() {
    let mut owned = owned(1);
    let number = leaves(&mut owned, &udp(5000), 1).unwrap();
    let chunk = chunk_of(number);
    let other = EntryId(USER.0 + ShardCount::DEFAULT.get());
    owned.ext_mut(chunk).unwrap().begin(other, number.unit(), 0);
    assert_eq!(
        comes(&mut owned, number, &udp(80), 1, false),
        Inbound::Unmapped
    );
    assert_eq!(leaves(&mut owned, &udp(5000), 1), Err(NoPort::Full(true)));
}

#[test]
fn an_error_of_a_ue_makes_no_mapping() {
    let mut owned = owned(1);
    let error = ends(17, 5000, Kind::Error);
    assert_eq!(leaves(&mut owned, &error, 1), Err(NoPort::Unmapped));
    let number = leaves(&mut owned, &udp(5000), 1).unwrap();
    assert_eq!(leaves(&mut owned, &error, 1), Ok(number));
}

#[test]
fn later_fragments_follow_the_first_of_four_packets() {
    let mut user = NatUser::new(1, 0, (9, Unit(1)));
    let name = |identification| (SERVER, identification, 17);
    for identification in 1..=5 {
        user.fragment_passed(name(identification), PublicPort(u32::from(identification)));
    }
    assert_eq!(user.fragment(name(1)), None);
    assert_eq!(user.fragment(name(5)), Some(PublicPort(5)));
    user.fragment_passed(name(5), PublicPort(50));
    assert_eq!(user.fragment(name(5)), Some(PublicPort(50)));
    assert_eq!(user.fragment(name(2)), Some(PublicPort(2)));
    assert_eq!(user.fragment((0, 0, 0)), None);
}
