//! Usage of sessions: credited to URRs, and written as the reports that are due (TS 29.244, 5.2.2).

pub mod clock;
pub mod inactivity;
pub mod meter;
pub mod monitoring;
pub mod timers;

use crate::compile::image::Watcher;
use crate::flows::applications::Applications;
use crate::node::uses::Uses;
use crate::node::{Moment, Part, Shared};
use crate::pending::{Due, Pending};
use crate::procedure::put;
use crate::resources::Resources;
use crate::rules::{Rules, Urr};
use crate::store::SessionRef;
use sluice_datapath::session::txn::Usage;
use sluice_datapath::session::usage_record::Marks;
use sluice_wire::pfcp::group::{ApplicationDetectionInformation, UsageReport};
use sluice_wire::pfcp::value::{FlowDirection, FlowInformation, Text, UsageReportTrigger};
use sluice_wire::pfcp::{Full, IeType, Writer};

/// The reports that the response carries: on removal of a URR and when the last PDR leaves it
/// (termination), and when it is asked for (immediate) (TS 29.244, 5.2.2.3, 7.5.5.2).
pub fn set_due_reports(old: &Rules, new: &Rules, record: &mut Pending) {
    let is_used = |rules: &Rules, urr: &Urr| rules.pdrs.iter().any(|p| p.urrs.contains(urr.id.0));
    for urr in &old.urrs {
        let ends = new.urrs.iter().all(|u| u.meter != urr.meter);
        let left = is_used(old, urr) && !is_used(new, urr);
        let trigger = if ends || left {
            UsageReportTrigger::TERMR
        } else if record.queried.contains(&urr.id.0) {
            UsageReportTrigger::IMMER
        } else {
            continue;
        };
        record.due.push(Due {
            meter: urr.meter,
            trigger,
            ends,
            splits: false,
        });
    }
}

/// Usage that the path gave back goes to the URRs that its PDR named while it was counted.
pub fn credit(part: &mut Part, record: &Pending, usage: &[Usage]) {
    for (credit, usage) in record.credits.iter().zip(usage) {
        let Some(credit) = credit else {
            continue;
        };
        let Part {
            store, resources, ..
        } = part;
        if !credit.of_drops {
            store.add_usage(record.session, credit.uplink, *usage);
        }
        for at in credit.meters.as_slice() {
            if let Some(meter) = resources.meters.get_mut(*at) {
                meter.add(credit.uplink, *usage);
            }
        }
    }
}

/// What URRs have to tell of their packets: true if something is to be reported.
pub fn note_marks(part: &mut Part, at: Moment, record: &Pending, marks: &[Marks]) -> bool {
    let mut is_due = false;
    for (watcher, marks) in record.watching.iter().zip(marks) {
        let meter = match watcher {
            Watcher::Urr(meter) => *meter,
            Watcher::Session => {
                packets_left(part, record.session, marks);
                continue;
            }
            Watcher::Nobody => continue,
        };
        let Some((meter, mut clock)) = part.resources.metered(meter) else {
            continue;
        };
        if let Some(clock) = &mut clock {
            clock.packets_left(marks.first_ns, marks.last_ns);
        }
        if meter.happened(marks.state, at.wall) {
            is_due = true;
            if let Some(clock) = clock {
                clock.advance(at.seconds());
                clock.restart_threshold();
            }
        }
    }
    is_due
}

fn packets_left(part: &mut Part, name: SessionRef, marks: &Marks) {
    let timers = &mut part.resources.inactivity;
    if part.store.get(name).is_some()
        && let Some(timer) = timers.get_mut(name.at)
    {
        timer.packets_left(marks.last_ns.max(marks.first_ns));
    }
}

/// Writes the usage reports that are due, as IEs of this type. A session has no more URRs than a
/// message has reports.
pub fn write_reports(
    shared: &Shared,
    part: &mut Part,
    at: Moment,
    record: &Pending,
    reference: Option<u32>,
    ie: IeType,
    w: &mut Writer<'_>,
) -> Result<(), Full> {
    for due in &record.due {
        if let Some((meter, mut clock)) = part.resources.metered(due.meter) {
            if let Some(clock) = &mut clock {
                clock.advance(at.seconds());
            }
            let (before, latest) = meter.report(due.trigger, at.wall, clock);
            // 7.5.5.2: with the reports that the query brought, not with those of URRs that end by the same message.
            let is_asked = record.queried.contains(&latest.urr_id.0);
            for mut report in before.into_iter().chain([latest]) {
                report.query_urr_reference = reference.filter(|_| is_asked);
                put(
                    w,
                    ie,
                    &detected(&shared.applications, &part.uses, due.meter, report),
                )?;
            }
        }
    }
    Ok(())
}

/// True if a report that is due would tell of packets.
pub fn is_any_due(resources: &Resources, record: &Pending) -> bool {
    let meters = record.due.iter();
    let mut meters = meters.filter_map(|due| resources.meters.get(due.meter));
    let is_kept = |at| {
        let clock = resources.clocks.get(at);
        clock.is_some_and(|clock| clock.before().is_some())
    };
    meters.any(|meter| {
        let is_used = meter.usage.iter().any(|usage| usage.packets > 0);
        is_used || meter.clock().is_some_and(is_kept)
    })
}

/// The meters of URRs that have gone end with their reports.
pub fn end_meters(part: &mut Part, record: &Pending) {
    for due in record.due.iter().filter(|due| due.ends) {
        part.uses.forget_meter(due.meter);
        part.resources.end_meter(due.meter);
    }
}

/// The Application Instance ID of an application's only flow: by it the stop is known to be of the same flow.
const INSTANCE: &[u8] = b"1";

/// What a report of this meter tells of the start or stop of traffic: whose it is, if it is an application's.
pub fn detected<'a>(
    applications: &'a Applications,
    uses: &Uses,
    meter: u32,
    report: UsageReport<'a>,
) -> UsageReport<'a> {
    let trigger = report.usage_report_trigger;
    let starts = trigger.contains(UsageReportTrigger::START);
    let tells_traffic = starts || trigger.contains(UsageReportTrigger::STOPT);
    let application = uses.detected_by(meter).filter(|_| tells_traffic);
    let application =
        application.and_then(|(number, is_reduced)| applications.detected(number, is_reduced));
    UsageReport {
        application_detection_information: application.map(|of| ApplicationDetectionInformation {
            application_id: Text(of.name),
            application_instance_id: of.flow.map(|_| INSTANCE),
            flow_information: of.flow.filter(|_| starts).map(|text| FlowInformation {
                direction: FlowDirection::BIDIRECTIONAL,
                flow_description: text,
            }),
        }),
        ..report
    }
}
