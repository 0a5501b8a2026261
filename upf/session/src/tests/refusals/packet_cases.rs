//! Further cases: UE addresses and SDF filters of PDIs.

use super::super::bench::*;
use super::cases::{Case, RULE, Request, pdr};
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

fn downlink_ue(request: &mut Request, address: UeIpAddress) {
    request.create_pdr[1].pdi.ue_ip_address[0] = address;
}

fn every_ue(request: &mut Request, address: UeIpAddress) {
    for pdr in &mut request.create_pdr {
        pdr.pdi.ue_ip_address[0] = address;
    }
}

const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 7, 0, 0, 0, 0);

fn both() -> UeIpAddress {
    UeIpAddress {
        ipv4: Some(UE),
        ..UeIpAddress::v6(PREFIX, true)
    }
}

const fn refused(what: &'static str, spoil: fn(&mut Request), at: u16) -> Case {
    Case(what, spoil, RULE, Some(IeType::UE_IP_ADDRESS), pdr(at))
}

pub const ADDRESSES: &[Case] = &[
    refused(
        "a UE at loopback",
        |r| downlink_ue(r, UeIpAddress::v6(Ipv6Addr::LOCALHOST, true)),
        2,
    ),
    refused(
        "a UE at IPv4 loopback",
        |r| every_ue(r, UeIpAddress::v4(Ipv4Addr::LOCALHOST, true)),
        1,
    ),
    refused(
        "a UE at everybody's address",
        |r| every_ue(r, UeIpAddress::v4(Ipv4Addr::BROADCAST, true)),
        1,
    ),
    refused(
        "a link-local UE",
        |r| every_ue(r, UeIpAddress::v4(Ipv4Addr::new(169, 254, 0, 9), true)),
        1,
    ),
    refused(
        "a link-local prefix",
        |r| {
            let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
            every_ue(r, UeIpAddress::v6(address, true));
        },
        1,
    ),
    refused(
        "a group's prefix",
        |r| {
            let address = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 9);
            every_ue(r, UeIpAddress::v6(address, true));
        },
        1,
    ),
    refused(
        "an IPv4-mapped address",
        |r| every_ue(r, UeIpAddress::v6(UE.to_ipv6_mapped(), true)),
        1,
    ),
    refused(
        "a UE address to be chosen here",
        |r| {
            let address = UeIpAddress {
                choose_ipv4: true,
                ..Default::default()
            };
            downlink_ue(r, address);
        },
        2,
    ),
    refused(
        "a UE prefix to be chosen here",
        |r| {
            let address = UeIpAddress {
                choose_ipv6: true,
                ..UeIpAddress::v4(UE, true)
            };
            downlink_ue(r, address);
        },
        2,
    ),
    refused(
        "two UE addresses",
        |r| downlink_ue(r, UeIpAddress::v4(Ipv4Addr::new(10, 45, 0, 8), true)),
        2,
    ),
    refused(
        "two UE prefixes",
        |r| {
            every_ue(r, both());
            let other = Ipv6Addr::new(0x2001, 0xdb8, 7, 8, 0, 0, 0, 0);
            r.create_pdr[1].pdi.ue_ip_address[0].ipv6 = Some(other);
        },
        2,
    ),
    refused(
        "two UE IP Addresses in one PDI",
        |r| {
            let second = UeIpAddress::v6(PREFIX, true);
            r.create_pdr[1].pdi.ue_ip_address.push(second);
        },
        2,
    ),
    refused(
        "all of IPv6, to be delegated",
        |r| {
            let address = UeIpAddress {
                ipv6_prefix_delegation_bits: Some(64),
                ..both()
            };
            every_ue(r, address);
        },
        1,
    ),
    refused(
        "a whole IPv6 address",
        |r| {
            let address = UeIpAddress {
                ipv6_prefix_length: Some(128),
                ..both()
            };
            every_ue(r, address);
        },
        1,
    ),
];

fn filter(request: &mut Request, filter: SdfFilter<'static>) {
    request.create_pdr[1].pdi.sdf_filter.push(filter);
}

fn text(request: &mut Request, text: &'static str) {
    filter(request, SdfFilter::flow(text.as_bytes()));
}

const fn bad(what: &'static str, spoil: fn(&mut Request)) -> Case {
    Case(what, spoil, RULE, Some(IeType::SDF_FILTER), pdr(2))
}

pub const FILTERS: &[Case] = &[
    bad("what is not permitted", |r| {
        text(r, "deny out ip from any to any")
    }),
    bad("a filter for one direction", |r| {
        text(r, "permit in ip from any to any")
    }),
    bad("all but an address", |r| {
        text(r, "permit out ip from !192.0.2.1 to assigned")
    }),
    bad("an option", |r| {
        text(r, "permit out 6 from any to assigned established")
    }),
    bad("half a filter", |r| text(r, "permit out ip from any")),
    bad("no text", |r| text(r, "")),
    bad("a protocol by name", |r| {
        text(r, "permit out udp from any to assigned")
    }),
    bad("two families", |r| {
        text(r, "permit out ip from 192.0.2.1 to 2001:db8::1")
    }),
    bad("no characters", |r| filter(r, SdfFilter::flow(&[0xff]))),
    bad("an ID that nothing has", |r| {
        let id_alone = SdfFilter {
            sdf_filter_id: Some(1),
            ..Default::default()
        };
        filter(r, id_alone);
    }),
    Case(
        "more flow filters than a PDR has",
        |r| {
            text(
                r,
                "permit out 6 from any 1,3,5,7,9,11,13,15 to assigned 1,3,5,7,9,11,13,15",
            )
        },
        Cause::NO_RESOURCES_AVAILABLE,
        Some(IeType::SDF_FILTER),
        pdr(2),
    ),
];
