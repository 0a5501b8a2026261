//! The packet path: from received burst to wire, driven by compiled rules.
//!
//! Start reading at [`worker`] (one turn of the loop), then `sort` (hand over) with `classify`
//! (parse, place) and `path` (session to transmit). One stage is one file under [`stage`]. What rules
//! look like when they get here is in [`mod@line`] and [`rule`]; how they get here, in [`txn`].
#![forbid(unsafe_code)]

mod batch;
pub mod builder;
mod burst_array;
pub mod control;
pub mod drop;
pub mod forward;
pub mod ledger;
pub mod limits;
pub mod lookup;
pub mod message;
pub mod meta;
pub mod migration;
mod ring_backlog;
pub mod rx;
pub mod session;
mod shutdown;
pub mod stage_timer;
pub mod tables;
pub mod trace;
pub mod tx;
pub mod wake;
pub mod worker;
