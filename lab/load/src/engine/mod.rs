//! Source and sink on two ports: sends by plan, looks at everything that comes.
//!
//! One thread does both, so that a turn costs the generator the same whatever is measured. Time
//! comes from a [`Clock`]: the machine's, or that of a simulation.

mod lane;
mod loopback;
mod mirror;
mod run;
mod side;

use std::net::Ipv4Addr;
use std::sync::Arc;

use sluice_port::{Burst, Packet, PortIo, QueueId};
use sluice_wire::gtpu::Message;

pub use loopback::Loopback;
pub use side::{NextHop, SideConfig};

use crate::LoadError;
use crate::flows::{Direction, Flows};
use crate::frames::Frames;
use crate::report::{Interval, Report, Strays};
use crate::sink::{Seen, Stamped, read};
use crate::source::{Plan, Popularity, Sizes};
use run::Run;
use side::Side;

pub(crate) use lane::Lane;

/// Packets received at a time, and how often in a row from one port.
const RX_BURST: usize = 64;
const RX_BURSTS: usize = 4;

/// Where time comes from, in nanoseconds from some beginning.
pub trait Clock {
    /// The time; it does not go back.
    fn now_ns(&self) -> u64;
}

impl<F: Fn() -> u64> Clock for F {
    fn now_ns(&self) -> u64 {
        self()
    }
}

/// What the engine is given once.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where gNBs are; none: no uplink is sent, and no downlink seen.
    pub n3: Option<SideConfig>,
    /// Where servers are; none: no downlink is sent, and uplink is seen only if a mirror elsewhere
    /// sends it back.
    pub n6: Option<SideConfig>,
    /// The address with which UEs speak.
    pub server: Ipv4Addr,
    /// Whether packets must arrive for whom they were sent: off where nothing is between both
    /// sides, or where the UPF translates addresses.
    pub check_delivery: bool,
}

/// What one direction sends.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePlan {
    /// When.
    pub plan: Plan,
    /// How long packets are.
    pub sizes: Sizes,
    /// Whose they are.
    pub popularity: Popularity,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Uplink, if any.
    pub uplink: Option<LanePlan>,
    /// Downlink, if any.
    pub downlink: Option<LanePlan>,
    /// Whether uplink packets are sent back where they arrive, at our own N6.
    pub mirror: bool,
    /// Whether uplink packets come back at all, by our mirror or by another: what is on its way in
    /// closed loops is counted by returns.
    pub expect_returns: bool,
    /// What random numbers depend on.
    pub seed: u64,
    /// Later than this after its due time, a packet counts as late.
    pub late_after_ns: u64,
    /// How long a port may have no room for a packet.
    pub patience_ns: u64,
    /// What has not arrived when nothing has come for so long after the last packet is lost.
    pub settle_ns: u64,
    /// From one line of the timeline to the next.
    pub interval_ns: u64,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            uplink: None,
            downlink: None,
            mirror: false,
            expect_returns: false,
            seed: 1,
            late_after_ns: 100_000,
            patience_ns: 1_000_000,
            settle_ns: 300_000_000,
            interval_ns: 1_000_000_000,
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// There is no run.
    Idle,
    /// Packets are sent.
    Sending,
    /// All are sent; some may be on their way.
    Settling,
    /// Everything has arrived, or is lost.
    Done,
}

/// Source and sink.
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

    /// Whose packets are sent from the next run on; their neighbours must be found first.
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

    /// What the run has come to so far.
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

    /// The ports.
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

    /// Takes what has come in `direction`: uplink at N6, downlink at N3.
    fn receive(&mut self, direction: Direction) -> usize {
        let side = match direction {
            Direction::Uplink => &self.n6,
            Direction::Downlink => &self.n3,
        };
        let Some(port) = side.as_ref().map(|side| side.port) else {
            return 0;
        };
        let mut all = 0;
        for _ in 0..RX_BURSTS {
            let mut burst = Burst::new();
            let came = self.io.rx(port, QueueId(0), &mut burst, RX_BURST);
            all += came;
            let now_ns = self.clock.now_ns();
            for packet in burst.drain() {
                self.take(direction, packet, now_ns);
            }
            self.send_mirrored();
            if came < RX_BURST {
                break;
            }
        }
        all
    }

    fn take(&mut self, direction: Direction, mut packet: I::Packet, now_ns: u64) {
        if packet.segments() > 1 && !packet.linearize() {
            self.strays.malformed += 1;
            return packet.free();
        }
        let turns = match read(packet.data()) {
            Seen::Stamped(stamped) => self.take_stamped(direction, &stamped, now_ns),
            Seen::Arp(arp) => {
                self.take_arp(direction, &arp);
                false
            }
            Seen::Gtpu { from, to, message } => {
                self.strays.count_gtpu(&message);
                if let (Message::EchoRequest { sequence }, Some(n3)) = (message, &self.n3) {
                    n3.answer_echo(from, to, sequence, &mut self.io);
                }
                false
            }
            Seen::Fragment => self.stray(|strays| &mut strays.fragments),
            Seen::Malformed => self.stray(|strays| &mut strays.malformed),
            Seen::Other => self.stray(|strays| &mut strays.other),
        };
        if !turns || mirror::turn_around(packet.data_mut()).is_none() {
            return packet.free();
        }
        if let Err(packet) = self.mirrored.push(packet) {
            packet.free();
        }
    }

    fn stray(&mut self, which: fn(&mut Strays) -> &mut u64) -> bool {
        *which(&mut self.strays) += 1;
        false
    }

    fn take_arp(&mut self, direction: Direction, arp: &sluice_wire::arp::Arp) {
        self.strays.arp += 1;
        let side = match direction {
            Direction::Uplink => &mut self.n6,
            Direction::Downlink => &mut self.n3,
        };
        if let Some(side) = side {
            side.take_arp(arp, &mut self.io);
        }
    }

    /// One of our packets has come. True if it is to be sent back.
    #[inline]
    fn take_stamped(&mut self, direction: Direction, seen: &Stamped, now_ns: u64) -> bool {
        let stamp = &seen.stamp;
        let Some(run) = self.run.as_mut().filter(|run| run.number() == stamp.run) else {
            return self.stray(|strays| &mut strays.stale);
        };
        let is_return = stamp.is_mirrored && stamp.direction == Direction::Uplink;
        let is_where_it_belongs = match is_return {
            true => direction == Direction::Downlink,
            false => direction == stamp.direction && !stamp.is_mirrored,
        };
        let flow = self.flows.get(stamp.flow);
        let is_right = |flow: &crate::Flow| match direction {
            Direction::Uplink => {
                seen.source == flow.ue && seen.destination == self.server && seen.tunnel.is_none()
            }
            Direction::Downlink => {
                let tunnel = seen.tunnel.map(|(teid, _)| teid);
                seen.destination == flow.ue && tunnel == Some(flow.downlink)
            }
        };
        let is_delivered = !self.check_delivery || flow.is_some_and(is_right);
        if !is_where_it_belongs || !is_delivered {
            return self.stray(|strays| &mut strays.misdelivered);
        }
        run.take(stamp, is_return, seen.ip_bytes, now_ns)
            && run.mirrors()
            && !is_return
            && direction == Direction::Uplink
    }

    /// What the port does not take is lost on its way back.
    fn send_mirrored(&mut self) {
        if let (false, Some(n6)) = (self.mirrored.is_empty(), &self.n6) {
            self.io.tx(n6.port, QueueId(0), &mut self.mirrored);
            self.strays.mirror_refused += self.mirrored.len() as u64;
            self.mirrored.free();
        }
    }
}
