//! Classify: metadata for each packet of this worker; all others become exceptions.

use crate::batch::BurstArray;
use crate::drop::DropReason;
use crate::ids::{EntryId, InterfaceId, WorkerId};
use crate::lookup::session_lookup;
use crate::lookup::session_lookup::{OwnerTable, SessionLookup};
use crate::meta::{Arrival, Meta};
use crate::nat::inbound;
use crate::nat::inbound::Placed;
use crate::rx::header_match::{FrameForm, HeaderMatch, TAGGED, UNTAGGED};
use crate::rx::parse;
use crate::rx::parse::Class;
use crate::session::SessionState;
use crate::tables::Tables;
use arrayvec::ArrayVec;
use sluice_port::{BURST_MAX, Packet, PortId};

/// How many packets ahead the header is fetched: with about 20 ns a packet it covers a miss.
const PREFETCH_AHEAD: usize = 8;

/// The entry of a TEID that no table knows: execution finds no entry there and answers the peer.
const NO_ENTRY: u32 = u32::MAX;

/// Packets that were received together, and what is made of them.
pub(crate) struct Classifier<'a, P: Packet> {
    pub tables: &'a Tables,
    pub places: &'a SessionLookup,
    pub owners: &'a OwnerTable,
    pub state: &'a SessionState,
    pub id: WorkerId,
    /// Where they were received.
    pub port: PortId,
    pub packets: &'a mut [P],
    /// Room for what they are while their keys are fetched.
    pub ahead: &'a mut [Meta; BURST_MAX],
    /// One is added for each that is mine.
    pub metas: &'a mut BurstArray<Meta>,
    /// Which are not.
    pub exceptions: &'a mut ArrayVec<(usize, Class), BURST_MAX>,
}

