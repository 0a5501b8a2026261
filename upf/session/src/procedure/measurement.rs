//! Measurement of a session: all its usage is taken from the path with all that its URRs have to tell, because a
//! worker rang or a time has come; what is to be reported of it is due then (TS 29.244, 5.2.2).

use crate::compile::diff::Delta;
use crate::draft;
use crate::node::{Moment, Part};
use crate::pending::{Answer, Due, Launch, Pending, Share};
use crate::reports::report_queue::Reasons;
use crate::resources::Resources;
use crate::rules::Urr;
use crate::store::SessionRef;
use sluice_datapath::ids::EntryId;
use sluice_wire::pfcp::value::UsageReportTrigger;

/// A worker has something to tell of the URRs of the session with this entry. It is measured as soon as there
/// is room for a transaction.
pub fn rung(part: &mut Part, at: Moment, entry: EntryId) {
    if let Some(name) = part.session_of_entry(entry) {
        part.timers.set(name.at, Some(at.seconds()));
    }
}

/// The measurement of the next session that is due, if there is room for it.
pub fn next_due(part: &mut Part, at: Moment) -> Option<Launch> {
    let now_s = at.seconds();
    while part.timers.is_due(now_s) && part.pending.has_room_for(Share::Measurements) {
        let place = part.timers.pop(now_s)?;
        if let Some(launch) = part
            .store
            .named(place)
            .and_then(|name| measure(part, name, now_s))
        {
            return Some(launch);
        }
    }
    None
}

fn measure(part: &mut Part, name: SessionRef, now_s: u32) -> Option<Launch> {
    let session = part.store.get(name)?;
    let mut launch = part.pending.launch(name, u32::from(session.shard));
    let Launch { txn, record } = &mut launch;
    record.answer = Answer::Measured(now_s);
    record.share = Share::Measurements;
    let mut change = part.take_change();
    let rules = &mut change.old;
    part.store.load(name, rules);
    // What happens at the same time is told together: when all packets are known.
    let looks_only = rules.urrs.iter().any(|urr| {
        let metered = part.resources.metered(urr.meter);
        metered.is_some_and(|(_, clock)| clock.is_some_and(|clock| clock.must_look(now_s)))
    });
    let mut is_any_split = false;
    for urr in &mut rules.urrs {
        let trigger = if looks_only {
            UsageReportTrigger::NONE
        } else {
            judge(&mut part.resources, urr, now_s)
        };
        urr.renewed.threshold = trigger != UsageReportTrigger::NONE;
        // Traffic that has stopped may start again.
        urr.renewed.start = trigger.contains(UsageReportTrigger::STOPT);
        let splits = !looks_only && urr.reaches_monitoring_time(now_s);
        if splits {
            urr.pass_monitoring_time();
            part.resources.set_clock(urr, now_s);
            is_any_split = true;
        }
        record.due.push(Due {
            meter: urr.meter,
            trigger,
            ends: false,
            splits,
        });
    }
    if is_any_split {
        part.store.put(name, rules);
    }
    part.resources.tell_clocks(rules, Some(name.at), now_s);
    let mut delta = Delta {
        ops: &mut txn.ops,
        credits: &mut record.credits,
        watching: &mut record.watching,
    };
    let written = part.compiler.measure(rules, &mut delta);
    debug_assert!(written.is_ok(), "an admitted session fits one transaction");
    part.give_change(change);
    Some(launch)
}

/// Why a URR reports by now, apart from what the path has to tell; periods begin anew, and quotas end.
fn judge(resources: &mut Resources, urr: &Urr, now_s: u32) -> UsageReportTrigger {
    let Some((meter, clock)) = resources.metered(urr.meter) else {
        return UsageReportTrigger::NONE;
    };
    let mut due = clock.map_or(UsageReportTrigger::NONE, |clock| clock.judge(now_s));
    if let Some(period_s) = urr.period_s().filter(|_| meter.is_period_over(now_s)) {
        meter.begin_next_period(period_s, now_s);
        due = due.union(UsageReportTrigger::PERIO);
    }
    due
}

/// Usage was taken that belongs to a time at which something was due.
pub fn measured(part: &mut Part, at: Moment, record: &Pending, due_s: u32) {
    let name = record.session;
    if part.store.get(name).is_none() {
        return;
    }
    let mut is_due = false;
    for Due {
        meter,
        trigger,
        splits,
        ..
    } in &record.due
    {
        let Some((meter, clock)) = part.resources.metered(*meter) else {
            continue;
        };
        let is_told = meter.is_due_for(*trigger, at.wall);
        is_due |= is_told;
        if let Some(clock) = clock {
            clock.seen(due_s);
            clock.advance(at.seconds());
            if is_told {
                clock.restart_threshold();
            }
            if *splits {
                meter.split(clock, at.wall);
            }
        }
    }
    let timer = part.resources.inactivity.get_mut(name.at);
    let is_idle = timer.is_some_and(|timer| timer.seen(due_s));
    let mut change = part.take_change();
    let rules = &mut change.old;
    part.store.load(name, rules);
    draft::set_timer(part, name, rules);
    part.give_change(change);
    if is_due {
        report(part, name);
    }
    if is_idle && let Some(session) = part.store.get(name) {
        (part.reports).add(name, session.association, Reasons::INACTIVITY, None);
    }
}

/// The session has usage to report.
pub fn report(part: &mut Part, name: SessionRef) {
    if let Some(session) = part.store.get(name) {
        (part.reports).add(name, session.association, Reasons::USAGE, None);
    }
}
