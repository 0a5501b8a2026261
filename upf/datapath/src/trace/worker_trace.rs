//! Trace state of a worker: filters and records.

use crate::ids::WorkerId;
use crate::ledger::WorkerStats;
use crate::meta::{Arrival, Meta};
use crate::rx::parse::outer_src;
use crate::trace::follow::FrameEnds;
use crate::trace::{Came, Fate, Filter, Key, Record, Snap, Tracing};
use core::net::IpAddr;

/// A worker's eye.
pub(crate) struct WorkerTrace {
    pub(super) worker: WorkerId,
    /// What packets are followed with.
    on: Option<Box<Tracing>>,
    /// What they will be followed with; other workers may have begun to.
    next: Option<Box<Tracing>>,
    /// No more packets are followed from their beginning with `on`.
    is_ending: bool,
    /// Other workers of whom that is known.
    ended: usize,
    /// How the packets at hand came.
    came: Came,
}

impl WorkerTrace {
    /// One that is closed.
    pub fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            on: None,
            next: None,
            is_ending: false,
            ended: 0,
            came: Came::Control,
        }
    }

    /// True while somebody looks.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.on.is_some() || self.next.is_some()
    }

    /// The packets from here on came so.
    #[inline(always)]
    pub fn came(&mut self, came: Came) {
        if self.is_on() {
            self.came = came;
        }
    }

    /// The mark of packets that are parsed here.
    pub(super) fn mark(&self) -> u8 {
        self.beginning().map_or(0, |tracing| tracing.mark)
    }

    /// What packets are followed with from their beginning.
    fn beginning(&self) -> Option<&Tracing> {
        self.on.as_deref().filter(|_| !self.is_ending)
    }

    /// Others begin to follow with this.
    #[cold]
    pub(super) fn expect(&mut self, tracing: Box<Tracing>) {
        self.next = Some(tracing);
    }

    /// Follows with what was expected. Returns what was followed with before.
    #[cold]
    pub(super) fn begin(&mut self) -> Option<Box<Tracing>> {
        core::mem::replace(&mut self.on, self.next.take())
    }

    /// Marks no packets any more.
    #[cold]
    pub(super) fn end(&mut self) {
        self.is_ending = true;
    }

    /// Another worker marks no packets any more, and all that it had marked have come.
    #[cold]
    pub fn other_ended(&mut self) {
        self.ended += 1;
    }

    /// What was followed with, once nothing that is to be followed can come from the `others`.
    pub(super) fn over(&mut self, others: usize) -> Option<Box<Tracing>> {
        if !self.is_ending || self.ended < others {
            return None;
        }
        (self.is_ending, self.ended) = (false, 0);
        self.on.take()
    }

    /// What a packet is followed with, if the worker who parsed it followed any.
    #[inline]
    fn tracing_of(&self, meta: &Meta) -> Option<&Tracing> {
        let next = self.next.as_deref();
        match meta.traced {
            0 => None,
            mark => next.filter(|next| next.mark == mark).or(self.on.as_deref()),
        }
    }

    /// True if a packet is followed by what it is placed by, or by its sender.
    #[inline]
    pub(super) fn follows(&self, meta: &Meta) -> bool {
        let Some(tracing) = self.tracing_of(meta) else {
            return false;
        };
        let filter = &tracing.filter;
        let plain = !meta.arrival.is_tunnelled();
        let is = |key: &Key| match key {
            Key::Ue(address) => meta.arrival == Arrival::Plain && u32::from(*address) == meta.key,
            Key::UePrefix(prefix) => meta.arrival == Arrival::PlainIpv6 && *prefix == meta.prefix(),
            Key::Teid { local, teid } => !plain && (*local, *teid) == (meta.local, meta.key),
        };
        let sends = |peer: IpAddr| !plain && outer_src(peer) == meta.outer_src;
        filter.keys.iter().any(is) || filter.peer.is_some_and(sends)
    }

    /// A quick look at a batch: false if none of its packets is followed.
    #[inline(never)]
    pub(super) fn may_follow(&self, metas: &[Meta]) -> bool {
        if self.asks_rules() {
            return true;
        }
        // One key after the other over all packets: loops without a branch.
        self.filters().flat_map(|filter| &filter.keys).any(|key| {
            let sought = match key {
                Key::Ue(address) => u32::from(*address),
                Key::UePrefix(prefix) => (*prefix >> 32) as u32,
                Key::Teid { teid, .. } => *teid,
            };
            let met = metas.iter().map(|meta| u32::from(meta.key == sought));
            met.sum::<u32>() > 0
        })
    }

    fn filters(&self) -> impl Iterator<Item = &Filter> {
        let tracings = self.on.iter().chain(&self.next);
        tracings.map(|tracing| &tracing.filter)
    }

    /// True if what a rule sends into a tunnel is followed.
    pub(super) fn follows_into(&self, meta: &Meta, (peer, teid): (IpAddr, u32)) -> bool {
        self.tracing_of(meta).is_some_and(|tracing| {
            let filter = &tracing.filter;
            filter.peer == Some(peer) || filter.tunnel == Some((peer, teid))
        })
    }

    /// True if it takes a look at a packet's rule to know whether it is followed.
    pub(super) fn asks_rules(&self) -> bool {
        self.filters()
            .any(|f| f.peer.is_some() || f.tunnel.is_some())
    }

    /// True if a frame is followed that *parse* or *place* refused, or that is no user traffic.
    pub(super) fn follows_frame(&self, frame: &[u8]) -> bool {
        let Some(tracing) = self.beginning() else {
            return false;
        };
        let (filter, ends) = (&tracing.filter, FrameEnds::of(frame));
        let is = |key: &Key| match key {
            Key::Ue(address) => {
                ends.dst == Some((*address).into()) || ends.inner_src == Some(*address)
            }
            // Frames without a session are looked at by their IPv4 ends.
            Key::UePrefix(_) => false,
            Key::Teid { teid, .. } => ends.teid == Some(*teid),
        };
        let of_peer = filter
            .peer
            .is_some_and(|peer| [ends.src, ends.dst].contains(&Some(peer)));
        filter.keys.iter().any(is) || of_peer
    }

    pub(super) fn open(&self, now_ns: u64, meta: Option<Meta>, frame: &[u8]) -> Record {
        Record {
            worker: self.worker,
            at_ns: now_ns,
            came: self.came,
            meta,
            rule: None,
            fate: Fate::Ended,
            received: Some(Snap::of(frame)),
            sent: None,
        }
    }

    pub(super) fn tell(&mut self, record: Record, stats: &WorkerStats) {
        if let Some(tracing) = self.on.as_mut().or(self.next.as_mut())
            && tracing.ring.push(record).is_err()
        {
            stats.trace_lost.add(1);
        }
    }
}
