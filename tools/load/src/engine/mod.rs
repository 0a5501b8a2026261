//! The traffic engine: source and sink on two ports.
//!
//! One thread does both, so that a turn costs the generator the same whatever is measured. Time
//! comes from a [`Clock`]: the machine's, or that of a simulation.

mod lane;
mod loopback;
mod mirror;
mod run;
mod side;
mod take;
mod trial;

use std::net::Ipv4Addr;
use std::sync::Arc;

use sluice_port::{Burst, PortIo};

pub use loopback::Loopback;
pub use side::{NextHop, SideConfig};
pub use trial::{EngineConfig, LanePlan, Trial};

use crate::LoadError;
use crate::flows::{Direction, Flows};
use crate::frames::Frames;
use crate::report::{Interval, Report, Strays};
use run::Run;
use side::Side;

pub(crate) use lane::Lane;

/// Clock in nanoseconds from an arbitrary beginning.
pub trait Clock {
    /// The time; it does not go back.
    fn now_ns(&self) -> u64;
}

impl<F: Fn() -> u64> Clock for F {
    fn now_ns(&self) -> u64 {
        self()
    }
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Idle,
    /// Packets are sent.
    Sending,
    /// All are sent; some may be on their way.
    Settling,
    /// Everything has arrived, or is lost.
    Done,
}

pub struct Engine<I: PortIo, C: Clock> {
    io: I,
    clock: C,
    n3: Option<Side>,
    n6: Option<Side>,
    server: Ipv4Addr,
    check_delivery: bool,
    flows: Arc<Flows>,
    frames: Option<Frames>,
    run: Option<Run<I::Packet>>,
    runs: u8,
    strays: Strays,
    mirrored: Burst<I::Packet>,
}

impl<I: PortIo, C: Clock> Engine<I, C> {
    /// Nothing is sent yet but answers.
    pub fn new(io: I, clock: C, config: &EngineConfig) -> Self {
        let side = |config: &SideConfig| {
            let info = io.ports().get(usize::from(config.port.0))?;
            Some(Side::new(config, info))
        };
        let (n3, n6) = (config.n3.as_ref(), config.n6.as_ref());
        Self {
            n3: n3.and_then(side),
            n6: n6.and_then(side),
            io,
            clock,
            server: config.server,
            check_delivery: config.check_delivery,
            flows: Arc::new(Flows::default()),
            frames: None,
            run: None,
            runs: 0,
            strays: Strays::default(),
            mirrored: Burst::new(),
        }
    }

    /// Sets the flows of the next runs; their neighbours must be found first.
    pub fn set_flows(&mut self, flows: Arc<Flows>) {
        if let Some(n3) = &mut self.n3 {
            n3.need(flows.tunnels().iter().map(|ends| ends.upf));
        }
        if let Some(n6) = &mut self.n6 {
            // Downlink goes to UEs, behind the UPF.
            n6.need(std::iter::empty());
        }
        self.flows = flows;
        self.frames = None;
    }

    /// A neighbour who is not found yet, and the name of its port.
    pub fn unresolved(&self) -> Option<(Ipv4Addr, String)> {
        [&self.n3, &self.n6]
            .into_iter()
            .flatten()
            .find_map(|side| Some((side.unresolved()?, side.name.clone())))
    }

    /// Begins a run. Everything of the one before is forgotten.
    ///
    /// # Errors
    /// If it cannot be followed, or a neighbour is not found.
    pub fn start(&mut self, trial: &Trial) -> Result<(), LoadError> {
        self.make_frames()?;
        self.runs = self.runs.wrapping_add(1);
        self.strays = Strays::default();
        let ports = [&self.n3, &self.n6].map(|side| side.as_ref().map(|side| side.port));
        let run = Run::new(
            trial,
            self.flows.count(),
            self.runs,
            self.clock.now_ns(),
            ports,
        )?;
        self.run = Some(run);
        Ok(())
    }

    fn make_frames(&mut self) -> Result<(), LoadError> {
        if self.frames.is_some() {
            return Ok(());
        }
        if let Some((address, port)) = self.unresolved() {
            return Err(LoadError::NoNeighbour { address, port });
        }
        // Without a side, its frames are never sent.
        let nowhere = crate::frames::Hop {
            from: sluice_wire::eth::MacAddr::ZERO,
            to: sluice_wire::eth::MacAddr::ZERO,
        };
        let hop = |side: &Option<Side>, to| side.as_ref().and_then(|side| side.hop(to));
        let uplink = self.flows.tunnels().iter().map(|ends| {
            let hop = hop(&self.n3, ends.upf).unwrap_or(nowhere);
            (*ends, hop)
        });
        let downlink = hop(&self.n6, Ipv4Addr::UNSPECIFIED).unwrap_or(nowhere);
        self.frames = Some(Frames::new(uplink, downlink, self.server));
        Ok(())
    }

    /// Sends what is due, takes what has come, answers what is asked. Returns how many packets
    /// moved.
    pub fn turn(&mut self) -> usize {
        let now_ns = self.clock.now_ns();
        if let Some(run) = &mut self.run {
            run.begin_turn(now_ns);
        }
        let mut moved = self.ask(now_ns);
        moved += self.send(now_ns);
        for direction in Direction::ALL {
            moved += self.receive(direction);
        }
        if let Some(run) = &mut self.run {
            run.pass(self.clock.now_ns(), moved > 0);
        }
        moved
    }

    /// How far the run is.
    pub fn phase(&self) -> Phase {
        self.run.as_ref().map_or(Phase::Idle, Run::phase)
    }

    /// When the next turn has something to do by itself; packets may come at any time.
    pub fn next_ns(&mut self) -> Option<u64> {
        let now_ns = self.clock.now_ns();
        self.run.as_mut().and_then(|run| run.next_ns(now_ns))
    }

    /// Ends sending before the plan does.
    pub fn stop(&mut self) {
        if let Some(run) = &mut self.run {
            run.stop();
        }
    }

    /// Report of the run so far.
    pub fn progress(&self) -> Option<Report> {
        let run = self.run.as_ref()?;
        Some(run.report(&self.strays))
    }

    /// The intervals of the run that are over; cheap to look at while it runs.
    pub fn timeline(&self) -> &[Interval] {
        self.run.as_ref().map_or(&[], Run::timeline)
    }

    /// Ends the run, and tells what came of it.
    pub fn finish(&mut self) -> Option<Report> {
        let mut run = self.run.take()?;
        run.end(self.clock.now_ns());
        Some(run.report(&self.strays))
    }

    pub fn io(&mut self) -> &mut I {
        &mut self.io
    }

    /// The time, as the engine has it.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn ask(&mut self, now_ns: u64) -> usize {
        let io = &mut self.io;
        let sides = [&mut self.n3, &mut self.n6];
        let asked = sides.into_iter().flatten().map(|side| side.ask(now_ns, io));
        asked.sum()
    }

    fn send(&mut self, now_ns: u64) -> usize {
        let (Some(run), Some(frames)) = (&mut self.run, &self.frames) else {
            return 0;
        };
        let (clock, io) = (&self.clock, &mut self.io);
        run.send(now_ns, &self.flows, frames, io, || clock.now_ns())
    }
}
