//! Packet path: the stages of TS 29.244, 5.2.1 for a burst of packets, in their order:
//!
//! receive -> parse -> **place** -> hand over what is not mine -> session -> PDR and outer header
//! removal -> QER -> FAR -> route -> outer header creation -> transmit -> account

use crate::batch::Batch;
use crate::bells::{Bell, BellCause};
use crate::drop::DropReason;
use crate::forward::far::{ForwardTo, Stop};
use crate::forward::fast_path::FastTx;
use crate::forward::outer_header_creation::FromInner;
use crate::forward::outer_header_removal::is_link_destination;
use crate::forward::pdr::{At, Detect};
use crate::forward::qer::Draw;
use crate::forward::rules::State;
use crate::forward::{
    extension_headers, far, outer_header_creation, outer_header_removal, rules, urr,
};
use crate::hold::HeldPackets;
use crate::ids::EntryId;
use crate::ledger::WorkerStats;
use crate::lookup::session_lookup::SessionLookup;
use crate::meta::{Arrival, Meta};
use crate::nat::NatState;
use crate::nat::inbound::{self, Translated};
use crate::nat::prefetch::{self, Sources};
use crate::rings::WorkerRings;
use crate::rx::parse::is_router_solicitation;
use crate::session::SessionState;
use crate::session::rule::{Body, Flags};
use crate::session::token_bucket::Lead;
use crate::stage_timer::{Stage, StageTimer};
use crate::tables::{Interface, InterfaceId, Tables};
use crate::trace::WorkerTrace;
use crate::tx::arp_queue::{ArpQueue, PendingTx};
use crate::tx::route;
use crate::tx::route::Hop;
use crate::tx::shaper::Shaper;
use crate::tx::transmit::{TxBuffer, UsageRef};
use sluice_port::{Burst, Packet, PortIo};
use sluice_wire::ipv4::Ipv4;
use sluice_wire::ipv6::Ipv6;

/// What the path works with for one pass.
pub(crate) struct Path<'a, I: PortIo> {
    pub tables: &'a Tables,
    pub state: &'a mut SessionState,
    pub places: &'a SessionLookup,
    pub nat: &'a mut NatState<I::Packet>,
    pub io: &'a mut I,
    pub tx_buffers: &'a mut [TxBuffer<I::Packet>],
    pub held: &'a mut ArpQueue<I::Packet>,
    pub hold: &'a mut HeldPackets<I::Packet>,
    pub shaper: &'a mut Shaper<I::Packet>,
    /// The longest burst that passes at once at any rate.
    pub burst: Lead,
    pub rings: &'a mut WorkerRings<I::Packet>,
    pub stats: &'a WorkerStats,
    pub probe: &'a mut StageTimer,
    pub tracer: &'a mut WorkerTrace,
    pub now_ns: u64,
}

/// Where a packet leaves and whose usage it is.
pub(crate) struct TxDecision {
    pub tx_buffer: usize,
    pub charge: UsageRef,
}

/// Why a packet does not leave at once.
pub(crate) enum End {
    /// Dropped.
    Drop(DropReason),
    /// Dropped for its TTL on this way, and the sender is told by ICMP.
    TtlExceeded(ForwardTo),
    /// It is held (BUFF), by the entry's own rule or one of a block.
    Hold(Option<At>),
    /// It waits for its bit rate, until then.
    Wait(u64),
    /// A UE asks for a router, by a rule that sends this way, if to a data network.
    Solicited(Option<ForwardTo>),
    /// It must leave here, but the next hop is not known, or is us, or the packet does not fit, or
    /// keeps extension headers.
    Detour(ForwardTo, UsageRef),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Drop(reason) => Self::Drop(reason),
            Stop::Hold(at) => Self::Hold(at),
            Stop::Wait(due_ns) => Self::Wait(due_ns),
        }
    }
}

/// Whether a packet comes, or has waited for its bit rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It comes.
    First,
    /// It has waited: it has paid, and all else is asked anew.
    Due,
}

