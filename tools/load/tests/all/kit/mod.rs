//! A generator whose N3 and N6 are joined by a simulated link, and captures of both ends.

mod upf;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use pcap_file::pcap::PcapReader;
use sluice_load::engine::{Engine, EngineConfig, LanePlan, NextHop, Phase, SideConfig, Trial};
use sluice_load::report::{LaneName, LaneReport, Report};
use sluice_load::source::{Plan, Popularity, Sizes};
use sluice_load::stamp::Stamp;
use sluice_load::{Direction, Flow, Flows, TunnelEnds};
use sluice_port::PortId;
use sluice_port_sim::{HeapPool, LinkConfig, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_wire::eth::MacAddr;
use sluice_wire::ids::{Qfi, Teid};

use upf::MiniUpf;

pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
pub const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

type Clock = Box<dyn Fn() -> u64>;

pub struct World {
    pub net: SimNet,
    pub engine: Engine<SimIo, Clock>,
    n3: Recording,
    n6: Recording,
    pool: HeapPool,
    ports: [SimPort; 2],
    upf: Option<MiniUpf>,
}

pub fn link(delay_ns: u64) -> LinkConfig {
    LinkConfig {
        delay_ns,
        ..LinkConfig::default()
    }
}

pub fn lane(plan: Plan) -> LanePlan {
    LanePlan {
        plan,
        sizes: Sizes::Fixed(100),
        popularity: Popularity::Uniform,
    }
}

pub fn of(report: &Report, name: LaneName) -> &LaneReport {
    report.lanes.iter().find(|lane| lane.lane == name).unwrap()
}

impl World {
    pub fn new(flows: u32, link: LinkConfig) -> Self {
        Self::seeded(1, flows, link)
    }

    pub fn seeded(seed: u64, flows: u32, link: LinkConfig) -> Self {
        Self::build(seed, flows, link, None, false)
    }

    pub fn with_rate(flows: u32, link: LinkConfig, rate_bps: Option<u64>) -> Self {
        Self::build(1, flows, link, rate_bps, false)
    }

    pub fn checking(flows: u32, link: LinkConfig) -> Self {
        Self::build(1, flows, link, None, true)
    }

    /// With a UPF between both, at the end of a link from each; who gets what is checked.
    pub fn with_upf(flows: u32, link: LinkConfig) -> Self {
        let mut world = Self::build(1, flows, link, None, true);
        let port = |name| world.net.add_port(SimPortConfig::named(name));
        let far = [port("upf-n3"), port("upf-n6")];
        for (near, far) in world.ports.iter().zip(&far) {
            world.net.connect(near, far, link);
        }
        let io = world.net.io(&far, world.pool.clone());
        world.upf = Some(MiniUpf::new(io, self::flows(flows)));
        world
    }

    fn build(seed: u64, flows: u32, link: LinkConfig, rate_bps: Option<u64>, check: bool) -> Self {
        let net = SimNet::new(seed);
        let port = |name: &str, last| {
            let mut config = SimPortConfig::named(name);
            config.mac[5] = last;
            config.rate_bps = rate_bps;
            config.tx_queue_packets = 64;
            config.rx_queue_packets = u16::MAX;
            net.add_port(config)
        };
        let (n3, n6) = (port("n3", 3), port("n6", 6));
        net.connect(&n3, &n6, link);
        let record = |port: &SimPort| {
            let recording = Recording::default();
            port.tap(recording.clone()).unwrap();
            recording
        };
        let recordings = (record(&n3), record(&n6));
        let pool = HeapPool::default();
        let ports = [n3, n6];
        let io = net.io(&ports, pool.clone());
        let config = config(check);
        let clock = net.clone();
        let clock: Clock = Box::new(move || clock.now_ns());
        let mut engine = Engine::new(io, clock, &config);
        engine.set_flows(Arc::new(self::flows(flows)));
        Self {
            net,
            engine,
            n3: recordings.0,
            n6: recordings.1,
            pool,
            ports,
            upf: None,
        }
    }

    /// A whole run.
    pub fn run(&mut self, trial: &Trial) -> Report {
        self.engine.start(trial).unwrap();
        self.go_until(u64::MAX);
        let report = self.engine.finish().unwrap();
        assert_eq!(self.pool.leaked(), 0);
        report
    }

    /// Lets time pass until then, or until the run is done.
    pub fn go_until(&mut self, end_ns: u64) {
        while self.engine.phase() != Phase::Done && self.net.now_ns() < end_ns {
            let mut moved = self.engine.turn();
            if let Some(upf) = &mut self.upf {
                moved += upf.turn();
            }
            // What waits for room waits until a packet has left.
            let is_later = |ns: &u64| moved > 0 || *ns > self.net.now_ns();
            let engine = self.engine.next_ns().filter(is_later);
            let next = engine.into_iter().chain(self.net.next_event_ns()).min();
            self.net.advance_to(next.unwrap_or(end_ns).min(end_ns));
        }
    }

    /// Sequences of each flow that left, and that arrived, in order, read from the captures.
    fn captured(&self, direction: Direction) -> [Vec<(u32, u32)>; 2] {
        let (from, to) = match direction {
            Direction::Uplink => (&self.n3, &self.n6),
            Direction::Downlink => (&self.n6, &self.n3),
        };
        [from, to].map(|recording| recording.stamps(direction))
    }

    /// Counts anew, naively, and compares.
    pub fn matches_the_captures(&self, direction: Direction, lane: &LaneReport) {
        let [left, arrived] = self.captured(direction);
        let (mut set, mut highest) = (BTreeSet::new(), BTreeMap::new());
        let (mut duplicates, mut reordered) = (0, 0);
        for (flow, sequence) in arrived {
            let highest = highest.entry(flow).or_insert(sequence);
            if !set.insert((flow, sequence)) {
                duplicates += 1;
            } else if sequence < *highest {
                reordered += 1;
            }
            *highest = (*highest).max(sequence);
        }
        assert_eq!(lane.sent, left.len() as u64);
        assert_eq!(lane.lost, (left.len() - set.len()) as u64);
        assert_eq!((lane.duplicates, lane.reordered), (duplicates, reordered));
        let lossy: BTreeSet<u32> = left
            .iter()
            .filter(|packet| !set.contains(packet))
            .map(|(flow, _)| *flow)
            .collect();
        assert_eq!(lane.flows_with_loss, lossy.len() as u64);
    }

    pub fn arrivals_by_flow(&self, direction: Direction) -> BTreeMap<u32, u64> {
        let mut counts = BTreeMap::new();
        let [_, arrived] = self.captured(direction);
        arrived
            .iter()
            .for_each(|(flow, _)| *counts.entry(*flow).or_default() += 1);
        counts
    }
}

/// N3 and N6 at the first two ports, and stations there that need no ARP.
pub fn config(check_delivery: bool) -> EngineConfig {
    let side = |port, address| {
        Some(SideConfig {
            port: PortId(port),
            addresses: vec![address],
            next_hop: NextHop::Mac(MacAddr([2, 0, 0, 0, 1, 1])),
        })
    };
    EngineConfig {
        n3: side(0, GNB),
        n6: side(1, SERVER),
        server: SERVER,
        check_delivery,
    }
}

pub fn flows(count: u32) -> Flows {
    let flow = |n: u32| Flow {
        ue: Ipv4Addr::from_bits(0x0a2d_0002 + n),
        uplink: Teid::new(0x8000_0000 | n).unwrap(),
        downlink: Teid::new(n + 1).unwrap(),
        tunnel: 0,
        qfi: Qfi::new(9),
    };
    let ends = TunnelEnds { gnb: GNB, upf: UPF };
    Flows::new((0..count).map(flow).collect(), vec![ends]).unwrap()
}

/// Frames that passed a port, as a capture file.
#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Vec<u8>>>);

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Recording {
    /// Flow and sequence of all packets of a direction.
    fn stamps(&self, direction: Direction) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        let bytes = self.0.lock().unwrap();
        let mut reader = PcapReader::new(&bytes[..]).unwrap();
        let at = match direction {
            Direction::Uplink => 14 + 44 + 28,
            Direction::Downlink => 14 + 28,
        };
        while let Some(frame) = reader.next_packet() {
            let stamp = frame.unwrap().data.get(at..).and_then(Stamp::read);
            if let Some(stamp) = stamp.filter(|stamp| stamp.direction == direction) {
                all.push((stamp.flow, stamp.sequence));
            }
        }
        all
    }
}
