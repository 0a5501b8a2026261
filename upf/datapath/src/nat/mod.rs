//! Network address and port translation (NAPT44) between UEs and a data network, on N6.
//!
//! `docs/developer/nat.md` has the drawing: [`pool`] numbers public ports, [`mapping`] is what a worker keeps
//! of a UE, [`ends`] reads and rewrites packets, [`inbound`] and [`outbound`] are the two directions.

pub mod ends;
pub mod inbound;
pub mod mapping;
pub mod outbound;
pub mod pool;
pub(crate) mod prefetch;
pub mod state;
