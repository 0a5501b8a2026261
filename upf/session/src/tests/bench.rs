//! The bench: one UP function, one worker, any number of CP functions.

pub use super::requests::*;
use crate::network::{Network, PeerError, Side, TunnelAddresses, TunnelEndpoint};
use crate::{Config, Effects, UpFunction};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use sluice_datapath::builder::{Plan, assemble};
use sluice_datapath::control::ControlEnd;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::{InstanceId, Layout, Pool, PrefixPool};
use sluice_datapath::message::ToControl;
use sluice_datapath::nat::pool::NatPools;
use sluice_datapath::session::txn::Txn;
use sluice_datapath::tables::{EgressId, PeerId};
use sluice_datapath::worker::Worker;
use sluice_n4::{Instant, NodeId, Outbox};
use sluice_port::QueueId;
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig, SimIo, SimNet, SimPortConfig};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Full, Header, MessageType, SequenceNumber, Writer, write_message};
use std::collections::HashMap;

pub const CP: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 10);
pub const CP2: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 11);
pub const N4: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
pub const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// N3 has IPv6 as well; N9 has not.
pub const N3_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1);
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);
pub const EGRESS: EgressId = EgressId(3);

/// Peers are counted, so that a leak is seen.
#[derive(Default, Debug, Clone, PartialEq)]
pub struct TestNet {
    pub held: HashMap<PeerId, (IpAddr, usize)>,
    pub refuses: Option<PeerError>,
    /// N3 has no IPv4.
    pub is_ipv6_alone: bool,
}

impl TestNet {
    pub fn holds(&self) -> usize {
        self.held.values().map(|(_, n)| n).sum()
    }
}

fn known(instance: Option<&str>) -> bool {
    instance.is_none_or(|i| ["internet", "access", "ims"].contains(&i))
}

impl Network for TestNet {
    fn tunnel_endpoint(&self, side: Side, instance: Option<&str>) -> Option<TunnelEndpoint> {
        let local = match side {
            Side::Access => 0,
            Side::Core => 1,
            Side::Control | Side::SgiLan => return None,
        };
        known(instance).then(|| TunnelEndpoint {
            addresses: TunnelAddresses {
                ipv4: (!self.is_ipv6_alone || local != 0).then_some(Ipv4Addr::new(
                    192,
                    0,
                    2,
                    1 + local,
                )),
                ipv6: (side == Side::Access).then_some(N3_IPV6),
            },
            local,
        })
    }

    fn tunnel_endpoint_at(
        &self,
        side: Side,
        instance: Option<&str>,
        address: IpAddr,
    ) -> Option<TunnelEndpoint> {
        let there = self.tunnel_endpoint(side, instance)?;
        there.addresses.has(address).then_some(there)
    }

    fn ue_instance(&self, side: Side, instance: Option<&str>) -> Option<InstanceId> {
        let id = InstanceId(if instance == Some("ims") { 2 } else { 1 });
        (side == Side::Core && known(instance)).then_some(id)
    }

    fn egress(&self, side: Side, instance: Option<&str>) -> Option<EgressId> {
        (side == Side::Core && known(instance)).then_some(EGRESS)
    }

    fn hold_peer(
        &mut self,
        side: Side,
        instance: Option<&str>,
        remote: IpAddr,
        marking: Marking,
    ) -> Result<PeerId, PeerError> {
        if let Some(error) = self.refuses {
            return Err(error);
        }
        if !known(instance) {
            return Err(PeerError::NoInterface);
        }
        let id = match remote {
            IpAddr::V4(remote) => {
                let [.., high, low] = remote.octets();
                PeerId(u16::from_be_bytes([high, low]))
            }
            IpAddr::V6(_) if side != Side::Access => return Err(PeerError::NoInterface),
            IpAddr::V6(remote) => PeerId::ipv6(usize::from(remote.octets()[15])),
        };
        // One for each marking; those of the tests differ enough.
        let id = PeerId(id.0 ^ u16::from(marking.octets()[0]) << 4);
        self.held.entry(id).or_insert((remote, 0)).1 += 1;
        Ok(id)
    }

