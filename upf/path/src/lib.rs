//! The packet path: from received burst to wire, driven by compiled rules.
//!
//! Start reading at [`worker`] (one turn of the loop), then `sort` (hand over) with `classify`
//! (parse, place) and `path` (session to transmit). One stage is one file under [`stage`]. What rules
//! look like when they get here is in [`mod@line`] and [`rule`]; how they get here, in [`txn`].
#![forbid(unsafe_code)]

pub mod assembly;
mod batch;
pub mod bucket;
mod classify;
pub mod control;
pub mod drop;
pub mod foreign;
mod fragments;
mod held;
mod late;
pub mod layout;
pub mod ledger;
pub mod limits;
pub mod line;
pub mod message;
pub mod meta;
pub mod mover;
pub mod moves;
mod outcome;
pub mod owners;
mod path;
pub mod probe;
pub mod reassembly;
mod relocate;
pub mod requeue;
mod row;
pub mod rule;
mod shape;
mod sort;
pub mod stage;
pub mod steer;
mod stop;
pub mod tables;
pub mod trace;
mod transact;
pub mod txn;
mod usual;
pub mod wake;
mod way;
pub mod worker;
