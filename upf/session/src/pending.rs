//! Transactions in flight, and their completion actions.

use crate::compile::diff::{Credits, Watching};
use crate::index::partitions::{PARTITIONS, Partition};
use crate::limits::{FARS, PDRS, URRS};
use crate::rules::{Families, LocalTunnel, UeAddresses};
use crate::store::{CpSession, SessionRef};
use arrayvec::ArrayVec;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::session::txn::Txn;
use sluice_datapath::tables::PeerId;
use sluice_mem::shard::ShardId;
use sluice_n4::{AssociationId, ReplyTo};
use sluice_wire::ids::{PdrId, Seid};
use sluice_wire::limits::PDRS_PER_MESSAGE;
use sluice_wire::pfcp::value::UsageReportTrigger;

/// What the UP function chose, by PDR.
pub type Created = ArrayVec<CreatedPdr, PDRS_PER_MESSAGE>;

/// What the UP function chose for a PDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreatedPdr {
    /// The PDR.
    pub id: PdrId,
    /// Its F-TEID.
    pub tunnel: Option<LocalTunnel>,
    /// Of which families the session's addresses are its UE IP Address.
    pub ue: Families,
}

impl CreatedPdr {
    /// For a PDR nothing was chosen yet.
    pub fn of(id: PdrId) -> Self {
        Self {
            id,
            tunnel: None,
            ue: Families::NONE,
        }
    }
}

/// A transaction that is ready for the path.
#[derive(Debug)]
pub struct Launch {
    /// For the owner of the session's shard.
    pub txn: Box<Txn>,
    /// What is done when it comes back.
    pub record: Box<Pending>,
}

/// What waits for a transaction.
#[derive(Debug)]
pub struct Pending {
    /// The session that it changes; perhaps gone by the time it comes back.
    pub session: SessionRef,
    /// Whose usage it takes.
    pub credits: Credits,
    /// Whose marks it takes.
    pub watching: Watching,
    /// Peers that the path no longer uses afterwards.
    pub peers: ArrayVec<PeerId, { 2 * FARS }>,
    /// Runs of flow filters that PDRs no longer have; the path reads none of them for these afterwards.
    pub filter_runs: ArrayVec<FilterRun, { 2 * PDRS }>,
    /// URRs whose usage the message asks for.
    pub queried: ArrayVec<u32, URRS>,
    /// Reports that the answer carries.
    pub due: ArrayVec<Due, URRS>,
    /// F-TEIDs and UE addresses that the answer tells.
    pub created: Created,
    /// The session's UE addresses.
    pub ue: UeAddresses,
    /// What the operator is told about the message.
    pub remarks: SessionRemarks,
    /// The answer.
    pub answer: Answer,
    /// On whose account it is under way.
    pub share: Share,
}

/// On whose account a transaction is under way. What no request asked for may be due of many sessions at the same
/// time, and has a share each: what it may not take is left for requests, which would be refused without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Share {
    /// Requests, and what has a limit of its own; all that there is.
    #[default]
    All,
    /// Measurements.
    Measurements,
    /// Changes of flows that sessions know by name.
    FlowChanges,
    /// The end of sessions that nobody can name any more.
    Removals,
}

/// What the operator is told about a message, once for each association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionRemarks {
    /// It named a TEID of the CP function's own choice.
    pub chosen_by_cp: bool,
    /// A URR asks for reports that are not made yet.
    pub unserved_triggers: bool,
}

/// A usage report that is due.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// The URR's meter.
    pub meter: u32,
    /// Why it reports.
    pub trigger: UsageReportTrigger,
    /// The URR has gone: the meter ends with the report.
    pub ends: bool,
    /// Its Monitoring Time has come: what was measured until then is told apart.
    pub splits: bool,
}

/// What the CP function, or the operator, is told.
#[derive(Debug)]
pub enum Answer {
    /// Nothing.
    None,
    /// Session Establishment Response.
    Established(Reply),
    /// Session Modification Response, and the Query URR Reference that the reports repeat.
    Modified(Reply, Option<u32>),
    /// Session Deletion Response.
    Deleted(Reply),
    /// Session Report Request with the last usage of a session that we ended.
    Last(Last),
    /// Nothing, or a report of what was due at that time, monotonic in seconds.
    Measured(u32),
    /// The session's counters are up to date; the caller's token.
    Queried(u64),
}

