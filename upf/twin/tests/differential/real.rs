//! The real thing: session machine, directory and workers on simulated ports, driven turn by turn.
//! Only the control core's answers (ARP, ICMP, GTP-U signalling) are left out; what would make it
//! speak is recorded.

mod configuration;

use crate::world;
use configuration::{allocation, applications, control_config, instance_id, nat_pools, predefined};
use sluice_control::signalling::Control;
use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::control::ControlEnd;
use sluice_datapath::hold::HoldLimits;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::ledger::Ledger;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::{Layout, Pool, PrefixPool};
use sluice_datapath::message::{IcmpCause, Sender, ToControl};
use sluice_datapath::session::txn::Txn;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_mem::shard::ShardId;
use sluice_n4::{Instant, NodeId, Outbox};
use sluice_port::{Packet, PortId, QueueId};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_session::{Config, Effects, InUse, MbrZero, ShapedRates, UpFunction};
use sluice_twin::{self as twin, Notice, TwinConfig};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::message::{
    AssociationSetupRequest, SessionReportRequest, SessionReportResponse,
};
use sluice_wire::pfcp::value::{NtpTime, ReportType};
use sluice_wire::pfcp::{Cause, Full, Header, MessageType, SequenceNumber, Writer, write_message};
use std::net::{Ipv4Addr, SocketAddr};

const N4: Ipv4Addr = Ipv4Addr::new(192, 0, 4, 1);
const START_NS: u64 = 1_000_000_000_000;
const START_UNIX_S: u64 = 1_800_000_000;
/// Turns after which nothing may be left to do.
const TURNS: usize = 64;
/// A receive queue moves with every so many shards.
const QUEUE_EVERY: u64 = 5;
/// Shards that are moved about.
const SHARDS_MOVED: usize = 7;

/// Who polls, who owns, and whether that changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// One worker polls all and owns all.
    RunToCompletion,
    /// The first polls all, the others own.
    Pipeline,
    /// Ports and shards are dealt out to all; what is another's is handed over.
    Mixed,
    /// The same, and shards and receive queues move at every step.
    Moving,
}

impl Model {
    pub const ALL: [Self; 4] = [
        Self::RunToCompletion,
        Self::Pipeline,
        Self::Mixed,
        Self::Moving,
    ];

    /// Whether rates are shaped: in one model all are policed.
    pub fn shapes(self) -> bool {
        self != Self::RunToCompletion
    }

    fn poller(self, port: u16, workers: usize) -> usize {
        match self {
            Self::RunToCompletion => workers - 1,
            Self::Pipeline => 0,
            Self::Mixed | Self::Moving => usize::from(port) % workers,
        }
    }

    fn owner(self, shard: u16, workers: usize) -> usize {
        match self {
            Self::RunToCompletion => workers - 1,
            Self::Pipeline if workers > 1 => 1 + usize::from(shard) % (workers - 1),
            _ => usize::from(shard) % workers,
        }
    }
}

pub struct Real {
    model: Model,
    net: SimNet,
    ports: [SimPort; 2],
    workers: Vec<Worker<SimIo>>,
    end: ControlEnd<HeapPacket>,
    control: Control,
    up: UpFunction,
    pool: HeapPool,
    now_ns: u64,
    sequence: u32,
    sink: Sink,
    notices: Vec<Notice>,
    arrived: Vec<Vec<u8>>,
    solicitations: Vec<Vec<u8>>,
    /// Downlink Data Reports: SEID of the CP function, PDR, DSCP, QFI.
    paged: Vec<(u64, u16, Option<u8>, Option<u8>)>,
    /// Sessions that were told to be inactive, by the SEID of the CP function.
    inactive: Vec<u64>,
    reports: Vec<Vec<u8>>,
    ledger: Ledger,
    buffer: Vec<u8>,
    /// Shards that had a transaction lately: those are moved, one at each step.
    shards: Vec<ShardId>,
    /// Shards of transactions that wrote what packets meet.
    wrote_rules: Vec<ShardId>,
    moves: u64,
}

/// What the session machine sends.
#[derive(Default)]
struct Sink {
    txns: Vec<Box<Txn>>,
    datagrams: Vec<Vec<u8>>,
}

