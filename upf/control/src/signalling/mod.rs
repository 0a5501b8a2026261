//! Control-plane packets: ARP, ICMP, Neighbour Discovery, Router Advertisements, GTP-U signalling, next hops.
//!
//! Sans-IO: frames and notices in, frames and events out, time as a parameter.

mod answer;
mod discovery;
mod echo;
mod gtpu;
mod icmpv6;
mod rate;
mod router_advertisement;
mod way_back;

use crate::config::ControlConfig;
use crate::directory::{Directory, DirectoryError, ReloadError};
use crate::frame::Frames;
use crate::neighbours::Question;
use core::net::{IpAddr, Ipv4Addr};
use rate::RateLimit;
use router_advertisement::Advertised;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::message::{IcmpNotice, Resolve, UnknownTeid};
use sluice_datapath::nat::pool::NatUnits;
use sluice_datapath::session::flow_filter::FlowFilters;
use sluice_datapath::tables::{Interface, InterfaceId, Tables};
use sluice_session::UpFunction;
use sluice_wire::arp::Arp;
use sluice_wire::eth::{EtherType, MacAddr};
use sluice_wire::ids::Teid;
use sluice_wire::ipv6::is_ipv6;
use way_back::From;

/// Events for the rest of the UPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A peer has no tunnel for what we sent it (TS 29.281, 7.3.1).
    ErrorIndication {
        /// Sender of the indication.
        peer: IpAddr,
        /// TEID without a session.
        teid: Teid,
    },
}

/// Finds the session of a prefix.
pub trait PrefixOwners {
    /// The entry of the session that has an IPv6 prefix of 64 bits in a network instance.
    fn entry_of_prefix(&self, instance: InstanceId, prefix: u64) -> Option<EntryId>;

    /// Whether an address leads to a session: a UE has it, or it lies in a prefix behind one.
    fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool;

    /// Whether the session with this entry is known to have its UE's addresses in a network instance.
    fn has_ue_in(&self, entry: EntryId, instance: InstanceId) -> bool;
}

impl PrefixOwners for UpFunction {
    fn entry_of_prefix(&self, instance: InstanceId, prefix: u64) -> Option<EntryId> {
        UpFunction::entry_of_prefix(self, instance, prefix)
    }

    fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool {
        UpFunction::leads_to_ue(self, instance, address)
    }

    fn has_ue_in(&self, entry: EntryId, instance: InstanceId) -> bool {
        UpFunction::has_ue_in(self, entry, instance)
    }
}

/// Counters of the control core, for `ctl` and metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControlCounters {
    /// ARP questions answered.
    pub arp_replies: u64,
    /// ARP questions asked.
    pub arp_requests: u64,
    /// ICMP echo requests answered.
    pub icmp_echo_replies: u64,
    /// ICMP errors sent.
    pub icmp_errors: u64,
    /// Neighbour Solicitations answered.
    pub neighbour_advertisements: u64,
    /// Neighbour Solicitations sent.
    pub neighbour_solicitations: u64,
    /// ICMPv6 echo requests answered.
    pub icmpv6_echo_replies: u64,
    /// ICMPv6 errors sent.
    pub icmpv6_errors: u64,
    /// Router Advertisements sent to UEs.
    pub router_advertisements: u64,
    /// Router Solicitations that a rate limit left without answer.
    pub router_solicitations_limited: u64,
    /// GTP-U echo requests that a rate limit left without answer.
    pub gtpu_echo_limited: u64,
    /// GTP-U echo requests answered.
    pub gtpu_echo_responses: u64,
    /// GTP-U echo requests sent.
    pub gtpu_echo_requests: u64,
    /// Answers to them.
    pub gtpu_echo_answers: u64,
    /// Error Indications sent.
    pub error_indications_sent: u64,
    /// Error Indications received.
    pub error_indications_received: u64,
    /// End Markers received.
    pub end_markers: u64,
    /// Supported Extension Headers Notifications sent.
    pub extension_notifications: u64,
    /// Supported Extension Headers Notifications that a rate limit held back.
    pub extension_notifications_limited: u64,
    /// Frames that meant nothing to us.
    pub ignored: u64,
    /// Error Indications and ICMP errors that a rate limit held back.
    pub limited: u64,
}