/// Whose last usage a transaction brings.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// The association that is released.
    pub association: AssociationId,
    /// The session at the CP function.
    pub cp: CpSession,
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The request.
    pub to: ReplyTo,
    /// The session at the CP function.
    pub cp_seid: Seid,
}

/// One in so many transactions under way may be of each [`Share`] that no request asked for.
const SHARES: usize = 8;

/// The transactions under way, in parts by the lowest bits of their shard; a transaction's name tells
/// its part. Boxes are used again; none is made once the most that were ever under way at a time have
/// been.
#[derive(Debug)]
pub struct PendingTable {
    parts: Box<[PendingPart; PARTITIONS]>,
    /// Records in use.
    used: usize,
    /// Of these, how many there are of each [`Share`].
    shares: [usize; 4],
    /// Boxes belong to no key: who takes one gives it back.
    spare: Vec<Box<Pending>>,
    txns: Vec<Box<Txn>>,
    limit: usize,
}

/// One part.
#[derive(Debug)]
struct PendingPart {
    slots: Vec<Option<Box<Pending>>>,
    /// By slot: how often it was used, so that a transaction that comes back twice is told.
    turns: Vec<u32>,
    free: Vec<u32>,
}

impl PendingPart {
    /// Keeps a record; gives its slot, and how often that was used.
    fn keep(&mut self, record: Box<Pending>) -> Option<(u32, u32)> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.turns.push(0);
            self.slots.len() as u32 - 1
        });
        let at = slot as usize;
        let turn = self.turns.get_mut(at)?;
        *turn = turn.wrapping_add(1);
        *self.slots.get_mut(at)? = Some(record);
        Some((slot, *turn))
    }

    fn take(&mut self, slot: u32, turn: u32) -> Option<Box<Pending>> {
        let at = slot as usize;
        if *self.turns.get(at)? != turn {
            return None;
        }
        let record = self.slots.get_mut(at)?.take()?;
        self.free.push(slot);
        Some(record)
    }
}

impl PendingTable {
    /// At most `limit` under way.
    pub fn new(limit: usize) -> Self {
        // All of them may be of one part. Memory is touched as it is used.
        let part = |_| PendingPart {
            slots: Vec::with_capacity(limit),
            turns: Vec::with_capacity(limit),
            free: Vec::with_capacity(limit),
        };
        Self {
            parts: Box::new(core::array::from_fn(part)),
            used: 0,
            shares: [0; 4],
            spare: Vec::with_capacity(limit),
            txns: Vec::with_capacity(limit),
            limit,
        }
    }

    /// Transactions under way.
    pub fn len(&self) -> usize {
        self.used
    }

    /// True if one more may go.
    pub fn has_room(&self) -> bool {
        self.len() < self.limit
    }

    /// True if one more of a share may go.
    pub fn has_room_for(&self, share: Share) -> bool {
        let is_within =
            share == Share::All || self.shares[share as usize] < self.limit.div_ceil(SHARES);
        self.has_room() && is_within
    }

    /// An empty transaction of a session with an empty record.
    pub fn launch(&mut self, session: SessionRef, shard: u32) -> Launch {
        Launch {
            txn: self.txn(shard),
            record: self.record(session),
        }
    }

    /// An empty record to be filled in.
    fn record(&mut self, session: SessionRef) -> Box<Pending> {
        match self.spare.pop() {
            Some(mut record) => {
                record.session = session;
                record
            }
            None => Box::new(Pending {
                session,
                credits: Credits::new(),
                watching: Watching::new(),
                peers: ArrayVec::new(),
                filter_runs: ArrayVec::new(),
                queried: ArrayVec::new(),
                due: ArrayVec::new(),
                created: Created::new(),
                ue: UeAddresses::default(),
                remarks: SessionRemarks::default(),
                answer: Answer::None,
                share: Share::All,
            }),
        }
    }

