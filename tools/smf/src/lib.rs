//! Emulated SMF: an N4 client that speaks PFCP (TS 29.244) like one of several real SMFs.
//!
//! ```text
//!   SmfHandle --commands--> thread: Machine over UDP --> UPF
//!      ^                       |
//!      +------outcomes---------+
//! ```
//!
//! | module | what it gives |
//! |---|---|
//! | [`SessionPlan`], [`names`] | what is wanted of a session, whatever dialect says it |
//! | [`dialect`] | how Open5GS, free5GC, OAI and SD-Core differ, as data with their sources |
//! | [`encode`] | plan and dialect to bytes: pure functions, also for benchmarks |
//! | [`Machine`] | the SMF without clock and socket |
//! | [`Smf`], [`SmfHandle`] | a thread with a kernel UDP socket; blocking calls from any other |
//!
//! A dialect is the *encoding* of an SMF: IEs, codings, rule numbers, who chooses TEIDs, what
//! idle means. Procedures that lead to the messages (N1, N2, SBI) are not emulated.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; names that say all have no comment"
)]

pub mod dialect;
pub mod encode;
mod error;
mod machine;
pub mod names;
mod plan;
mod smf;
mod usage;

pub use dialect::Dialect;
pub use encode::{CpNode, SessionChange, SessionView};
pub use error::{Rejection, SmfError};
pub use machine::{
    Change, Changed, Done, Established, Machine, NodeReport, Outcome, Peer, Report, SessionReport,
    Ticket,
};
pub use names::{Imsi, Network, NetworkName, TbcdDigits};
pub use plan::{Flow, FlowPackets, GateStatus, SessionPlan, Tunnel, UeAddresses, UplinkTeid};
pub use smf::{Smf, SmfConfig, SmfHandle, Wire};
pub use usage::{Traffic, UrrUsage, Usage};
