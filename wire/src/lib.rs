//! Wire formats: Ethernet, ARP, IPv4, IPv6, UDP, ICMP, ICMPv6, GTP-U, PFCP, flow descriptions of SDF filters;
//! identifiers and units.
//!
//! Parsing is total: any bytes give a value or a typed error, never a panic.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod arp;
pub mod checksum;
pub mod eth;
pub mod flow_description;
pub mod framed_route;
pub mod gtpu;
pub mod icmp;
mod icmp_common;
pub mod icmpv6;
pub mod ids;
pub mod ipv4;
pub mod ipv6;
pub mod layout;
pub mod limits;
pub mod pfcp;
mod protocol;
pub mod tcp;
pub mod udp;
