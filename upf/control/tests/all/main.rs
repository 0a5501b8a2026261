//! The control core from outside.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod arp;
mod control;
mod echo;
mod gtpu_ipv6;
mod instances;
mod ipv4_hardening;
mod ipv6;
mod n4_port;
mod network;
mod reload;
mod router_advertisement;
mod same_pool;