/// The control core.
#[derive(Debug)]
pub struct Control {
    /// Interfaces, peers, ways out.
    pub directory: Directory,
    /// The tables that were published last.
    tables: Tables,
    config: ControlConfig,
    counters: ControlCounters,
    indications: RateLimit<IpAddr>,
    icmp_errors: RateLimit<()>,
    echoes: Answers,
    notifications: Answers,
    advertised: Advertised,
    filters: FlowFilters,
    nat_units: NatUnits,
    sequence: u16,
}

/// Error Indications per second to one peer: enough for it to notice, too few to flood it.
const INDICATIONS_PER_S: u32 = 10;
/// Peers that are remembered for that.
const INDICATION_PEERS: usize = 4_096;
/// Echo Responses per second to one peer: TS 29.281, 7.2.1 has a path asked once in 60 s at most, and
/// several processes may share an address.
const ECHOES_PER_S: u32 = 10;
/// Supported Extension Headers Notifications per second to one peer: its packets all look alike, and
/// one is enough to tell it.
const NOTIFICATIONS_PER_S: u32 = 2;
/// Answers of one of these kinds per second in all, so that no storm takes N4's time: 20,000 peers
/// that ask every 60 s come to 334.
const ANSWERS_PER_S: u32 = 1_000;
/// ICMP errors per second in all (RFC 1812, 4.3.2.8 asks for a limit).
const ICMP_ERRORS_PER_S: u32 = 1_000;

/// Answers of one kind: so many to each peer, and [`ANSWERS_PER_S`] in all.
#[derive(Debug)]
struct Answers {
    to_each: RateLimit<IpAddr>,
    in_all: RateLimit<()>,
}

impl Answers {
    fn new(each_per_s: u32) -> Self {
        Self {
            to_each: RateLimit::new(each_per_s, each_per_s, INDICATION_PEERS),
            in_all: RateLimit::new(ANSWERS_PER_S, ANSWERS_PER_S, 1),
        }
    }

    /// A peer that asks too often does not use up what is there for the others.
    fn allow(&mut self, peer: IpAddr, now_ns: u64) -> bool {
        self.to_each.allow(peer, now_ns) && self.in_all.allow((), now_ns)
    }
}

impl Control {
    /// From the configuration; the first tables are ready to be taken.
    pub fn new(config: ControlConfig) -> Result<Self, DirectoryError> {
        let directory = Directory::new(&config)?;
        Ok(Self {
            directory,
            tables: Tables::default(),
            config,
            counters: ControlCounters::default(),
            indications: RateLimit::new(INDICATIONS_PER_S, INDICATIONS_PER_S, INDICATION_PEERS),
            icmp_errors: RateLimit::new(ICMP_ERRORS_PER_S, 50, 1),
            echoes: Answers::new(ECHOES_PER_S),
            notifications: Answers::new(NOTIFICATIONS_PER_S),
            advertised: Advertised::default(),
            filters: FlowFilters::default(),
            nat_units: NatUnits::default(),
            sequence: 0,
        })
    }

    /// Takes what may change while sessions live from a new configuration: routes, static neighbours, filters of
    /// peers, proxies, clamps, Router Advertisements, DSCP, bounds of shaping.
    ///
    /// # Errors
    /// [`ReloadError`]; then nothing is changed.
    pub fn reload(&mut self, config: ControlConfig) -> Result<(), ReloadError> {
        self.directory.reload(&config)?;
        self.config = config;
        Ok(())
    }

    /// The flow filters that all tables have from now on. Before the first tables are taken.
    pub fn set_filters(&mut self, filters: FlowFilters) {
        self.filters = filters;
    }

    /// Sets the owners of public ports for all tables from now on. Before the first tables are taken.
    pub fn set_nat_units(&mut self, units: NatUnits) {
        self.nat_units = units;
    }

    /// New tables for the path, if anything changed.
    pub fn take_tables(&mut self) -> Option<Tables> {
        let tables = Tables {
            filters: self.filters.clone(),
            nat_units: self.nat_units.clone(),
            dscp: self.config.dscp.clone(),
            shaping: self.config.shaping,
            ..self.directory.take_tables()?
        };
        self.tables = tables.clone();
        Some(tables)
    }

    /// Counters since the start.
    pub fn counters(&self) -> ControlCounters {
        self.counters
    }

