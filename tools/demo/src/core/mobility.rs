//! UEs of the demo of the core are idle, are called, and go from gNB to gNB.

use sluice_ran::Network;
use sluice_ran::scenario::By;

use super::at_rest;
use super::process::Core;
use super::report::{CorePart, Handover};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan;
use crate::ran::{self, spaces};
use crate::report::{Part as _, Report};
use crate::run::DemoContext;
use crate::traffic::acts::{echoes, meanwhile, ping_servers};
use crate::traffic::at_once;
use crate::traffic::ping::{PingPlan, ping};

/// The first UE is idle, and comes back as it has something to say.
pub(super) fn request_service(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    core: &Core,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "service request", |report| {
        stage.step("a UE is idle, and comes back by service request");
        let first = 0;
        ran.go_idle(first).in_step("release")?;
        let status = at_rest(core, ran)?;
        let others = ran.ues().len() as u64 - 1;
        let name = "UEs connected while one is idle";
        report.checks.equal(name, others, status.connected);
        ran.request_service(first).in_step("service request")?;
        let at = ran.connection(first);
        let context = at.and_then(|(gnb, name)| gnb.context(name));
        let key = ran.sim(first).and_then(|one| one.ue.kgnb());
        let is_same = context.zip(key).is_some_and(|(gnb, ue)| gnb.key == ue);
        same_key("KgNB of the UE and of its gNB", is_same, report);
        let first: Vec<_> = spaces(ran).into_iter().take(1).collect();
        for (ue, to, one) in meanwhile(ran, || ping_servers(stage, &first, |to| echoes(to, 56)))? {
            report.check_ping(ue, &format!("ping {to} after its service request"), one);
        }
        Ok(Starved::new())
    })
}

fn same_key(name: impl Into<String>, is_same: bool, report: &mut Report<CorePart>) {
    let got = if is_same { "the same" } else { "different" };
    report.checks.holds(name, "the same", got, is_same);
}

/// All UEs are idle, and are called as packets come for them.
pub(super) fn page(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    core: &Core,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "paging", |report| {
        stage.step("all UEs are idle, and are called as packets come for them");
        for ue in 0..ran.ues().len() {
            ran.go_idle(ue).in_step("release")?;
        }
        // A gNB has let it go before the UPF knows: what comes between is lost (TS 23.502, 4.2.6).
        let status = at_rest(core, ran)?;
        let name = "UEs connected while all are idle";
        report.checks.equal(name, 0, status.connected);
        let before: Vec<_> = ran.ues().iter().map(|one| one.pages_answered).collect();
        ping_idle(stage, ran, report)?;
        for (ue, before) in before.into_iter().enumerate() {
            let pages = ran.ues()[ue].pages_answered;
            let name = format!("{} answers its page", report.part.ue(ue));
            let got = pages.saturating_sub(before);
            report
                .checks
                .holds(name, "once at least", got.to_string(), got > 0);
            report.part.ues[ue].pages_answered = pages;
        }
        let status = at_rest(core, ran)?;
        let name = "UEs connected after they were called";
        report
            .checks
            .equal(name, ran.ues().len() as u64, status.connected);
        Ok(Starved::new())
    })
}

/// All UEs go to the other gNB while they ping, and lose no packet.
pub(super) fn hand_over(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    by: By,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, phase(by), |report| {
        stage.step(&format!(
            "all UEs go to the other gNB by {}, and ping meanwhile",
            name(by)
        ));
        under_pings(stage, ran, by, report).in_step(phase(by))
    })
}

