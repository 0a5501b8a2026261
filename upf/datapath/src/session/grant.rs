//! Grants: rules of a session get octets of what its URRs still wait for, so that what happens at an amount
//! of octets happens with exactly the packet that reaches it, and other packets ask nobody.
//!
//! A rule whose grant is used up takes the next one: half of the smallest rest of all URRs that count it.
//! What was granted to others is gone from the rest, so whatever they do, nothing happens unseen. Where little is
//! left all grants are taken back, and the packets of the session come here one by one.

use crate::forward::pdr::At;
use crate::ids::{EntryId, RecordId};
use crate::limits::{GRANT_MAX_BYTES, GRANT_MIN_BYTES, RECORD_CELLS, RECORD_RULES};
use crate::session::SessionState;
use crate::session::rule::Body;
use crate::session::txn::Usage;
use crate::session::usage_record::{DOWNLINK, UrrState, UsageRecord, Watched, WatchedRule};
use arrayvec::ArrayVec;

/// A session's usage record, opened.
struct Record<'s> {
    state: &'s mut SessionState,
    /// Its cells, one for each URR, or for more rules.
    cells: ArrayVec<u32, RECORD_CELLS>,
}

/// Dropped packets of a rule after which they are taken: far from the end of 32 bits.
const DROPS_TAKEN: u32 = 1 << 31;

/// Where a watched rule stands in a record: cell, and place in it.
type Slot = (usize, usize);

/// A packet is about to pass a rule whose grant it would use up: false if a quota is used up.
#[cold]
pub fn may_pass(state: &mut SessionState, record: RecordId, rule: WatchedRule) -> bool {
    let Some((mut record, slot)) = Record::open_at(state, record, rule) else {
        return true;
    };
    record.recall(slot);
    let watched = record.watched(slot);
    if record.is_used_up(watched) {
        // Perhaps it is only granted to others.
        record.recall_all();
    }
    let is_used_up = record.is_used_up(watched);
    if is_used_up {
        // A quota of 0 is told of with the first packet that it stops.
        record.each_urr(watched, UsageRecord::judge_quota);
    }
    !is_used_up
}

/// A packet was stopped: true if there is something to be told.
#[cold]
pub fn stopped(state: &mut SessionState, record: RecordId) -> bool {
    Record::open(state, record).is_some_and(|mut record| record.ring())
}

/// A packet has left by a rule, whose grant it has used up. True if there is something to be told.
#[cold]
pub fn passed(state: &mut SessionState, record: RecordId, rule: WatchedRule, now_ns: u64) -> bool {
    let Some((mut record, slot)) = Record::open_at(state, record, rule) else {
        return false;
    };
    record.recall(slot);
    let watched = record.watched(slot);
    record.begin(watched, now_ns);
    if record.rest(watched) < GRANT_MIN_BYTES {
        record.recall_all();
    }
    record.each_urr(watched, UsageRecord::judge);
    let half = record.rest(watched) / 2;
    if half >= GRANT_MIN_BYTES {
        record.grant(slot, half.min(GRANT_MAX_BYTES));
    }
    record.ring()
}

/// A packet was dropped by gate or bit rates: it counts for the URRs that measure before QoS enforcement. True if
/// there is something to be told.
#[cold]
pub fn dropped(state: &mut SessionState, record: RecordId, rule: WatchedRule, bytes: u32) -> bool {
    let drops = Record::open_at(state, record, rule.drops()).map(|(_, slot)| slot);
    let (Some(drops), Some((mut record, slot))) = (drops, Record::open_at(state, record, rule))
    else {
        return false;
    };
    let Some(counted) = record.watched_mut(drops) else {
        return false;
    };
    counted.granted += i64::from(bytes);
    counted.urrs = counted.urrs.saturating_add(1);
    let is_nearly_full = counted.urrs >= DROPS_TAKEN;
    let watched = record.before_qos(slot);
    for urr in record.urrs(watched) {
        if let Some(cell) = record.cell_mut(urr) {
            cell.grant(watched.rule.direction(), bytes.into());
            cell.state = (cell.state).with_if(UrrState::RESUMED, is_nearly_full);
        }
    }
    if record.rest(watched) < GRANT_MIN_BYTES {
        record.recall_all();
    }
    record.each_urr(watched, UsageRecord::judge);
    record.ring()
}