    /// A frame that the path gave up to us.
    pub fn frame(
        &mut self,
        now_ns: u64,
        id: InterfaceId,
        frame: &[u8],
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let Some(interface) = self.interface(id) else {
            self.counters.ignored += 1;
            return None;
        };
        self.answer(now_ns, id, &interface, frame, owners, out)
    }

    /// A packet of a UE, which came by an entry, to one of our addresses on a plain interface.
    pub fn from_ue(
        &mut self,
        now_ns: u64,
        (id, entry): (InterfaceId, EntryId),
        packet: &[u8],
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        let Some(interface) = self.interface(id) else {
            self.counters.ignored += 1;
            return;
        };
        let way = From::Ue(self.home_of_ue(&interface, entry, packet, owners));
        self.answer_ue(now_ns, (id, &interface), packet, way, out);
    }

    /// The path wants to send to a station.
    pub fn resolve(&mut self, now_ns: u64, sought: Resolve, out: &mut impl Frames) {
        let neighbours = &mut self.directory.neighbours;
        let question = match sought {
            Resolve::NextHop(id) => neighbours.want_hop(id, now_ns),
            Resolve::OnLink(interface, address) => neighbours.want(interface, address, now_ns),
        };
        if let Some(question) = question {
            self.ask(question, out);
        }
    }

    /// A G-PDU for no tunnel arrived.
    pub fn unknown_teid(&mut self, now_ns: u64, notice: UnknownTeid, out: &mut impl Frames) {
        if !self.indications.allow(notice.peer, now_ns) {
            self.counters.limited += 1;
            return;
        }
        self.send_error_indication(now_ns, notice, out);
    }

    /// The sender of an inner packet must hear of its end.
    pub fn icmp(
        &mut self,
        now_ns: u64,
        inner: &[u8],
        notice: IcmpNotice,
        owners: &impl PrefixOwners,
        out: &mut impl Frames,
    ) {
        if !self.icmp_errors.allow((), now_ns) {
            self.counters.limited += 1;
            return;
        }
        match is_ipv6(inner) {
            true => self.send_icmpv6_error(now_ns, inner, notice, owners, out),
            false => self.send_icmp_error(now_ns, inner, notice, owners, out),
        }
    }

    /// Repeats questions for stations, and advertisements to UEs, and asks tunnel peers for echoes. Call it a
    /// few times a second.
    pub fn tick(&mut self, now_ns: u64, owners: &impl PrefixOwners, out: &mut impl Frames) {
        self.advertise_again(now_ns, owners, out);
        self.send_echoes(now_ns, out);
        let mut questions = Vec::new();
        self.directory
            .neighbours
            .tick(now_ns, |question| questions.push(question));
        for question in questions {
            self.ask(question, out);
        }
    }

    fn interface(&self, id: InterfaceId) -> Option<Interface> {
        self.tables.interfaces.get(usize::from(id)).cloned()
    }

    /// Puts a question for a station on the link.
    fn ask(&mut self, question: Question, out: &mut impl Frames) {
        // One on no interface of ours cannot be asked for.
        let _ = match question.target {
            IpAddr::V4(target) => self.ask_by_arp(question.interface, target, out),
            IpAddr::V6(target) => self.solicit(question.interface, target, out),
        };
    }

    fn ask_by_arp(
        &mut self,
        id: InterfaceId,
        target: Ipv4Addr,
        out: &mut impl Frames,
    ) -> Option<()> {
        let interface = self.interface(id)?;
        let source = own_address(self.directory.interface(id)?, target);
        let arp = Arp::request(MacAddr(interface.mac), source, target).to_bytes();
        let frame =
            crate::frame::ethernet(&interface, MacAddr::BROADCAST, EtherType::ARP, &[&arp])?;
        self.counters.arp_requests += 1;
        out.transmit(id, &frame);
        Some(())
    }
}

/// Our address on the subnet of `target`, or our first.
fn own_address(config: &crate::config::InterfaceConfig, target: Ipv4Addr) -> Ipv4Addr {
    let near = config.addresses.iter().find(|(address, len)| {
        sluice_datapath::tables::Prefix::new(*address, *len)
            .is_some_and(|p| p.contains(target.into()))
    });
    near.or(config.addresses.first())
        .map_or(Ipv4Addr::UNSPECIFIED, |(address, _)| *address)
}