    fn release_peer(&mut self, peer: PeerId) {
        let (_, users) = self.held.get_mut(&peer).expect("a peer that is held");
        *users -= 1;
        if *users == 0 {
            self.held.remove(&peer);
        }
    }

    fn peer_address(&self, peer: PeerId) -> Option<IpAddr> {
        Some(self.held.get(&peer)?.0)
    }
}

/// What the UP function sent.
#[derive(Default)]
pub struct Out {
    pub datagrams: Vec<(SocketAddr, Vec<u8>)>,
    pub txns: Vec<Box<Txn>>,
}

impl Outbox for Out {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.datagrams.push((to, bytes.to_vec()));
    }
}

impl Effects for Out {
    fn transact(&mut self, txn: Box<Txn>) {
        self.txns.push(txn);
    }
}

pub struct Bench {
    pub up: UpFunction,
    pub net: TestNet,
    pub out: Out,
    /// All that was sent since the start: to whom, and the message.
    pub spoken: Vec<(SocketAddr, Vec<u8>)>,
    pub now_s: u64,
    /// Operations of all transactions since it was last emptied, as text.
    pub ops: Vec<sluice_datapath::session::txn::Op>,
    pub end_markers: Vec<sluice_datapath::session::txn::EndMarker>,
    /// Added to the usage of every taking operation that comes back.
    pub traffic: sluice_datapath::session::txn::Usage,
    /// What is to be told of every cell of a usage record that comes back.
    pub marks: sluice_datapath::session::usage_record::UrrState,
    /// When the first and the last packet left that a cell tells of; 0 is none.
    pub left_ns: u64,
    pub layout: Layout,
    worker: Worker<SimIo>,
    end: ControlEnd<HeapPacket>,
    sequence: u32,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// A UP function that CP is associated with.
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::made(change, 1024, NatPools::default())
    }

    /// One whose endpoint remembers so many requests.
    pub fn with_memory(requests: usize) -> Self {
        Self::made(|_| {}, requests, NatPools::default())
    }

    /// One whose network instance is translated.
    pub fn with_nat(nat: NatPools) -> Self {
        Self::made(|_| {}, 1024, nat)
    }

    /// One that does not ask whether its peers are there.
    pub fn without_heartbeats() -> Self {
        let silent = |n4: &mut sluice_n4::Config| n4.heartbeat_interval_ms = 0;
        Self::built(|_| {}, silent, NatPools::default())
    }

    /// One configured so whose endpoint remembers so many requests.
    pub fn made(change: impl FnOnce(&mut Config), requests: usize, nat: NatPools) -> Self {
        Self::built(change, |n4| n4.limits.cached_requests = requests, nat)
    }

    /// One with places for so many sessions, whose UEs are of 10.44.0.0/14 and 2001:db8::/44. No entry is written or
    /// asked where transactions do not go through the worker.
    pub fn with_room(sessions: u32) -> Self {
        let pool = Pool {
            instance: InstanceId(1),
            base: Ipv4Addr::new(10, 44, 0, 0),
            prefix_len: 14,
        };
        let prefixes = PrefixPool {
            instance: 1,
            base: 0x2001_0db8_0000_0000,
            len: 44,
        };
        let places = sessions.next_power_of_two().max(8 * SHARDS);
        let layout = Layout::new(2 * places, &[pool], places).unwrap();
        let layout = layout.with_prefixes(vec![prefixes]);
        Self::laid_out(layout, |c| c.sessions = sessions as usize, |_| {})
    }

    fn built(
        change: impl FnOnce(&mut Config),
        change_n4: impl FnOnce(&mut sluice_n4::Config),
        nat: NatPools,
    ) -> Self {
        let pool = Pool {
            instance: InstanceId(1),
            base: Ipv4Addr::new(10, 45, 0, 0),
            prefix_len: 24,
        };
        let layout = Layout::new(4 * SHARDS, &[pool], 2 * SHARDS).unwrap();
        Self::laid_out(layout.with_nat(nat), change, change_n4)
    }

    fn laid_out(
        layout: Layout,
        change: impl FnOnce(&mut Config),
        change_n4: impl FnOnce(&mut sluice_n4::Config),
    ) -> Self {
        let blocks = 32 * SHARDS;
        let plan = Plan {
            layout: layout.clone(),
            blocks,
            workers: 1,
        };
        let (mut seeds, end, foreign) = assemble(&plan).unwrap();
        let sim = SimNet::new(1);
        let ports = [sim.add_port(SimPortConfig::named("n3"))];
        let io = sim.io(&ports, HeapPool::new(PoolConfig::default()));
        let worker = seeds.remove(0).grow(io, vec![], QueueId(0));
        let mut config = Config::new(layout.clone(), blocks, N4, [1, 2]);
        config.sessions = 300;
        change(&mut config);
        let mut n4 = sluice_n4::Config::new(NodeId::v4(N4), NtpTime(1000));
        n4.limits.cached_requests = 1024;
        change_n4(&mut n4);
        let mut bench = Self {
            up: UpFunction::new(config, n4, foreign),
            net: TestNet::default(),
            out: Out::default(),
            spoken: Vec::new(),
            now_s: 100,
            ops: Vec::new(),
            end_markers: Vec::new(),
            traffic: Default::default(),
            marks: Default::default(),
            left_ns: 0,
            layout,
            worker,
            end,
            sequence: 0,
        };
        bench.associate(CP);
        bench
    }

    pub fn associate(&mut self, cp: Ipv4Addr) {
        let request = AssociationSetupRequest {
            node_id: sluice_wire::pfcp::value::NodeId::V4(cp),
            recovery_time_stamp: NtpTime(7),
            ..Default::default()
        };
        let kind = MessageType::ASSOCIATION_SETUP_REQUEST;
        let response = self.ask(cp, kind, None, |w| request.emit(w)).unwrap();
        let (_, body) = Header::parse(&response).unwrap();
        let response = AssociationSetupResponse::parse(body).unwrap();
        assert_eq!(response.cause, Cause::REQUEST_ACCEPTED);
    }

    /// Sends a request and gives the response, with transactions applied as they come.
    pub fn ask(
        &mut self,
        cp: Ipv4Addr,
        kind: MessageType,
        seid: Option<Seid>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Option<Vec<u8>> {
        let bytes = self.message(kind, seid, write);
        self.ask_bytes(cp, &bytes)
    }

    pub fn message(
        &mut self,
        kind: MessageType,
        seid: Option<Seid>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Vec<u8> {
        self.sequence += 1;
        let header = Header {
            message_type: kind,
            seid,
            sequence: SequenceNumber::wrapping(self.sequence),
            priority: None,
        };
        let mut bytes = vec![0; 60_000];
        let len = write_message(&mut bytes, &header, write).unwrap();
        bytes.truncate(len);
        bytes
    }

    pub fn ask_bytes(&mut self, cp: Ipv4Addr, bytes: &[u8]) -> Option<Vec<u8>> {
        self.out.datagrams.clear();
        self.put(cp, bytes);
        self.settle();
        let (asked, _) = Header::parse(bytes).unwrap();
        let mut answers = self.out.datagrams.iter().map(|(_, b)| b);
        let answer = answers.find(|b| {
            let (header, _) = Header::parse(b).unwrap();
            header.sequence == asked.sequence && !header.message_type.is_request()
        });
        let answer = answer.cloned();
        self.spoken.extend(self.out.datagrams.iter().cloned());
        answer
    }

    pub fn put(&mut self, cp: Ipv4Addr, bytes: &[u8]) {
        let peer = SocketAddr::new(IpAddr::V4(cp), 8805);
        let (now, wall) = (self.now(), self.wall());
        self.up
            .handle(now, wall, peer, bytes, &mut self.net, &mut self.out);
    }

    /// Applies all transactions and brings them back.
    pub fn settle(&mut self) {
        while !self.out.txns.is_empty() {
            for txn in std::mem::take(&mut self.out.txns) {
                self.ops.extend(txn.ops.iter().copied());
                self.end_markers.extend(txn.end_markers.iter().copied());
                self.end.send(txn);
            }
            while self.end.under_way() > 0 {
                self.worker.turn(self.now().0);
                while let Some(message) = self.end.receive_message() {
                    if let ToControl::Done(mut txn) = message {
                        for usage in &mut txn.usage {
                            usage.bytes += self.traffic.bytes;
                            usage.packets += self.traffic.packets;
                        }
                        for marks in &mut txn.marks {
                            marks.state = marks.state.with(self.marks);
                            (marks.first_ns, marks.last_ns) = (self.left_ns, self.left_ns);
                        }
                        let (now, wall) = (self.now(), self.wall());
                        self.up
                            .complete(now, wall, txn, &mut self.net, &mut self.out);
                    }
                }
            }
        }
    }

    pub fn tick(&mut self) {
        let (now, wall) = (self.now(), self.wall());
        self.up.tick(now, wall, &mut self.net, &mut self.out);
        self.settle();
    }

    pub fn now(&self) -> Instant {
        Instant(self.now_s * 1_000_000_000)
    }

    pub fn wall(&self) -> NtpTime {
        NtpTime(self.now_s as u32 + 5000)
    }

    pub fn establish(
        &mut self,
        cp: Ipv4Addr,
        request: &SessionEstablishmentRequest<'_>,
    ) -> Established {
        let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        let bytes = self
            .ask(cp, kind, Some(Seid(0)), |w| request.emit(w))
            .unwrap();
        let (header, body) = Header::parse(&bytes).unwrap();
        let response = SessionEstablishmentResponse::parse(body).unwrap();
        assert_eq!(
            header.seid,
            Some(request.cp_f_seid.seid),
            "header of an establishment"
        );
        Established {
            cause: response.cause,
            offending: response.offending_ie.map(|ie| ie.0),
            failed: response.failed_rule_id,
            seid: response.up_f_seid.map_or(Seid(0), |f| f.seid),
            teids: created(&response.created_pdr),
        }
    }

    pub fn modify(
        &mut self,
        cp: Ipv4Addr,
        seid: Seid,
        request: &SessionModificationRequest<'_>,
    ) -> Modified {
        let kind = MessageType::SESSION_MODIFICATION_REQUEST;
        let bytes = self.ask(cp, kind, Some(seid), |w| request.emit(w)).unwrap();
        let (header, body) = Header::parse(&bytes).unwrap();
        let response = SessionModificationResponse::parse(body).unwrap();
        Modified {
            header_seid: header.seid.unwrap(),
            cause: response.cause,
            offending: response.offending_ie.map(|ie| ie.0),
            failed: response.failed_rule_id,
            durations: (response.usage_report.iter())
                .map(|report| report.duration_measurement.map(|used| used.0))
                .collect(),
            reports: response.usage_report.iter().map(report).collect(),
            teids: created(&response.created_pdr),
        }
    }

    pub fn delete(&mut self, cp: Ipv4Addr, seid: Seid) -> (Cause, Vec<Report>) {
        let kind = MessageType::SESSION_DELETION_REQUEST;
        let bytes = self.ask(cp, kind, Some(seid), |_| Ok(())).unwrap();
        let (_, body) = Header::parse(&bytes).unwrap();
        let response = SessionDeletionResponse::parse(body).unwrap();
        (
            response.cause,
            response.usage_report.iter().map(report).collect(),
        )
    }

    /// Everything that a refused message must leave alone.
    pub fn fingerprint(&self) -> String {
        let sessions = self.up.sessions();
        let whole: Vec<_> = sessions.iter().map(|s| self.up.session(s.seid)).collect();
        let state = &self.up.node.part;
        format!(
            "{whole:?} {:?} {} {}",
            self.up.in_use(),
            self.net.holds(),
            state.remotes.len()
        )
    }

    /// tshark recognises all that was sent, and has nothing to complain of.
    pub fn assert_well_spoken(&self) {
        if !sluice_host::tool::is_installed("tshark") {
            return println!("not judged: needs tshark");
        }
        let frames: Vec<_> = self.spoken.iter().map(|(to, m)| frame(*to, m)).collect();
        let verdict = sluice_host::tshark::judge_frames(frames.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(verdict.complaints, Vec::<String>::new());
        assert_eq!(verdict.frames, self.spoken.len() as u64);
    }

    /// Nothing is given out and every entry and block is zero. Ends the bench.
    pub fn assert_vacant(self) {
        assert_eq!(self.up.in_use(), Default::default());
        assert_eq!((self.net.holds(), self.up.under_way()), (0, 0));
        assert_eq!(self.up.node.part.remotes.len(), 0);
        assert_eq!(self.up.session_count(), 0);
        let state = self.worker.stop();
        for at in 0..state.entry_count() {
            let entry = state.entry(at).unwrap();
            assert!(entry.is_vacant(), "entry {at}");
            assert_eq!((entry.ue_ip, entry.local()), (0, 0), "entry {at}");
            assert_eq!(entry.head, Default::default(), "entry {at}");
        }
        for at in 0..state.ext_count() {
            let block = state.ext(at).unwrap();
            assert_eq!((block.next.0, block.rules_len), (0, 0), "block {at}");
            assert!(
                block.rules.iter().all(|r| r.head == Default::default()),
                "block {at}"
            );
            let limited = |b: &sluice_datapath::session::rule::SharedBucket| b.rate.is_limited();
            assert!(!block.buckets.iter().any(limited), "block {at}");
        }
    }
}

/// A message of ours on the wire.
fn frame(to: SocketAddr, message: &[u8]) -> Vec<u8> {
    use sluice_wire::{eth, ipv4, udp};
    let SocketAddr::V4(to) = to else {
        panic!("{to}")
    };
    let ports = udp::UdpHeader {
        source_port: 8805,
        destination_port: to.port(),
    };
    let udp = ports.to_bytes(N4, *to.ip(), message).unwrap();
    let ip = ipv4::Ipv4Header::new(ipv4::Protocol::UDP, N4, *to.ip());
    let ip = ip.to_bytes(udp.len() + message.len()).unwrap();
    let header = eth::EthHeader {
        destination: eth::MacAddr([2, 0, 0, 0, 0, 1]),
        source: eth::MacAddr([2, 0, 0, 0, 0, 2]),
        ethertype: eth::EtherType::IPV4,
    };
    [&header.to_bytes()[..], &ip, &udp, message].concat()
}

#[derive(Debug)]
pub struct Established {
    pub cause: Cause,
    pub offending: Option<sluice_wire::pfcp::IeType>,
    pub failed: Option<FailedRuleId>,
    pub seid: Seid,
    pub teids: Vec<(u16, u32)>,
}

#[derive(Debug)]
pub struct Modified {
    pub teids: Vec<(u16, u32)>,
    pub header_seid: Seid,
    pub cause: Cause,
    pub offending: Option<sluice_wire::pfcp::IeType>,
    pub failed: Option<FailedRuleId>,
    pub reports: Vec<Report>,
    /// Durations of the reports.
    pub durations: Vec<Option<u32>>,
}

#[derive(Debug, PartialEq, Clone)]
pub struct Report {
    pub urr: u32,
    pub sequence: u32,
    pub trigger: UsageReportTrigger,
    pub uplink: u64,
    pub downlink: u64,
    pub packets: Option<u64>,
}

pub fn report(report: &sluice_wire::pfcp::group::UsageReport<'_>) -> Report {
    let volume = report.volume_measurement.unwrap_or_default();
    Report {
        urr: report.urr_id.0,
        sequence: report.ur_seqn,
        trigger: report.usage_report_trigger,
        uplink: volume.uplink.unwrap_or(0),
        downlink: volume.downlink.unwrap_or(0),
        packets: volume.total_packets,
    }
}

/// The TEIDs that a response tells, by PDR.
fn created(pdrs: &[CreatedPdr]) -> Vec<(u16, u32)> {
    let teid = |c: &CreatedPdr| Some((c.pdr_id.0, c.local_f_teid.first()?.teid()?.get()));
    pdrs.iter().filter_map(teid).collect()
}
