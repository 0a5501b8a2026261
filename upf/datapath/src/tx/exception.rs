//! Exception path: packets that do not leave at once are dropped, answered, or held.

use crate::drop::DropReason;
use crate::forward::extension_headers::{self, ExtHeaders};
use crate::forward::far::{self, ForwardTo, Stop};
use crate::forward::flow::Flow;
use crate::forward::outer_header_creation::{self, FromInner};
use crate::forward::outer_header_removal::Destination;
use crate::forward::path::Path;
use crate::forward::pdr::{Detect, FlowOf};
use crate::forward::rules;
use crate::lookup::layout::InstanceId;
use crate::message::{IcmpCause, IcmpNotice, Resolve, Sender, ToControl, UnknownTeid};
use crate::meta::{Arrival, Meta};
use crate::nat::inbound;
use crate::nat::pool::NatPool;
use crate::session::rule::Flags;
use crate::tables::InterfaceId;
use crate::tx::arp_queue::PendingTx;
use crate::tx::arp_queue::WaitingPacket;
use crate::tx::route::{self, Hop};
use crate::tx::transmit::UsageRef;
use core::net::IpAddr;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv4::{Fragments, Ipv4, MAX_HEADER_LEN};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::eth;

/// Where an inner packet goes, and whether it may not be cut: no router cuts IPv6 (RFC 8200, 5).
fn ends_at(inner: &[u8]) -> Result<(Destination, bool), DropReason> {
    if is_ipv6(inner) {
        let ip = Ipv6::parse(inner).map_err(|_| DropReason::InnerHeader)?;
        return Ok((Destination::Ipv6(ip.destination().to_bits()), true));
    }
    let ip = Ipv4::parse_unsummed(inner).map_err(|_| DropReason::InnerHeader)?;
    Ok((Destination::Ipv4(ip.destination_u32()), ip.dont_fragment()))
}

/// The outer source and destination of a frame that came in a tunnel, which is whole yet.
fn outer_ends(frame: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let packet = frame.get(eth::payload_at(frame)?..)?;
    if is_ipv6(packet) {
        let ip = Ipv6::parse(packet).ok()?;
        return Some((ip.source().into(), ip.destination().into()));
    }
    let ip = Ipv4::parse_unsummed(packet).ok()?;
    Some((ip.source().into(), ip.destination().into()))
}

/// Why a packet cannot leave as it is.
enum OutputError<'a> {
    /// It is dropped.
    Drop(DropReason),
    /// It is too long and may not be cut; this would fit.
    Tell(u16),
    /// It is too long; fragments of this size fit.
    Cut(PendingTx, u16),
    /// Its time to live ends here.
    TtlExceeded,
    /// Translated, and for another public port of ours.
    Hairpin(&'a NatPool),
}

impl From<DropReason> for OutputError<'_> {
    fn from(reason: DropReason) -> Self {
        Self::Drop(reason)
    }
}

impl<'a, I: PortIo> Path<'a, I> {
    /// Counts a drop, and asks for an Error Indication where one is due.
    #[inline]
    pub fn refused(&mut self, reason: DropReason, packet: &I::Packet, meta: &Meta) {
        self.stats.count_drop(reason);
        if reason == DropReason::UnknownTeid && meta.arrival == Arrival::Tunnel {
            self.indicate(packet.data(), meta);
        }
        if reason == DropReason::QuotaExhausted {
            self.quota_stopped(meta.entry);
        }
    }

    /// A full ring loses the notice; the peer's next packet brings another.
    #[cold]
    fn indicate(&mut self, frame: &[u8], meta: &Meta) {
        if let Some((peer, local)) = outer_ends(frame) {
            let notice = UnknownTeid {
                interface: meta.interface,
                peer,
                local,
                teid: meta.key,
            };
            let _ = self.rings.to_control.push(ToControl::UnknownTeid(notice));
        }
    }

    /// A drop that the sender hears of: the control core writes the ICMP message. The packet
    /// counts as dropped; only its buffer travels on.
    #[cold]
    pub fn icmp_error(&mut self, packet: I::Packet, reason: DropReason, notice: IcmpNotice) {
        self.stats.count_drop(reason);
        let notice = ToControl::Icmp(packet, notice);
        if let Err(ToControl::Icmp(packet, ..)) = self.rings.to_control.push(notice) {
            packet.free();
        }
    }

