//! Difference of two renderings: the operations between them, and the usage that each takes.
//!
//! What is the same is not touched.

use crate::compile::image::{
    BucketImage, CellImage, ChainImage, Credit, Drops, EntryImage, Image, Limiter, RuleImage,
    Watcher,
};
use arrayvec::ArrayVec;
use sluice_datapath::ids::{BlockId, EntryId, RecordId};
use sluice_datapath::limits::{TXN_MARKS, TXN_OPS, TXN_USAGES};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{Body, Rule, SharedBucket};
use sluice_datapath::session::txn::{Clock, HeldOrder, Op};
use sluice_datapath::session::usage_record::RecordImage;

/// Operations of one transaction.
pub type Ops = ArrayVec<Op, TXN_OPS>;

/// Whose usage each taking operation takes; `None`: nobody's.
pub type Credits = ArrayVec<Option<Credit>, TXN_USAGES>;

/// Who hears of the cells that a transaction sets, one for each such operation.
pub type Watching = ArrayVec<Watcher, TXN_MARKS>;

/// More operations than a transaction holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// Which counters are wanted besides those that change.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'m> {
    /// None.
    None,
    /// Those of these meters.
    Meters(&'m [u32]),
    /// All.
    All,
}

impl Wanted<'_> {
    fn wants(&self, credit: &Credit) -> bool {
        match self {
            Self::None => false,
            Self::Meters(meters) => meters.iter().any(|m| credit.meters.contains(*m)),
            Self::All => true,
        }
    }
}

/// A transaction being written.
pub struct Delta<'t> {
    /// Its operations.
    pub ops: &'t mut Ops,
    /// Whose usage they take.
    pub credits: &'t mut Credits,
    /// Whose marks they take.
    pub watching: &'t mut Watching,
}

impl Delta<'_> {
    /// Writes the operations that make `old` to `new`.
    pub fn write(&mut self, old: &Image, new: &Image, wanted: Wanted<'_>) -> Result<(), TooMany> {
        // A cell is set when the usage of all rules is taken.
        let sets_cells = old.cells != new.cells;
        let wanted = if sets_cells { Wanted::All } else { wanted };
        self.rules(old, new, wanted)?;
        self.chains(old, new)?;
        self.buckets(old, new)?;
        self.entries(old, new, wanted)?;
        if sets_cells {
            self.cells(old, new)?;
        }
        self.held(old)
    }

    /// Behind all else: what was held meets the rules as they are now.
    fn held(&mut self, old: &Image) -> Result<(), TooMany> {
        let takes_only = |op: &Op| {
            matches!(
                op,
                Op::TakeEntry { .. } | Op::TakeRule { .. } | Op::TakeDrops { .. }
            )
        };
        if self.ops.iter().all(takes_only) {
            return Ok(());
        }
        let order = HeldOrder::Again;
        let mut all = old.holding.iter();
        all.try_for_each(|at| self.push(Op::Held { at: *at, order }))
    }

    /// Sets all cells of the usage record. The usage of all rules was taken before.
    pub fn cells(&mut self, old: &Image, new: &Image) -> Result<(), TooMany> {
        for cell in &new.cells {
            let CellImage { at, image, watcher } = *cell;
            self.watching.try_push(watcher).map_err(|_| TooMany)?;
            self.push(Op::Record { at, image })?;
        }
        for gone in &old.cells {
            if !new.cells.iter().any(|cell| cell.at == gone.at) {
                // What has happened by now is told, as the URR's last word where it goes.
                self.watching.try_push(gone.watcher).map_err(|_| TooMany)?;
                let image = RecordImage::VACANT;
                self.push(Op::Record { at: gone.at, image })?;
            }
        }
        Ok(())
    }

    fn entries(&mut self, old: &Image, new: &Image, wanted: Wanted<'_>) -> Result<(), TooMany> {
        for entry in &new.entries {
            let before = old.entries.iter().find(|l| l.at == entry.at);
            match before {
                Some(before) if same_entry(before, entry) && !entry.is_rewritten => {
                    self.keep_entry(before, entry, wanted)?;
                }
                _ => {
                    let clocks = entry
                        .qers
                        .map(|of| of.map_or(Clock::Full, |of| clock(old, of)));
                    let credit = before.and_then(|b| b.credit);
                    self.put_entry(EntryId(entry.at.0), entry.entry, clocks, credit)?;
                    self.take_drops(before.and_then(|b| b.drops))?;
                }
            }
            let was_granted_from = before.map_or(RecordId(0), |before| before.record);
            if entry.record != was_granted_from && entry.record != RecordId(0) {
                let (entry, record) = (entry.at, entry.record);
                self.push(Op::RecordOf { entry, record })?;
            }
        }
        for gone in &old.entries {
            if !new.entries.iter().any(|l| l.at == gone.at) {
                self.put_entry(
                    EntryId(gone.at.0),
                    SessionEntry::default(),
                    [Clock::Full; 2],
                    gone.credit,
                )?;
                self.take_drops(gone.drops)?;
            }
        }
        Ok(())
    }

    fn keep_entry(
        &mut self,
        before: &EntryImage,
        entry: &EntryImage,
        wanted: Wanted<'_>,
    ) -> Result<(), TooMany> {
        let Some(credit) = before.credit else {
            return Ok(());
        };
        if wanted.wants(&credit) || entry.credit != before.credit {
            self.take(Op::TakeEntry { at: entry.at }, Some(credit))?;
            self.take_drops(before.drops)?;
        }
        Ok(())
    }

    fn put_entry(
        &mut self,
        at: EntryId,
        image: SessionEntry,
        clocks: [Clock; 2],
        credit: Option<Credit>,
    ) -> Result<(), TooMany> {
        self.take(Op::Entry { at, image, clocks }, credit)
    }

    fn rules(&mut self, old: &Image, new: &Image, wanted: Wanted<'_>) -> Result<(), TooMany> {
        let at = |rule: &RuleImage| (rule.block, rule.at);
        for rule in &new.rules {
            let (block, place) = at(rule);
            let before = old.rules.iter().find(|r| at(r) == at(rule));
            match before {
                Some(before) if same_rule(before, rule) && !rule.is_rewritten => {
                    if wanted.wants(&before.credit) || rule.credit != before.credit {
                        let op = Op::TakeRule { block, at: place };
                        self.take(op, Some(before.credit))?;
                        self.take_drops(before.drops)?;
                    }
                }
                _ => {
                    self.put_rule(rule, rule.rule, before.map(|b| b.credit))?;
                    self.take_drops(before.and_then(|b| b.drops))?;
                }
            }
        }
        for gone in &old.rules {
            if !new.rules.iter().any(|r| at(r) == at(gone)) {
                self.put_rule(gone, Rule::default(), Some(gone.credit))?;
                self.take_drops(gone.drops)?;
            }
        }
        Ok(())
    }

    fn put_rule(
        &mut self,
        place: &RuleImage,
        image: Rule,
        credit: Option<Credit>,
    ) -> Result<(), TooMany> {
        let RuleImage { block, at, .. } = *place;
        self.take(Op::Rule { block, at, image }, credit)
    }

    fn chains(&mut self, old: &Image, new: &Image) -> Result<(), TooMany> {
        for chain in &new.chains {
            if !old.chains.contains(chain) {
                self.put_chain(*chain)?;
            }
        }
        for gone in &old.chains {
            if !new.chains.iter().any(|c| c.block == gone.block) {
                self.put_chain(ChainImage {
                    block: gone.block,
                    next: BlockId(0),
                    rules_len: 0,
                })?;
            }
        }
        Ok(())
    }

    fn put_chain(&mut self, chain: ChainImage) -> Result<(), TooMany> {
        self.push(Op::Chain {
            block: chain.block,
            next: chain.next,
            rules_len: chain.rules_len,
        })
    }

    fn buckets(&mut self, old: &Image, new: &Image) -> Result<(), TooMany> {
        for bucket in &new.buckets {
            let same = |b: &BucketImage| {
                b.at == bucket.at && b.rate == bucket.rate && bucket.of.goes_on_from(&b.of)
            };
            if !old.buckets.iter().any(same) {
                self.push(Op::Bucket {
                    at: bucket.at,
                    image: bucket.image(),
                    clock: clock(old, bucket.of),
                })?;
            }
        }
        for gone in &old.buckets {
            if !new.buckets.iter().any(|b| b.at == gone.at) {
                self.push(Op::Bucket {
                    at: gone.at,
                    image: SharedBucket::default(),
                    clock: Clock::Full,
                })?;
            }
        }
        Ok(())
    }

    /// With the usage of a rule goes what was dropped of its packets.
    fn take_drops(&mut self, drops: Option<Drops>) -> Result<(), TooMany> {
        let Some(Drops {
            record,
            rule,
            credit,
        }) = drops
        else {
            return Ok(());
        };
        self.take(Op::TakeDrops { record, rule }, Some(credit))
    }

    fn take(&mut self, op: Op, credit: Option<Credit>) -> Result<(), TooMany> {
        self.credits.try_push(credit).map_err(|_| TooMany)?;
        self.push(op)
    }

    fn push(&mut self, op: Op) -> Result<(), TooMany> {
        self.ops.try_push(op).map_err(|_| TooMany)
    }
}

