//! tshark reads every ICMPv6 message that we can write, complains about none, and agrees on every
//! field.

// Functions outside `#[test]` too fail the test by it.
#![allow(clippy::unwrap_used)]

use crate::common::check;
use core::net::Ipv6Addr;
use sluice_wire::eth::MacAddr;
use sluice_wire::icmpv6::*;
use sluice_wire::ipv6::{ALL_NODES, ALL_ROUTERS, Ipv6Header, Protocol, link_local_of};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn global(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)
}

/// The packet of what `write` writes between two addresses.
fn packet(
    (source, destination): (Ipv6Addr, Ipv6Addr),
    write: impl Fn(&mut [u8]) -> Option<usize>,
) -> Vec<u8> {
    let mut out = [0; 1500];
    let len = write(&mut out).unwrap();
    let header = Ipv6Header {
        hop_limit: ON_LINK_HOP_LIMIT,
        ..Ipv6Header::new(Protocol::ICMPV6, source, destination)
    };
    [&header.to_bytes(len).unwrap()[..], &out[..len]].concat()
}

fn echo(kind: EchoKind) -> Vec<u8> {
    let ends = (global(1), global(2));
    let echo = Echo {
        identifier: 0x1234,
        sequence: 5,
        data: b"data",
    };
    packet(ends, |out| write_echo(out, ends.0, ends.1, kind, &echo))
}

/// The status of a checksum is 1 if it is right; that in a quoted packet is not looked at, 2.
#[test]
fn echoes_and_errors_read_as_they_were_meant() {
    let original = echo(EchoKind::Request);
    let ends = (global(3), global(1));
    let error = |error| {
        packet(ends, |out| {
            write_error(out, ends.0, ends.1, error, &original)
        })
    };
    let fields = "icmpv6.type icmpv6.code icmpv6.checksum.status icmpv6.mtu icmpv6.echo.identifier";
    let cases = [
        (echo(EchoKind::Request), "128 0 1 - 0x1234"),
        (echo(EchoKind::Reply), "129 0 1 - 0x1234"),
        (error(ErrorMessage::NoRoute), "1,128 0,0 1,2 - 0x1234"),
        (
            error(ErrorMessage::AddressUnreachable),
            "1,128 3,0 1,2 - 0x1234",
        ),
        (
            error(ErrorMessage::PortUnreachable),
            "1,128 4,0 1,2 - 0x1234",
        ),
        (
            error(ErrorMessage::PacketTooBig { mtu: 1400 }),
            "2,128 0,0 1,2 1400 0x1234",
        ),
        (
            error(ErrorMessage::HopLimitExceeded),
            "3,128 0,0 1,2 - 0x1234",
        ),
    ];
    check("icmpv6", fields, &cases);
}

#[test]
fn neighbour_discovery_reads_as_it_was_meant() {
    let link_local = link_local_of(MAC);
    let group = sluice_wire::ipv6::solicited_node(global(9));
    let solicitation = NeighbourSolicitation {
        target: global(9),
        source_mac: Some(MAC),
    };
    let asked = packet((link_local, group), |out| {
        solicitation.write(out, link_local, group)
    });
    let advertisement = solicitation.reply_from(link_local, MAC, false);
    let answered = packet((global(9), link_local), |out| {
        advertisement.write(out, global(9), link_local)
    });
    let sought = packet((link_local, ALL_ROUTERS), |out| {
        RouterSolicitation { source_mac: None }.write(out, link_local, ALL_ROUTERS)
    });
    let fields = "icmpv6.type icmpv6.checksum.status icmpv6.nd.ns.target_address \
        icmpv6.nd.na.target_address icmpv6.nd.na.flag icmpv6.opt.linkaddr";
    let cases = [
        (asked, "135 1 2001:db8::9 - - 02:00:00:00:00:01"),
        (answered, "136 1 - 2001:db8::9 0xe0000000 02:00:00:00:00:01"),
        (sought, "133 1 - - - -"),
    ];
    check("nd", fields, &cases);
}

#[test]
fn a_router_advertisement_reads_as_it_was_meant() {
    let link_local = link_local_of(MAC);
    let advertisement = RouterAdvertisement {
        hop_limit: 64,
        managed: false,
        other: false,
        router_lifetime_s: 9000,
        reachable_time_ms: 0,
        retrans_timer_ms: 0,
        source_mac: None,
        prefix: Some(PrefixInformation {
            prefix: 0x2001_0db8_0001_0002,
            on_link: false,
            autonomous: true,
            valid_lifetime_s: u32::MAX,
            preferred_lifetime_s: 3600,
        }),
        mtu: Some(1400),
        rdnss: &[global(53), global(54)],
        rdnss_lifetime_s: 7200,
    };
    let whole = packet((link_local, ALL_NODES), |out| {
        advertisement.write(out, link_local, ALL_NODES)
    });
    let fields = "icmpv6.type icmpv6.checksum.status icmpv6.nd.ra.cur_hop_limit \
        icmpv6.nd.ra.router_lifetime icmpv6.opt.prefix icmpv6.opt.prefix.length \
        icmpv6.opt.prefix.flag icmpv6.opt.prefix.preferred_lifetime icmpv6.opt.mtu icmpv6.opt.rdnss \
        icmpv6.opt.rdnss.lifetime";
    let expected = "134 1 64 9000 2001:db8:1:2:: 64 0x40 3600 1400 2001:db8::35,2001:db8::36 7200";
    check("ra", fields, &[(whole, expected)]);
}
