//! ICMPv6 messages that the path itself tells apart: neighbour discovery, and Router Solicitation.

use sluice_wire::ipv4::Protocol;
use sluice_wire::ipv6::Ipv6;

/// Router Solicitation (RFC 4861, 4.1).
const ROUTER_SOLICITATION: u8 = 133;
/// Redirect, the last of neighbour discovery (RFC 4861, 4.5).
const REDIRECT: u8 = 137;

fn icmpv6_type(ip: &Ipv6<'_>) -> Option<u8> {
    let upper = ip.upper_layer();
    let is_icmpv6 = upper.protocol == Protocol::ICMPV6 && !upper.is_later_fragment;
    upper.payload.first().copied().filter(|_| is_icmpv6)
}

/// True for a UE's question for a router.
pub fn is_router_solicitation(packet: &[u8]) -> bool {
    Ipv6::parse(packet).is_ok_and(|ip| icmpv6_type(&ip) == Some(ROUTER_SOLICITATION))
}

/// True for messages between neighbours on a link.
pub fn is_neighbour_discovery(ip: &Ipv6<'_>) -> bool {
    icmpv6_type(ip).is_some_and(|kind| (ROUTER_SOLICITATION..=REDIRECT).contains(&kind))
}