impl From<DropReason> for End {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

impl<'a, I: PortIo> Path<'a, I> {
    /// Everything from *session* to *transmit*, for packets whose entries are ours.
    pub fn execute(&mut self, batch: &mut Batch<I::Packet>) {
        let n = batch.metas.len();
        self.run(batch);
        self.probe.end_stage(&self.stats.stages, Stage::Execute, n);
        self.flush();
        self.probe.end_stage(&self.stats.stages, Stage::Transmit, n);
    }

    /// Everything up to the TX buffers.
    #[inline(always)]
    pub fn run(&mut self, batch: &mut Batch<I::Packet>) {
        if self.places.layout.nat().is_empty() {
            self.run_each::<false>(batch)
        } else {
            let sources = Sources {
                owned: &self.nat.owned,
                state: self.state,
                tables: self.tables,
                layout: &self.places.layout,
            };
            prefetch::mappings(batch.mine.as_slice(), &batch.metas, sources);
            self.run_each::<true>(batch);
        }
    }

    /// With `NAT`, packets may be translated.
    #[inline(never)]
    fn run_each<const NAT: bool>(&mut self, batch: &mut Batch<I::Packet>) {
        let Batch {
            mine,
            metas,
            dead,
            found,
            has_several_rules,
            ..
        } = batch;
        // Entries with several rules come together: where none was met, none is looked for.
        let found: &[Option<At>] = if core::mem::take(has_several_rules) {
            self.find_rules(mine.as_slice(), metas, found);
            &*found
        } else {
            &[]
        };
        for (place, (mut packet, meta)) in mine.drain().zip(metas.iter()).enumerate() {
            let fast_path = if !meta.fast_path {
                None
            } else if NAT {
                self.fast_path_of_any(&mut packet, meta)
            } else {
                self.fast_path(&mut packet, meta)
            };
            match fast_path {
                Some(Ok(FastTx { tx_buffer, bytes })) => {
                    let charge = UsageRef::of_entry(meta.entry, bytes);
                    self.push(usize::from(tx_buffer), packet, charge);
                }
                Some(Err(reason)) => self.end(packet, meta, End::Drop(reason), dead),
                None => {
                    let found = found.get(place).copied().flatten();
                    *has_several_rules |= self.uncommon(packet, meta, found, dead);
                }
            }
        }
        metas.clear();
        dead.free();
    }

    /// A packet whose entry does not have the rule of a common one; true if it has several.
    #[inline(never)]
    fn uncommon(
        &mut self,
        mut packet: I::Packet,
        meta: &Meta,
        found: Option<At>,
        dead: &mut Burst<I::Packet>,
    ) -> bool {
        let has_several_rules = meta.fast_path && self.chain_of(meta).is_some();
        let fast_path = if has_several_rules {
            self.fast_path_of_rules(&mut packet, meta, found)
        } else {
            None
        };
        match fast_path {
            Some(Ok(TxDecision { tx_buffer, charge })) => self.push(tx_buffer, packet, charge),
            Some(Err(reason)) => self.end(packet, meta, End::Drop(reason), dead),
            None => self.one(packet, meta, Turn::First, dead),
        }
        has_several_rules
    }

    /// One packet as any may be. Not inlined: the loop's registers are for common packets, and what
    /// both find out would meet in memory.
    #[inline(never)]
    pub(crate) fn one(
        &mut self,
        mut packet: I::Packet,
        meta: &Meta,
        turn: Turn,
        dead: &mut Burst<I::Packet>,
    ) {
        if turn == Turn::First {
            if self.hold.is_draining(meta.entry) {
                return self.go_behind(packet, meta);
            }
            let reason = self.slow_reason(&packet, meta);
            self.stats.slow[reason as usize].add(1);
        }
        let translated = match meta.arrival {
            Arrival::Public => match self.translate_inbound(&mut packet, meta) {
                Ok(Translated::To(translated)) => Some(translated),
                Ok(Translated::TtlExceeded) => return self.ttl_exceeded(packet, meta),
                Err(reason) => return self.end(packet, meta, End::Drop(reason), dead),
            },
            _ => None,
        };
        let meta = translated.as_ref().unwrap_or(meta);
        match self.pass(&mut packet, meta, turn) {
            Ok(TxDecision { tx_buffer, charge }) => self.push(tx_buffer, packet, charge),
            Err(End::Drop(DropReason::UnknownTeid | DropReason::UnknownUe))
                if turn == Turn::Due =>
            {
                self.discard(packet, DropReason::SessionChanged);
            }
            Err(end) => self.end(packet, meta, end, dead),
        }
    }

