//! Images: what a session has in the path's arenas, as data that can be compared.

use crate::config::{MbrZero, ShapedRates};
use crate::limits::{ENDPOINTS, QERS, RULES};
use crate::rules::IdList;
use arrayvec::ArrayVec;
use sluice_datapath::ids::{BlockId, EntryId, RecordId};
use sluice_datapath::limits::RECORD_CELLS;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{BucketRef, Rule, SharedBucket};
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::usage_record::{RecordImage, WatchedRule};
use sluice_wire::ids::FarId;
use sluice_wire::limits::URRS_PER_PDR;

/// Whose usage a counter holds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Credit {
    /// It counts packets from the UE.
    pub uplink: bool,
    /// The meters of the PDR's URRs.
    pub meters: IdList<URRS_PER_PDR>,
    /// It counts what gate and bit rates dropped.
    pub of_drops: bool,
}

/// Where what gate and bit rates drop of a rule's packets is counted, and for whom.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drops {
    /// The first cell of the usage record.
    pub record: RecordId,
    /// The rule.
    pub rule: WatchedRule,
    /// For whom.
    pub credit: Credit,
}

/// An entry and whose usage it holds; `None` where its rules stand in blocks.
#[derive(Clone, Copy, Debug)]
pub struct EntryImage {
    /// Which entry.
    pub at: EntryId,
    /// What stands in it.
    pub entry: SessionEntry,
    /// Whose usage it holds.
    pub credit: Option<Credit>,
    /// The QERs of its two buckets.
    pub qers: [Option<Limiter>; 2],
    /// It is written even if nothing of it changes: the worker has taken its mark away.
    pub is_rewritten: bool,
    /// The FAR of which the CP function wants to hear.
    pub notifies: Option<FarId>,
    /// The usage record from which its own rule is granted octets; 0 is none.
    pub record: RecordId,
    /// Where what is dropped of its own rule's packets counts.
    pub drops: Option<Drops>,
}

/// Whose bucket it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limiter {
    /// The QER.
    pub qer: u32,
    /// The direction.
    pub uplink: bool,
    /// The QER came with the message at hand: one of the same name before it was another.
    pub is_new: bool,
}

impl Limiter {
    /// True if a bucket of the new rules goes on where one of the old rules stands.
    pub fn goes_on_from(&self, old: &Self) -> bool {
        !self.is_new && (self.qer, self.uplink) == (old.qer, old.uplink)
    }
}

/// A rule in a block.
#[derive(Clone, Copy, Debug)]
pub struct RuleImage {
    /// Which block.
    pub block: BlockId,
    /// Which rule of it.
    pub at: u8,
    /// What stands there.
    pub rule: Rule,
    /// Whose usage it holds.
    pub credit: Credit,
    /// It is written even if nothing of it changes.
    pub is_rewritten: bool,
    /// The FAR of which the CP function wants to hear.
    pub notifies: Option<FarId>,
    /// Where what is dropped of its packets counts.
    pub drops: Option<Drops>,
}

/// Who hears of a cell of the usage record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watcher {
    /// Nobody: it is one for rules alone, or of a URR that has gone.
    Nobody,
    /// The URR with this meter.
    Urr(u32),
    /// The session: whether packets come at all.
    Session,
}

/// A cell of the usage record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellImage {
    /// Which cell.
    pub at: RecordId,
    /// What it becomes.
    pub image: RecordImage,
    /// Who hears of it.
    pub watcher: Watcher,
}

/// The head of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainImage {
    /// Which block.
    pub block: BlockId,
    /// Its successor or 0.
    pub next: BlockId,
    /// Rules in it.
    pub rules_len: u8,
}

/// A shared bucket.
#[derive(Clone, Copy, Debug)]
pub struct BucketImage {
    /// Where it stands.
    pub at: BucketRef,
    /// Its rate.
    pub rate: Rate,
    /// Whose it is.
    pub of: Limiter,
}

impl BucketImage {
    /// What the path is told: the bucket with its clock at the start.
    pub fn image(&self) -> SharedBucket {
        SharedBucket::new(self.rate)
    }
}

/// All that a session has in the path's arenas.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Entries.
    pub entries: ArrayVec<EntryImage, ENDPOINTS>,
    /// Rules in blocks.
    pub rules: ArrayVec<RuleImage, RULES>,
    /// Of these entries, those that may hold packets.
    pub holding: ArrayVec<EntryId, ENDPOINTS>,
    /// Heads of blocks.
    pub chains: ArrayVec<ChainImage, RULES>,
    /// Shared buckets.
    pub buckets: ArrayVec<BucketImage, { 2 * QERS }>,
    /// Cells of the usage record.
    pub cells: ArrayVec<CellImage, RECORD_CELLS>,
    /// Rules that URRs watch which wait for octets, and which of those.
    pub watched: ArrayVec<(WatchedRule, u32), { 2 * RULES }>,
    /// What a maximum bit rate of 0 means.
    pub mbr_zero: MbrZero,
    /// Whose excess waits.
    pub shaped_rates: ShapedRates,
}