    /// The sender of a packet whose rule sends it that way, if any does.
    #[cold]
    pub fn sender(&self, meta: &Meta, exit: Option<ForwardTo>) -> Sender {
        if !meta.arrival.is_tunnelled() {
            let arrived = InstanceId(meta.local);
            let translated = self.places.layout.nat().outside(arrived);
            return Sender::DataNetwork(translated.map_or(arrived, |pool| pool.inside));
        }
        let egress = match exit {
            Some(ForwardTo::Plain(egress)) => self.tables.egresses.get(usize::from(egress)),
            _ => None,
        };
        Sender::Tunnelled {
            entry: meta.entry,
            towards: egress.and_then(|egress| egress.instance),
        }
    }

    /// Drops a packet.
    #[cold]
    pub fn discard(&mut self, packet: I::Packet, reason: DropReason) {
        self.stats.count_drop(reason);
        packet.free();
    }

    /// A packet that takes no further hop.
    #[cold]
    pub fn hops_used_up(&mut self, packet: I::Packet, meta: &Meta, exit: Option<ForwardTo>) {
        let cause = IcmpCause::TtlExceeded;
        let sender = self.sender(meta, exit);
        self.icmp_error(
            packet,
            DropReason::TtlExceeded,
            IcmpNotice { cause, sender },
        );
    }

    /// A packet whose next hop is not known, or is us, or that does not fit the way there.
    #[cold]
    pub fn slow_output(
        &mut self,
        mut packet: I::Packet,
        exit: ForwardTo,
        charge: UsageRef,
        meta: &Meta,
    ) {
        let kept = match exit {
            ForwardTo::Tunnel(tunnel, _) if meta.arrival == Arrival::Tunnel && tunnel.relays => {
                extension_headers::extensions(&mut packet, meta)
            }
            _ => ExtHeaders::new(),
        };
        match self.prepare(&mut packet, exit, charge, meta, &kept) {
            Ok(ready) => self.leave(packet, ready),
            Err(OutputError::TtlExceeded) => self.hops_used_up(packet, meta, Some(exit)),
            Err(OutputError::Cut(ready, mtu)) => self.cut(packet, ready, mtu, &kept),
            Err(OutputError::Hairpin(pool)) => self.hairpin(packet, pool, &charge),
            Err(OutputError::Tell(mtu)) => {
                inbound::as_it_came(&mut packet, meta, self.places.layout.nat());
                let cause = IcmpCause::TooBig(mtu);
                let sender = self.sender(meta, Some(exit));
                self.icmp_error(packet, DropReason::TooBig, IcmpNotice { cause, sender });
            }
            Err(OutputError::Drop(reason)) => self.discard(packet, reason),
        }
    }

