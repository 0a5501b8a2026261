//! Section `nat`: what is accepted, what becomes of it, what is refused.

use super::refused::refusal;
use super::{SHORT, accepted};
use core::net::Ipv4Addr;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::Filtering;

/// The short file with translation.
fn with(keys: &str) -> String {
    format!("{SHORT}nat: {{network_instance: internet, addresses: 192.0.2.128/30{keys}}}\n")
}

#[test]
fn pools_are_numbered_beside_their_network_instance() {
    let config = accepted(&with(", blocks_per_ue: 2, filtering: address_dependent")).config;
    let layout = config.layout().unwrap();
    let pool = layout.nat().inside(InstanceId(0)).unwrap();
    assert_eq!((pool.outside, pool.addresses()), (InstanceId(255), 4));
    assert_eq!((pool.block_ports, pool.blocks_per_ue), (256, 2));
    assert_eq!(
        (pool.filtering, pool.hairpins),
        (Filtering::AddressDependent, true)
    );
    assert_eq!(
        (pool.timeouts.udp_s, pool.timeouts.tcp_established_s),
        (300, 7440)
    );
    let last = u32::from(Ipv4Addr::new(192, 0, 2, 131));
    assert!(layout.nat().number(InstanceId(0), last, 65_535).is_some());
    assert!(accepted(SHORT).config.layout().unwrap().nat().is_empty());
}

#[test]
fn what_cannot_be_translated_is_refused_with_line_and_key() {
    for (keys, message) in [
        (
            ", block_ports: 100",
            "nat.block_ports: got '100'; expected 64 or 128 or 256 or 512 or 1024",
        ),
        (
            ", first_port: 1025",
            "nat.first_port: got '1025'; expected an even port from 1024 to 64512",
        ),
        (
            ", udp_timeout_s: 60",
            "nat.udp_timeout_s: got '60'; expected a whole number of seconds from 120 to 86400",
        ),
        (
            ", blocks_per_ue: 17",
            "nat[0].blocks_per_ue: 17 blocks of 256 ports for a UE; expected at most 4096 ports",
        ),
        (
            ", filtering: none",
            "nat.filtering: got 'none'; expected endpoint_independent or address_dependent",
        ),
    ] {
        assert_eq!(
            refusal(&with(keys)),
            format!("upf.yaml:11: {message}"),
            "{keys}"
        );
    }
    let of = |section: &str| refusal(&format!("{SHORT}nat:\n{section}\n"));
    for (section, message) in [
        (
            "  - {network_instance: intranet, addresses: 192.0.2.128/30}",
            "upf.yaml:12: nat[0].network_instance: no n6 serves 'intranet'; expected one of internet",
        ),
        (
            "  - {network_instance: internet, addresses: 203.0.113.0/24}",
            "upf.yaml:12: nat[0].addresses[0]: 203.0.113.0/24 contains 203.0.113.2 (line 7); \
             expected addresses that no interface has\n\
             upf.yaml:12: nat[0].addresses[0]: 203.0.113.0/24 contains the gateway 203.0.113.1 (line 7); \
             expected addresses of no station",
        ),
        (
            "  - {network_instance: internet, addresses: [10.45.7.0/24]}",
            "upf.yaml:12: nat[0].addresses[0]: 10.45.7.0/24 shares addresses with the pool 10.45.0.0/16 \
             (line 10); expected addresses that no UE has",
        ),
        (
            "  - {network_instance: internet, addresses: [192.0.2.128/30, 192.0.2.131]}",
            "upf.yaml:12: nat[0].addresses[1]: 192.0.2.131/32 shares addresses with 192.0.2.128/30 \
             (line 12); expected each public address once",
        ),
        (
            "  - {network_instance: internet, addresses: 198.18.0.0/15}",
            "upf.yaml:12: nat[0].addresses[0]: 131072 public addresses up to here; expected at most 4096",
        ),
        (
            "  - {network_instance: internet, addresses: 192.0.2.128}\n  \
               - {network_instance: Internet, addresses: 192.0.2.129}",
            "upf.yaml:13: nat[1].network_instance: 'Internet' is translated in line 12; \
             expected each network instance once",
        ),
    ] {
        assert_eq!(of(section), message, "{section}");
    }
}
