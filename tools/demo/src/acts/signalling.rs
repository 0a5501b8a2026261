//! Demo phase: session establishment and handover.

use std::net::IpAddr;
use std::time::Duration;

use sluice_ran::GnbHandle;
use sluice_wire::ids::Qfi;

use super::MOVING_UE;
use super::programs::ping_server;
use crate::core::Core;
use crate::error::DemoError;
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan;
use crate::ran::{Ran, downlink_endpoint, first_gnb};
use crate::report::{PathSwitch, Report};
use crate::run::DemoContext;
use crate::traffic::ping::{PingPlan, ping};

const ECHO_LIMIT: Duration = Duration::from_secs(3);
const END_MARKER_LIMIT: Duration = Duration::from_secs(3);

/// Sessions and UEs: establishment, attachment, and a modification that tells the gNB's endpoint.
pub(crate) fn attach(
    stage: &DemoContext<'_>,
    core: &mut Core,
    ran: &mut Ran,
) -> Result<(), DemoError> {
    stage.screen.step("PFCP sessions, and UEs at their gNBs");
    let qfi = Qfi::new(plan::QFI).unwrap_or_default();
    for (index, ns) in stage.topology.ues.iter().enumerate() {
        stage.stop.check()?;
        let uplink = core.establish(qfi)?;
        ran.attach(ns, uplink, qfi)?;
        core.connect(index, downlink_endpoint(first_gnb(index), index))?;
        // Now that a Router Advertisement finds its way back.
        ran.start_ipv6(index)?;
    }
    Ok(())
}

/// GTP-U Echo from both gNBs, ICMP from the data network, Router Advertisements to UEs: whoever will
/// talk has met.
pub(crate) fn greet(
    stage: &DemoContext<'_>,
    ran: &Ran,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    stage
        .screen
        .step("echoes on N3 and N6, Router Advertisements to UEs");
    for gnb in ran.gnbs() {
        let took = gnb.echo(plan::N3_UPF, ECHO_LIMIT)?;
        let name = format!("GTP-U Echo of {}", gnb.name());
        report
            .checks
            .holds(name, "answered", format!("answered in {took:.1?}"), true);
    }
    for to in [IpAddr::V4(plan::N6_UPF), IpAddr::V6(plan::N6_UPF_V6)] {
        let wanted = PingPlan {
            to,
            count: 3,
            interval_s: plan::PING_INTERVAL_S,
            payload_bytes: 56,
            wait: plan::PING_WAIT,
        };
        let answered = ping(&stage.topology.dn, wanted, stage.stop)?;
        let name = format!("ping from the data network to the UPF at {to}, answers");
        report.checks.equal(name, answered.sent, answered.received);
    }
    await_addresses(stage, ran, report)?;
    Ok(Starved::new())
}

/// Every UE's kernel has made an address of the prefix that the UPF has told it.
fn await_addresses(
    stage: &DemoContext<'_>,
    ran: &Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    let all = ran.ues.len();
    // Whether they have come is a check, not an error.
    let _ = stage
        .stop
        .wait_until("IPv6 addresses of UEs", plan::ADDRESS_LIMIT, || {
            Ok(ran.with_ipv6()? == all)
        });
    stage.stop.check()?;
    let name = "UEs with an IPv6 address of their prefix";
    report.checks.equal(name, all, ran.with_ipv6()?);
    Ok(())
}

/// A UE moves to the other gNB (TS 23.502, 4.9.1.2): the old one gets an End Marker and nothing
/// more, and packets go on through the new one.
pub(crate) fn switch_path(
    stage: &DemoContext<'_>,
    host: &Host<'_>,
    core: &mut Core,
    ran: &mut Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    let from = first_gnb(MOVING_UE);
    let (old_gnb, new_gnb) = (ran.gnb(from).clone(), ran.gnb(1 - from).clone());
    let name = report
        .ues
        .get(MOVING_UE)
        .map(|ue| ue.name.clone())
        .unwrap_or_default();
    stage.screen.step(&format!(
        "{name} moves from {} to {}",
        old_gnb.name(),
        new_gnb.name()
    ));
    ran.wait_until_quiet(stage.stop)?;
    let (old, new) = ran.hand_over(MOVING_UE, core.uplink(MOVING_UE)?)?;
    core.switch_path(MOVING_UE, new)?;
    // Whether it has come is a check, not an error.
    let _ = stage.stop.wait_until("End Marker", END_MARKER_LIMIT, || {
        Ok(old_gnb.tunnel(old.teid)?.end_markers > 0)
    });
    stage.stop.check()?;
    undisturbed(stage.screen, host, report, "path switch", |report| {
        through_the_new_gnb(stage, ran, &new_gnb, report)
    })?;
    report.path_switch = Some(PathSwitch {
        ue: name,
        from: old_gnb.name().to_owned(),
        to: new_gnb.name().to_owned(),
        ..PathSwitch::default()
    });
    Ok(())
}

/// The UE that moved pings, and all answers come by the gNB to which it moved.
fn through_the_new_gnb(
    stage: &DemoContext<'_>,
    ran: &Ran,
    gnb: &GnbHandle,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let Some(ue) = ran.ues.get(MOVING_UE) else {
        return Ok(Starved::new());
    };
    let before = gnb.counters()?.downlink.packets;
    let answered = ping_server(stage, ue, IpAddr::V4(plan::N6_SERVER), 56)?;
    report.loss.ping += answered.lost();
    report.checks.equal(
        format!("{} ping after the path switch, answers", ue.name),
        answered.sent,
        answered.received,
    );
    let after = gnb.counters()?.downlink.packets;
    report.checks.equal(
        format!("downlink packets at {}", gnb.name()),
        answered.sent,
        after - before,
    );
    Ok(Starved::new())
}