    /// A packet from outside that goes no further, as a frame yet.
    #[cold]
    fn ttl_exceeded(&mut self, mut packet: I::Packet, meta: &Meta) {
        let pulled = packet.pull_front(usize::from(meta.inner_at));
        // What follows it in the frame is no part of it.
        let len = Ipv4::parse_unsummed(packet.data()).map_or(0, |ip| usize::from(ip.total_len()));
        if packet.len() > len {
            packet.truncate(len);
        }
        match pulled {
            Ok(()) => self.hops_used_up(packet, meta, None),
            Err(_) => self.discard(packet, DropReason::InnerHeader),
        }
    }

    /// The path of one packet. Inlined with all its stages: what one finds out stays in registers
    /// for the next.
    #[inline(always)]
    pub fn pass(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
        turn: Turn,
    ) -> Result<TxDecision, End> {
        let tables = self.tables;
        let entry = self.state.entry(meta.entry.0);
        let entry = entry.ok_or(rules::missing(meta.arrival))?;
        rules::check(entry, meta, &tables.filters)?;
        let inner = outer_header_removal::remove(packet, meta, entry, &tables.filters)?;
        let standing = self.standing(meta);
        let draw = (turn == Turn::First).then_some(Draw {
            now_ns: self.now_ns,
            len: inner.len,
            shaping: &tables.shaping,
            not_before_ns: standing.not_before_ns,
            has_room: self.has_room(standing),
        });
        let detect = Detect::of(meta, entry, packet.data(), &tables.filters);
        if inner.is_on_link {
            stays_on_link(self.state, meta, &detect, packet.data())?;
        }
        let (head, body, at) = match rules::apply(self.state, meta, &detect, draw) {
            Ok(applied) => applied,
            Err(stop) => return Err(self.stopped(stop, meta, &detect, inner.len)),
        };
        let charge = UsageRef {
            entry: meta.entry,
            at,
            len: inner.len,
        };
        let Some((interface, template, mac)) = route::known(head, body, inner, tables) else {
            return Err(End::Detour(far::exit(head, body), charge));
        };
        let relays = far::relays(meta.arrival, head);
        if relays && extension_headers::keeps(head, meta) {
            return Err(End::Detour(far::exit(head, body), charge));
        }
        far::hop(packet, relays).map_err(|_| End::TtlExceeded(far::exit(head, body)))?;
        if tables.clamp_mss(packet.data_mut(), meta.interface, interface) {
            self.stats.mss_clamped.add(1);
        }
        if far::makes_tunnel(head) {
            let peer = route::peer(body.peer(), tables)?;
            let tunnel = far::tunnel(head);
            let from = FromInner::of(packet.data(), &tunnel, &tables.dscp);
            outer_header_creation::create(packet, &tunnel, &peer, from)?;
        }
        template.push(packet, mac)?;
        if urr::charge(body, inner.len, self.now_ns) {
            self.grant_used_up(&charge);
        }
        let tx_buffer = usize::from(interface.port.0);
        Ok(TxDecision { tx_buffer, charge })
    }

