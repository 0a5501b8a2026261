//! Shaper: packets that wait for their bit rates, by the time at which they may leave.
//!
//! After Carousel (Saeed et al., SIGCOMM 2017) and Bose et al. (SOSR 2021), 3.1: a packet gets its time when
//! it comes, from the clocks of its token buckets, and leaves then. Since clocks run forwards only, packets
//! of one flow have times that do not fall, so a queue by time keeps their order; where rules change, new
//! packets of the entry stand behind all that wait.
//!
//! All memory is taken at the start and touched when it is used: packets and entries that wait are places of
//! two arrays, linked by number, so that nothing is allocated when a packet comes or leaves.

use crate::meta::Meta;
use core::cmp::Reverse;
use sluice_mem::shard::ShardId;
use std::collections::BinaryHeap;

/// No place.
const NONE: u32 = u32::MAX;

/// A packet that waits.
struct Waiting<P> {
    /// None in a free place.
    what: Option<(P, Meta)>,
    due_ns: u64,
    /// Its place in the order of arrival.
    number: u64,
    /// The entry that it belongs to.
    line: u32,
    /// Its neighbours in that entry's list; of a free place `next` is the next free one.
    before: u32,
    next: u32,
}

/// An entry with packets that wait.
struct Line {
    shard: ShardId,
    entry: u32,
    packets: u32,
    first: u32,
    last: u32,
    /// When the last of them may leave.
    last_due_ns: u64,
    /// New ones leave no earlier: the rules have changed since those before them came.
    not_before_ns: u64,
    /// The number of the change of rules for which it was looked at last.
    change: u32,
    /// The next of the shard, or the next free place.
    next: u32,
}

/// What a new packet of an entry finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Standing {
    /// Packets of the entry that wait.
    pub packets: u32,
    /// It leaves no earlier than this.
    pub not_before_ns: u64,
}

/// The packets of a shard that wait, on their way to its next owner.
pub struct ShardWaiting<P> {
    lines: Vec<MovedLine<P>>,
}

struct MovedLine<P> {
    about: Line,
    /// With their times.
    packets: Vec<(P, Meta, u64)>,
}

impl<P> ShardWaiting<P> {
    /// How many.
    pub fn len(&self) -> usize {
        self.lines.iter().map(|line| line.packets.len()).sum()
    }

    /// As [`Shaper::rules_changed`], while the shard is about to leave.
    pub(crate) fn rules_changed(
        &mut self,
        mut is_there: impl FnMut(u32) -> bool,
        mut discard: impl FnMut(P),
    ) {
        for MovedLine { about, packets } in &mut self.lines {
            about.not_before_ns = about.last_due_ns;
            if !is_there(about.entry) {
                packets.drain(..).for_each(|(packet, ..)| discard(packet));
            }
        }
    }

    /// The packets.
    pub fn into_packets(self) -> impl Iterator<Item = P> {
        let all = self.lines.into_iter().flat_map(|line| line.packets);
        all.map(|(packet, ..)| packet)
    }
}

/// All packets of a worker that wait for their bit rates.
pub(crate) struct Shaper<P> {
    packets: Vec<Waiting<P>>,
    free_packet: u32,
    lines: Vec<Line>,
    free_line: u32,
    /// By shard: the first of its entries with packets that wait.
    by_shard: Box<[u32]>,
    /// By time, then by arrival: a packet's place. What left with its shard is found to be gone by its number.
    due: BinaryHeap<Reverse<(u64, u64, u32)>>,
    arrivals: u64,
    /// Changes of rules so far.
    changes: u32,
    len: usize,
    /// The last turn let as many leave as it may, and more were due.
    is_behind: bool,
}

impl<P> Shaper<P> {
    /// Empty, with room for so many packets of so many shards.
    pub fn new(room: usize, shards: usize) -> Self {
        Self {
            packets: Vec::with_capacity(room),
            free_packet: NONE,
            lines: Vec::with_capacity(room),
            free_line: NONE,
            by_shard: vec![NONE; shards].into_boxed_slice(),
            due: BinaryHeap::with_capacity(2 * room),
            arrivals: 0,
            changes: 0,
            len: 0,
            is_behind: false,
        }
    }

    /// True if nothing waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if packets are late: then new ones stand behind them whenever they may leave.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// What a new packet of an entry finds.
    pub fn standing(&self, shard: ShardId, entry: u32) -> Standing {
        let line = self.line_of(shard, entry).and_then(|at| self.line(at));
        line.map_or_else(Standing::default, |line| Standing {
            packets: line.packets,
            not_before_ns: line.not_before_ns,
        })
    }

    /// When the last packet of an entry that waits may leave.
    pub fn last_due_ns(&self, shard: ShardId, entry: u32) -> Option<u64> {
        let line = self.line(self.line_of(shard, entry)?)?;
        Some(line.last_due_ns)
    }

