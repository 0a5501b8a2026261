//! The control core of the UPF: what is beside the packet path and the N4 session machine.
//!
//! [`core`] is its loop; [`n4_port`] is N4 on packet ports; [`signalling`] answers ARP, ICMP and GTP-U
//! signalling; [`directory`] knows interfaces, peers and routes; [`neighbours`] is the ARP table; [`paths`] asks tunnel
//! peers for echoes;
//! [`scaling`] brings workers in and levels their load.
#![forbid(unsafe_code)]

pub mod config;
pub mod core;
pub mod directory;
pub mod frame;
pub mod n4_port;
pub mod neighbours;
pub mod paths;
pub mod scaling;
pub mod signalling;