    /// Its rule lets a packet not pass. Where some URR measures before QoS enforcement it counts even so.
    #[cold]
    fn stopped(&mut self, stop: Stop, meta: &Meta, detect: &Detect<'_>, len: u32) -> End {
        if let Stop::Drop(reason) = stop {
            self.count_dropped(reason, meta, detect, len);
        }
        stop.into()
    }

    /// What a gate or a bit rate drops counts for URRs that measure before QoS enforcement; what a FAR drops is lost.
    #[cold]
    pub fn count_dropped(
        &mut self,
        reason: DropReason,
        meta: &Meta,
        detect: &Detect<'_>,
        len: u32,
    ) {
        if reason == DropReason::FarDrop {
            return self.count_lost(meta, detect, len);
        }
        if reason.is_of_qos()
            && let Ok((head, at)) = rules::detected(self.state, meta, detect)
            && head.counts_drops()
            && urr::dropped(self.state, meta.entry, at, len)
            && !self.ring_for_usage(meta.entry)
        {
            urr::unring(self.state, meta.entry);
        }
    }

    /// A packet is lost: URRs that ask for it tell how many to the UE were (Dropped DL Traffic Threshold).
    #[cold]
    pub fn count_lost(&mut self, meta: &Meta, detect: &Detect<'_>, len: u32) {
        let entry = meta.entry;
        if urr::is_measured(self.state, entry)
            && let Ok((_, at)) = rules::detected(self.state, meta, detect)
            && urr::lost(self.state, entry, at, len)
            && !self.ring_for_usage(entry)
        {
            urr::unring(self.state, entry);
        }
    }

    /// What becomes of a packet that does not leave at once.
    #[cold]
    pub fn end(&mut self, packet: I::Packet, meta: &Meta, end: End, dead: &mut Burst<I::Packet>) {
        match end {
            End::Drop(_) if meta.arrival == Arrival::EndMarker => {
                self.end_marker_came(packet, meta)
            }
            End::Drop(reason) => {
                self.refused(reason, &packet, meta);
                let _ = dead.push(packet).map_err(Packet::free);
            }
            End::Hold(at) => self.hold(packet, meta, at),
            End::Wait(due_ns) => self.wait_for_rate(packet, meta, due_ns),
            End::Solicited(exit) => self.solicited(packet, meta, exit),
            End::TtlExceeded(exit) => self.hops_used_up(packet, meta, Some(exit)),
            End::Detour(exit, charge) => self.slow_output(packet, exit, charge, meta),
        }
    }

    /// Transmit and account, or hold for a next hop: for packets that were held or made here.
    #[cold]
    pub fn leave(&mut self, mut packet: I::Packet, ready: PendingTx) {
        match ready.hop {
            Hop::Ready(id, mac) => {
                let tx_buffer = match self.frame(&mut packet, id, mac) {
                    Ok(tx_buffer) => tx_buffer,
                    Err(reason) => return self.discard(packet, reason),
                };
                self.charge(&ready.charge);
                self.push(tx_buffer, packet, ready.charge);
            }
            Hop::Wait(_, sought) => self.wait(packet, ready, sought),
            Hop::Own(interface) => self.deliver_local(packet, interface, &ready.charge),
        }
    }

    /// Puts an interface's headers in front of a packet; gives its TX buffer.
    pub fn frame(
        &self,
        packet: &mut I::Packet,
        id: InterfaceId,
        mac: [u8; 6],
    ) -> Result<usize, DropReason> {
        let template = self.tables.templates().get(id);
        template.ok_or(DropReason::Internal)?.push(packet, mac)?;
        Ok(usize::from(self.interface(id)?.port.0))
    }

    /// Puts a whole frame into a TX buffer.
    #[inline(always)]
    pub fn push(&mut self, tx_buffer: usize, frame: I::Packet, charge: UsageRef) {
        if self.tx_buffers.get(tx_buffer).is_none_or(TxBuffer::is_full) {
            self.flush();
        }
        match self.tx_buffers.get_mut(tx_buffer) {
            Some(tx_buffer) => tx_buffer.push(frame, charge),
            None => self.discard(frame, DropReason::Internal),
        }
    }

