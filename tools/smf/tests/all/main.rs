//! The emulated SMF from outside.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;
mod encode;
mod interop;
mod machine;
mod messages;
mod socket;
mod tshark;
