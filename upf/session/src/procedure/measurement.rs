//! Measurement of a session: all its usage is taken from the path with all that its URRs have to tell, because a
//! worker rang or a time has come; what is to be reported of it is due then (TS 29.244, 5.2.2).

use crate::compile::diff::Delta;
use crate::draft;
use crate::pending::{Answer, Launch};
use crate::report_queue::Reasons;
use crate::sessions::{Moment, Sessions};
use crate::store::SessionRef;
use sluice_datapath::ids::EntryId;
use sluice_wire::pfcp::value::UsageReportTrigger;

/// A worker has something to tell of the URRs of the session with this entry. It is measured as soon as there
/// is room for a transaction.
pub fn rung(sessions: &mut Sessions, at: Moment, entry: EntryId) {
    if let Some(name) = sessions.session_of_entry(entry) {
        sessions.timers.set(name.at, Some(at.seconds()));
    }
}

/// The measurement of the next session that is due, if there is room for it.
pub fn next_due(sessions: &mut Sessions, at: Moment) -> Option<Launch> {
    let now_s = at.seconds();
    while sessions.timers.is_due(now_s) && sessions.pending.has_room() {
        let place = sessions.timers.pop(now_s)?;
        if let Some(launch) = sessions
            .store
            .named(place)
            .and_then(|name| measure(sessions, name, now_s))
        {
            return Some(launch);
        }
    }
    None
}

fn measure(sessions: &mut Sessions, name: SessionRef, now_s: u32) -> Option<Launch> {
    let session = sessions.store.get(name)?;
    let mut launch = sessions.pending.launch(name, u32::from(session.shard));
    let Launch { txn, record } = &mut launch;
    record.answer = Answer::Measured(now_s);
    let mut change = sessions.take_change();
    let rules = &mut change.old;
    sessions.store.load(name, rules);
    for urr in &mut rules.urrs {
        let meter = sessions.resources.meters.get(urr.meter);
        urr.renewed.threshold = meter.is_some_and(|meter| meter.is_period_over(now_s));
    }
    let mut delta = Delta {
        ops: &mut txn.ops,
        credits: &mut record.credits,
        watching: &mut record.watching,
    };
    let written = sessions.compiler.measure(rules, &mut delta);
    debug_assert!(written.is_ok(), "an admitted session fits one transaction");
    sessions.give_change(change);
    Some(launch)
}

/// Usage was taken that belongs to a time at which something was due.
pub fn measured(sessions: &mut Sessions, at: Moment, name: SessionRef, due_s: u32) {
    if sessions.store.get(name).is_none() {
        return;
    }
    let mut change = sessions.take_change();
    let rules = &mut change.old;
    sessions.store.load(name, rules);
    let mut is_due = false;
    for urr in &rules.urrs {
        let Some(meter) = sessions.resources.meters.get_mut(urr.meter) else {
            continue;
        };
        if let Some(period_s) = urr.period_s().filter(|_| meter.is_period_over(due_s)) {
            meter.begin_next_period(period_s, at.seconds());
            is_due |= meter.is_due_for(UsageReportTrigger::PERIO, at.wall);
        }
    }
    draft::set_timer(sessions, name, rules);
    sessions.give_change(change);
    if is_due {
        report(sessions, name);
    }
}

/// The session has usage to report.
pub fn report(sessions: &mut Sessions, name: SessionRef) {
    if let Some(session) = sessions.store.get(name) {
        (sessions.reports).add(name, session.association, Reasons::USAGE, None);
    }
}