/// A packet to the UE was lost: its FAR drops it, or it was held and given up. True if there is something to be told.
#[cold]
pub fn lost(state: &mut SessionState, record: RecordId, rule: WatchedRule, bytes: u32) -> bool {
    let Some((mut record, slot)) = Record::open_at(state, record, rule) else {
        return false;
    };
    let watched = record.watched(slot);
    if watched.rule.direction() == DOWNLINK {
        record.each_urr(watched, |cell| cell.lose(bytes));
    }
    record.ring()
}

/// What gate and bit rates dropped of a rule's packets since the last take; the next one begins.
pub fn take_drops(state: &mut SessionState, record: RecordId, rule: WatchedRule) -> Usage {
    let opened = Record::open_at(state, record, rule.drops());
    let usage = opened.and_then(|(mut record, slot)| {
        let counted = record.watched_mut(slot)?;
        let (bytes, packets) = (counted.granted, counted.urrs);
        (counted.granted, counted.urrs) = (0, 0);
        Some(Usage {
            bytes: bytes.max(0) as u64,
            packets: packets.into(),
        })
    });
    usage.unwrap_or_default()
}

/// The control core could not be told: the rule's next packet comes here again.
#[cold]
pub fn not_rung(state: &mut SessionState, record: RecordId, rule: WatchedRule) {
    let Some((mut record, slot)) = Record::open_at(state, record, rule) else {
        return;
    };
    record.recall(slot);
    record.unring();
}

/// The control core could not be told that there is something to be told.
#[cold]
pub fn unring(state: &mut SessionState, record: RecordId) {
    if let Some(mut record) = Record::open(state, record) {
        record.unring();
    }
}

/// The usage of a rule since the last take; the next one begins.
pub fn take(state: &mut SessionState, record: RecordId, rule: WatchedRule) -> Usage {
    let Some((mut record, slot)) = Record::open_at(state, record, rule) else {
        return Usage::default();
    };
    record.recall(slot);
    let granted = record
        .watched_mut(slot)
        .map_or(0, |watched| core::mem::take(&mut watched.granted));
    let (packets, last_ns) = record.body(rule).map_or((0, 0), |body| {
        let packets = body.usage.packets();
        body.usage.clear();
        (packets, body.last_ns())
    });
    let watched = record.watched(slot);
    record.each_urr(watched, |cell| cell.last_ns = cell.last_ns.max(last_ns));
    Usage {
        bytes: granted.max(0) as u64,
        packets,
    }
}

/// The usage record of a rule: that of its entry, or of its place in a block; 0 is none.
pub fn record_of(state: &SessionState, entry: EntryId, at: Option<At>) -> RecordId {
    let record = match at {
        None => state.number(entry.0).map(RecordId),
        Some(at) => {
            let block = state.ext(at.block().0);
            block.map(|block| block.record(at.rule()))
        }
    };
    record.unwrap_or_default()
}

/// The name of a rule in its usage record, in either direction.
pub fn name_of(entry: EntryId, at: Option<At>) -> WatchedRule {
    let named = match at {
        None => WatchedRule::of_entry(entry, false),
        Some(at) => WatchedRule::in_block(at, false),
    };
    named.unwrap_or(WatchedRule::NONE)
}

impl<'s> Record<'s> {
    fn open(state: &'s mut SessionState, first: RecordId) -> Option<Self> {
        let mut cells = ArrayVec::new();
        let mut next = first;
        while next != RecordId(0) && cells.try_push(next.0).is_ok() {
            next = state.record(next.0)?.next;
        }
        Some(Self { state, cells })
    }

    fn open_at(
        state: &'s mut SessionState,
        first: RecordId,
        rule: WatchedRule,
    ) -> Option<(Self, Slot)> {
        let record = Self::open(state, first)?;
        let slot = record
            .slots()
            .find(|slot| record.watched(*slot).rule.is_at(rule))?;
        Some((record, slot))
    }

    fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        let cells = 0..self.cells.len();
        cells.flat_map(|cell| (0..RECORD_RULES).map(move |place| (cell, place)))
    }

    fn cell(&self, at: usize) -> Option<&UsageRecord> {
        self.state.record(*self.cells.get(at)?)
    }

    fn cell_mut(&mut self, at: usize) -> Option<&mut UsageRecord> {
        self.state.record_mut(*self.cells.get(at)?)
    }

    fn watched(&self, (cell, place): Slot) -> Watched {
        self.cell(cell)
            .map_or(Watched::default(), |cell| cell.rules[place])
    }

    fn watched_mut(&mut self, (cell, place): Slot) -> Option<&mut Watched> {
        Some(&mut self.cell_mut(cell)?.rules[place])
    }

    /// The counters of a rule.
    fn body(&mut self, rule: WatchedRule) -> Option<&mut Body> {
        match (rule.entry(), rule.block()) {
            (Some(entry), _) => Some(&mut self.state.entry_mut(entry.0)?.body),
            (None, Some(at)) => Some(&mut self.state.ext_mut(at.block().0)?.rules[at.rule()].body),
            (None, None) => None,
        }
    }

    /// A rule with those of its URRs alone that measure before QoS enforcement.
    fn before_qos(&self, slot: Slot) -> Watched {
        let mut watched = self.watched(slot);
        for urr in self.urrs(watched) {
            let is_before = |cell: &UsageRecord| cell.state.has_any(UrrState::BEFORE_QOS);
            if !self.cell(urr).is_some_and(is_before) {
                watched.urrs &= !(1 << urr);
            }
        }
        watched
    }

    /// The cells of the URRs that count a rule.
    fn urrs(&self, watched: Watched) -> impl Iterator<Item = usize> + use<> {
        let cells = 0..self.cells.len().min(u32::BITS as usize);
        cells.filter(move |cell| watched.urrs & (1 << cell) != 0)
    }

    /// Grants a rule octets, or takes them back.
    fn grant(&mut self, slot: Slot, bytes: i64) {
        let watched = self.watched(slot);
        if let Some(body) = self.body(watched.rule) {
            body.usage.grant(bytes);
        }
        if let Some(watched) = self.watched_mut(slot) {
            watched.granted += bytes;
        }
        for urr in self.urrs(watched) {
            if let Some(cell) = self.cell_mut(urr) {
                cell.grant(watched.rule.direction(), bytes);
            }
        }
    }

    /// Takes back what a rule has left, or grants what it has used beyond.
    fn recall(&mut self, slot: Slot) {
        let rule = self.watched(slot).rule;
        if let Some(left) = self.body(rule).map(|body| body.usage.left()) {
            self.grant(slot, -left);
        }
    }

    fn recall_all(&mut self) {
        for slot in self.slots() {
            self.recall(slot);
        }
    }

    /// The first packet, for URRs that count the rule.
    fn begin(&mut self, watched: Watched, now_ns: u64) {
        for urr in self.urrs(watched) {
            let Some(cell) = self.cell_mut(urr) else {
                continue;
            };
            if cell.first_ns == 0 {
                cell.first_ns = now_ns.max(1);
            }
            for (awaited, came) in [
                (UrrState::AWAITS_START, UrrState::STARTED),
                (UrrState::AWAITS_PACKET, UrrState::RESUMED),
            ] {
                if cell.state.has_any(awaited) {
                    cell.state = cell.state.without(awaited).with(came);
                }
            }
        }
    }

    /// Octets until something happens to a URR that counts the rule.
    fn rest(&self, watched: Watched) -> i64 {
        let cells = self.urrs(watched).filter_map(|urr| self.cell(urr));
        let rests = cells.map(|cell| cell.rest(watched.rule.direction()));
        rests.min().unwrap_or(i64::MAX)
    }

    fn is_used_up(&self, watched: Watched) -> bool {
        let mut cells = self.urrs(watched).filter_map(|urr| self.cell(urr));
        cells.any(|cell| cell.is_used_up(watched.rule.direction()))
    }

    /// Does something with each URR that counts the rule. What it has reached it has reached whatever others
    /// were granted: where little was left all grants were taken back.
    fn each_urr(&mut self, watched: Watched, act: impl Fn(&mut UsageRecord)) {
        for urr in self.urrs(watched) {
            if let Some(cell) = self.cell_mut(urr) {
                act(cell);
            }
        }
    }

    fn unring(&mut self) {
        if let Some(first) = self.cell_mut(0) {
            first.state = first.state.without(UrrState::RUNG);
        }
    }

    /// True if something is to be told, once until the record is taken.
    fn ring(&mut self) -> bool {
        let mut cells = (0..self.cells.len()).filter_map(|urr| self.cell(urr));
        let is_marked = cells.any(|cell| cell.state.has_any(UrrState::MARKS));
        let Some(first) = self.cell_mut(0).filter(|_| is_marked) else {
            return false;
        };
        let rang = first.state.has_any(UrrState::RUNG);
        first.state = first.state.with(UrrState::RUNG);
        !rang
    }
}