    /// An empty transaction; its name is set by [`keep`](Self::keep).
    fn txn(&mut self, shard: u32) -> Box<Txn> {
        let shard = ShardId(shard as u16);
        match self.txns.pop() {
            Some(mut txn) => {
                txn.reset(0, shard);
                txn
            }
            None => Box::new(Txn::new(0, shard)),
        }
    }

    /// Asks the caches for the transaction that is used after so many others.
    pub fn prefetch_next(&self, after: usize) {
        if let Some(txn) = self.txns.iter().nth_back(after) {
            txn.prefetch_to_write();
        }
    }

    /// Keeps the record until the transaction comes back; names the transaction.
    pub fn keep(&mut self, record: Box<Pending>, txn: &mut Txn) {
        let (part, _) = Partition::of_number(txn.shard.0.into());
        let share = record.share as usize;
        let kept = self.parts[part.index() % PARTITIONS].keep(record);
        if let Some((slot, turn)) = kept {
            self.used += 1;
            self.shares[share] += 1;
            txn.id = u64::from(turn) << 32 | u64::from(part.number(slot));
        }
    }

    /// The session of a transaction under way.
    pub fn session(&self, id: u64) -> Option<SessionRef> {
        let (part, slot) = Partition::of_number(id as u32);
        let part = &self.parts[part.index() % PARTITIONS];
        let record = part.slots.get(slot as usize)?.as_ref()?;
        Some(record.session)
    }

    /// The record of a transaction that came back.
    pub fn take(&mut self, id: u64) -> Option<Box<Pending>> {
        let (part, slot) = Partition::of_number(id as u32);
        let part = &mut self.parts[part.index() % PARTITIONS];
        let record = part.take(slot, (id >> 32) as u32)?;
        self.used -= 1;
        self.shares[record.share as usize] -= 1;
        Some(record)
    }

    /// Takes a record back for another use.
    pub fn recycle(&mut self, mut record: Box<Pending>) {
        record.credits.clear();
        record.watching.clear();
        record.peers.clear();
        record.filter_runs.clear();
        record.queried.clear();
        record.due.clear();
        record.created.clear();
        record.ue = UeAddresses::default();
        record.remarks = SessionRemarks::default();
        record.answer = Answer::None;
        record.share = Share::All;
        self.spare.push(record);
    }

    /// Takes a transaction back for another use.
    pub fn recycle_txn(&mut self, txn: Box<Txn>) {
        if self.txns.len() < self.limit {
            self.txns.push(txn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_request_asked_for_leaves_room_for_requests() {
        let mut table = PendingTable::new(16);
        let name = SessionRef { at: 1, check: 1 };
        let mut ids = Vec::new();
        for share in [Share::Measurements, Share::FlowChanges, Share::Removals] {
            while table.has_room_for(share) {
                let (mut record, mut txn) = (table.record(name), table.txn(0));
                record.share = share;
                table.keep(record, &mut txn);
                ids.push(txn.id);
            }
        }
        assert_eq!(ids.len(), 6, "two of each");
        assert!(table.has_room());
        for id in ids {
            let record = table.take(id).unwrap();
            let share = record.share;
            table.recycle(record);
            assert!(table.has_room_for(share));
        }
    }

    /// What is done with a transaction leaves all parts but its shard's as they were.
    #[test]
    fn a_transaction_touches_the_part_of_its_shard_alone() {
        let mut table = PendingTable::new(100);
        let state = |table: &PendingTable| table.parts.each_ref().map(|part| format!("{part:?}"));
        for (n, shard) in (1..).zip([0, 1, 15, 16, 17, 4_095]) {
            let before = state(&table);
            let name = SessionRef { at: n, check: 1 };
            let (record, mut txn) = (table.record(name), table.txn(shard));
            table.keep(record, &mut txn);
            assert_eq!((table.session(txn.id), table.len()), (Some(name), 1));
            let record = table.take(txn.id).unwrap();
            assert_eq!(record.session, name);
            assert!(table.take(txn.id).is_none(), "it came back twice");
            assert_eq!(table.len(), 0);
            table.recycle(record);
            table.recycle_txn(txn);
            let after = state(&table);
            let touched = (0..PARTITIONS).filter(|at| before[*at] != after[*at]);
            assert_eq!(touched.collect::<Vec<_>>(), [shard as usize % PARTITIONS]);
        }
    }
}
