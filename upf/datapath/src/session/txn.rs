//! Transactions: how the control core changes what a worker owns.
//!
//! A transaction belongs to one shard, travels to its owner on the ring, is applied whole between
//! two bursts, and returns with the usage that it closed. It cannot fail: whatever it needs was
//! reserved before.

use crate::ids::{BlockId, EntryId, PeerId, RecordId};
use crate::limits::{TXN_END_MARKERS, TXN_MARKS, TXN_OPS, TXN_USAGES};
use crate::nat::pool::Unit;
use crate::session::entry::SessionEntry;
use crate::session::rule::{BucketRef, Rule, SharedBucket};
use crate::session::usage_record::{Marks, RecordImage, WatchedRule};
use arrayvec::ArrayVec;
use sluice_mem::prefetch;
use sluice_mem::shard::ShardId;

/// Where the clock of a bucket goes on from: a rate that moves keeps its fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// From nowhere: the bucket is new, and full.
    #[default]
    Full,
    /// From an entry's own bucket, 0 or 1.
    Entry(u32, u8),
    /// From a shared bucket.
    Shared(BucketRef),
}

/// What becomes of held packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldOrder {
    /// They meet the rules anew, and new ones go behind them.
    Again,
    /// They are not wanted any more.
    Discard,
}

/// One change.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Replace an entry. Its usage is taken.
    Entry {
        /// Which entry.
        at: EntryId,
        /// What it becomes; counters and clocks in it are ignored.
        image: SessionEntry,
        /// Where its two buckets stood before the transaction.
        clocks: [Clock; 2],
    },
    /// Take the usage of an entry and leave it as it is.
    TakeEntry {
        /// Which entry.
        at: EntryId,
    },
    /// Replace a rule of an extension block; its usage is taken.
    Rule {
        /// Which block.
        block: BlockId,
        /// Which rule.
        at: u8,
        /// What it becomes; counters in it are ignored.
        image: Rule,
    },
    /// Take the usage of a rule and leave it as it is.
    TakeRule {
        /// Which block.
        block: BlockId,
        /// Which rule.
        at: u8,
    },
    /// Set length and successor of a block.
    Chain {
        /// Which block.
        block: BlockId,
        /// Its successor, 0 for none.
        next: BlockId,
        /// Rules in it.
        rules_len: u8,
    },
    /// The rules of an entry that held packets were written.
    Held {
        /// Which entry.
        at: EntryId,
        /// What becomes of its packets.
        order: HeldOrder,
    },
    /// Give a UE a unit of public ports, without mappings.
    NatUnit {
        /// The UE's entry.
        user: EntryId,
        /// Where its mappings are.
        chunk: u32,
        /// The unit.
        unit: Unit,
        /// The chunk that hangs on it; 0 is none.
        next: u32,
    },
    /// Set a UE whose packets are translated, and the chunk of its newest unit.
    NatUser {
        /// Its entry.
        at: EntryId,
        /// Its address.
        address: u32,
        /// The network instance.
        instance: u8,
        /// The chunk.
        first: u32,
    },
    /// Set a shared bucket.
    Bucket {
        /// Which bucket.
        at: BucketRef,
        /// Its rate; the clock in it is ignored.
        image: SharedBucket,
        /// Where it stood before the transaction.
        clock: Clock,
    },
    /// An entry's own rule has its octets granted from this usage record.
    RecordOf {
        /// Which entry.
        entry: EntryId,
        /// The first cell of the record.
        record: RecordId,
    },
    /// Take what gate and bit rates dropped of a rule's packets.
    TakeDrops {
        /// The first cell of the record.
        record: RecordId,
        /// The rule.
        rule: WatchedRule,
    },
    /// Set a cell of a usage record, behind the operations that take the usage of all its session's rules.
    /// Its marks are taken.
    Record {
        /// Which cell.
        at: RecordId,
        /// What it becomes.
        image: RecordImage,
    },
}

/// Usage taken by the operation at the same place in the order of taking operations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Inner bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// An End Marker (TS 29.281, 7.3.2) to be sent after the last packet on the old path, before
/// anything takes the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndMarker {
    /// The old peer.
    pub peer: PeerId,
    /// The old TEID.
    pub teid: u32,
}

/// A compiled delta.
#[derive(Debug)]
pub struct Txn {
    /// The control core's name for it.
    pub id: u64,
    /// The shard whose owner applies it.
    pub shard: ShardId,
    /// Sent before the operations are applied.
    pub end_markers: ArrayVec<EndMarker, TXN_END_MARKERS>,
    /// Applied in this order.
    pub ops: ArrayVec<Op, TXN_OPS>,
    /// Filled in by the owner: one for each operation that takes usage, in order.
    pub usage: ArrayVec<Usage, TXN_USAGES>,
    /// Filled in by the owner: one for each cell of a usage record, in order.
    pub marks: ArrayVec<Marks, TXN_MARKS>,
}

impl Txn {
    /// An empty transaction for `shard`.
    pub fn new(id: u64, shard: ShardId) -> Self {
        Self {
            id,
            shard,
            end_markers: ArrayVec::new(),
            ops: ArrayVec::new(),
            usage: ArrayVec::new(),
            marks: ArrayVec::new(),
        }
    }

    /// Asks the caches for what its owner wrote, and for what comes back with it.
    #[inline]
    pub fn prefetch(&self) {
        prefetch::read(&self.id);
        // Its length stands before the first records.
        prefetch::read(&self.usage);
    }

    /// Asks the caches for what the next user writes of it: its owner had it last, on another core.
    /// Most transactions have two operations at the most.
    #[inline]
    pub fn prefetch_to_write(&self) {
        const OF_TWO: usize = 1 + 2 * size_of::<Op>() / prefetch::CACHE_LINE;
        prefetch::write(&self.id);
        prefetch::write(&self.end_markers);
        prefetch::write_first(&self.ops, OF_TWO);
        prefetch::write(&self.usage);
    }

    /// True if it changes what packets meet: it does more than see to usage and held packets.
    pub fn writes_rules(&self) -> bool {
        let leaves_rules = |op: &Op| {
            matches!(
                op,
                Op::TakeEntry { .. }
                    | Op::TakeRule { .. }
                    | Op::TakeDrops { .. }
                    | Op::Held { .. }
                    | Op::RecordOf { .. }
                    | Op::Record { .. }
                    // A further block of ports changes no rule: packets that wait hold back none.
                    | Op::NatUnit { .. }
                    | Op::NatUser { .. }
            )
        };
        !self.ops.iter().all(leaves_rules)
    }

    /// Emptied for another use, so that the box can be kept.
    pub fn reset(&mut self, id: u64, shard: ShardId) {
        self.id = id;
        self.shard = shard;
        self.end_markers.clear();
        self.ops.clear();
        self.usage.clear();
        self.marks.clear();
    }
}

impl Op {
    /// True for those that put a record into [`Txn::usage`].
    pub fn takes_usage(&self) -> bool {
        matches!(
            self,
            Self::Entry { .. }
                | Self::TakeEntry { .. }
                | Self::Rule { .. }
                | Self::TakeRule { .. }
                | Self::TakeDrops { .. }
        )
    }
}
