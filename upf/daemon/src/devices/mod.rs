//! Ports and packet memory of one kind, with which the daemon puts a UPF together: DPDK's, or simulated ones in tests.

mod dpdk;
mod dpdk_ports;

pub use dpdk::Dpdk;

use crate::boot_error::BootError;
use crate::config::UpfConfig;
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_port::steer::Steer;
use sluice_port::{LinkState, Packet, PortId, PortInfo, PortIo, PortStats};
use sluice_worker::{Pace, Running};
use std::io;
use std::sync::Arc;

/// Packet memory and open ports.
pub trait Devices: Sized {
    /// The packets of this process.
    type Packet: Packet;
    /// A worker's access to the ports.
    type Io: PortIo<Packet = Self::Packet>;
    /// An open port.
    type Port: DevicePort;
    /// Packet memory.
    type Buffers: Buffers<Packet = Self::Packet>;

    /// Opens what the configuration names, for good.
    ///
    /// # Errors
    /// The machine lacks something, by line of the file where one names it.
    fn open(config: &UpfConfig) -> Result<Self, BootError>;

    /// Open ports, in the order of their ids.
    fn ports(&self) -> &[Self::Port];

    /// Memory of packets on their way.
    fn buffers(&self) -> &Self::Buffers;

    /// Access of one worker of so many: its share of every port's receive queues, and a transmit queue of its own at each.
    ///
    /// # Errors
    /// A port has no transmit queue for it.
    fn queues_of(
        &self,
        worker: usize,
        workers: usize,
    ) -> Result<(Self::Io, Vec<Polled>), BootError>;

    /// Starts a worker's thread.
    ///
    /// # Errors
    /// The system starts no thread.
    fn start(
        &self,
        worker: Worker<Self::Io>,
        stats: Arc<WorkerStats>,
        pace: Pace,
        name: &str,
    ) -> io::Result<Running>;
}

/// Packet memory; clones are the same.
pub trait Buffers: Clone {
    /// Packets of this memory.
    type Packet: Packet;

    /// An empty packet, unless all are in use.
    fn alloc(&self) -> Option<Self::Packet>;

    /// Packets in all.
    fn packets(&self) -> u32;

    /// Packets that are free.
    fn available(&self) -> u32;
}

/// An open port; clones are the same.
pub trait DevicePort: Clone {
    /// Receive steering.
    type Steer: Steer;

    /// Name, address, MTU and queues.
    fn info(&self, id: PortId) -> PortInfo;

    /// Name of its driver.
    fn driver(&self) -> &str;

    /// Counters over all queues, as far as the driver counts.
    fn stats(&self) -> PortStats;

    /// The driver's own counters by its own names.
    fn extended_stats(&self) -> Vec<(String, u64)>;

    /// Whether packets can pass, unless the driver does not tell.
    fn link(&self) -> Option<LinkState>;

    /// Receive steering of the port.
    fn steer(&self) -> Self::Steer;

    /// Whether packets can be waited for by an interrupt, and by watching memory; or why not.
    fn waits(&self) -> [Result<(), String>; 2];
}
