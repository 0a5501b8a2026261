//! The generator from outside: virtual time, and a UPF that speaks PFCP.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod kit;
mod signalling;
mod virtual_time;
