//! Draft of a session's new rules, and its transaction: the steps that establishment, modification
//! and deletion have in common.

use crate::admission::{Admission, Policy};
use crate::compile::diff::{Delta, Wanted};
use crate::compile::far_update::FarUpdate;
use crate::network::Network;
use crate::pending::{Due, Pending};
use crate::refusal::Refusal;
use crate::rules::{Endpoint, Rules, Urr};
use crate::state::{Moment, Sessions};
use crate::store::SessionRef;
use arrayvec::ArrayVec;
use sluice_datapath::limits::TXN_OPS;
use sluice_datapath::session::txn::Txn;
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::value::UsageReportTrigger;

/// A message that was found good, and what it takes to carry it out.
pub struct Drafted {
    /// For the path.
    pub txn: Box<Txn>,
    /// For the return of the transaction; its session is the caller's to set.
    pub record: Box<Pending>,
}

/// What of a session's rules a message changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Any of them.
    Rules,
    /// FARs alone.
    FarsOnly,
}

/// Where a draft begins.
pub struct Base {
    /// The session as it is; `None` for a new one.
    pub session: Option<SessionRef>,
    /// Its shard.
    pub shard: u32,
    /// RESTI: F-TEIDs of ours come back.
    pub restores: bool,
}

impl Sessions {
    /// Drafts what `admit` reads from a message. If anything in it is refused, everything is as
    /// it was before.
    pub fn draft<N: Network>(
        &mut self,
        at: Moment,
        base: Base,
        net: &mut N,
        admit: impl FnOnce(&mut Admission<'_, N>) -> Result<Scope, Refusal>,
    ) -> Result<(Drafted, Scope), Refusal> {
        if !self.pending.has_room() {
            return Err(Refusal::of(Cause::PFCP_ENTITY_IN_CONGESTION));
        }
        match base.session {
            Some(session) => self.fars_at = self.store.load(session, &mut self.installed),
            None => self.installed.clear(),
        }
        let name = base.session.unwrap_or(SessionRef { at: 0, check: 0 });
        let mut drafted = Drafted {
            txn: self.pending.txn(base.shard),
            record: self.pending.record(name),
        };
        match self.fill(at, &base, net, admit, &mut drafted) {
            Ok(scope) => Ok((drafted, scope)),
            Err(refusal) => {
                self.undo(net);
                self.pending.recycle(drafted.record);
                self.pending.recycle_txn(drafted.txn);
                Err(refusal)
            }
        }
    }

    fn fill<N: Network>(
        &mut self,
        at: Moment,
        base: &Base,
        net: &mut N,
        admit: impl FnOnce(&mut Admission<'_, N>) -> Result<Scope, Refusal>,
        drafted: &mut Drafted,
    ) -> Result<Scope, Refusal> {
        self.draft.copy_from(&self.installed);
        let record = &mut *drafted.record;
        let mut work = Admission {
            net,
            ground: &mut self.ground,
            names: &mut self.names,
            draft: &mut self.draft,
            claims: &mut self.claims,
            shard: base.shard,
            policy: Policy {
                accept_cp_fteid: self.config.accept_cp_fteid,
                unserved: self.config.unserved,
                restores: base.restores,
            },
            now_s: at.seconds(),
            wall: at.wall,
            chosen: ArrayVec::new(),
            created: &mut record.created,
            dropped_peers: &mut record.peers,
            end_markers: &mut drafted.txn.end_markers,
            queried: &mut record.queried,
            remarks: &mut record.remarks,
        };
        let scope = admit(&mut work)?;
        let ways = FarUpdate {
            old: &self.installed,
            new: work.draft,
        };
        let scope = match scope {
            Scope::FarsOnly if ways.keep_directions() => Scope::FarsOnly,
            _ => Scope::Rules,
        };
        match scope {
            Scope::FarsOnly => work.resolve_ways(&self.installed)?,
            Scope::Rules => {
                work.resolve()?;
                work.place()?;
            }
        }
        match scope {
            Scope::FarsOnly => self.write_fars(drafted)?,
            Scope::Rules => self.write(drafted)?,
        }
        match self.store.has_room(base.session, &self.draft) {
            true => Ok(scope),
            false => Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE)),
        }
    }