    /// Takes a packet in; it comes back if all memory is in use.
    pub fn keep(
        &mut self,
        shard: ShardId,
        entry: u32,
        (packet, meta): (P, Meta),
        due_ns: u64,
    ) -> Result<(), P> {
        let Some(line) = self.line_for(shard, entry) else {
            return Err(packet);
        };
        let before = self.lines[line as usize].last;
        let number = self.arrivals;
        let waiting = Waiting {
            what: Some((packet, meta)),
            due_ns,
            number,
            line,
            before,
            next: NONE,
        };
        let at = match self.place(waiting) {
            Ok(at) => at,
            Err(packet) => {
                self.give_line_back_if_empty(line);
                return Err(packet);
            }
        };
        self.arrivals += 1;
        self.len += 1;
        let line = &mut self.lines[line as usize];
        line.packets += 1;
        line.last = at;
        line.last_due_ns = line.last_due_ns.max(due_ns);
        match before {
            NONE => line.first = at,
            before => self.packets[before as usize].next = at,
        }
        if self.due.len() == self.due.capacity() {
            self.forget_the_gone();
        }
        self.due.push(Reverse((due_ns, number, at)));
        Ok(())
    }

    /// When the next packet may leave.
    pub fn next_due_ns(&self) -> Option<u64> {
        // One that left with its shard is too early at the most.
        let Reverse((due_ns, ..)) = self.due.peek()?;
        (self.len > 0).then_some(*due_ns)
    }

