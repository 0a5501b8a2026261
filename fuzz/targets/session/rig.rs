//! A UP function with a directory of interfaces and peers around it.

use super::super::pfcp::is_understood;
use super::path::Model;
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::directory::Directory;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match;
use sluice_datapath::lookup::layout::{InstanceId, Layout, Pool};
use sluice_datapath::session::txn::Txn;
use sluice_datapath::tables::Prefix;
use sluice_n4::{Instant, NodeId, Outbox};
use sluice_port::PortId;
use sluice_session::network::Side;
use sluice_session::{Config, Effects, InUse, UpFunction};
use sluice_wire::eth::MacAddr;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::NtpTime;
use sluice_wire::pfcp::{Header, IeType, MessageType, SequenceNumber, write_message};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

/// Small, so that inputs reach every limit.
const SESSIONS: usize = 6;
const TRANSACTIONS: usize = 8;
const BLOCKS: u32 = 3 * SHARDS;
/// Times that timers may run in one input: heartbeats come every 10 s, for half an hour.
const TICKS: usize = 50_000;
/// Datagrams that one input may make the UP function send.
const DATAGRAMS: usize = 50_000;

#[derive(Default)]
struct Out {
    sent: Vec<(SocketAddr, Vec<u8>)>,
    txns: VecDeque<Box<Txn>>,
}

impl Outbox for Out {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.sent.push((to, bytes.to_vec()));
    }
}

impl Effects for Out {
    fn transact(&mut self, txn: Box<Txn>) {
        self.txns.push_back(txn);
    }
}

pub(super) struct Rig {
    up: UpFunction,
    net: Directory,
    out: Out,
    model: Model,
    now: Instant,
    /// Requests of ours that were not answered.
    open: Vec<(SocketAddr, Header)>,
    ticks: usize,
    datagrams: usize,
}

impl Rig {
    pub fn new() -> Self {
        let layout = Layout::new(4 * SHARDS, &[pool()], 64).expect("a sound layout");
        let (foreign, _) =
            exact_match::table(layout.foreign().1 as usize * 2, &[]).expect("memory");
        let n4_address = Ipv4Addr::new(10, 0, 0, 9);
        let mut n4 = sluice_n4::Config::new(NodeId::v4(n4_address), NtpTime(1000));
        n4.limits.associations = 3;
        n4.limits.in_flight = 16;
        n4.limits.in_flight_bytes = 16 * 1024;
        n4.limits.cached_requests = 64;
        n4.limits.cached_response_bytes = 16 * 1024;
        let config = Config {
            sessions: SESSIONS,
            transactions: TRANSACTIONS,
            peer_loss_keep_s: 30,
            ..Config::new(layout.clone(), BLOCKS, n4_address, [1, 2])
        };
        Self {
            up: UpFunction::new(config, n4, foreign),
            net: Directory::new(&interfaces()).expect("a sound configuration"),
            out: Out::default(),
            model: Model::new(layout, BLOCKS),
            now: Instant(1_000_000_000),
            open: Vec::new(),
            ticks: 0,
            datagrams: 0,
        }
    }