    /// Everything but the Ethernet header, whatever the way out is like.
    #[allow(
        clippy::result_large_err,
        reason = "a box would take memory on the packet path"
    )]
    fn prepare(
        &mut self,
        packet: &mut I::Packet,
        exit: ForwardTo,
        charge: UsageRef,
        meta: &Meta,
        kept: &ExtHeaders,
    ) -> Result<PendingTx, OutputError<'a>> {
        let (dst, dont_fragment) = ends_at(packet.data())?;
        let flow = Flow::of(packet.data());
        let entry = self.state.entry(meta.entry.0);
        let is_from_ue = entry.is_some_and(|entry| entry.head.flags.has(Flags::FROM_UE));
        let translation = self.translation(&exit, dst);
        if let Some(pool) = translation
            && matches!(dst, Destination::Ipv4(dst) if pool.has(dst))
        {
            return Err(self.turn_back(packet, pool, meta));
        }
        let hop = route::find(&exit, dst, self.tables);
        let ready = |hop| PendingTx {
            exit,
            hop,
            dst,
            flow,
            is_from_ue,
            charge,
            meta: *meta,
        };
        // What has arrived takes no further hop (RFC 1812, 5.2.3 and 5.3.1).
        if let Ok(hop @ Hop::Own(_)) = hop {
            return Ok(ready(hop));
        }
        let relays = meta.arrival == Arrival::Tunnel && matches!(exit, ForwardTo::Tunnel(..));
        far::hop(packet, relays).map_err(|_| OutputError::TtlExceeded)?;
        let hop = hop?;
        let ready = ready(hop);
        let interface = self.interface(hop.interface())?;
        let fits = route::fits(&exit, kept, charge.len, interface);
        if let Err(mtu) = fits
            && dont_fragment
        {
            return Err(OutputError::Tell(mtu));
        }
        if let Some(pool) = translation {
            self.translate_outbound(packet, pool, meta)?;
        }
        if self
            .tables
            .clamp_mss(packet.data_mut(), meta.interface, interface)
        {
            self.stats.mss_clamped.add(1);
        }
        if let Err(mtu) = fits {
            return Err(OutputError::Cut(ready, mtu));
        }
        if let ForwardTo::Tunnel(tunnel, peer) = &exit {
            let peer = route::peer(*peer, self.tables)?;
            let from = FromInner::of(packet.data(), tunnel, &self.tables.dscp);
            outer_header_creation::relay(packet, tunnel, &peer, from, kept)?;
        }
        Ok(ready)
    }

    /// A packet to a public address of the pool: translated as any other, it comes in again.
    fn turn_back(
        &mut self,
        packet: &mut I::Packet,
        pool: &'a NatPool,
        meta: &Meta,
    ) -> OutputError<'a> {
        if !pool.hairpins {
            return DropReason::NatHairpin.into();
        }
        if far::hop(packet, false).is_err() {
            return OutputError::TtlExceeded;
        }
        match self.translate_outbound(packet, pool, meta) {
            Ok(()) => OutputError::Hairpin(pool),
            Err(reason) => reason.into(),
        }
    }

    /// A packet that has arrived: the control core answers for our addresses.
    #[cold]
    pub fn deliver_local(&mut self, packet: I::Packet, interface: InterfaceId, charge: &UsageRef) {
        let arrived = ToControl::FromUe(packet, interface, charge.entry);
        match self.rings.to_control.push(arrived) {
            Ok(()) => {
                self.charge(charge);
                self.stats.to_control.add(1);
            }
            Err(ToControl::FromUe(packet, ..)) => {
                self.discard(packet, DropReason::ControlQueueFull);
            }
            Err(_) => unreachable!("push gives back what it was given"),
        }
    }

    /// A UE asks for a Router Advertisement: the control core answers with the session's prefix, if there is
    /// one.
    #[cold]
    pub fn solicited(&mut self, packet: I::Packet, meta: &Meta, exit: Option<ForwardTo>) {
        let prefix = self
            .state
            .entry(meta.entry.0)
            .map_or(0, |entry| entry.ue_prefix);
        let sender = self.sender(meta, exit);
        let solicitation = ToControl::RouterSolicitation(packet, prefix, sender);
        match self.rings.to_control.push(solicitation) {
            Ok(()) => self.stats.to_control.add(1),
            Err(ToControl::RouterSolicitation(packet, ..)) => {
                self.discard(packet, DropReason::ControlQueueFull);
            }
            Err(_) => unreachable!("push gives back what it was given"),
        }
    }

    #[cold]
    pub fn wait(&mut self, packet: I::Packet, ready: PendingTx, sought: Resolve) {
        let waiting = WaitingPacket {
            packet,
            ready,
            sought,
            until_ns: 0,
            asked_ns: None,
        };
        match self.held.hold(waiting, self.now_ns) {
            Ok(ask) => {
                if ask {
                    // A full ring loses the question; it is asked again in a second.
                    let _ = self.rings.to_control.push(ToControl::Resolve(sought));
                }
            }
            Err(packet) => self.discard(packet, DropReason::NextHopQueueFull),
        }
    }

    /// Whose usage a packet that waited counts on: its session's, if that is still there and
    /// still sends the same way.
    fn apply_rules_again(&mut self, ready: &PendingTx) -> Result<UsageRef, DropReason> {
        let gone = DropReason::SessionChanged;
        let meta = &ready.meta;
        let entry = self.state.entry(meta.entry.0).ok_or(gone)?;
        rules::check(entry, meta, &self.tables.filters).map_err(|_| gone)?;
        let detect = Detect {
            qfi: meta.qfi,
            is_from_ue: ready.is_from_ue,
            flow: FlowOf::Read(&ready.flow),
            filters: &self.tables.filters,
        };
        let applied = rules::apply(self.state, meta, &detect, None);
        let (head, body, at) = match applied {
            Ok(applied) => applied,
            Err(Stop::Drop(reason)) => {
                // A piece of a packet counts with another.
                if ready.charge != UsageRef::NONE {
                    self.count_dropped(reason, meta, &detect, ready.charge.len);
                }
                return Err(reason);
            }
            // It had paid and waits for its next hop: it is not held a second time, and draws nothing.
            Err(Stop::Hold(_) | Stop::Wait(_)) => return Err(gone),
        };
        if far::exit(head, body) != ready.exit {
            Err(gone)
        } else if ready.charge == UsageRef::NONE {
            // A piece of a packet is charged with another.
            Ok(UsageRef::NONE)
        } else {
            Ok(UsageRef { at, ..ready.charge })
        }
    }

    fn give_up(&mut self, waiting: WaitingPacket<I::Packet>, reason: DropReason) {
        self.discard(waiting.packet, reason);
        self.trace_waited(&waiting.ready, Err(reason));
    }

    /// Sends what waited for a next hop that is known now, and gives up what waited too long.
    #[cold]
    pub fn retry_held(&mut self) {
        let (tables, now_ns) = (self.tables, self.now_ns);
        let is_ready = |w: &WaitingPacket<I::Packet>| {
            !matches!(
                route::find(&w.ready.exit, w.ready.dst, tables),
                Ok(Hop::Wait(..))
            )
        };
        while let Some(w) = self.held.take(is_ready) {
            // The rules first: where they changed, the peer of the old ones may be gone.
            let charge = self.apply_rules_again(&w.ready);
            let released = charge.and_then(|charge| {
                let hop = route::find(&w.ready.exit, w.ready.dst, tables)?;
                Ok((hop, charge))
            });
            match released {
                Ok((hop, charge)) => {
                    let ready = PendingTx {
                        hop,
                        charge,
                        ..w.ready
                    };
                    self.leave(w.packet, ready);
                    self.trace_waited(&ready, Ok(hop.interface()));
                }
                Err(reason) => self.give_up(w, reason),
            }
        }
        while let Some(w) = self.held.take(|w| w.until_ns <= now_ns) {
            self.give_up(w, DropReason::NextHopUnresolved);
        }
        self.flush();
    }

    /// Cuts an inner packet that may be fragmented. Each fragment gets its outer header and may
    /// have to wait for itself. Usage is that of the packet, and counts when the last one leaves.
    #[cold]
    pub fn cut(&mut self, packet: I::Packet, ready: PendingTx, mtu: u16, kept: &ExtHeaders) {
        let mut sent = 0;
        let outcome = self.cut_into(&packet, (&ready, kept), mtu, &mut sent);
        if let Err(reason) = outcome {
            // What was sent stands for packets made; the rest of this one is lost.
            self.stats.count_drop(reason);
            sent += 1;
        }
        // The first piece is the packet that came in; the others are made.
        self.stats.created.add(sent.max(1) - 1);
        packet.free();
    }

    fn cut_into(
        &mut self,
        packet: &I::Packet,
        (ready, kept): (&PendingTx, &ExtHeaders),
        mtu: u16,
        sent: &mut u64,
    ) -> Result<(), DropReason> {
        let whole = Ipv4::parse_unsummed(packet.data()).map_err(|_| DropReason::InnerHeader)?;
        let pieces = Fragments::new(whole, mtu).map_err(|_| DropReason::TooBig)?;
        let plan = pieces.clone();
        // All pieces take the way of the whole.
        let from = match &ready.exit {
            ForwardTo::Tunnel(tunnel, _) => FromInner::of(packet.data(), tunnel, &self.tables.dscp),
            ForwardTo::Plain(_) => FromInner::default(),
        };
        let mut pieces = pieces.peekable();
        while let Some(piece) = pieces.next() {
            let mut out = self.io.alloc().ok_or(DropReason::NoBuffer)?;
            let mut header = [0; MAX_HEADER_LEN];
            let header_len = plan.write_header(&piece, &mut header);
            let parts = (
                header.get(..header_len).unwrap_or_default(),
                whole.payload().get(piece.payload).unwrap_or_default(),
            );
            match self.finish_piece(&mut out, parts, (ready, from, kept)) {
                Ok(()) => {
                    let mut ready = *ready;
                    if pieces.peek().is_some() {
                        ready.charge = UsageRef::NONE;
                    }
                    *sent += 1;
                    self.leave(out, ready);
                }
                Err(reason) => {
                    out.free();
                    return Err(reason);
                }
            }
        }
        Ok(())
    }

    fn finish_piece(
        &mut self,
        out: &mut I::Packet,
        (header, payload): (&[u8], &[u8]),
        (ready, from, kept): (&PendingTx, FromInner, &ExtHeaders),
    ) -> Result<(), DropReason> {
        let room = out
            .append(header.len() + payload.len())
            .map_err(|_| DropReason::NoBuffer)?;
        let (head, body) = room.split_at_mut(header.len());
        head.copy_from_slice(header);
        body.copy_from_slice(payload);
        if let ForwardTo::Tunnel(tunnel, peer) = &ready.exit {
            let peer = route::peer(*peer, self.tables)?;
            outer_header_creation::relay(out, tunnel, &peer, from, kept)?;
        }
        Ok(())
    }
}
