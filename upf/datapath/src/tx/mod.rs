//! Transmit side: routes, adjacencies, packets that wait for a next hop, fragmentation, exceptions.

pub mod adjacency;
pub(crate) mod arp_queue;
pub(crate) mod exception;
pub mod reassembly;
pub mod route;
pub(crate) mod shaper;
pub mod transmit;