    fn write(&mut self, drafted: &mut Drafted) -> Result<(), Refusal> {
        let full = Refusal::of(Cause::NO_RESOURCES_AVAILABLE);
        due_reports(&self.installed, &self.draft, &mut drafted.record);
        let queried = &drafted.record.queried;
        let meters = self
            .installed
            .urrs
            .iter()
            .filter(|u| queried.contains(&u.id.0));
        let meters: ArrayVec<u32, { crate::limits::URRS }> = meters.map(|u| u.meter).collect();
        self.before.render(&self.installed).map_err(|_| full)?;
        self.after.render(&self.draft).map_err(|_| full)?;
        // So that the session can be removed by one transaction.
        if self.after.len() > TXN_OPS {
            return Err(full);
        }
        let mut delta = Delta {
            ops: &mut drafted.txn.ops,
            credits: &mut drafted.record.credits,
        };
        delta
            .write(&self.before, &self.after, Wanted::Meters(&meters))
            .map_err(|_| full)
    }

    /// [`write`](Self::write) where only FARs were updated, and no usage is asked for.
    fn write_fars(&mut self, drafted: &mut Drafted) -> Result<(), Refusal> {
        let full = Refusal::of(Cause::NO_RESOURCES_AVAILABLE);
        let Self {
            installed, draft, ..
        } = self;
        let ways = FarUpdate {
            old: installed,
            new: draft,
        };
        let changed = |endpoint: &Endpoint| ways.differ_behind(endpoint);
        let before = self.before.render_lines(installed, changed);
        let after = self.after.render_lines(draft, changed);
        before.and(after).map_err(|_| full)?;
        let mut delta = Delta {
            ops: &mut drafted.txn.ops,
            credits: &mut drafted.record.credits,
        };
        delta
            .write(&self.before, &self.after, Wanted::None)
            .map_err(|_| full)?;
        #[cfg(test)]
        if self.asserts {
            self.assert_written_whole(drafted);
        }
        Ok(())
    }

    /// Rendering all rules would write the same.
    #[cfg(test)]
    pub(super) fn assert_written_whole(&mut self, drafted: &Drafted) {
        use crate::compile::diff::{Credits, Ops};
        let (mut ops, mut credits) = (Ops::new(), Credits::new());
        let mut delta = Delta {
            ops: &mut ops,
            credits: &mut credits,
        };
        self.before.render(&self.installed).unwrap();
        self.after.render(&self.draft).unwrap();
        delta
            .write(&self.before, &self.after, Wanted::None)
            .unwrap();
        assert_eq!(format!("{ops:?}"), format!("{:?}", drafted.txn.ops));
        assert_eq!(credits, drafted.record.credits);
    }
}

/// The reports that the response carries: on removal of a URR and when the last PDR leaves it
/// (termination), and when it is asked for (immediate) (TS 29.244, 5.2.2.3, 7.5.5.2).
fn due_reports(installed: &Rules, draft: &Rules, record: &mut Pending) {
    let is_used = |rules: &Rules, urr: &Urr| rules.pdrs.iter().any(|p| p.urrs.contains(urr.id.0));
    for urr in &installed.urrs {
        let ends = draft.urrs.iter().all(|u| u.meter != urr.meter);
        let left = is_used(installed, urr) && !is_used(draft, urr);
        let trigger = match ends || left {
            true => UsageReportTrigger::TERMR,
            false if record.queried.contains(&urr.id.0) => UsageReportTrigger::IMMER,
            false => continue,
        };
        record.due.push(Due {
            meter: urr.meter,
            trigger,
            ends,
        });
    }
}