/// What was to be seen from outside since the last look.
#[derive(Default, Debug)]
pub struct Seen {
    /// Frames by port, in order.
    pub frames: Vec<(u16, Vec<u8>)>,
    /// Drops by name.
    pub drops: Vec<(&'static str, u64)>,
    /// Packets given to the control core.
    pub to_control: u64,
    /// Fragments that became part of others.
    pub merged: u64,
    /// Packets held now.
    pub held: u64,
    /// Packets of UEs for ourselves.
    pub arrived: Vec<Vec<u8>>,
    /// Router Solicitations of UEs.
    pub solicitations: Vec<Vec<u8>>,
    /// Sessions that were told to be inactive.
    pub inactive: Vec<u64>,
    /// What senders are to hear.
    pub notices: Vec<Notice>,
    /// Session Report Requests.
    pub reports: Vec<Vec<u8>>,
}

/// The session machine's part of the world's configuration.
fn up_config(layout: Layout, blocks: u32, world: &TwinConfig) -> Config {
    let mut config = Config::new(layout, blocks, N4, [1, 2]);
    config.sessions = 1024;
    config.allocation = world.pools.iter().map(allocation).collect();
    config.predefined = predefined(world);
    config.applications = applications(world);
    config.shaped_rates = match world.shaping {
        None => ShapedRates::Nothing,
        Some(shaping) if shaping.all => ShapedRates::All,
        Some(_) => ShapedRates::SessionAmbr,
    };
    config.mbr_zero = match world.zero_rate_closes {
        true => MbrZero::Closed,
        false => MbrZero::Unlimited,
    };
    config
}

impl Real {
    pub fn new(workers: usize, model: Model, world: &TwinConfig) -> Self {
        let layout = layout().with_nat(nat_pools(world));
        let blocks = 24 * SHARDS;
        let plan = Plan {
            layout: layout.clone(),
            blocks,
            workers,
        };
        let (seeds, mut end, foreign) = assemble(&plan).expect("memory for a small path");
        let net = SimNet::new(1);
        let ports = ["n3", "n6"].map(|name| {
            let tx_queues = workers as u16;
            net.add_port(SimPortConfig {
                tx_queues,
                ..SimPortConfig::named(name)
            })
        });
        let pool = HeapPool::new(PoolConfig::default());
        let workers = seeds.into_iter().map(|seed| {
            let id = seed.id();
            let polled = polled(usize::from(id), model, workers);
            end.polls(id, &polled);
            let limits = HoldLimits {
                per_entry: world.hold_packets as u32,
                wait_ns: world.hold_ns,
                ..HoldLimits::default()
            };
            let seed = seed.holding(limits);
            seed.grow(net.io(&ports, pool.clone()), polled, QueueId(id.0.into()))
        });
        let workers: Vec<_> = workers.collect();
        let config = up_config(layout, blocks, world);
        let mut n4 = sluice_n4::Config::new(NodeId::v4(N4), NtpTime::from_unix_s(START_UNIX_S));
        n4.heartbeat_interval_ms = 0;
        let up = UpFunction::new(config, n4, foreign);
        let mut control = Control::new(control_config(world)).expect("a sound configuration");
        control.set_filters(up.flow_filters());
        control.set_nat_units(up.nat_units());
        let mut real = Self {
            model,
            net,
            ports,
            workers,
            end,
            control,
            up,
            pool,
            now_ns: START_NS,
            sequence: 0,
            sink: Sink::default(),
            notices: Vec::new(),
            arrived: Vec::new(),
            solicitations: Vec::new(),
            paged: Vec::new(),
            inactive: Vec::new(),
            reports: Vec::new(),
            ledger: Ledger::default(),
            buffer: vec![0; 16_384],
            shards: Vec::new(),
            wrote_rules: Vec::new(),
            moves: 0,
        };
        real.arrange();
        real.associate();
        real
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The time of day, as the session machine is told it.
    pub fn wall(&self) -> NtpTime {
        NtpTime::from_unix_s(START_UNIX_S + (self.now_ns - START_NS) / 1_000_000_000)
    }

    pub fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        let (now, wall) = (Instant(self.now_ns), self.wall());
        let net = &mut self.control.directory;
        self.up.tick(now, wall, net, &mut self.sink);
        self.settle();
    }

    /// To a time that is not past.
    pub fn advance_to(&mut self, now_ns: u64) {
        self.advance(now_ns.saturating_sub(self.now_ns));
    }

