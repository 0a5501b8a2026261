//! The packet path: from received burst to wire, driven by compiled rules.
//!
//! Folders say what happens: a packet is received and parsed ([`rx`]), its session is looked up
//! ([`lookup`]), its rules are executed ([`forward`]), it is sent ([`tx`]),
//! or held for an idle UE ([`hold`]). [`nat`] translates addresses on N6. [`session`] is what a worker keeps
//! of each session and how transactions change it, [`migration`] moves shards, queues and steering between
//! workers, [`trace`] follows packets. One turn of the loop is [`worker`].
#![forbid(unsafe_code)]

mod batch;
pub mod bells;
pub mod builder;
pub mod control;
pub mod drop;
pub mod forward;
pub mod hold;
pub mod ids;
pub mod ledger;
pub mod limits;
pub mod lookup;
pub mod message;
pub mod meta;
pub mod migration;
pub mod nat;
mod ring_backlog;
mod rings;
pub mod rx;
pub mod session;
mod shutdown;
pub mod stage_timer;
pub mod tables;
mod topology;
pub mod trace;
pub mod tx;
pub mod wake;
pub mod worker;
