//! Emulated UEs and gNBs: the other side of N1 and N2.
//!
//! They share codecs with the core and no procedure: a UE has its own keys in a SIM and its own
//! counts, and a gNB its own connections. Octets go in, octets come out; nothing here has a clock,
//! a socket or a source of random numbers.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; names that say all have no comment"
)]

mod bearers;
mod classify;
mod fleet;
mod gnb;
mod handover;
mod notices;
#[cfg(test)]
mod others;
mod sessions;
mod sim;
mod ue;

pub use bearers::RadioSession;
pub use classify::{qfi_by_rules, qfi_of};
pub use fleet::{Ended, Fleet, FleetUe, Outcome, Procedure, ToAmf};
pub use gnb::{FromGnb, Gnb};
pub use handover::{HandoverAnswer, XnHandover};
pub use sessions::{Refused, Sessions, WantedSession};
pub use sim::Sim;
pub use ue::{Behaviour, Ue, UeState};