impl<P: Packet> Classifier<'_, P> {
    /// Looks at all packets.
    ///
    /// Nearly all that a port receives have its first shape, so there is a loop for each form that it
    /// may be of: in it most of a meta is known beforehand.
    pub fn run(mut self) {
        let tables = self.tables;
        let header_matches = tables.compiled.header_matches(self.port);
        if !self.places.foreign.is_empty() || self.is_translated(header_matches) {
            return self.run_prefetched(header_matches);
        }
        let Some((first, others)) = header_matches.split_first() else {
            return self.each(&[], |_| None);
        };
        match first.form() {
            FrameForm::Tunnel => self.each(others, |frame| first.tunnelled::<UNTAGGED>(frame)),
            FrameForm::Plain => self.each(others, |frame| first.plain::<UNTAGGED>(frame)),
            FrameForm::TaggedTunnel => self.each(others, |frame| first.tunnelled::<TAGGED>(frame)),
            FrameForm::TaggedPlain => self.each(others, |frame| first.plain::<TAGGED>(frame)),
            FrameForm::PlainIpv6 | FrameForm::TaggedPlainIpv6 => {
                self.each(others, |frame| first.meta(frame));
            }
        }
    }

    /// Whether public ports are looked up of what the port receives.
    #[inline]
    fn is_translated(&self, header_matches: &[HeaderMatch]) -> bool {
        let nat = self.places.layout.nat();
        !nat.is_empty() && header_matches.iter().any(|shape| shape.is_public(nat))
    }

    /// Each packet once, its headers fetched ahead; `usual` tells the meta of one that has the first
    /// shape.
    #[inline(always)]
    fn each(&mut self, others: &[HeaderMatch], fast_path: impl Fn(&[u8]) -> Option<Meta>) {
        for packet in self.packets.iter().take(PREFETCH_AHEAD) {
            packet.prefetch();
        }
        for at in 0..self.packets.len() {
            if let Some(ahead) = self.packets.get(at + PREFETCH_AHEAD) {
                ahead.prefetch();
            }
            let packet = &self.packets[at];
            let meta = match packet.segments() {
                1 => fast_path(packet.data()),
                _ => None,
            };
            match meta {
                Some(meta) => self.keep(at, meta),
                None => self.another(at, others),
            }
        }
    }

    /// The same where others chose identifiers, or addresses are public: first what each packet is, and its place in
    /// the table is fetched; then each in its turn, when that is there.
    #[inline(never)]
    fn run_prefetched(&mut self, header_matches: &[HeaderMatch]) {
        for packet in self.packets.iter().take(PREFETCH_AHEAD) {
            packet.prefetch();
        }
        let is_translated = self.is_translated(header_matches);
        for at in 0..self.packets.len() {
            if let Some(ahead) = self.packets.get(at + PREFETCH_AHEAD) {
                ahead.prefetch();
            }
            self.look_ahead(at, header_matches, is_translated);
        }
        for at in 0..self.packets.len() {
            match self.ahead[at] {
                meta if !meta.fast_path => self.another(at, &[]),
                meta if meta.arrival == Arrival::Public => {
                    let found = inbound::find(meta, &self.tables.nat_units);
                    self.keep_placed(at, meta.interface, found);
                }
                meta => self.keep(at, meta),
            }
        }
    }

    /// What a packet is, if it has a shape, and its place in the table on its way.
    ///
    /// The meta is written where it stays until it is read much later: read at once, in one piece, it would be waited
    /// for.
    #[inline(always)]
    fn look_ahead(&mut self, at: usize, header_matches: &[HeaderMatch], is_translated: bool) {
        let (packet, places) = (&self.packets[at], self.places);
        let known = &mut self.ahead[at];
        known.fast_path = false;
        if packet.segments() != 1 {
            return;
        }
        for shape in header_matches {
            let Some(meta) = shape.meta(packet.data()) else {
                continue;
            };
            if is_translated
                && let units = &self.tables.nat_units
                && let Some(public) = inbound::prefetch(packet.data(), meta, places, units)
            {
                *known = public;
                return;
            }
            session_lookup::prefetch_key(&meta, places);
            *known = meta;
            return;
        }
    }

    /// A packet that has none of the shapes that were tried, or another one. It is not inlined: what
    /// both ways find out would meet in memory.
    #[inline(never)]
    fn another(&mut self, at: usize, others: &[HeaderMatch]) {
        let packet = &mut self.packets[at];
        if packet.segments() > 1 && !packet.linearize() {
            return self.add_exception(at, Class::Drop(DropReason::NotLinear));
        }
        let frame = packet.data();
        match others.iter().find_map(|shape| shape.meta(frame)) {
            Some(meta) => self.keep(at, meta),
            None => match parse::classify(frame, self.port, self.tables) {
                Class::User(meta) => self.keep(at, meta),
                class => self.add_exception(at, class),
            },
        }
    }

    /// Keeps a packet of a UE if it is mine.
    #[inline(always)]
    fn keep(&mut self, at: usize, mut meta: Meta) {
        match session_lookup::place(&mut meta, self.places) {
            Ok(()) if self.owners.of_index(meta.entry.0) == self.id => {
                self.state.prefetch_entry(meta.entry.0);
                self.metas.push(meta);
            }
            Ok(()) => self.add_exception(at, Class::User(meta)),
            Err(DropReason::UnknownTeid) => {
                meta.entry = EntryId(NO_ENTRY);
                self.metas.push(meta);
            }
            Err(reason) => self.unplaced(at, meta, reason),
        }
    }

    /// A packet that no key of a session leads to: perhaps a public port does.
    #[inline(never)]
    fn unplaced(&mut self, at: usize, meta: Meta, reason: DropReason) {
        let (places, units) = (self.places, &self.tables.nat_units);
        let placed = inbound::place(self.packets[at].data(), meta, places, units, reason);
        self.keep_placed(at, meta.interface, placed);
    }

    /// Keeps a packet for a public port if it is mine.
    #[inline]
    fn keep_placed(&mut self, at: usize, interface: InterfaceId, placed: Placed) {
        match placed {
            Placed::Ue(meta) if self.owners.of_index(meta.entry.0) == self.id => {
                self.state.prefetch_entry(meta.entry.0);
                self.metas.push(meta);
            }
            Placed::Ue(meta) => self.add_exception(at, Class::User(meta)),
            Placed::Fragment => self.add_exception(at, Class::Fragment(interface)),
            Placed::No(reason) => self.add_exception(at, Class::Drop(reason)),
        }
    }

    #[inline(never)]
    fn add_exception(&mut self, at: usize, class: Class) {
        self.exceptions.push((at, class));
    }
}
