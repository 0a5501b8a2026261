//! Transmit side: routes, encapsulation, packets that wait for a next hop, fragmentation, exceptions.

pub(crate) mod arp_queue;
pub mod encap;
pub(crate) mod exception;
pub mod reassembly;
pub mod route;
pub(crate) mod shaper;
pub mod template;
pub mod transmit;
