//! Testbed: a UPF as `sluice upf` assembles it, whose worker is measured at ports that come and go.

use super::ports::WorkerPorts;
use crate::path::memory;
use crate::path::smf::{Answers, Teids, Variant};
use crate::path::testbed::{Failure, Size, establish, shuffle, start};
use crate::path::topology::{N3, N6};
use crate::path::traffic::Flow;
use sluice_control::core::Core;
use sluice_datapath::ledger::{Ledger, WorkerStats};
use sluice_datapath::worker::Worker;
use sluice_host::clock;
use sluice_port::{Burst, PortIo, QueueId};
use std::sync::Arc;

/// The UPF and its sessions.
pub struct Testbed<I: PortIo> {
    core: Core<I::Packet>,
    worker: Worker<WorkerPorts<I>>,
    stats: Arc<WorkerStats>,
    /// In the random order in which they send.
    pub flows: Arc<[Flow]>,
    /// Whether session lines lie on huge pages.
    pub on_huge_pages: bool,
}

impl<I: PortIo> Testbed<I> {
    /// Starts a UPF and establishes `sessions` sessions over N4; its ports are closed.
    pub fn build(sessions: u32) -> Result<Self, Failure> {
        let mut answers = Answers::new(sessions, Variant::Usual);
        let (mut core, mut worker) = start(Size::of(sessions), WorkerPorts::closed())?;
        let smf = (Teids::Ours, &mut answers);
        establish(sessions, &mut core, &mut worker, smf)?;
        shuffle(&mut answers.flows);
        Ok(Self {
            stats: core.end().stats()[0].clone(),
            core,
            worker,
            flows: answers.flows.into(),
            on_huge_pages: memory::is_on_huge_pages("sluice-lines"),
        })
    }

    /// Packets come by these ports from now on.
    pub fn set_doors(&mut self, doors: WorkerPorts<I>) {
        *self.worker.io() = doors;
    }

    /// One round of the worker's loop, as in `sluice upf`. Returns how many packets it found.
    #[inline(always)]
    pub fn turn(&mut self) -> usize {
        let began_ns = clock::monotonic_ns();
        let work = self.worker.turn(began_ns);
        if work > 0 {
            self.stats.busy_turns.add(1);
            self.stats.busy_ns.add(clock::monotonic_ns() - began_ns);
        }
        work
    }

    /// The limit: what comes in at one port leaves by the other, up to `stage` packets at a time,
    /// and nothing is looked at. Returns how many came, and how many of them found no room.
    #[inline(always)]
    pub fn turn_io(&mut self, stage: usize) -> (usize, usize) {
        let io = self.worker.io();
        let mut burst = Burst::new();
        let (mut came, mut lost) = (0, 0);
        for (from, to) in [(N3, N6), (N6, N3)] {
            let n = io.rx(from, QueueId(0), &mut burst, stage);
            if n > 0 {
                came += n;
                io.tx(to, QueueId(0), &mut burst);
                lost += burst.len();
                burst.free();
            }
        }
        (came, lost)
    }

    /// The packet ledger.
    pub fn ledger(&self) -> Ledger {
        self.core.ledger()
    }

    /// Ends it.
    pub fn end(self) {
        self.worker.stop();
    }
}
