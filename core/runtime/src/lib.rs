//! The core at work: its network functions with real time and random numbers, and SCTP towards gNBs.
//!
//! | module | what it gives |
//! |---|---|
//! | [`node`] | an SCTP endpoint and its socket: what the core and an emulated gNB have in common |
//! | [`n2`] | the loop that joins a core with its node |
//! | [`system`] | the host's clocks and random numbers as the core takes them |
#![forbid(unsafe_code)]

pub mod n2;
pub mod node;
pub mod system;

pub use n2::{Counters, N2};
pub use node::Node;
