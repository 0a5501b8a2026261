//! Wire formats: Ethernet, ARP, IPv4, UDP, ICMP, GTP-U, PFCP; identifiers and units.
//!
//! Parsing is total: any bytes give a value or a typed error, never a panic.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod arp;
pub mod checksum;
pub mod eth;
pub mod gtpu;
pub mod icmp;
pub mod ids;
pub mod ipv4;
pub mod layout;
pub mod limits;
pub mod pfcp;
pub mod udp;
