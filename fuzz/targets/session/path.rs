//! What the packet path would make of transactions: a model of its entries and blocks.

use sluice_datapath::ids::{BlockId, EntryId, RecordId};
use sluice_datapath::limits::{BLOCK_RULES, SHARDS};
use sluice_datapath::lookup::layout::Layout;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::Flags;
use sluice_datapath::session::txn::{Op, Txn, Usage};
use sluice_datapath::session::usage_record::{Marks, Restart};
use std::collections::{BTreeMap, BTreeSet};

/// Entries and rules that are not vacant.
pub(super) struct Model {
    layout: Layout,
    blocks: u32,
    entries: BTreeMap<u32, SessionEntry>,
    rules: BTreeMap<(u32, u8), ()>,
    cells: BTreeSet<RecordId>,
}

impl Model {
    pub fn new(layout: Layout, blocks: u32) -> Self {
        Self {
            layout,
            blocks,
            entries: BTreeMap::new(),
            rules: BTreeMap::new(),
            cells: BTreeSet::new(),
        }
    }

    /// Applies a transaction as its owner would: everything that it names must be its shard's.
    pub fn apply(&mut self, txn: &mut Txn) {
        let shard = u32::from(txn.shard.0);
        assert!(shard < SHARDS);
        for op in &txn.ops {
            self.apply_op(op, shard);
            if matches!(op, Op::Record { .. }) {
                txn.marks.push(Marks::default());
            }
            if op.takes_usage() {
                let packets = txn.usage.len() as u64;
                txn.usage.push(Usage {
                    bytes: packets * 100,
                    packets,
                });
            }
        }
        for marker in &txn.end_markers {
            assert_ne!(marker.teid, 0, "an End Marker goes to a tunnel");
        }
    }

    fn apply_op(&mut self, op: &Op, shard: u32) {
        match op {
            Op::Entry { at, image, .. } => {
                self.check_entry(at.0, shard);
                self.set_entry(at.0, image);
            }
            // An entry that the same transaction takes away may be named still.
            Op::Held { at, .. } => self.check_entry(at.0, shard),
            Op::TakeEntry { at } => {
                self.check_entry(at.0, shard);
                assert!(self.entries.contains_key(&at.0), "usage of a vacant entry");
            }
            Op::Rule { block, at, image } => {
                self.check_block(block.0, shard);
                assert!(usize::from(*at) < BLOCK_RULES);
                match image.head.flags == Flags::none() {
                    true => self.rules.remove(&(block.0, *at)),
                    false => self.rules.insert((block.0, *at), ()),
                };
            }
            Op::TakeRule { block, at } => {
                self.check_block(block.0, shard);
                assert!(usize::from(*at) < BLOCK_RULES);
            }
            Op::Chain {
                block,
                next,
                rules_len,
            } => {
                self.check_block(block.0, shard);
                assert!(usize::from(*rules_len) <= BLOCK_RULES);
                assert!(
                    *next == BlockId(0) || *next != *block,
                    "a chain does not bite its tail"
                );
                if *next != BlockId(0) {
                    self.check_block(next.0, shard);
                }
            }
            Op::TakeDrops { record, .. } => self.check_cell(*record, shard),
            Op::RecordOf { entry, record } => {
                self.check_entry(entry.0, shard);
                self.check_cell(*record, shard);
            }
            Op::Record { at, image } => {
                self.check_cell(*at, shard);
                match image.restart == Restart::Vacate {
                    true => assert!(self.cells.remove(at), "{at:?} was nobody's"),
                    false => _ = self.cells.insert(*at),
                }
            }
            Op::Bucket { at, .. } => {
                let (block, _) = at.get().expect("a bucket has a place");
                self.check_block(block.0, shard);
            }
            Op::NatUnit { user, .. } => self.check_entry(user.0, shard),
            // An entry that the same transaction takes away is nobody's any more.
            Op::NatUser { at, .. } => self.check_entry(at.0, shard),
        }
    }

    fn set_entry(&mut self, at: u32, image: &SessionEntry) {
        if image.key == 0 {
            self.entries.remove(&at);
            return;
        }
        let tunnel = image.head.flags.has(Flags::TUNNEL);
        if let Some(own) = self
            .layout
            .up_teid(image.key)
            .filter(|_| tunnel && at < self.layout.endpoints())
        {
            assert_eq!(own, EntryId(at), "our own TEID leads to its entry");
        }
        // Block 0 is none: of an entry whose PDRs match no packet of its UE.
        if let Some(block) = image.block().filter(|block| *block != BlockId(0)) {
            self.check_block(block.0, at % SHARDS);
        }
        self.entries.insert(at, *image);
    }

    fn check_entry(&self, at: u32, shard: u32) {
        assert!((at as usize) < self.layout.entries(), "entry {at}");
        assert_eq!(at % SHARDS, shard, "entry {at} is of another shard");
    }

    fn check_cell(&self, cell: RecordId, shard: u32) {
        let all = 1..self.layout.usage_records();
        assert!(all.contains(&cell.0), "{cell:?}");
        assert_eq!(cell.0 % SHARDS, shard, "{cell:?} is of another shard");
    }

    fn check_block(&self, block: u32, shard: u32) {
        assert!((1..self.blocks).contains(&block), "block {block}");
        assert_eq!(block % SHARDS, shard, "block {block} is of another shard");
    }

    /// Nothing is left.
    pub fn check_empty(&self) {
        assert!(self.entries.is_empty(), "entries {:?}", self.entries);
        assert!(self.rules.is_empty(), "rules {:?}", self.rules);
        assert!(self.cells.is_empty(), "cells {:?}", self.cells);
    }
}
