//! Registration of the demo's UEs with the core, their sessions, and how they leave.

use std::net::IpAddr;
use std::time::Duration;

use sluice_ran::Network;
use sluice_ue::UeState;

use super::at_rest;
use super::process::{Account, Core};
use super::report::{CorePart, Ue};
use crate::error::{DemoError, InStep as _};
use crate::plan;
use crate::ran::spaces;
use crate::report::{Part as _, Report};
use crate::run::DemoContext;
use crate::traffic::acts::{echoes, meanwhile};
use crate::traffic::ping::{PingPlan, ping};

/// Packets to or from a UE that has no session.
const KNOCKS: u32 = 3;
const KNOCK_WAIT: Duration = Duration::from_millis(300);

pub(super) fn register(
    ran: &mut Network,
    core: &Core,
    accounts: &[Account],
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let count = accounts.len() as u64;
    for (ue, account) in accounts.iter().enumerate() {
        let took = ran.register(ue).in_step("registration")?;
        let registration_ms = took.as_secs_f64() * 1e3;
        let scheme = match account.is_concealed {
            true => "profile A",
            false => "null scheme",
        };
        let supi = account.supi.to_string();
        let name = format!("registration of {supi} ({scheme})");
        let has_name = ran.sim(ue).is_some_and(|one| one.ue.guti().is_some());
        let state = state(ran, ue);
        let pass = has_name && state == Some(UeState::Registered);
        let state = state.map_or_else(String::new, |state| format!("{state:?}"));
        let got = format!("{state} in {registration_ms:.1} ms");
        report.checks.holds(name, "Registered", got, pass);
        report.part.ues.push(Ue {
            supi,
            scheme,
            registration_ms,
            ..Ue::default()
        });
    }
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    let name = "UEs that the AMF has registered";
    checks.equal(name, count, status.registered);
    checks.equal("UEs that are connected", count, status.connected);
    Ok(())
}

fn state(ran: &Network, ue: usize) -> Option<UeState> {
    ran.sim(ue).map(|one| one.ue.state())
}

/// All UEs have sessions of both families, and devices.
pub(super) fn establish(
    ran: &mut Network,
    core: &Core,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let count = ran.ues().len();
    for ue in 0..count {
        ran.establish_session(ue, super::SESSION)
            .in_step("PDU session")?;
    }
    // Kernels ask for a router, and look whether anybody else has their address. Whether they have them is a check.
    let waited = ran.wait_for("IPv6 addresses of UEs", |ran| Ok(ran.ipv6_ready() == count));
    if let Err(error @ DemoError::Interrupted) = waited {
        return Err(error);
    }
    for (ue, one) in ran.ues().iter().enumerate() {
        let ipv4 = one.addresses.ipv4().map(IpAddr::V4);
        let ipv6 = one.addresses.ipv6().map(IpAddr::V6);
        let is_told = |address: &IpAddr| match address {
            IpAddr::V4(ipv4) => !ipv4.is_unspecified(),
            IpAddr::V6(ipv6) => !ipv6.is_unicast_link_local(),
        };
        let addresses = [ipv4, ipv6].into_iter().flatten().filter(is_told);
        let addresses: Vec<_> = addresses.map(|address| address.to_string()).collect();
        let name = format!("{} addresses", report.part.ue(ue));
        let got = addresses.join(" ");
        let is_whole = addresses.len() == 2;
        report.checks.holds(name, "IPv4 and IPv6", got, is_whole);
        report.part.ues[ue].addresses = addresses;
    }
    let status = at_rest(core, ran)?;
    let name = "PDU sessions that the SMF has";
    report.checks.equal(name, count as u64, status.sessions);
    Ok(())
}

/// The last UE is sent away by the operator; the others go.
pub(super) fn leave(
    stage: DemoContext<'_>,
    ran: &mut Network,
    (core, accounts): (&Core, &[Account]),
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let last = accounts.len() - 1;
    stage.step("the operator deregisters a UE, the others leave");
    let step = "deregistration by the operator";
    let supi = &accounts[last].supi;
    core.deregister(supi).in_step(step)?;
    ran.await_release(last).in_step(step)?;
    let state = state(ran, last);
    let is_gone = state == Some(UeState::Deregistered);
    let got = state.map_or_else(String::new, |state| format!("{state:?}"));
    let name = format!("{supi} after the operator has deregistered it");
    report.checks.holds(name, "Deregistered", got, is_gone);
    ping_in_vain(stage, ran, last, report)?;
    let status = at_rest(core, ran)?;
    let name = "UEs registered after one was sent away";
    report.checks.equal(name, last as u64, status.registered);
    for ue in 0..last {
        ran.deregister(ue).in_step("deregistration")?;
    }
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    checks.equal("UEs registered at the end", 0, status.registered);
    checks.equal("PDU sessions at the end", 0, status.sessions);
    checks.equal("procedures under way at the end", 0, status.procedures);
    Ok(())
}

/// Nothing passes to or from a UE without a session.
fn ping_in_vain(
    stage: DemoContext<'_>,
    ran: &mut Network,
    ue: usize,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let plan = |to| PingPlan {
        count: KNOCKS,
        wait: KNOCK_WAIT,
        ..echoes(to, 56)
    };
    let ns = spaces(ran).swap_remove(ue);
    let own = report.part.ues[ue].addresses.first();
    let own = own.and_then(|address| address.parse().ok());
    let answers = meanwhile(ran, || {
        let down = own.map(|own| ping(&stage.topology.dn, plan(own), stage.stop));
        let up = ping(&ns, plan(plan::N6_SERVER.into()), stage.stop)?;
        Ok(up.received + down.transpose()?.map_or(0, |down| down.received))
    })?;
    let name = "answers to pings without a session";
    report.checks.equal(name, 0, answers);
    Ok(())
}
