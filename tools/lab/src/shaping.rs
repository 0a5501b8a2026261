//! Runner `shaping`: a session's AMBR kept by delay and by dropping, in virtual time: a worker of the daemon between
//! simulated ports, and senders that go by what comes back.

mod sender;

use super::testbed::{bad, repeats};
use crate::experiments::{Job, Measured, Problem};
use sender::{Blaster, Sender, Tcp};
use sluice_bench::path::testbed::Upf;
use sluice_bench::path::topology::{self, DN_MAC, N6_MAC, SERVER};
use sluice_bench::path::variant::{Load, Variant};
use sluice_port_sim::{HeapPool, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_wire::eth::{EthHeader, EtherType};
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::udp::UdpHeader;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Octets of each packet, header and all, which is what rates count.
const PACKET_BYTES: usize = 1_400;
/// Of those what TCP carries.
const SEGMENT_BYTES: usize = 1_360;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// Before the packet in a frame of N3: Ethernet, and the outer header.
const INNER_AT: usize = 14 + 44;
const HEADERS: usize = 28;
/// Throughput and goodput count from then on: before, what a full token bucket lets pass at once adds to the rate.
const SETTLES_NS: u64 = NS_PER_S;

/// Senders to one UE, whose downlink has an AMBR.
pub fn shaping(job: &Job<'_>) -> Result<Measured, Problem> {
    let is_shaped = match job.text("scheme")? {
        "shaping" => true,
        "policing" => false,
        other => return Err(bad("scheme", other, "shaping or policing")),
    };
    let ambr_kbps = (job.number("ambr_mbps")? * 1e3) as u64;
    let rtt_ns = (job.number("rtt_ms")? * 1e6) as u64;
    let lasts_ns = (job.number("seconds")? * 1e9) as u64;
    let flows = job.number("flows")? as u32;
    let mut all = Figures::default();
    for rep in 0..repeats(job)? as u64 {
        job.go_on()?;
        let senders = (0..flows).map(|flow| -> Result<Box<dyn Sender>, Problem> {
            // They do not begin together.
            let begins_ns = (u64::from(flow) * 37 + rep * 11) * NS_PER_MS / 10;
            Ok(match job.text("traffic")? {
                "TCP" => Box::new(Tcp::begins(begins_ns, rtt_ns)),
                "bursts" => {
                    let share_bps = ambr_kbps * 1_000 / u64::from(flows);
                    Box::new(Blaster::begins(begins_ns, share_bps, PACKET_BYTES))
                }
                other => return Err(bad("traffic", other, "TCP or bursts")),
            })
        });
        let senders = senders.collect::<Result<Vec<_>, _>>()?;
        let upf = Link::with(ambr_kbps, is_shaped).map_err(Problem::Failed)?;
        let run = Run::new(upf, senders, rtt_ns);
        all.add(&run.to(lasts_ns)?, lasts_ns, ambr_kbps);
    }
    Ok(all.measured())
}

/// Figures of each repetition.
#[derive(Default)]
struct Figures {
    throughput_mbps: Vec<f64>,
    of_ambr: Vec<f64>,
    goodput_mbps: Vec<f64>,
    lost: Vec<f64>,
    p50_us: Vec<f64>,
    p99_us: Vec<f64>,
}

impl Figures {
    fn add(&mut self, heard: &Heard, lasts_ns: u64, ambr_kbps: u64) {
        let seconds = lasts_ns.saturating_sub(heard.settles_ns) as f64 / NS_PER_S as f64;
        let mbps = |bytes: usize| bytes as f64 * 8.0 / 1e6 / seconds;
        let throughput = mbps((heard.arrived - heard.settled.arrived) * PACKET_BYTES);
        self.throughput_mbps.push(throughput);
        self.of_ambr
            .push(100.0 * throughput / (ambr_kbps as f64 / 1e3));
        let in_order = heard.in_order - heard.settled.in_order;
        self.goodput_mbps.push(mbps(in_order * SEGMENT_BYTES));
        self.lost
            .push(100.0 * heard.lost as f64 / heard.sent.max(1) as f64);
        let mut waited = heard.waited_ns.clone();
        waited.sort_unstable();
        let share = |share: f64| {
            let at = (waited.len() as f64 * share) as usize;
            waited.get(at).map_or(0.0, |ns| *ns as f64 / 1e3)
        };
        self.p50_us.push(share(0.5));
        self.p99_us.push(share(0.99));
    }

    fn measured(self) -> Measured {
        let mut measured = Measured::default();
        measured.add("throughput_mbps", self.throughput_mbps);
        measured.add("of_ambr", self.of_ambr);
        measured.add("goodput_mbps", self.goodput_mbps);
        measured.add("lost_percent", self.lost);
        measured.add("latency_us_p50", self.p50_us);
        measured.add("latency_us_p99", self.p99_us);
        measured
    }
}

/// Packets that reached the receivers.
#[derive(Default)]
struct Heard {
    sent: usize,
    arrived: usize,
    /// Of TCP: segments that were given to its user.
    in_order: usize,
    lost: usize,
    /// In the UPF, of each packet.
    waited_ns: Vec<u64>,
    /// When the time began that counts, from the start; zero if the run was no longer.
    settles_ns: u64,
    /// Packets until the measured time.
    settled: Settled,
}

/// Packets before the measured time.
#[derive(Default)]
struct Settled {
    arrived: usize,
    in_order: usize,
}

/// The UPF with one session, between its ports.
struct Link {
    upf: Upf<SimIo>,
    net: SimNet,
    n3: SimPort,
    n6: SimPort,
    now_ns: u64,
}

/// A packet that left: whose, and which one of all.
struct Left {
    flow: u32,
    number: u32,
}

impl Link {
    fn with(kbps: u64, is_shaped: bool) -> Result<Self, String> {
        let net = SimNet::new(1);
        let ports = ["n3", "n6"].map(|name| {
            net.add_port(SimPortConfig {
                rx_queue_packets: 4_096,
                ..SimPortConfig::named(name)
            })
        });
        let io = net.io(&ports, HeapPool::default());
        let [n3, n6] = ports;
        let variant = Variant {
            load: Load::Limited { kbps, is_shaped },
            ..Variant::USUAL
        };
        Ok(Self {
            upf: Upf::start(1, variant, io)?,
            now_ns: sluice_host::clock::monotonic_ns(),
            net,
            n3,
            n6,
        })
    }

    /// The next packet of a flow comes from the data network.
    fn send(&mut self, flow: u32, number: u32) {
        let mut payload = vec![0; PACKET_BYTES - HEADERS];
        payload[..4].copy_from_slice(&flow.to_be_bytes());
        payload[4..8].copy_from_slice(&number.to_be_bytes());
        let ue = topology::ue_address(0);
        let ports = UdpHeader {
            source_port: 443,
            destination_port: 40_000 + flow as u16,
        };
        let udp = ports.to_bytes(SERVER, ue, &payload).unwrap_or_default();
        let ip = Ipv4Header::new(Protocol::UDP, SERVER, ue);
        let ip = ip.to_bytes(udp.len() + payload.len()).unwrap_or([0; 20]);
        let eth = EthHeader {
            destination: N6_MAC,
            source: DN_MAC,
            ethertype: EtherType::IPV4,
        };
        let frame = [&eth.to_bytes()[..], &ip, &udp, &payload].concat();
        self.n6.inject(&frame);
    }

    /// Turns of the worker at a time, until it finds nothing to do. What left by N3 since.
    fn turn(&mut self, at_ns: u64) -> Vec<Left> {
        self.now_ns = self.now_ns.max(at_ns);
        self.net.advance_to(self.now_ns);
        while self.upf.worker.turn(self.now_ns) > 0 {}
        self.net.advance_to(self.now_ns);
        let frames = self.n3.take_output();
        let left = frames.iter().filter_map(|(_, frame)| {
            let payload = frame.get(INNER_AT + HEADERS..)?;
            let word = |at: usize| Some(u32::from_be_bytes(*payload.get(at..)?.first_chunk()?));
            Some(Left {
                flow: word(0)?,
                number: word(4)?,
            })
        });
        left.collect()
    }
}

/// Next event in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Wake(u32),
    /// A receiver's word of a packet is back.
    Acknowledged(u32, u32),
}

