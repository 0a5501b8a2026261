//! Emulated gNBs and UEs: each UE is a TUN device, each gNB a thread that moves its UEs' packets
//! between the devices and GTP-U on N3. A [`Network`] has many of them, with an SMF, or with N2 and an
//! AMF; scripts and other programs command it.
//!
//! ```text
//!   UE's programs -> TUN -> uplink   -> UDP 2152 -> N3
//!   UE's programs <- TUN <- downlink <- UDP 2152 <- N3
//!                            signalling: Echo, Error Indication, End Marker
//! ```
//!
//! | module | what it gives |
//! |---|---|
//! | [`Network`] | gNBs, UEs, N4 or N2 of a [`scenario`], with calls that block until they are done |
//! | [`Gnb`], [`GnbHandle`] | starts the thread; controls it from any other |
//! | [`UeConfig`], [`UeId`], [`FTeid`] | a UE with its two tunnel ends |
//! | [`GnbCounters`], [`UeCounters`], [`TunnelCounters`], [`ByFamily`] | every packet, accounted for |
//!
//! A gNB's state belongs to its thread alone. A handle sends it questions, which it answers
//! between two bursts: what is read is exact, and what is asked for has happened.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; names that say all have no comment"
)]

pub mod command;
mod counters;
mod downlink;
mod error;
mod family;
mod gnb;
mod handle;
pub mod metrics;
mod network;
mod rate;
pub mod scenario;
mod signalling;
mod ue;
mod uplink;
mod worker;

pub use counters::{DropReason, Drops, Flow, GnbCounters, Signalling, TunnelCounters, UeCounters};
pub use error::{CallError, Failure, Halt, RanError};
pub use family::ByFamily;
pub use gnb::{Gnb, GnbConfig, Mute};
pub use handle::{EchoAnswer, Forwarding, GnbHandle, HandoverTarget, NoAnswer};
pub use network::{
    CALL_LIMIT, Device, LeftTunnel, Network, NetworkGnb, Signalling as N2, Ue as NetworkUe, Undo,
    Until,
};
pub use ue::{Detached, FTeid, UeConfig, UeId, UeReport};