fn under_pings(
    stage: DemoContext<'_>,
    ran: &mut Network,
    by: By,
    report: &mut Report<CorePart>,
) -> Result<Starved, DemoError> {
    let spaces = spaces(ran);
    let for_all = plan::HANDOVER_PINGS_PER_UE * spaces.len() as u32;
    let count = plan::HANDOVER_PINGS.max(for_all);
    let plan = |to| PingPlan {
        count,
        interval_s: plan::HANDOVER_PING_INTERVAL_S,
        wait: plan::PAGE_WAIT,
        ..echoes(to, 56)
    };
    let received = |ran: &Network, ue: usize| -> Result<u64, DemoError> {
        Ok(ran.report(ue)?.counters.downlink.packets)
    };
    let before: Vec<_> = (0..spaces.len())
        .map(|ue| received(ran, ue))
        .collect::<Result<_, _>>()?;
    let mut moves = Vec::new();
    let (answers, is_whole) = ran.meanwhile(
        || ping_servers(stage, &spaces, plan),
        |ran| {
            // Each UE has answers over both families.
            ran.wait_for::<DemoError>("pings before the handovers", |ran| {
                let mut each = before.iter().enumerate();
                each.try_fold(true, |all, (ue, before)| {
                    Ok(all && received(ran, ue)? >= before + 2)
                })
            })?;
            for ue in 0..ran.ues().len() {
                moves.push(one(ran, ue, by)?);
            }
            Ok(())
        },
    )?;
    for (ue, (handover, is_same)) in moves.into_iter().enumerate() {
        let supi = report.part.ue(ue);
        let Handover {
            from, to, took_ms, ..
        } = &handover;
        let what = format!("{supi} goes by {}", name(by));
        let got = format!("{from} to {to} in {took_ms:.1} ms, with an End Marker");
        report.checks.holds(what, "to the other gNB", got, true);
        same_key(format!("{supi} next hop of UE and gNB"), is_same, report);
        report.part.ues[ue].handovers.push(handover);
    }
    for (ue, to, one) in answers {
        report.check_ping(ue, &format!("ping {to} during {}", phase(by)), one);
    }
    let late = || "pings had ended before the handovers".to_owned();
    Ok(if is_whole {
        Starved::new()
    } else {
        vec![late()]
    })
}

/// A UE goes to the other gNB; whether both then have the same key for the next one.
fn one(ran: &mut Network, ue: usize, by: By) -> Result<(Handover, bool), DemoError> {
    let idle = || DemoError::answer("the RAN", "the UE is idle");
    let from = ran.gnb_of(ue).ok_or_else(idle)?;
    let to = 1 - from.min(1);
    let took = ran.handover(ue, by, to)?;
    ran.await_end_marker(ue)?;
    let at = ran.gnb_of(ue).ok_or_else(idle)?;
    let (gnb, name_there) = ran.connection(ue).ok_or_else(idle)?;
    let of_gnb = gnb.next_hop(name_there).cloned();
    let handovers = ran.ues().get(ue).map_or(0, |ue| ue.handovers);
    let of_ue = ran.sim(ue).and_then(|one| one.ue.next_hop(handovers));
    let handover = Handover {
        by: name(by),
        from: ran::name(ran, from)?,
        to: ran::name(ran, at)?,
        took_ms: took.as_secs_f64() * 1e3,
    };
    Ok((handover, at == to && of_gnb.is_some() && of_gnb == of_ue))
}

fn name(by: By) -> &'static str {
    match by {
        By::Xn => "Xn",
        By::N2 => "N2",
    }
}

fn phase(by: By) -> &'static str {
    match by {
        By::Xn => "Xn handover",
        By::N2 => "N2 handover",
    }
}

/// The data network pings all UEs, which are idle and are called; what waited for them is answered.
fn ping_idle(
    stage: DemoContext<'_>,
    ran: &mut Network,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let addresses = ran.ues().iter().map(|ue| ue.addresses.ipv4());
    let addresses: Option<Vec<_>> = addresses.collect();
    let addresses = addresses.ok_or_else(|| DemoError::answer("the SMF", "no IPv4 address"))?;
    let dn = (*stage.topology.dn).clone();
    let answers = meanwhile(ran, || {
        at_once(&addresses, |_, address| {
            let plan = PingPlan {
                wait: plan::PAGE_WAIT,
                ..echoes((*address).into(), 56)
            };
            ping(&dn, plan, stage.stop)
        })
    })?;
    for (ue, one) in answers.into_iter().enumerate() {
        let what = "is pinged while it is idle, from the first packet on";
        report.check_ping(ue, what, one);
    }
    Ok(())
}