struct Run {
    link: Link,
    senders: Vec<Box<dyn Sender>>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// By flow and number: when it came to the UPF.
    came_ns: Vec<Vec<u64>>,
    rtt_ns: u64,
    heard: Heard,
}

impl Run {
    fn new(link: Link, senders: Vec<Box<dyn Sender>>, rtt_ns: u64) -> Self {
        let began_ns = link.now_ns;
        let wakes = (0..).zip(&senders);
        let wakes = wakes.map(|(flow, sender)| (began_ns + sender.begins_ns(), Event::Wake(flow)));
        Self {
            events: wakes.map(Reverse).collect(),
            came_ns: senders.iter().map(|_| Vec::new()).collect(),
            link,
            senders,
            rtt_ns,
            heard: Heard::default(),
        }
    }

    /// Until so much time has passed.
    fn to(mut self, lasts_ns: u64) -> Result<Heard, Problem> {
        let began_ns = self.link.now_ns;
        let end_ns = began_ns + lasts_ns;
        loop {
            let event_ns = self.events.peek().map(|Reverse((at, _))| *at);
            let due_ns = self.link.upf.worker.next_due_ns();
            let Some(next_ns) = event_ns.into_iter().chain(due_ns).min() else {
                break;
            };
            if next_ns > end_ns {
                break;
            }
            if self.heard.settles_ns == 0 && next_ns >= began_ns + SETTLES_NS {
                self.heard.settles_ns = SETTLES_NS;
                self.heard.settled = Settled {
                    arrived: self.heard.arrived,
                    in_order: self.in_order(),
                };
            }
            if event_ns == Some(next_ns)
                && let Some(Reverse((at_ns, event))) = self.events.pop()
            {
                self.happens(at_ns, event);
            }
            let left = self.link.turn(next_ns);
            self.arrive(&left);
        }
        self.heard.in_order = self.in_order();
        let ledger = self.link.upf.ledger();
        self.heard.lost = ledger.dropped_total() as usize;
        let balances = ledger.balances();
        self.link.upf.stop();
        match balances {
            true => Ok(self.heard),
            false => Err(Problem::Failed(format!("packets were lost: {ledger}"))),
        }
    }