    /// All TX buffers to their ports; what did not leave is given back.
    pub fn flush(&mut self) {
        let Self {
            state,
            tx_buffers,
            io,
            stats,
            ..
        } = self;
        for tx_buffer in tx_buffers.iter_mut() {
            tx_buffer.flush(*io, stats, |charge| {
                with_body(state, &charge, |body| {
                    urr::refund(body, charge.len);
                });
            });
        }
    }

    #[inline]
    pub fn charge(&mut self, charge: &UsageRef) {
        let (mut is_used_up, now_ns) = (false, self.now_ns);
        with_body(self.state, charge, |body| {
            is_used_up = urr::charge(body, charge.len, now_ns);
        });
        if is_used_up {
            self.grant_used_up(charge);
        }
    }

    /// A packet has used up what its rule was granted.
    #[cold]
    fn grant_used_up(&mut self, charge: &UsageRef) {
        if urr::passed(self.state, charge, self.now_ns) && !self.ring_for_usage(charge.entry) {
            urr::not_rung(self.state, charge);
        }
    }

    /// A packet was stopped by a quota. If the control core cannot be told now, it is with the next one.
    #[cold]
    pub fn quota_stopped(&mut self, entry: EntryId) {
        if urr::stopped(self.state, entry) && !self.ring_for_usage(entry) {
            urr::unring(self.state, entry);
        }
    }

    fn ring_for_usage(&mut self, entry: EntryId) -> bool {
        let cause = BellCause::Usage;
        self.rings.ring_bell(Bell { entry, cause })
    }

    #[inline]
    fn translate_inbound(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
    ) -> Result<Translated, DropReason> {
        let (nat, units) = (self.places.layout.nat(), &self.tables.nat_units);
        let now_s = self.now_s();
        inbound::translate(packet, meta, nat, units, (&mut self.nat.owned, now_s))
    }

    /// The second in which mappings of translated packets are looked at, never 0.
    pub fn now_s(&self) -> u32 {
        (self.now_ns / 1_000_000_000) as u32 + 1
    }

    #[inline]
    pub fn interface(&self, id: InterfaceId) -> Result<&'a Interface, DropReason> {
        self.tables
            .interfaces
            .get(usize::from(id))
            .ok_or(DropReason::Internal)
    }
}

/// A packet of the UE's own link goes on by nothing but tunnels, and so does the answer to who asks for
/// a router.
#[cold]
fn stays_on_link(state: &State, meta: &Meta, detect: &Detect<'_>, inner: &[u8]) -> Result<(), End> {
    let (head, at) = rules::detected(state, meta, detect)?;
    let flags = head.flags;
    let goes_on = flags.has(Flags::FORWARD.with(Flags::CREATE_OUTER));
    let is_tunnelled = meta.arrival == Arrival::Tunnel;
    // From a data network nothing comes to a UE's link: that was made here.
    let is_advertisement =
        || Ipv6::parse(inner).is_ok_and(|ip| is_link_destination(ip.destination()));
    if goes_on && (is_tunnelled || is_advertisement()) {
        return Ok(());
    }
    if is_tunnelled && flags.has(Flags::UPLINK) && is_router_solicitation(inner) {
        let is_forwarded = flags.has(Flags::FORWARD);
        let body = rules::body(state, meta, at).filter(|_| is_forwarded);
        return Err(End::Solicited(body.map(|body| far::exit(head, body))));
    }
    Err(DropReason::LinkLocal.into())
}

/// The counters that a charge belongs to, if they are still ours.
#[inline]
fn with_body(state: &mut State, charge: &UsageRef, f: impl FnOnce(&mut Body)) {
    match charge.at {
        None => {
            if let Some(entry) = state.entry_mut(charge.entry.0) {
                f(&mut entry.body);
            }
        }
        Some(at) => {
            if let Ok(body) = rules::counters(state, at) {
                f(body);
            }
        }
    }
}
