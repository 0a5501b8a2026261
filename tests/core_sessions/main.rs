//! PDU sessions of the core against the whole UPF, with packets, in virtual time: emulated UEs and
//! gNBs on one side, the session machine and the packet path of the UPF on the other.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod harness;
mod judging;
mod kinds;
#[path = "../kit/mod.rs"]
mod kit;
mod procedures;

#[path = "../../core/wiring/tests/all/world.rs"]
#[allow(dead_code, reason = "its own tests use the rest")]
mod world;
