//! UPF in process: control core and workers at any ports, as `sluice upf` assembles them.

use std::net::Ipv4Addr;

use sluice_control::config::ControlConfig;
use sluice_control::core::{Time, UpfControl};
use sluice_control::signalling::Control;
use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::lookup::layout::Layout;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_host::clock;
use sluice_n4::{Instant, NodeId};
use sluice_port::{PortId, PortIo, QueueId};
use sluice_session::{Config, UpFunction};
use sluice_wire::pfcp::value::NtpTime;

/// A UPF that is not what it should be.
pub type Failure = String;

/// Control core and workers, by their numbers.
pub struct Upf<I: PortIo> {
    pub core: UpfControl<I::Packet>,
    pub workers: Vec<Worker<I>>,
}

/// Parts of which a UPF is assembled.
pub struct Blueprint {
    pub layout: Layout,
    pub blocks: u32,
    pub interfaces: ControlConfig,
    pub session: Config,
    pub n4: sluice_n4::Config,
}

/// The ports of a worker: those that it polls, and the queue that it sends by.
pub type Doors<I> = (I, Vec<Polled>, QueueId);

impl Blueprint {
    /// With the defaults of upf.yaml, at this address of N4, started then.
    pub fn new(
        layout: Layout,
        blocks: u32,
        interfaces: ControlConfig,
        (n4, started): (Ipv4Addr, NtpTime),
    ) -> Self {
        Self {
            session: Config::new(layout.clone(), blocks, n4, [1, 2]),
            n4: sluice_n4::Config::new(NodeId::v4(n4), started),
            layout,
            blocks,
            interfaces,
        }
    }

    /// With a worker at each of these.
    pub fn build<I: PortIo>(self, doors: Vec<Doors<I>>) -> Result<Upf<I>, Failure> {
        let plan = Plan {
            layout: self.layout,
            blocks: self.blocks,
            workers: doors.len(),
        };
        let (seeds, mut end, foreign) = assemble(&plan).map_err(|e| e.to_string())?;
        let control = Control::new(self.interfaces).map_err(|e| e.to_string())?;
        let grown = seeds.into_iter().zip(doors);
        let grown = grown.map(|(seed, (io, polled, queue))| {
            end.polls(seed.id(), &polled);
            seed.grow(io, polled, queue)
        });
        let workers = grown.collect();
        let up = UpFunction::new(self.session, self.n4, foreign);
        Ok(Upf {
            core: UpfControl::new(control, up, end),
            workers,
        })
    }
}

pub fn polled(ports: impl IntoIterator<Item = PortId>, queue: QueueId) -> Vec<Polled> {
    let ports = ports.into_iter();
    ports.map(|port| Polled { port, queue }).collect()
}

/// The time now, as `sluice upf` tells it.
pub fn time() -> Time {
    Time {
        now: Instant(clock::monotonic_ns()),
        wall: NtpTime::from_unix_s(clock::wall().as_secs()),
    }
}