    /// The next packet that may leave by now, and whether it was the last of its entry that waited.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(P, Meta, bool)> {
        while let Some(Reverse((due_ns, number, at))) = self.due.peek().copied() {
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            if !self.is_there(number, at) {
                continue;
            }
            let line = self.packets[at as usize].line;
            let (packet, meta) = self.take(at)?;
            let is_last = self.give_line_back_if_empty(line);
            return Some((packet, meta, is_last));
        }
        None
    }

    /// Whether a packet still waits in its place.
    fn is_there(&self, number: u64, at: u32) -> bool {
        let waiting = self.packets.get(at as usize);
        waiting.is_some_and(|w| w.what.is_some() && w.number == number)
    }

    /// Whether a turn left packets behind that were due.
    pub fn set_behind(&mut self, now_ns: u64) {
        // Those that left with their shard are not late.
        while let Some(Reverse((_, number, at))) = self.due.peek()
            && !self.is_there(*number, *at)
        {
            self.due.pop();
        }
        self.is_behind = self.next_due_ns().is_some_and(|due_ns| due_ns <= now_ns);
    }

    /// The rules of a shard's sessions are about to be met anew: [`Self::next_entry`] gives all its entries.
    pub fn begin_change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
    }

    /// The next entry of a shard with packets that wait which it was not asked for since the change began.
    pub fn next_entry(&mut self, shard: ShardId) -> Option<u32> {
        let mut at = self.by_shard[usize::from(shard.0)];
        while let Some(line) = self.lines.get_mut(at as usize) {
            if line.change != self.changes {
                line.change = self.changes;
                return Some(line.entry);
            }
            at = line.next;
        }
        None
    }

    /// The first packet of an entry that came, and when it may leave. The entry is to be [closed](Self::close)
    /// when no more are taken.
    pub fn take_first(&mut self, shard: ShardId, entry: u32) -> Option<(P, Meta, u64)> {
        let line = self.line_of(shard, entry)?;
        let first = self.lines[line as usize].first;
        let due_ns = self.packets.get(first as usize)?.due_ns;
        let (packet, meta) = self.take(first)?;
        Some((packet, meta, due_ns))
    }

    /// Forgets an entry of which no packet waits any more.
    pub fn close(&mut self, shard: ShardId, entry: u32) {
        if let Some(line) = self.line_of(shard, entry) {
            self.give_line_back_if_empty(line);
        }
    }

    /// The rules of a shard's sessions have changed: new packets of entries with packets that wait stand
    /// behind these. Entries of which `is_there` says no lose theirs to `discard`.
    pub fn rules_changed(
        &mut self,
        shard: ShardId,
        mut is_there: impl FnMut(u32) -> bool,
        mut discard: impl FnMut(P),
    ) {
        let mut at = self.by_shard[usize::from(shard.0)];
        while let Some(line) = self.lines.get_mut(at as usize) {
            let this = core::mem::replace(&mut at, line.next);
            line.not_before_ns = line.last_due_ns;
            if !is_there(line.entry) {
                while let Some((packet, _)) = self.take(self.lines[this as usize].first) {
                    discard(packet);
                }
                self.give_line_back_if_empty(this);
            }
        }
    }

    /// All packets of a shard, to go with it; none if none waits.
    pub fn give(&mut self, shard: ShardId) -> Option<Box<ShardWaiting<P>>> {
        let mut lines = Vec::new();
        while let Some(line) = self.line(self.by_shard[usize::from(shard.0)]) {
            let (at, about) = (self.by_shard[usize::from(shard.0)], line.without_places());
            let mut packets = Vec::with_capacity(line.packets as usize);
            let mut first = line.first;
            while let Some(waiting) = self.packets.get(first as usize) {
                let due_ns = waiting.due_ns;
                let Some((packet, meta)) = self.take(first) else {
                    break;
                };
                packets.push((packet, meta, due_ns));
                first = self.lines[at as usize].first;
            }
            self.give_line_back_if_empty(at);
            lines.push(MovedLine { about, packets });
        }
        (!lines.is_empty()).then(|| Box::new(ShardWaiting { lines }))
    }

    /// The packets of a shard that has come; those for which there is no memory go to `discard`.
    pub fn accept(&mut self, shard: ShardId, given: ShardWaiting<P>, mut discard: impl FnMut(P)) {
        for MovedLine { about, packets } in given.lines {
            for (packet, meta, due_ns) in packets {
                if let Err(packet) = self.keep(shard, about.entry, (packet, meta), due_ns) {
                    discard(packet);
                }
            }
            if let Some(line) = self.line_of(shard, about.entry) {
                self.lines[line as usize].not_before_ns = about.not_before_ns;
            }
        }
    }

    /// Any packet, when the worker ends.
    pub fn drain(&mut self) -> Option<P> {
        let what = self.packets.iter_mut().find_map(|w| w.what.take())?;
        self.len -= 1;
        Some(what.0)
    }

    fn line(&self, at: u32) -> Option<&Line> {
        self.lines.get(at as usize)
    }

    fn line_of(&self, shard: ShardId, entry: u32) -> Option<u32> {
        let mut at = self.by_shard[usize::from(shard.0)];
        while let Some(line) = self.line(at) {
            if line.entry == entry {
                return Some(at);
            }
            at = line.next;
        }
        None
    }

    /// The entry's line, a new one if it has none; none if there is no memory.
    fn line_for(&mut self, shard: ShardId, entry: u32) -> Option<u32> {
        if let Some(at) = self.line_of(shard, entry) {
            return Some(at);
        }
        let new = Line {
            change: self.changes,
            next: self.by_shard[usize::from(shard.0)],
            ..Line::new(shard, entry)
        };
        let mut at = self.free_line;
        if let Some(free) = self.lines.get_mut(at as usize) {
            self.free_line = free.next;
            *free = new;
        } else if self.lines.len() < self.lines.capacity() {
            at = self.lines.len() as u32;
            self.lines.push(new);
        } else {
            return None;
        }
        self.by_shard[usize::from(shard.0)] = at;
        Some(at)
    }

    /// Gives back the line of an entry without packets. True if it had none.
    fn give_line_back_if_empty(&mut self, at: u32) -> bool {
        let line = &mut self.lines[at as usize];
        if line.packets > 0 {
            return false;
        }
        let shard = line.shard;
        let next = core::mem::replace(&mut line.next, self.free_line);
        self.free_line = at;
        let mut before = self.by_shard[usize::from(shard.0)];
        if before == at {
            self.by_shard[usize::from(shard.0)] = next;
            return true;
        }
        while let Some(line) = self.lines.get_mut(before as usize) {
            if line.next == at {
                line.next = next;
                break;
            }
            before = line.next;
        }
        true
    }

    fn place(&mut self, waiting: Waiting<P>) -> Result<u32, P> {
        let at = self.free_packet;
        if let Some(free) = self.packets.get_mut(at as usize) {
            self.free_packet = free.next;
            *free = waiting;
            return Ok(at);
        }
        if self.packets.len() == self.packets.capacity() {
            return waiting.what.map_or(Ok(NONE), |(packet, _)| Err(packet));
        }
        self.packets.push(waiting);
        Ok(self.packets.len() as u32 - 1)
    }

    /// Takes a packet out of its place.
    fn take(&mut self, at: u32) -> Option<(P, Meta)> {
        let waiting = self.packets.get_mut(at as usize)?;
        let what = waiting.what.take()?;
        let (before, next, line) = (waiting.before, waiting.next, waiting.line);
        waiting.next = self.free_packet;
        self.free_packet = at;
        let line = &mut self.lines[line as usize];
        line.packets -= 1;
        match before {
            NONE => line.first = next,
            before => self.packets[before as usize].next = next,
        }
        match next {
            NONE => line.last = before,
            next => self.packets[next as usize].before = before,
        }
        self.len -= 1;
        // Nothing waits, so nothing is late, also where the last ones were discarded.
        self.is_behind &= self.len > 0;
        Some(what)
    }

    /// Half of the queue by time at the least is of packets that left with their shards.
    #[cold]
    fn forget_the_gone(&mut self) {
        let packets = &self.packets;
        self.due.retain(|Reverse((_, number, at))| {
            let waiting = packets.get(*at as usize);
            waiting.is_some_and(|w| w.what.is_some() && w.number == *number)
        });
    }
}

impl Line {
    fn new(shard: ShardId, entry: u32) -> Self {
        Self {
            shard,
            entry,
            packets: 0,
            first: NONE,
            last: NONE,
            last_due_ns: 0,
            not_before_ns: 0,
            change: 0,
            next: NONE,
        }
    }

    /// What the next owner of its shard is to know.
    fn without_places(&self) -> Self {
        Self {
            not_before_ns: self.not_before_ns,
            last_due_ns: self.last_due_ns,
            ..Self::new(self.shard, self.entry)
        }
    }
}

#[cfg(test)]
mod tests;
