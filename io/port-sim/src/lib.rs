//! Simulated ports and heap packets.
#![forbid(unsafe_code)]

mod packet;
mod pool;

pub use packet::HeapPacket;
pub use pool::{HeapPool, PoolConfig};
