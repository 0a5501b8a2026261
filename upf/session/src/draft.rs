//! Draft of a session's new rules: admitted, resolved, placed and compiled, then committed whole or
//! undone; what establishment and modification have in common.

use crate::admission::{Admission, Policy};
use crate::compile::TooComplex;
use crate::compile::diff::{Delta, Wanted};
use crate::compile::far_update::FarUpdate;
use crate::limits::URRS;
use crate::network::Network;
use crate::node::uses::Uses;
use crate::node::{Moment, Part, RuleChange, Shared, uses};
use crate::pending::Launch;
use crate::refusal::Refusal;
use crate::resources::Resources;
use crate::rules::{Endpoint, Key, RemoteTunnel, Rules, UeAddresses};
use crate::store::SessionRef;
use crate::usage;
use crate::usage::meter::ReportContent;
use arrayvec::ArrayVec;
use sluice_datapath::session::txn::{HeldOrder, Op, Txn};
use sluice_wire::pfcp::Cause;

/// A message that was found good, and what it takes to carry it out.
pub struct Drafted {
    /// The session's rules. To be given back, as [`commit`] does.
    pub change: Box<RuleChange>,
    /// What of them it changes.
    pub scope: Scope,
    /// For the path; the session in its record is the caller's to set.
    pub launch: Launch,
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
    /// UE addresses that a new one is known to have.
    pub ue: UeAddresses,
    /// RESTI: F-TEIDs of ours come back.
    pub restores: bool,
}

impl From<TooComplex> for Refusal {
    fn from(_: TooComplex) -> Self {
        Self::of(Cause::NO_RESOURCES_AVAILABLE)
    }
}

/// Drafts what `admit` reads from a message.
///
/// # Errors
/// If anything in it is refused; then everything is as it was before.
pub fn draft<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    base: &Base,
    net: &mut N,
    admit: impl FnOnce(&mut Admission<'_, N>) -> Result<Scope, Refusal>,
) -> Result<Drafted, Refusal> {
    if !part.pending.has_room() {
        return Err(Refusal::of(Cause::PFCP_ENTITY_IN_CONGESTION));
    }
    let mut change = part.take_change();
    match base.session {
        Some(session) => change.fars_at = part.store.load(session, &mut change.old),
        None => {
            change.old.clear();
            change.old.ue = base.ue;
        }
    }
    let name = base.session.unwrap_or(SessionRef { at: 0, check: 0 });
    let mut drafted = Drafted {
        change,
        scope: Scope::Rules,
        launch: part.pending.launch(name, base.shard),
    };
    match fill(shared, part, at, base, net, admit, &mut drafted) {
        Ok(()) => Ok(drafted),
        Err(refusal) => {
            undo(shared, part, drafted, net);
            Err(refusal)
        }
    }
}

fn fill<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    base: &Base,
    net: &mut N,
    admit: impl FnOnce(&mut Admission<'_, N>) -> Result<Scope, Refusal>,
    drafted: &mut Drafted,
) -> Result<(), Refusal> {
    let Launch { txn, record } = &mut drafted.launch;
    let RuleChange {
        old, new, claims, ..
    } = &mut *drafted.change;
    new.copy_from(old);
    let policy = Policy {
        accept_cp_fteid: shared.config.accept_cp_fteid,
        choose_fteid: shared.config.choose_fteid,
        unserved: shared.config.unserved,
        restores: base.restores,
        is_new: base.session.is_none(),
    };
    let mut work = Admission {
        net,
        at,
        shard: base.shard,
        policy,
        shared,
        resources: &mut part.resources,
        draft: new,
        claims,
        record,
        end_markers: &mut txn.end_markers,
        chosen: ArrayVec::new(),
        routes: ArrayVec::new(),
    };
    let place = base.session.map(|session| session.at);
    work.resources.tell_clocks(old, place, at.seconds());
    let scope = admit(&mut work)?;
    let update = FarUpdate {
        old,
        new: work.draft,
    };
    drafted.scope = match scope {
        Scope::FarsOnly if update.keep_directions() && update.keep_places() => Scope::FarsOnly,
        _ => Scope::Rules,
    };
    match drafted.scope {
        Scope::FarsOnly => work.resolve_fars(old)?,
        Scope::Rules => {
            work.settle_predefined()?;
            work.check_detection()?;
            work.resolve()?;
            work.place()?;
            work.resources.tell_clocks(work.draft, place, at.seconds());
        }
    }
    drafted.launch.record.ue = drafted.change.new.ue;
    compile(part, drafted)?;
    if part.store.has_room(base.session, &drafted.change.new) {
        Ok(())
    } else {
        Err(Refusal::of(Cause::NO_RESOURCES_AVAILABLE))
    }
}

