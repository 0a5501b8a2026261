//! DPDK's ports and packet memory.

use super::{Buffers, DevicePort, Devices, dpdk_ports};
use crate::boot_error::{BootError, failed};
use crate::config::UpfConfig;
use crate::numa::{self, Nodes};
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_port::{LinkState, PortId, PortInfo, PortStats, QueueId};
use sluice_port_dpdk::{DpdkIo, Eal, Mbuf, MbufPool, Port, PortSteer};
use sluice_worker::{Pace, Running};
use std::io;
use std::sync::Arc;

/// The EAL with the ports of the configuration.
pub struct Dpdk {
    ports: Vec<Port>,
    /// Of packets on their way.
    pool: MbufPool,
    /// Of packets that wait for idle UEs.
    held: MbufPool,
    eal: Eal,
}

impl Devices for Dpdk {
    type Packet = Mbuf;
    type Io = DpdkIo;
    type Port = Port;
    type Buffers = MbufPool;

    fn open(config: &UpfConfig) -> Result<Self, BootError> {
        let eal = Eal::init(&config.eal()).map_err(failed("starting DPDK"))?;
        let [pool, held] = make_buffers(config, &eal)?;
        let ports = dpdk_ports::open(config, &pool)?;
        Ok(Self {
            ports,
            pool,
            held,
            eal,
        })
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn buffers(&self) -> &MbufPool {
        &self.pool
    }

    fn queues_of(&self, worker: usize, workers: usize) -> Result<(DpdkIo, Vec<Polled>), BootError> {
        let mut io = DpdkIo::new(&self.pool, &self.ports);
        let mut polled = Vec::new();
        for (port, id) in self.ports.iter().zip(0..) {
            let info = port.info(PortId(id));
            let lacks = |why| BootError::Step {
                doing: "giving each worker a transmit queue",
                why,
            };
            if usize::from(info.tx_queues) < workers {
                let (name, has) = (info.name, info.tx_queues);
                return Err(lacks(format!(
                    "port {name} has {has} for {workers} workers"
                )));
            }
            for queue in (0..info.rx_queues).filter(|q| usize::from(*q) % workers == worker) {
                if port
                    .rx_queue(queue)
                    .is_some_and(|q| io.attach_rx(q).is_ok())
                {
                    polled.push(Polled {
                        port: PortId(id),
                        queue: QueueId(queue),
                    });
                }
            }
            let sends = port.tx_queue(worker as u16);
            if sends.is_none_or(|q| io.attach_tx(q).is_err()) {
                let name = info.name;
                return Err(lacks(format!(
                    "port {name}: queue {worker} cannot be taken"
                )));
            }
        }
        Ok((io.with_held_pool(&self.held), polled))
    }

    fn start(
        &self,
        worker: Worker<DpdkIo>,
        stats: Arc<WorkerStats>,
        pace: Pace,
        name: &str,
    ) -> io::Result<Running> {
        Running::start(&self.eal, worker, stats, pace, name)
    }
}

/// Buffers for packets on their way, and for those that wait for idle UEs.
fn make_buffers(config: &UpfConfig, eal: &Eal) -> Result<[MbufPool; 2], BootError> {
    let nodes = Nodes::of_this_machine();
    let wanted = numa::node_of_buffers(&nodes, config);
    let (pool, node) = match MbufPool::create(eal, config.pool(wanted)) {
        Err(error) if wanted.is_some() => {
            tracing::warn!(
                "packet buffers are on any NUMA node: {error}; expected huge pages on the ports' node"
            );
            (MbufPool::create(eal, config.pool(None)), None)
        }
        made => (made, wanted),
    };
    let pool = pool.map_err(failed("making packet buffers"))?;
    for warning in numa::apart(&nodes, config, node) {
        tracing::warn!("{warning}");
    }
    let pages = if eal.huge_pages() { "huge" } else { "normal" };
    tracing::info!("packet buffers are on {pages} pages");
    let held = MbufPool::create_to_keep(eal, config.held_pool(node));
    let held = held.map_err(failed("making packet buffers for idle UEs"))?;
    Ok([pool, held])
}

impl Buffers for MbufPool {
    type Packet = Mbuf;

    fn alloc(&self) -> Option<Mbuf> {
        Self::alloc(self)
    }

    fn packets(&self) -> u32 {
        Self::packets(self)
    }

    fn available(&self) -> u32 {
        Self::available(self)
    }
}

impl DevicePort for Port {
    type Steer = PortSteer;

    fn info(&self, id: PortId) -> PortInfo {
        Self::info(self, id)
    }

    fn driver(&self) -> &str {
        Self::driver(self)
    }

    fn stats(&self) -> PortStats {
        Self::stats(self).unwrap_or_default()
    }

    fn extended_stats(&self) -> Vec<(String, u64)> {
        Self::extended_stats(self).unwrap_or_default()
    }

    fn link(&self) -> Option<LinkState> {
        Self::link(self).ok()
    }

    fn steer(&self) -> PortSteer {
        PortSteer::new(self)
    }

    fn waits(&self) -> [Result<(), String>; 2] {
        let can = [self.has_rx_interrupt(0), self.has_monitor_address(0)];
        can.map(|can| can.map_err(|errno| errno.to_string()))
    }
}
