//! User-plane generator and sink, for any UPF.
//!
//! ```text
//!   plan -> Lane -> N3 port ---> UPF ---> N6 port -> Sink -> Report
//!                   N6 port ---> UPF ---> N3 port
//! ```
//!
//! | module | what it gives |
//! |---|---|
//! | [`source`] | when packets are due, whose they are, how long they are |
//! | [`stamp`] | what every packet carries: flow, sequence, times |
//! | [`engine`] | the source and the sink, on any two ports |
//! | [`report`] | loss, duplicates, order, latency, jitter |
//! | [`search`] | the highest rate without loss (RFC 2544) |
//! | [`n4`] | sessions by PFCP, before and under the traffic |
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; names that say all have no comment"
)]

pub mod command;
pub mod engine;
mod error;
mod flows;
mod frames;
pub mod n4;
pub mod report;
pub mod search;
mod sink;
pub mod source;
pub mod stamp;

pub use error::LoadError;
pub use flows::{Direction, Flow, Flows, TunnelEnds};
pub use sink::{TimeSummary, Times};
