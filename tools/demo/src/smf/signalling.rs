//! Demo phase: echoes, addresses, and a path switch.

use std::net::IpAddr;
use std::time::Duration;

use sluice_ran::{LeftTunnel, Network};

use super::report::{PathSwitch, SmfPart};
use super::{MOVING_UE, space};
use crate::error::DemoError;
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan;
use crate::ran;
use crate::report::{Part as _, Report};
use crate::run::DemoContext;
use crate::traffic::acts::{echoes, meanwhile};
use crate::traffic::ping::{PingPlan, ping};

const ECHO_LIMIT: Duration = Duration::from_secs(3);
const END_MARKER_LIMIT: Duration = Duration::from_secs(3);

/// GTP-U Echo from both gNBs, ICMP from the data network, Router Advertisements to UEs: whoever will
/// talk has met.
pub(super) fn greet(
    stage: DemoContext<'_>,
    ran: &mut Network,
    report: &mut Report<SmfPart>,
) -> Result<Starved, DemoError> {
    stage.step("echoes on N3 and N6, Router Advertisements to UEs");
    for station in ran.stations() {
        let took = station.handle().echo(plan::N3_UPF, ECHO_LIMIT)?;
        let name = format!("GTP-U Echo of {}", station.name());
        let got = format!("answered in {took:.1?}");
        report.checks.holds(name, "answered", got, true);
    }
    for to in [IpAddr::V4(plan::N6_UPF), IpAddr::V6(plan::N6_UPF_V6)] {
        let wanted = PingPlan {
            count: 3,
            ..echoes(to, 56)
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
    stage: DemoContext<'_>,
    ran: &Network,
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    let all = ran.ues().len();
    let limit = plan::ADDRESS_LIMIT;
    // Whether they have come is a check, not an error.
    let _ = stage.stop.wait_until("IPv6 addresses of UEs", limit, || {
        Ok(ran.ipv6_ready() == all)
    });
    stage.stop.check()?;
    let name = "UEs with an IPv6 address of their prefix";
    report.checks.equal(name, all, ran.ipv6_ready());
    Ok(())
}

/// A UE moves to the other gNB (TS 23.502, 4.9.1.2): the old one gets an End Marker and nothing
/// more, and packets go on through the new one. Gives the tunnel that it left.
pub(super) fn switch_path(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    report: &mut Report<SmfPart>,
) -> Result<LeftTunnel, DemoError> {
    let from = ran.serving_gnb(MOVING_UE)?;
    let to = 1 - from;
    let moves = PathSwitch {
        ue: report.part.ue(MOVING_UE),
        from: ran::name(ran, from)?,
        to: ran::name(ran, to)?,
        ..PathSwitch::default()
    };
    stage.step(&format!(
        "{} moves from {} to {}",
        moves.ue, moves.from, moves.to
    ));
    ran::await_quiet(ran)?;
    let left = ran.switch_path(MOVING_UE, to)?;
    // Whether it has come is a check, not an error.
    let _ = stage
        .stop
        .wait_until("End Marker", END_MARKER_LIMIT, || Ok(ran.has_ended(&left)?));
    stage.stop.check()?;
    undisturbed(stage.screen, host, report, "path switch", |report| {
        through_the_new_gnb(stage, ran, to, report)
    })?;
    report.part.path_switch = Some(moves);
    Ok(left)
}

/// The UE that moved pings, and all answers come by the gNB to which it moved.
fn through_the_new_gnb(
    stage: DemoContext<'_>,
    ran: &mut Network,
    gnb: usize,
    report: &mut Report<SmfPart>,
) -> Result<Starved, DemoError> {
    let gnb = ran.gnb(gnb)?.clone();
    let before = gnb.counters()?.downlink.packets;
    let (ns, to) = (space(ran, MOVING_UE)?.clone(), IpAddr::V4(plan::N6_SERVER));
    let answered = meanwhile(ran, || ping(&ns, echoes(to, 56), stage.stop))?;
    report.check_ping(MOVING_UE, "ping after the path switch", answered);
    let after = gnb.counters()?.downlink.packets;
    let name = format!("downlink packets at {}", gnb.name());
    report.checks.equal(name, answered.sent, after - before);
    Ok(Starved::new())
}