    /// Frames that ports receive at once.
    pub fn receive(&mut self, frames: &[(u16, Vec<u8>)]) {
        for (port, frame) in frames {
            self.ports[usize::from(*port)].inject(frame);
        }
        self.settle();
    }

    /// Sends a request whose IEs `body` writes; the response as it came.
    pub fn request(
        &mut self,
        message_type: MessageType,
        seid: Option<u64>,
        body: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Option<Vec<u8>> {
        self.sequence += 1;
        let sequence = SequenceNumber::wrapping(self.sequence);
        let header = Header {
            seid: seid.map(Seid),
            ..Header::node(message_type, sequence)
        };
        let len = write_message(&mut self.buffer, &header, body).expect("a small message");
        let peer = SocketAddr::from((crate::encode::CP, 8805));
        let (now, wall) = (Instant(self.now_ns), self.wall());
        let net = &mut self.control.directory;
        let bytes = &self.buffer[..len];
        self.up.handle(now, wall, peer, bytes, net, &mut self.sink);
        self.settle();
        let is_answer = |bytes: &Vec<u8>| {
            let header = Header::parse(bytes).map(|(header, _)| header);
            header.is_ok_and(|h| h.sequence == sequence && !h.message_type.is_request())
        };
        let answer = self.sink.datagrams.iter().position(is_answer);
        let answer = answer.map(|at| self.sink.datagrams.swap_remove(at));
        self.sink.datagrams.clear();
        answer
    }

    /// The CP function takes every Session Report Request that was sent. Gives how many there were.
    fn take_reports(&mut self) -> usize {
        let is_report = |bytes: &mut Vec<u8>| {
            let header = Header::parse(bytes).map(|(header, _)| header);
            header.is_ok_and(|h| h.message_type == MessageType::SESSION_REPORT_REQUEST)
        };
        let reports: Vec<_> = self.sink.datagrams.extract_if(.., is_report).collect();
        for report in &reports {
            let (header, body) = Header::parse(report).expect("a message");
            let request = SessionReportRequest::parse(body).expect("a sound report");
            let known = ReportType::DLDR.union(ReportType::USAR);
            let known = known.union(ReportType::UPIR);
            assert!(known.contains(request.report_type), "no other reason");
            let cp = header.seid.expect("of a session").0;
            if request.report_type.contains(ReportType::UPIR) {
                self.inactive.push(cp);
            }
            if let Some(data) = &request.downlink_data_report {
                let (pdrs, told) = (&data.pdr_id, &data.downlink_data_service_information);
                assert_eq!(pdrs.len(), told.len(), "each PDR is told of");
                let flows = pdrs.iter().zip(told).map(|(pdr, told)| {
                    let qfi = told.qfi.map(|qfi| qfi.get());
                    (cp, pdr.0, told.paging_policy_indication, qfi)
                });
                self.paged.extend(flows);
            }
            let header = Header {
                message_type: MessageType::SESSION_REPORT_RESPONSE,
                seid: Some(Seid(0)),
                ..header
            };
            let response = SessionReportResponse {
                cause: Cause::REQUEST_ACCEPTED,
                ..SessionReportResponse::default()
            };
            let len = write_message(&mut self.buffer, &header, |w| response.emit(w));
            let bytes = &self.buffer[..len.expect("a small message")];
            let peer = SocketAddr::from((crate::encode::CP, 8805));
            let (now, wall) = (Instant(self.now_ns), self.wall());
            let net = &mut self.control.directory;
            self.up.handle(now, wall, peer, bytes, net, &mut self.sink);
        }
        let taken = reports.len();
        self.reports.extend(reports);
        taken
    }

    /// Flows that the CP function was told of since the last time.
    pub fn take_paged(&mut self) -> Vec<(u64, u16, Option<u8>, Option<u8>)> {
        std::mem::take(&mut self.paged)
    }

    /// True if the path got other rules since this was asked.
    pub fn took_rules(&mut self) -> bool {
        !std::mem::take(&mut self.wrote_rules).is_empty()
    }

    /// The same of some sessions: by the shards in which they lie.
    pub fn took_rules_of(&mut self, ids: impl Iterator<Item = u64>) -> Vec<u64> {
        let shards = std::mem::take(&mut self.wrote_rules);
        let has = |id: &u64| {
            let session = self.up.session(*id);
            session.is_some_and(|s| shards.contains(&ShardId(s.summary.shard)))
        };
        ids.filter(has).collect()
    }

    /// All sessions have the flows of their applications.
    pub fn renew_flows(&mut self) {
        while self.up.next_deadline() == Some(Instant(0)) {
            self.advance(0);
        }
    }

    /// What happened since the last look.
    pub fn look(&mut self) -> Seen {
        let mut seen = Seen {
            notices: std::mem::take(&mut self.notices),
            arrived: std::mem::take(&mut self.arrived),
            solicitations: std::mem::take(&mut self.solicitations),
            reports: std::mem::take(&mut self.reports),
            inactive: std::mem::take(&mut self.inactive),
            ..Seen::default()
        };
        for (number, port) in self.ports.iter().enumerate() {
            let frames = port.take_output().into_iter();
            let frames = frames.map(|(_, frame)| (number as u16, frame));
            seen.frames.extend(frames);
        }
        let ledger = self.end.ledger();
        for (reason, total) in &ledger.dropped {
            let new = total - self.ledger.dropped_for(*reason);
            if new > 0 {
                seen.drops.push((reason.name(), new));
            }
        }
        seen.to_control = ledger.to_control - self.ledger.to_control;
        seen.merged = ledger.merged - self.ledger.merged;
        seen.held = ledger.held;
        self.ledger = ledger;
        seen
    }

    /// Gives every shard its owner.
    fn arrange(&mut self) {
        let workers = self.workers.len();
        for shard in 0..SHARDS as u16 {
            let owner = WorkerId::at(self.model.owner(shard, workers));
            assert!(self.end.move_shard(ShardId(shard), owner));
        }
        while self.end.mover().progress().1 > 0 {
            for worker in &mut self.workers {
                worker.turn(self.now_ns);
            }
            assert!(self.end.receive_message().is_none(), "nothing came");
        }
    }

    /// Moves one of the shards last touched to another worker, and now and then a receive queue:
    /// what is under way meets it.
    fn move_something(&mut self) {
        if self.model != Model::Moving {
            return;
        }
        self.moves += 1;
        if self.moves.is_multiple_of(QUEUE_EVERY) {
            let port = (self.moves / QUEUE_EVERY % 2) as u16;
            let to = self.moves / QUEUE_EVERY / 2 % self.workers.len() as u64;
            assert!(self.end.move_queue(at(port), WorkerId(to as u8)));
        }
        let kept = self.shards.len().saturating_sub(SHARDS_MOVED);
        self.shards.drain(..kept);
        let at = (self.moves % SHARDS_MOVED as u64) as usize;
        if let Some(shard) = self.shards.get(at) {
            let to = (self.moves / SHARDS_MOVED as u64) % self.workers.len() as u64;
            assert!(self.end.move_shard(*shard, WorkerId(to as u8)));
        }
    }

    /// Turns until nothing happens any more.
    fn settle(&mut self) {
        self.move_something();
        for _ in 0..TURNS {
            self.net.advance_to(self.now_ns);
            // The path must know a peer before it gets rules that name it.
            if let Some(tables) = self.control.take_tables() {
                self.end.publish(tables);
            }
            for txn in self.sink.txns.drain(..) {
                self.shards.retain(|shard| *shard != txn.shard);
                self.shards.push(txn.shard);
                if txn.writes_rules() {
                    self.wrote_rules.push(txn.shard);
                }
                self.end.send(txn);
            }
            let now_ns = self.now_ns;
            let mut work: usize = self.workers.iter_mut().map(|w| w.turn(now_ns)).sum();
            while let Some(message) = self.end.receive_message() {
                work += 1;
                self.message(message);
            }
            work += self.take_reports();
            if work == 0 && self.sink.txns.is_empty() {
                return;
            }
        }
        panic!("the path does not come to rest");
    }

    fn message(&mut self, message: ToControl<HeapPacket>) {
        match message {
            ToControl::Done(txn) => {
                let (now, wall) = (Instant(self.now_ns), self.wall());
                let net = &mut self.control.directory;
                self.up.complete(now, wall, txn, net, &mut self.sink);
            }
            ToControl::Packet(packet, _) => packet.free(),
            ToControl::Bell(bell) => {
                let (now, wall) = (Instant(self.now_ns), self.wall());
                let net = &mut self.control.directory;
                self.up.bell(now, wall, &bell, net, &mut self.sink);
            }
            ToControl::FromUe(packet, ..) => {
                self.arrived.push(packet.data().to_vec());
                packet.free();
            }
            ToControl::RouterSolicitation(packet, ..) => {
                self.solicitations.push(packet.data().to_vec());
                packet.free();
            }
            ToControl::NatFull(entry) => self.up.nat_full(entry, &mut self.sink),
            ToControl::Resolve(_)
            | ToControl::Moved(_)
            | ToControl::Expecting(_)
            | ToControl::Requeued(_)
            | ToControl::TraceExpected
            | ToControl::Traced(_) => {}
            ToControl::UnknownTeid(n) => self.notices.push(Notice::ErrorIndication {
                peer: n.peer,
                local: n.local,
                teid: n.teid,
            }),
            ToControl::Icmp(packet, notice) => {
                let cause = match notice.cause {
                    IcmpCause::TtlExceeded => twin::IcmpCause::TtlExceeded,
                    IcmpCause::TooBig(mtu) => twin::IcmpCause::TooBig(mtu),
                };
                let about = packet.data().to_vec();
                let sender = self.sender(notice.sender);
                self.notices.push(Notice::Icmp(cause, about, sender));
                packet.free();
            }
        }
    }

    fn sender(&self, sender: Sender) -> twin::Sender {
        let name = |id| self.control.directory.instance_name(id).to_owned();
        match sender {
            Sender::DataNetwork(id) => twin::Sender::DataNetwork(name(id)),
            Sender::Tunnelled { towards, .. } => {
                towards.map_or(twin::Sender::Relayed, |id| twin::Sender::Ue(name(id)))
            }
        }
    }

    fn associate(&mut self) {
        let request = AssociationSetupRequest {
            node_id: sluice_wire::pfcp::value::NodeId::V4(crate::encode::CP),
            recovery_time_stamp: self.wall(),
            ..AssociationSetupRequest::default()
        };
        let setup = MessageType::ASSOCIATION_SETUP_REQUEST;
        let response = self.request(setup, None, |w| request.emit(w));
        response.expect("an answer to the association");
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.up.session_count()
    }

    /// What must hold when no session is left and nothing waits.
    pub fn check_empty(&self) -> Result<(), String> {
        let ledger = self.end.ledger();
        if !ledger.balances() || ledger.held != 0 {
            return Err(format!("the books do not balance:\n{ledger}"));
        }
        if self.pool.live() != 0 || self.pool.leaked() != 0 {
            let (live, leaked) = (self.pool.live(), self.pool.leaked());
            return Err(format!("{live} packets live, {leaked} leaked"));
        }
        let in_use = self.up.in_use();
        if in_use != InUse::default() || self.up.session_count() != 0 {
            return Err(format!("without sessions in use: {in_use:?}"));
        }
        Ok(())
    }
}

fn layout() -> Layout {
    let pool = |(name, base, prefix_len)| Pool {
        instance: instance_id(name),
        base,
        prefix_len,
    };
    let pools = world::POOLS.map(pool);
    // In each shard as many TEIDs and entries as a case can take that has all its sessions there, those that rest
    // included: the twin knows no shards.
    let layout = Layout::new(128 * SHARDS, &pools, 64 * SHARDS).expect("a sound layout");
    // Prefixes that we give are found by their numbers, those of other UEs are searched for.
    layout.with_prefixes(vec![PrefixPool {
        instance: instance_id(world::INTERNET).0,
        base: 0x2001_0db8_0045_0000,
        len: 63,
    }])
}

fn polled(worker: usize, model: Model, workers: usize) -> Vec<Polled> {
    let ports = (0..2u16).filter(|port| model.poller(*port, workers) == worker);
    ports.map(at).collect()
}

fn at(port: u16) -> Polled {
    Polled {
        port: PortId(port),
        queue: QueueId(0),
    }
}

impl Outbox for Sink {
    fn send(&mut self, _: SocketAddr, bytes: &[u8]) {
        self.datagrams.push(bytes.to_vec());
    }
}

impl Effects for Sink {
    fn transact(&mut self, txn: Box<Txn>) {
        self.txns.push(txn);
    }
}