fn compile(part: &mut Part, drafted: &mut Drafted) -> Result<(), Refusal> {
    let Launch { txn, record } = &mut drafted.launch;
    let RuleChange { old, new, .. } = &mut *drafted.change;
    let mut meters: ArrayVec<u32, URRS> = ArrayVec::new();
    if drafted.scope == Scope::Rules {
        usage::set_due_reports(old, new, record);
        // What is reported begins anew.
        for urr in &mut new.urrs {
            urr.renewed.threshold |= record.due.iter().any(|due| due.meter == urr.meter);
        }
        let queried = &record.queried;
        let asked = old.urrs.iter().filter(|u| queried.contains(&u.id.0));
        meters.extend(asked.map(|u| u.meter));
    }
    let mut delta = Delta {
        ops: &mut txn.ops,
        credits: &mut record.credits,
        watching: &mut record.watching,
    };
    match drafted.scope {
        Scope::Rules => {
            let wanted = Wanted::Meters(&meters);
            part.compiler.change((old, new), wanted, &mut delta)?;
            forget_nat(part, old, new, txn)?;
            for entry in new_ue_entries(old, new) {
                for op in part.resources.nat.operations(entry.entry) {
                    txn.ops.try_push(op).map_err(|_| TooComplex)?;
                }
            }
        }
        Scope::FarsOnly => {
            part.compiler.change_fars((old, new), &mut delta)?;
            #[cfg(test)]
            if part.asserts {
                assert_written_whole(part, &drafted.change, &drafted.launch);
            }
        }
    }
    Ok(())
}

/// UEs that go have no public ports any more: what their mappings lie in is another's soon.
pub fn forget_nat(part: &Part, old: &Rules, new: &Rules, txn: &mut Txn) -> Result<(), TooComplex> {
    for entry in gone_entries(old, new) {
        if let Some(op) = part.resources.nat.end_of(entry.entry) {
            txn.ops.try_push(op).map_err(|_| TooComplex)?;
        }
    }
    Ok(())
}

/// Compiling all rules would write the same.
#[cfg(test)]
pub fn assert_written_whole(part: &mut Part, change: &RuleChange, launch: &Launch) {
    use crate::compile::diff::{Credits, Ops, Watching};
    let (mut ops, mut credits) = (Ops::new(), Credits::new());
    let mut watching = Watching::new();
    let mut delta = Delta {
        ops: &mut ops,
        credits: &mut credits,
        watching: &mut watching,
    };
    let rules = (&change.old, &change.new);
    let whole = part.compiler.change(rules, Wanted::None, &mut delta);
    whole.unwrap();
    assert_eq!(format!("{ops:?}"), format!("{:?}", launch.txn.ops));
    assert_eq!(credits, launch.record.credits);
}

/// What the session holds for its UE is not wanted any more (DROBU, 5.2.4): it goes before all else.
///
/// # Errors
/// If the transaction has no room for it.
pub fn discard_held(drafted: &mut Drafted) -> Result<(), Refusal> {
    let rules = &drafted.change.old;
    for endpoint in rules.entries().filter(|e| rules.holds_behind(e.key)) {
        let op = Op::Held {
            at: endpoint.entry,
            order: HeldOrder::Discard,
        };
        let put = drafted.launch.txn.ops.try_insert(0, op);
        put.map_err(|_| Refusal::of(Cause::NO_RESOURCES_AVAILABLE))?;
    }
    Ok(())
}

/// Makes the draft the session's rules: from here on nothing can fail.
pub fn commit(
    shared: &mut Shared,
    part: &mut Part,
    name: SessionRef,
    drafted: Drafted,
    now_s: u32,
) -> Launch {
    let Drafted {
        mut change,
        scope,
        launch,
    } = drafted;
    match scope {
        Scope::Rules => {
            settle(shared, part, name, &mut change, now_s);
            part.store.put(name, &change.new);
        }
        Scope::FarsOnly => {
            settle_tunnels(part, name, &mut change);
            part.store.put_fars(name, &change.new, change.fars_at);
        }
    }
    #[cfg(test)]
    if part.asserts {
        assert_kept(part, name, &change);
    }
    part.give_change(change);
    launch
}

/// What was written is what will be read.
#[cfg(test)]
fn assert_kept(part: &mut Part, name: SessionRef, change: &RuleChange) {
    use crate::rules::Inactivity;
    let mut new = change.new.clone();
    new.qers.iter_mut().for_each(|qer| qer.is_new = false);
    new.fars.iter_mut().for_each(|far| far.is_updated = false);
    for urr in &mut new.urrs {
        (urr.renewed, urr.clock) = Default::default();
    }
    new.inactivity = (new.inactivity)
        .map(|inactivity| Inactivity::standing(inactivity.timer_s, inactivity.cell));
    assert_eq!(*part.rules(name), new);
}

