//! Tests of the database as a whole: what operators do with it, and what others do to its files.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod backup;
mod earlier_release;
mod hostile;
mod kit;
mod on_a_server;
mod operations;
mod several;
mod store;
mod transfer;