    /// Time passes; every timer runs when it is due.
    pub fn pass(&mut self, ns: u64) {
        let end = self.now.plus_ns(ns);
        while let Some(next) = self.up.next_deadline().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.tick();
        }
        self.now = end;
        self.tick();
    }

    fn tick(&mut self) {
        self.ticks += 1;
        assert!(self.ticks < TICKS, "the timers do not come to rest");
        let (now, wall) = self.time();
        self.up.tick(now, wall, &mut self.net, &mut self.out);
        self.after();
        let next = self.up.next_deadline();
        assert!(next.is_none_or(|next| next > now), "what was due is done");
    }

    /// From CP function 0 or 1, or from a stranger.
    pub fn datagram(&mut self, from: u8, bytes: &[u8]) {
        self.datagram_from(SocketAddr::from(([10, 0, 0, 1 + from], 8805)), bytes);
    }

    fn datagram_from(&mut self, peer: SocketAddr, bytes: &[u8]) {
        let (now, wall) = self.time();
        let Self { up, net, out, .. } = self;
        up.handle(now, wall, peer, bytes, net, out);
        self.after();
    }

    /// A transaction comes back, any of those that are the oldest of their shard.
    pub fn complete_one(&mut self, which: usize) {
        let txns = &self.out.txns;
        let oldest = |at: &usize| {
            let shard = txns[*at].shard;
            txns.iter().take(*at).all(|earlier| earlier.shard != shard)
        };
        let ready: Vec<usize> = (0..txns.len()).filter(oldest).collect();
        let at = ready.get(which % ready.len().max(1)).copied();
        let Some(mut txn) = at.and_then(|at| self.out.txns.remove(at)) else {
            return;
        };
        self.model.apply(&mut txn);
        let (now, wall) = self.time();
        self.up
            .complete(now, wall, txn, &mut self.net, &mut self.out);
        self.after();
    }

    /// All come back, and those that they bring about.
    pub fn complete_all(&mut self) {
        for _ in 0..=SESSIONS + TRANSACTIONS {
            for _ in 0..self.out.txns.len() {
                self.complete_one(0);
            }
        }
        assert!(
            self.out.txns.is_empty(),
            "transactions do not come to an end"
        );
    }

    /// Answers the requests that are open: `cause` 0 accepts.
    pub fn answer_reports(&mut self, cause: u8) {
        let cause = if cause == 0 { 1 } else { cause };
        for (peer, request) in core::mem::take(&mut self.open) {
            let Some(message_type) = request.message_type.response() else {
                continue;
            };
            let header = Header {
                message_type,
                ..request
            };
            let mut answer = [0; 128];
            let len = write_message(&mut answer, &header, |w| {
                w.ie(IeType::RECOVERY_TIME_STAMP, |w| w.u32(0xe800_0001))?;
                w.ie(IeType::NODE_ID, |w| w.bytes(&[0, 10, 0, 0, 1]))?;
                w.ie(IeType::CAUSE, |w| w.u8(cause))
            });
            let len = len.expect("the answer is short");
            self.datagram_from(peer, &answer[..len]);
        }
    }

    pub fn error_indication(&mut self, peer: Ipv4Addr, teid: u32) {
        let (now, wall) = self.time();
        self.up
            .error_indication(now, wall, peer.into(), teid, &mut self.out);
        self.after();
    }

    /// The operator looks at a session.
    pub fn query(&mut self, which: u8) {
        let seids = self.seids();
        if let Some(seid) = seids.get(usize::from(which) % seids.len().max(1)) {
            self.up.query(*seid, u64::from(which), &mut self.out);
            assert!(self.up.session(*seid).is_some());
        }
        self.after();
    }

    pub fn begin_release(&mut self, period_s: u8) {
        let (now, wall) = self.time();
        let Self { up, net, out, .. } = self;
        up.begin_release(now, wall, period_s.into(), net, out);
        self.after();
    }

    /// SEIDs of all sessions.
    pub fn seids(&self) -> Vec<u64> {
        self.up
            .sessions()
            .iter()
            .map(|session| session.seid)
            .collect()
    }

    /// What holds after every step.
    pub fn check(&self) {
        assert!(self.up.session_count() <= SESSIONS);
        // Sessions that nobody can name any more are counted until their turn to be removed has come.
        assert!(self.up.sessions().len() <= self.up.session_count());
        assert!(self.up.under_way() <= TRANSACTIONS);
        assert_eq!(self.up.under_way(), self.out.txns.len());
        let users: u32 = self.net.peers().map(|(_, users)| users).sum();
        assert_eq!(self.up.in_use().peers, users as usize, "peers held");
    }

    /// Every CP function releases its association: nothing is left.
    pub fn close(mut self) {
        self.complete_all();
        for attempt in 0..3 {
            let all = self.up.endpoint().associations();
            let all: Vec<_> = all
                .map(|(_, a)| (a.primary(), a.node_id().cloned()))
                .collect();
            for (i, (peer, node_id)) in all.into_iter().enumerate() {
                let release = release(node_id.as_ref(), 0x00ff_fff0 - 4 * attempt - i as u32);
                self.datagram_from(peer, &release);
                self.complete_all();
            }
        }
        self.check();
        assert_eq!(
            self.up.session_count(),
            0,
            "sessions without an association"
        );
        assert_eq!(self.up.in_use(), InUse::default());
        assert_eq!(self.net.peers().count(), 0, "peers that nobody uses");
        self.model.check_empty();
    }

    fn time(&self) -> (Instant, NtpTime) {
        let seconds = (self.now.0 / 1_000_000_000) as u32;
        (self.now, NtpTime(0xe800_0000 + seconds))
    }

    /// Looks at what was sent and noticed.
    fn after(&mut self) {
        while let Some(notice) = self.up.next_event() {
            assert!(!notice.to_string().is_empty());
        }
        for (to, bytes) in core::mem::take(&mut self.out.sent) {
            self.datagrams += 1;
            assert!(
                self.datagrams < DATAGRAMS,
                "the UP function does not stop to talk"
            );
            let (header, body) = Header::parse(&bytes).expect("a message of ours");
            let understood = is_understood(header.message_type, body);
            assert_eq!(understood, Ok(()), "{:?}", header.message_type);
            if header.message_type.is_request() {
                self.open.push((to, header));
            }
        }
    }
}

/// Association Release Request of the function with this name.
fn release(node_id: Option<&NodeId>, sequence: u32) -> Vec<u8> {
    let sequence = SequenceNumber::wrapping(sequence);
    let header = Header::node(MessageType::ASSOCIATION_RELEASE_REQUEST, sequence);
    let mut out = vec![0; 512];
    let len = write_message(&mut out, &header, |w| match node_id {
        Some(node_id) => w.ie(IeType::NODE_ID, |w| node_id.as_wire().encode(w)),
        None => Ok(()),
    });
    out.truncate(len.expect("the request is short"));
    out
}

fn pool() -> Pool {
    Pool {
        instance: InstanceId(1),
        base: [10, 45, 0, 0].into(),
        prefix_len: 24,
    }
}

/// N3 with N9 on one port, N6 on the other.
fn interfaces() -> ControlConfig {
    let n3 = Ipv4Addr::new(192, 0, 2, 1);
    let tunnels = |side, instance: &str| Role::Tunnels {
        side,
        instance: instance.to_owned(),
        addresses: n3.into(),
    };
    let n6 = Role::Plain {
        side: Side::Core,
        instances: vec!["internet".to_owned()],
        is_default: false,
        id: InstanceId(1),
    };
    let interface = |name: &str, port, address: Ipv4Addr, roles| InterfaceConfig {
        addresses: vec![(address, 24)],
        roles,
        ..InterfaceConfig::new(name, PortId(port), MacAddr([2, 0, 0, 0, 0, port as u8]))
    };
    let roles = vec![tunnels(Side::Access, "access"), tunnels(Side::Core, "n9")];
    let all = Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("a prefix");
    ControlConfig {
        interfaces: vec![
            InterfaceConfig {
                routes: vec![(all, [192, 0, 2, 254].into())],
                ..interface("n3", 0, n3, roles)
            },
            interface("n6", 1, [198, 51, 100, 1].into(), vec![n6]),
        ],
        pools: vec![pool()],
        ..ControlConfig::default()
    }
}
