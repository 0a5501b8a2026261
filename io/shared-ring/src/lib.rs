//! Rings of references between two programs of one machine, in shared memory that each side alone writes.
//!
//! | module | what it gives |
//! |---|---|
//! | [`arena`] | shared memory that one program writes and another one reads |
//! | [`ring`] | our arena for a peer, its arena for us, a ring of references in each |
//! | [`datagrams`] | datagrams over rings, in place of UDP sockets: one program listens, others join |

pub mod arena;
pub mod datagrams;
mod handshake;
pub mod ring;

pub use datagrams::{RingEnd, RingListener, RingWay, WayNews};
pub use ring::{Broken, Half, Ring};
