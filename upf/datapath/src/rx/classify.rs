//! Classify: a meta for each packet that is mine; the others are remembered as odd.

use crate::drop::DropReason;
use crate::lookup::owners::OwnerTable;
use crate::lookup::place::{self, Places};
use crate::meta::Meta;
use crate::row::Row;
use crate::rx::parse::{self, Class};
use crate::rx::shape::{Form, Shape, TAGGED, UNTAGGED};
use crate::session::line::Line;
use crate::session::rule::Block;
use crate::tables::Tables;
use crate::worker::WorkerId;
use arrayvec::ArrayVec;
use sluice_mem::shard::Owned;
use sluice_port::{BURST_MAX, Packet, PortId};

/// How many packets ahead the header is fetched: with about 20 ns a packet it covers a miss.
const PREFETCH_AHEAD: usize = 8;

/// How many packets ahead a place in the table of foreign identifiers is fetched: with about 15 ns a
/// packet it covers a miss, and one of the page table.
const ANNOUNCE_AHEAD: usize = 16;

/// The line of a TEID that no table knows: execution finds no line there and answers the peer.
const NOWHERE: u32 = u32::MAX;

/// Packets that were received together, and what is made of them.
pub(crate) struct Classifier<'a, P: Packet> {
    pub tables: &'a Tables,
    pub places: &'a Places,
    pub owners: &'a OwnerTable,
    pub state: &'a Owned<Line, Block>,
    pub id: WorkerId,
    /// Where they were received.
    pub port: PortId,
    pub packets: &'a mut [P],
    /// One is added for each that is mine.
    pub metas: &'a mut Row<Meta>,
    /// Which are not.
    pub odd: &'a mut ArrayVec<(usize, Class), BURST_MAX>,
}

impl<P: Packet> Classifier<'_, P> {
    /// Looks at all packets.
    ///
    /// Nearly all that a port receives have its first shape, so there is a loop for each form that it
    /// may be of: in it most of a meta is known beforehand.
    pub fn run(mut self) {
        let tables = self.tables;
        let shapes = tables.usual.shapes(self.port);
        if !self.places.foreign.is_empty() {
            return self.announced(shapes);
        }
        let Some((first, others)) = shapes.split_first() else {
            return self.each(&[], |_| None);
        };
        match first.form() {
            Form::Tunnel => self.each(others, |frame| first.tunnelled::<UNTAGGED>(frame)),
            Form::Plain => self.each(others, |frame| first.plain::<UNTAGGED>(frame)),
            Form::TaggedTunnel => self.each(others, |frame| first.tunnelled::<TAGGED>(frame)),
            Form::TaggedPlain => self.each(others, |frame| first.plain::<TAGGED>(frame)),
        }
    }

    /// Each packet once, its headers fetched ahead; `usual` tells the meta of one that has the first
    /// shape.
    #[inline(always)]
    fn each(&mut self, others: &[Shape], usual: impl Fn(&[u8]) -> Option<Meta>) {
        for packet in self.packets.iter().take(PREFETCH_AHEAD) {
            packet.prefetch();
        }
        for at in 0..self.packets.len() {
            if let Some(ahead) = self.packets.get(at + PREFETCH_AHEAD) {
                ahead.prefetch();
            }
            let packet = &self.packets[at];
            let meta = match packet.segments() {
                1 => usual(packet.data()),
                _ => None,
            };
            match meta {
                Some(meta) => self.keep(at, meta),
                None => self.another(at, others),
            }
        }
    }

    /// The same where others chose identifiers: packets are looked at some time before it is their
    /// turn, so that their places in the table are there when they are asked for.
    #[inline(never)]
    fn announced(&mut self, shapes: &[Shape]) {
        const HEADERS_AHEAD: usize = PREFETCH_AHEAD + ANNOUNCE_AHEAD;
        for packet in self.packets.iter().take(HEADERS_AHEAD) {
            packet.prefetch();
        }
        let places = self.places;
        let announce = |packet: &P| {
            let meta = shapes.iter().find_map(|shape| shape.meta(packet.data()));
            meta.inspect(|meta| place::announce(meta, places))
        };
        let mut announced = [None; ANNOUNCE_AHEAD];
        for (meta, packet) in announced.iter_mut().zip(self.packets.iter()) {
            *meta = announce(packet);
        }
        for at in 0..self.packets.len() {
            if let Some(ahead) = self.packets.get(at + HEADERS_AHEAD) {
                ahead.prefetch();
            }
            let ahead = self.packets.get(at + ANNOUNCE_AHEAD).and_then(announce);
            let known = core::mem::replace(&mut announced[at % ANNOUNCE_AHEAD], ahead);
            match known.filter(|_| self.packets[at].segments() == 1) {
                Some(meta) => self.keep(at, meta),
                None => self.another(at, &[]),
            }
        }
    }

    /// A packet that has none of the shapes that were tried, or another one. It is not inlined: what
    /// both ways find out would meet in memory.
    #[inline(never)]
    fn another(&mut self, at: usize, others: &[Shape]) {
        let packet = &mut self.packets[at];
        if packet.segments() > 1 && !packet.linearize() {
            return self.odd(at, Class::Drop(DropReason::NotLinear));
        }
        let frame = packet.data();
        match others.iter().find_map(|shape| shape.meta(frame)) {
            Some(meta) => self.keep(at, meta),
            None => match parse::classify(frame, self.port, self.tables) {
                Class::User(meta) => self.keep(at, meta),
                class => self.odd(at, class),
            },
        }
    }

    /// Keeps a packet of a UE if it is mine.
    #[inline(always)]
    fn keep(&mut self, at: usize, mut meta: Meta) {
        match place::place(&mut meta, self.places) {
            Ok(()) if self.owners.of_index(meta.line) == self.id => {
                self.state.prefetch_line(meta.line);
                self.metas.push(meta);
            }
            Ok(()) => self.odd(at, Class::User(meta)),
            Err(DropReason::UnknownTeid) => {
                meta.line = NOWHERE;
                self.metas.push(meta);
            }
            Err(reason) => self.odd(at, Class::Drop(reason)),
        }
    }

    #[inline(never)]
    fn odd(&mut self, at: usize, class: Class) {
        self.odd.push((at, class));
    }
}
