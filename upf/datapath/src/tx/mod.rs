//! Transmit side: routes, adjacencies, packets that wait for a next hop, fragmentation, exceptions.

pub(crate) mod held;
pub(crate) mod outcome;
pub mod reassembly;
pub mod route;
pub mod transmit;
pub(crate) mod way;