/// What the session takes and gives back by a change is its own, or is gone.
pub fn settle(
    shared: &mut Shared,
    part: &mut Part,
    name: SessionRef,
    change: &mut RuleChange,
    now_s: u32,
) {
    let resources = &mut part.resources;
    // A prefix that comes with the message is a key of every entry there was.
    let ue = if change.new.ue.families().is_none() {
        change.old.ue
    } else {
        change.new.ue
    };
    for entry in gone_entries(&change.old, &change.new) {
        resources.release(entry, (&ue, change.old.routes.run), now_s);
    }
    if change.new.ue.families().is_none() {
        resources.release_given(&change.old.ue, now_s);
    }
    for entry in new_ue_entries(&change.old, &change.new) {
        resources.nat.record_newest(entry.entry);
    }
    count_uses(shared, &mut part.uses, &change.old, &change.new);
    for block in gone_blocks(&change.old, &change.new) {
        resources.release_block(block);
    }
    for cell in gone_cells(&change.old, &change.new) {
        resources.release_cell(cell);
    }
    for urr in &change.new.urrs {
        resources.set_clock(urr, now_s);
        if let Some(meter) = resources.meters.get_mut(urr.meter) {
            meter.told = ReportContent::of(urr);
            if urr.renewed.period {
                meter.period_due_s = urr
                    .period_s()
                    .map_or(0, |period| now_s.saturating_add(period));
            }
        }
    }
    let timer = resources.changed_timer(&change.new, Some(name.at), now_s);
    resources.inactivity.set(name.at, timer);
    set_timer(part, name, &change.new);
    settle_tunnels(part, name, change);
}

/// A session uses other applications, predefined rules and sets than before. What nobody uses any more is forgotten.
fn count_uses(shared: &mut Shared, uses: &mut Uses, old: &Rules, new: &Rules) {
    uses.change_sets(&old.sets, &new.sets);
    shared.sets.forget_empty(&old.sets, &uses.sets);
    if !shared.applications.is_empty() {
        uses.change_applications(old, new);
        let left = uses::applications(old);
        shared.applications.leave(left, &uses.applications);
    }
    if !shared.config.predefined.is_empty() {
        uses.change_predefined(old, new);
    }
}

/// Sets the session's timer to the first time at which something of it is due.
pub fn set_timer(part: &mut Part, name: SessionRef, rules: &Rules) {
    let Resources {
        meters,
        clocks,
        inactivity,
        ..
    } = &part.resources;
    let all = rules.urrs.iter().filter_map(|urr| meters.get(urr.meter));
    let periods = all.clone().map(|meter| meter.period_due_s);
    let periods = periods.filter(|due| *due > 0);
    let clocks = all.filter_map(|meter| clocks.get(meter.clock()?)?.next_look_s());
    let idle = inactivity
        .get(name.at)
        .and_then(|timer| timer.next_look_s());
    let due = periods.chain(clocks).chain(idle).min();
    part.timers.set_or_keep_due(name.at, due);
}

/// The same where only FARs were updated.
fn settle_tunnels(part: &mut Part, name: SessionRef, change: &mut RuleChange) {
    let RuleChange {
        old, new, claims, ..
    } = change;
    let resources = &mut part.resources;
    for endpoint in new.traced_back_entries() {
        resources.traces_back(endpoint.entry, name.at);
    }
    for (sends, tunnel) in tunnels(old, new) {
        if sends {
            part.remotes.add(tunnel, name.at)
        } else {
            part.remotes.remove(tunnel, name.at)
        }
    }
    claims.keep();
}

/// Leaves everything as it was before the message.
pub fn undo(shared: &mut Shared, part: &mut Part, drafted: Drafted, net: &mut impl Network) {
    let Drafted {
        mut change, launch, ..
    } = drafted;
    part.resources.undo(&mut change.claims, net);
    (shared.sets).forget_empty(&change.new.sets, &part.uses.sets);
    part.give_change(change);
    part.pending.recycle(launch.record);
    part.pending.recycle_txn(launch.txn);
}

/// Entries that are no longer needed.
fn gone_entries<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = &'r Endpoint> {
    let entries = old.endpoints.iter().filter(|e| e.key != Key::Spare);
    entries.filter(|e| new.endpoint(e.key).is_none())
}

/// Entries of UE addresses that were not there before.
fn new_ue_entries<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = &'r Endpoint> {
    let entries = new.endpoints.iter();
    let entries = entries.filter(|e| matches!(e.key, Key::Ue { .. }));
    entries.filter(|e| old.endpoint(e.key).is_none())
}

/// Blocks that are no longer needed.
fn gone_blocks<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = u32> + 'r {
    let kept = |block| {
        let mut all = new.endpoints.iter().flat_map(Endpoint::blocks);
        all.any(|b| b == block)
    };
    let blocks = old.endpoints.iter().flat_map(Endpoint::blocks);
    blocks.filter(move |block| !kept(*block))
}

/// Cells of the usage record that are no longer needed.
fn gone_cells<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = u32> + 'r {
    old.cells()
        .filter(move |cell| !new.cells().any(|kept| kept == *cell))
}

/// Tunnels of peers that the session leaves (false), then those that it sends into from now on
/// (true).
fn tunnels<'r>(old: &'r Rules, new: &'r Rules) -> impl Iterator<Item = (bool, RemoteTunnel)> + 'r {
    let only = |here: &'r Rules, there: &'r Rules| {
        let tunnels = here.fars.iter().filter_map(|f| f.tunnel());
        tunnels.filter(move |tunnel| there.fars.iter().all(|f| f.tunnel() != Some(*tunnel)))
    };
    let left = only(old, new).map(|tunnel| (false, tunnel));
    left.chain(only(new, old).map(|tunnel| (true, tunnel)))
}