    fn in_order(&self) -> usize {
        self.senders.iter().map(|sender| sender.in_order()).sum()
    }

    fn happens(&mut self, at_ns: u64, event: Event) {
        let flow = match event {
            Event::Wake(flow) => flow,
            Event::Acknowledged(flow, number) => {
                if let Some(sender) = self.senders.get_mut(flow as usize) {
                    sender.acknowledged(at_ns, number);
                }
                flow
            }
        };
        let at = flow as usize;
        let (Some(sender), Some(came)) = (self.senders.get_mut(at), self.came_ns.get_mut(at))
        else {
            return;
        };
        let (packets, again_ns) = sender.sends(at_ns);
        for _ in 0..packets {
            self.link.send(flow, came.len() as u32);
            came.push(at_ns);
        }
        self.heard.sent += packets;
        if let Some(again_ns) = again_ns {
            self.events.push(Reverse((again_ns, Event::Wake(flow))));
        }
    }

    fn arrive(&mut self, left: &[Left]) {
        let now_ns = self.link.now_ns;
        for Left { flow, number } in left {
            self.heard.arrived += 1;
            let came = self.came_ns.get(*flow as usize);
            if let Some(came_ns) = came.and_then(|came| came.get(*number as usize)) {
                self.heard.waited_ns.push(now_ns - came_ns);
            }
            let event = Event::Acknowledged(*flow, *number);
            self.events.push(Reverse((now_ns + self.rtt_ns, event)));
        }
    }
}
