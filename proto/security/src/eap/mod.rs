//! EAP-AKA' (RFC 9048, RFC 4187; TS 33.501, 6.1.3.1 and Annex F): packets, and both ends of the method.
//!
//! [`Server`] is the home network's end, [`Peer`] the UE's. Packets go in and out as octets; nothing
//! here has a clock or a source of random numbers, and no octets make it panic.

mod keys;
mod packet;
mod peer;
mod server;

pub use peer::{Peer, Reply};
pub use server::{Server, Verdict};

/// Longest packet that either end reads: the longest of ours has some 150 octets, and NAS carries no
/// more than 1,500 (TS 24.501, 9.11.2.2).
pub const LONGEST: usize = 1_500;

#[cfg(test)]
mod tests;