/// Where the bucket of a QER stood before: in an entry, in a block, or nowhere.
fn clock(old: &Image, of: Limiter) -> Clock {
    let shared = old.buckets.iter().find(|b| of.goes_on_from(&b.of));
    if let Some(bucket) = shared {
        return Clock::Shared(bucket.at);
    }
    let own = old.entries.iter().find_map(|entry| {
        let mut qers = entry.qers.iter().flatten();
        // The first stands first; an entry with one bucket has it in the first place.
        let place = qers.position(|q| of.goes_on_from(q))?;
        Some(Clock::Entry(entry.at.0, place as u8))
    });
    own.unwrap_or(Clock::Full)
}

fn same_entry(a: &EntryImage, b: &EntryImage) -> bool {
    let identity = |l: &SessionEntry| (l.key, l.local(), l.ue_ip, l.ue_prefix, l.head);
    let goes_on = |(old, new): (&Option<Limiter>, &Option<Limiter>)| match (old, new) {
        (Some(old), Some(new)) => new.goes_on_from(old),
        (old, new) => old == new,
    };
    a.qers.iter().zip(&b.qers).all(goes_on)
        && identity(&a.entry) == identity(&b.entry)
        && same_body(&a.entry.body, &b.entry.body)
        && a.notifies == b.notifies
        && a.credit.is_some() == b.credit.is_some()
}

fn same_rule(old: &RuleImage, new: &RuleImage) -> bool {
    let (a, b) = (&old.rule, &new.rule);
    old.notifies == new.notifies
        && a.head == b.head
        && a.record == b.record
        && a.filters == b.filters
        && a.buckets == b.buckets
        && same_body(&a.body, &b.body)
}

fn same_body(a: &Body, b: &Body) -> bool {
    let what = |b: &Body| (b.usage.way(), b.usage.is_granted(), b.rate0, b.rate1);
    what(a) == what(b)
}
