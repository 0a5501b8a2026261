//! The endpoint from outside: two of them, or one and a peer that is not ours.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod association;
mod exchange;
mod holder;
mod hostile;
mod net;
mod release;
mod tshark;
