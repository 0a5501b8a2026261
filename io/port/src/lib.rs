//! Packet and port traits: the interface between the packet path and DPDK or simulated ports.
//!
//! A [`Packet`] is a buffer that a port filled or will send, a [`Burst`] a
//! handful of them, a [`PortIo`] what one worker holds to receive and send. The
//! packet path is generic over the packet type, so it runs alike on DPDK and on
//! simulated ports.
#![forbid(unsafe_code)]

mod burst;
mod packet;
mod port;
pub mod steer;

pub use burst::{BURST_MAX, Burst, Drain};
pub use packet::{Packet, PacketError};
pub use port::{LinkState, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress};
