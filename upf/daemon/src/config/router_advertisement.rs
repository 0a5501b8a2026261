//! Section `router_advertisement`: what UEs are told of their IPv6 link.

use super::fields::{At, Fields};
use super::kind::{auto_or, dns_ipv6, number};
use super::ports::MTU_MAX;
use core::net::Ipv6Addr;
use sluice_wire::icmpv6::MAX_RDNSS;
use sluice_wire::ipv6::MIN_MTU;

/// Shortest lifetime, in seconds: a third of it passes from one advertisement to the next, and all UEs get
/// them.
const LIFETIME_MIN_S: u16 = 1800;

/// What Router Advertisements say beside the session's prefix.
#[derive(Clone, PartialEq, Debug)]
pub struct RouterAdvertisement {
    /// How long we are a UE's default router, in seconds.
    pub lifetime_s: u16,
    /// Largest IPv6 packet of a UE, in bytes; `None`: what fits everywhere.
    pub mtu: Option<At<u16>>,
    /// Recursive DNS servers.
    pub dns: Vec<Ipv6Addr>,
}

impl RouterAdvertisement {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let lifetime = number(LIFETIME_MIN_S, u16::MAX, "seconds");
        let mtu = auto_or(number(MIN_MTU as u16, MTU_MAX, "bytes"));
        let lifetime_s = fields.or("lifetime_s", "64800", &lifetime).value;
        let mtu = fields.or("mtu", "auto", &mtu).given();
        let dns = fields.list("dns", &dns_ipv6());
        if let Some(first) = dns.get(MAX_RDNSS) {
            let (key, what) = (fields.key("dns"), format!("{} servers", dns.len()));
            let expected = format!("at most {MAX_RDNSS}");
            fields.report().problem(first.line, key, what, expected);
        }
        Self {
            lifetime_s,
            mtu,
            dns: dns.into_iter().map(|at| at.value).collect(),
        }
    }
}
