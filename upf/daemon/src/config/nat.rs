//! Section `nat`: translation of addresses and ports (NAPT44) between UEs and a data network.

use super::fields::{At, Fields};
use super::ipv4::Prefix4;
use super::kind::{Kind, boolean, network_instance, number, prefix4, word};
use sluice_datapath::nat::pool::{Filtering, NatTimeouts};

/// A day: longer is not meant for what a UE may have left long ago.
const TIMEOUT_MAX_S: u32 = 86_400;

/// Translation in one network instance.
#[derive(Clone, PartialEq, Debug)]
pub struct Nat {
    /// The data network.
    pub network_instance: At<String>,
    /// Public addresses.
    pub addresses: Vec<At<Prefix4>>,
    /// The first port that is given.
    pub first_port: At<u16>,
    /// Ports of a block.
    pub block_ports: u16,
    /// Blocks that a UE may have.
    pub blocks_per_ue: At<u8>,
    /// Who may send to a mapping.
    pub filtering: Filtering,
    /// Packets of UEs to public addresses come back.
    pub hairpins: bool,
    /// How long mappings last.
    pub timeouts: NatTimeouts,
}

impl Nat {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let network_instance = fields.required("network_instance", &network_instance());
        let addresses = fields.required_list("addresses", &prefix4());
        let first_port = fields.or("first_port", "1024", &first_port());
        let block_ports = fields.or("block_ports", "256", &block_ports()).value;
        let blocks_per_ue = fields.or("blocks_per_ue", "4", &number(1, 64, "blocks"));
        let filtering = fields.or("filtering", "endpoint_independent", &filtering());
        let hairpins = fields.or("hairpinning", "true", &boolean()).value;
        // RFC 4787, REQ-5; RFC 5382, REQ-5; RFC 5508, REQ-2 have the least.
        let mut timeout = |key, default, least| {
            let kind = number(least, TIMEOUT_MAX_S, "seconds");
            fields.or(key, default, &kind).value
        };
        let timeouts = NatTimeouts {
            udp_s: timeout("udp_timeout_s", "300", 120),
            tcp_established_s: timeout("tcp_established_timeout_s", "7440", 7_440),
            tcp_transitory_s: timeout("tcp_transitory_timeout_s", "240", 240),
            icmp_s: timeout("icmp_timeout_s", "60", 60),
        };
        Some(Self {
            network_instance: network_instance?,
            addresses,
            first_port,
            block_ports,
            blocks_per_ue,
            filtering: filtering.value,
            hairpins,
            timeouts,
        })
    }
}

/// Even, so that a port's parity can be kept (RFC 4787, REQ-4), and no well-known one.
fn first_port() -> Kind<u16> {
    Kind::new("an even port from 1024 to 64512", |text| {
        let port: u16 = text.parse().ok()?;
        (port.is_multiple_of(2) && (1024..=64_512).contains(&port)).then_some(port)
    })
}

fn block_ports() -> Kind<u16> {
    word(&[
        ("64", 64),
        ("128", 128),
        ("256", 256),
        ("512", 512),
        ("1024", 1024),
    ])
}

fn filtering() -> Kind<Filtering> {
    word(&[
        ("endpoint_independent", Filtering::EndpointIndependent),
        ("address_dependent", Filtering::AddressDependent),
    ])
}
