//! Emulated gNBs and UEs between namespaces.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;
mod flows;
mod ipv6;
mod n2;
mod signalling;
mod traffic;
