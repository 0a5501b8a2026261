//! Usage as a reason to report (Usage Report; TS 29.244, 5.2.2, 7.5.8.3). What is due waits in the meters of the
//! URRs, where it is merged with what follows; what is under way is kept until it is answered.

use crate::node::Part;
use crate::node::Shared;
use crate::procedure::put;
use crate::store::SessionRef;
use crate::usage;
use crate::usage::clock::UsageClock;
use crate::usage::meter::{Meter, SentMeasurement};
use core::num::NonZeroU32;
use sluice_wire::pfcp::value::UsageReportTrigger;
use sluice_wire::pfcp::{Full, IeType, Writer};

/// True if some URR of the session has something to report.
pub fn is_due(part: &Part, name: SessionRef) -> bool {
    due(part, name).next().is_some()
}

/// The meters of URRs with something to report.
fn due(part: &Part, name: SessionRef) -> impl Iterator<Item = u32> {
    let meters = &part.resources.meters;
    let is_due = |at: &u32| {
        meters
            .get(*at)
            .is_some_and(|m| m.due() != UsageReportTrigger::NONE)
    };
    part.store.meters_of(name).filter(is_due)
}

/// A Usage Report of each of them.
pub fn write(
    shared: &Shared,
    part: &Part,
    name: SessionRef,
    w: &mut Writer<'_>,
) -> Result<(), Full> {
    let resources = &part.resources;
    for place in due(part, name) {
        let Some(meter) = resources.meters.get(place) else {
            continue;
        };
        let ie = IeType::USAGE_REPORT_IN_SESSION_REPORT_REQUEST;
        let clock = meter.clock().and_then(|at| resources.clocks.get(at));
        let (before, latest) = meter.due_report(clock);
        for report in before.into_iter().chain([latest]) {
            put(
                w,
                ie,
                &usage::detected(&shared.applications, &part.uses, place, report),
            )?;
        }
    }
    Ok(())
}

/// The reports are on their way.
pub fn sent(part: &mut Part, name: SessionRef) {
    let Part {
        store, resources, ..
    } = part;
    for at in store.meters_of(name) {
        let Some((meter, clock)) = resources.metered(at) else {
            continue;
        };
        if meter.due() != UsageReportTrigger::NONE {
            let left = meter.report_left(clock);
            // There are as many places as requests may be under way with URRs each.
            let kept = resources.sent.insert(left);
            let Some(meter) = resources.meters.get_mut(at) else {
                continue;
            };
            meter.sent = kept.and_then(|place| NonZeroU32::new(place + 1));
        }
    }
}

/// The reports were answered.
pub fn taken(part: &mut Part, name: SessionRef) {
    each_sent(part, name, |_, _, _| {});
}

/// The reports were not answered: what they told is due again.
pub fn returned(part: &mut Part, name: SessionRef) {
    each_sent(part, name, |meter, clock, sent| {
        meter.report_returned(sent, clock);
    });
}

fn each_sent(
    part: &mut Part,
    name: SessionRef,
    ended: impl Fn(&mut Meter, Option<&mut UsageClock>, &SentMeasurement),
) {
    let Part {
        store, resources, ..
    } = part;
    for at in store.meters_of(name) {
        let Some(meter) = resources.meters.get_mut(at) else {
            continue;
        };
        if let Some(place) = meter.sent.take() {
            let place = place.get() - 1;
            let sent = resources.sent.get(place).copied();
            if let (Some(sent), Some((meter, clock))) = (sent, resources.metered(at)) {
                ended(meter, clock, &sent);
            }
            resources.sent.remove(place);
        }
    }
}
