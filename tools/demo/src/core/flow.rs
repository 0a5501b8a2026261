//! An application starts a QoS flow for each UE of the demo of the core, and stops it.

use serde_json::json;
use sluice_ran::Network;
use sluice_wire::ids::Qfi;

use super::process::Core;
use super::report::{CorePart, DedicatedFlow};
use super::{SESSION, accept, at_rest};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan;
use crate::ran::spaces;
use crate::report::{Part as _, Report};
use crate::run::DemoContext;
use crate::traffic::acts::{echoes, meanwhile, ping_servers};
use crate::traffic::ping::PingPlan;

/// Name of the application's flow.
const NAME: &str = "echo";
/// 5QI of a flow with guaranteed bit rates (TS 23.501, table 5.7.4-1), and those.
const FIVE_QI: u8 = 3;
const GUARANTEED_BPS: u64 = 1_000_000;
const MAXIMUM_BPS: u64 = 10_000_000;

/// Pings over IPv4 have a flow of their own, those over IPv6 and all else have not; then none has.
pub(super) fn dedicated(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    core: &Core,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "dedicated flow", |report| {
        play(stage, ran, core, report).in_step("dedicated flow")
    })
}

fn play(
    stage: DemoContext<'_>,
    ran: &mut Network,
    core: &Core,
    report: &mut Report<CorePart>,
) -> Result<Starved, DemoError> {
    let screen = stage.screen;
    screen.step("each UE gets a QoS flow by the HTTP API, for pings over IPv4 alone");
    let mut flows = Vec::new();
    for ue in 0..ran.ues().len() {
        flows.push(start(stage, ran, core, ue, report)?);
    }
    at_rest(core, ran)?;
    let before = counted_all(ran, &flows)?;
    let spaces = spaces(ran);
    let plan = |to| PingPlan {
        wait: plan::PAGE_WAIT,
        ..echoes(to, 56)
    };
    let pings = || ping_servers(stage, &spaces, plan);
    for (ue, to, one) in meanwhile(ran, pings)? {
        report.check_ping(ue, &format!("ping {to} with a flow"), one);
    }
    let after = counted_all(ran, &flows)?;
    for (ue, qfi) in flows.iter().enumerate() {
        let [up, down] = [0, 1].map(|way| after[ue][way] - before[ue][way]);
        let supi = report.part.ue(ue);
        let name = format!("{supi} packets in flow {qfi}, up and down");
        let expected = u64::from(plan::PING_COUNT);
        let got = format!("{up} and {down}");
        let is_all = (up, down) == (expected, expected);
        report
            .checks
            .holds(name, format!("{expected} each"), got, is_all);
        report.part.ues[ue].dedicated_flow = Some(DedicatedFlow {
            qfi: *qfi,
            uplink_packets: up,
            downlink_packets: down,
        });
    }
    screen.step("the flows end");
    for ue in 0..ran.ues().len() {
        stop(stage, ran, core, ue, report)?;
    }
    at_rest(core, ran)?;
    let before = counted_all(ran, &flows)?;
    for (ue, to, one) in meanwhile(ran, pings)? {
        report.check_ping(ue, &format!("ping {to} without the flow"), one);
    }
    let after = counted_all(ran, &flows)?;
    report.checks.holds(
        "packets in flows that have ended",
        "none",
        "none",
        before == after,
    );
    Ok(Starved::new())
}

/// Starts the flow of a UE; its QFI, when UE and gNB have it.
fn start(
    stage: DemoContext<'_>,
    ran: &mut Network,
    core: &Core,
    ue: usize,
    report: &mut Report<CorePart>,
) -> Result<u8, DemoError> {
    let imsi = imsi(report, ue);
    let filter = format!("permit inout icmp from {} to assigned", plan::N6_SERVER);
    let rule = json!({
        "name": NAME, "precedence": 10, "five_qi": FIVE_QI, "filters": [filter],
        "guaranteed_down_bps": GUARANTEED_BPS, "guaranteed_up_bps": GUARANTEED_BPS,
        "maximum_down_bps": MAXIMUM_BPS, "maximum_up_bps": MAXIMUM_BPS,
    });
    let path = format!("/v1/ues/{imsi}/qos?session={SESSION}");
    let status = meanwhile(ran, || core.http("POST", &path, Some(&rule), stage.stop))?;
    let name = format!("POST {path}");
    report.checks.equal(name, 202, status);
    ran.wait_for::<DemoError>("a QoS flow at UE and gNB", |ran| {
        Ok(flow_of(ran, ue).is_some())
    })?;
    let qfi = flow_of(ran, ue);
    qfi.ok_or_else(|| DemoError::answer("the SMF", "no flow"))
}

/// The flow of a UE's rule, if its gNB has it as well.
fn flow_of(ran: &Network, ue: usize) -> Option<u8> {
    let rule = accept(ran, ue)?.rules.first()?;
    let radio = ran.radio(ue, SESSION)?;
    let mut flows = radio.request.flows.iter();
    let is_there = flows.any(|flow| flow.qfi == rule.qfi);
    is_there.then_some(rule.qfi)
}

fn stop(
    stage: DemoContext<'_>,
    ran: &mut Network,
    core: &Core,
    ue: usize,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let path = format!("/v1/ues/{}/qos/{NAME}?session={SESSION}", imsi(report, ue));
    let status = meanwhile(ran, || core.http("DELETE", &path, None, stage.stop))?;
    report.checks.equal(format!("DELETE {path}"), 202, status);
    ran.wait_for("the end of a QoS flow at UE and gNB", |ran| {
        let rules = accept(ran, ue).map_or(0, |accept| accept.rules.len());
        let radio = ran.radio(ue, SESSION);
        let flows = radio.map_or(0, |radio| radio.request.flows.len());
        Ok((rules, flows) == (0, 1))
    })
}

fn imsi(report: &Report<CorePart>, ue: usize) -> String {
    report.part.ue(ue).trim_start_matches("imsi-").to_owned()
}

/// Packets of UEs in these flows, both directions.
fn counted_all(ran: &Network, flows: &[u8]) -> Result<Vec<[u64; 2]>, DemoError> {
    let counted = |(ue, qfi): (usize, &u8)| {
        let counters = ran.report(ue)?.counters;
        let qfi = Qfi::new(*qfi).unwrap_or_default();
        let of = [&counters.uplink_by_qfi, &counters.downlink_by_qfi];
        Ok(of.map(|flows| flows.get(&qfi).map_or(0, |flow| flow.packets)))
    };
    flows.iter().enumerate().map(counted).collect()
}
