//! UEs of the demo of the core are idle, are called, and go from gNB to gNB.

use sluice_ue::Procedure;

use super::acts::at_rest;
use super::core::Core;
use super::ran::{Ran, gnb_name};
use super::report::{Handover, Report};
use super::{Stage, traffic};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan;

/// The first UE is idle, and comes back as it has something to say.
pub(super) fn request_service(
    stage: &Stage<'_>,
    host: &Host<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    report: &mut Report,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "service request", |report| {
        stage
            .screen
            .step("a UE is idle, and comes back by service request");
        let first = 0;
        ran.play(first, Procedure::Idle).in_step("release")?;
        let status = at_rest(core, ran)?;
        let others = ran.count() as u64 - 1;
        let name = "UEs connected while one is idle";
        report.checks.equal(name, others, status.connected);
        ran.play(first, Procedure::Service)
            .in_step("service request")?;
        let at = ran.fleet.phones()[first].at();
        let context = at.and_then(|(gnb, ran_id)| ran.fleet.gnbs()[gnb].context(ran_id));
        let is_same = match (context, ran.ue(first).kgnb()) {
            (Some(context), Some(key)) => context.key == key,
            _ => false,
        };
        same_key("KgNB of the UE and of its gNB", is_same, report);
        traffic::ping_one(stage, ran, first, "after its service request", report)?;
        Ok(Starved::new())
    })
}

fn same_key(name: impl Into<String>, is_same: bool, report: &mut Report) {
    let got = if is_same { "the same" } else { "different" };
    report.checks.holds(name, "the same", got, is_same);
}

/// All UEs are idle, and are called as packets come for them.
pub(super) fn page(
    stage: &Stage<'_>,
    host: &Host<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    report: &mut Report,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "paging", |report| {
        stage
            .screen
            .step("all UEs are idle, and are called as packets come for them");
        for phone in 0..ran.count() {
            ran.play(phone, Procedure::Idle).in_step("release")?;
        }
        // A gNB has let it go before the UPF knows: what comes between is lost (TS 23.502, 4.2.6).
        let status = at_rest(core, ran)?;
        let name = "UEs connected while all are idle";
        report.checks.equal(name, 0, status.connected);
        let before: Vec<_> = ran.places.iter().map(|one| one.answered_pages).collect();
        traffic::ping_idle(stage, ran, report)?;
        for (phone, before) in before.into_iter().enumerate() {
            let pages = ran.places[phone].answered_pages;
            let name = format!("{} answers its page", report.ues[phone].supi);
            let got = pages.saturating_sub(before);
            report
                .checks
                .holds(name, "once at least", got.to_string(), got > 0);
            report.ues[phone].pages_answered = pages;
        }
        let status = at_rest(core, ran)?;
        let name = "UEs connected after they were called";
        report
            .checks
            .equal(name, ran.count() as u64, status.connected);
        Ok(Starved::new())
    })
}

/// How gNBs arrange a handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// Between them (TS 23.502, 4.9.1.2).
    Xn,
    /// By the AMF (TS 23.502, 4.9.1.3), which has a UPF forward packets meanwhile.
    N2,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Xn => "Xn",
            Self::N2 => "N2",
        }
    }

    fn phase(self) -> &'static str {
        match self {
            Self::Xn => "Xn handover",
            Self::N2 => "N2 handover",
        }
    }
}

/// All UEs go to the other gNB while they ping, and lose no packet.
pub(super) fn hand_over(
    stage: &Stage<'_>,
    host: &Host<'_>,
    ran: &mut Ran<'_>,
    by: By,
    report: &mut Report,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, by.phase(), |report| {
        stage.screen.step(&format!(
            "all UEs go to the other gNB by {}, and ping meanwhile",
            by.name()
        ));
        under_pings(stage, ran, by, report).in_step(by.phase())
    })
}

fn under_pings(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    by: By,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let spaces: Vec<_> = ran.places.iter().map(|place| place.ns.clone()).collect();
    let for_all = plan::HANDOVER_PINGS_PER_UE * spaces.len() as u32;
    let count = plan::HANDOVER_PINGS.max(for_all);
    let interval_s = plan::HANDOVER_PING_INTERVAL_S;
    let received = |ran: &Ran<'_>, phone: usize| -> Result<u64, DemoError> {
        Ok(ran.report(phone)?.counters.downlink.packets)
    };
    let before: Vec<_> = (0..spaces.len())
        .map(|phone| received(ran, phone))
        .collect::<Result<_, _>>()?;
    let mut moves = Vec::new();
    let (answers, is_whole) = ran.meanwhile_play(
        || traffic::ping_all(&spaces, count, interval_s, stage.stop),
        |ran| {
            // Each UE has answers over both families.
            ran.wait_for("pings before the handovers", |ran| {
                let mut each = before.iter().enumerate();
                each.try_fold(true, |all, (phone, before)| {
                    Ok(all && received(ran, phone)? >= before + 2)
                })
            })?;
            for phone in 0..ran.count() {
                moves.push(one(ran, phone, by)?);
            }
            Ok(())
        },
    )?;
    for (phone, (handover, is_same)) in moves.into_iter().enumerate() {
        let supi = report.ues[phone].supi.clone();
        let Handover {
            from, to, took_ms, ..
        } = &handover;
        let name = format!("{supi} goes by {}", by.name());
        let got = format!("{from} to {to} in {took_ms:.1} ms, with an End Marker");
        report.checks.holds(name, "to the other gNB", got, true);
        same_key(format!("{supi} next hop of UE and gNB"), is_same, report);
        report.ues[phone].handovers.push(handover);
    }
    for (phone, to, one) in answers {
        report.check_ping(phone, &format!("ping {to} during {}", by.phase()), one);
    }
    let late = || "pings had ended before the handovers".to_owned();
    Ok(if is_whole {
        Starved::new()
    } else {
        vec![late()]
    })
}

/// A UE goes to the other gNB; whether both then have the same key for the next one.
fn one(ran: &mut Ran<'_>, phone: usize, by: By) -> Result<(Handover, bool), DemoError> {
    let idle = || DemoError::answer("the RAN", "the UE is idle");
    let from = ran.gnb_of(phone).ok_or_else(idle)?;
    let to = 1 - from.min(1);
    let took_ms = ran.play(
        phone,
        match by {
            By::Xn => Procedure::PathSwitch(to),
            By::N2 => Procedure::Handover(to),
        },
    )?;
    ran.end_of_tunnel(phone)?;
    let at = ran.fleet.phones()[phone].at();
    let (gnb, name) = at.ok_or_else(idle)?;
    let of_gnb = ran.fleet.gnbs()[gnb].next_hop(name).cloned();
    let of_ue = ran.ue(phone).next_hop(ran.places[phone].handovers);
    let handover = Handover {
        by: by.name(),
        from: gnb_name(from),
        to: gnb_name(gnb),
        took_ms,
    };
    Ok((handover, gnb == to && of_gnb.is_some() && of_gnb == of_ue))
}
