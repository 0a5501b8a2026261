//! An application starts a QoS flow for each UE of the demo of the core, and stops it.

use serde_json::json;
use sluice_wire::ids::Qfi;

use super::acts::at_rest;
use super::core::Core;
use super::ran::{Ran, SESSION};
use super::report::{DedicatedFlow, Report};
use super::{Stage, traffic};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan;

/// What the application calls it.
const NAME: &str = "echo";
/// 5QI of a flow with guaranteed bit rates (TS 23.501, table 5.7.4-1), and those.
const FIVE_QI: u8 = 3;
const GUARANTEED_BPS: u64 = 1_000_000;
const MAXIMUM_BPS: u64 = 10_000_000;

/// Pings over IPv4 have a flow of their own, those over IPv6 and all else have not; then none has.
pub(super) fn dedicated(
    stage: &Stage<'_>,
    host: &Host<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    report: &mut Report,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "dedicated flow", |report| {
        play(stage, ran, core, report).in_step("dedicated flow")
    })
}

fn play(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let screen = stage.screen;
    screen.step("each UE gets a QoS flow by the HTTP API, for pings over IPv4 alone");
    let mut flows = Vec::new();
    for phone in 0..ran.count() {
        flows.push(start(stage, ran, core, phone, report)?);
    }
    at_rest(core, ran)?;
    let before = counted_all(ran, &flows)?;
    let spaces: Vec<_> = ran.places.iter().map(|place| place.ns.clone()).collect();
    let pings = || traffic::ping_all(&spaces, plan::PING_COUNT, plan::PING_INTERVAL_S, stage.stop);
    for (phone, to, one) in ran.meanwhile(pings)? {
        report.check_ping(phone, &format!("ping {to} with a flow"), one);
    }
    let after = counted_all(ran, &flows)?;
    for (phone, qfi) in flows.iter().enumerate() {
        let [up, down] = [0, 1].map(|way| after[phone][way] - before[phone][way]);
        let supi = report.ues[phone].supi.clone();
        let name = format!("{supi} packets in flow {qfi}, up and down");
        let expected = u64::from(plan::PING_COUNT);
        let got = format!("{up} and {down}");
        let is_all = (up, down) == (expected, expected);
        report
            .checks
            .holds(name, format!("{expected} each"), got, is_all);
        report.ues[phone].dedicated_flow = Some(DedicatedFlow {
            qfi: *qfi,
            uplink_packets: up,
            downlink_packets: down,
        });
    }
    screen.step("the flows end");
    for phone in 0..ran.count() {
        stop(stage, ran, core, phone, report)?;
    }
    at_rest(core, ran)?;
    let before = counted_all(ran, &flows)?;
    for (phone, to, one) in ran.meanwhile(pings)? {
        report.check_ping(phone, &format!("ping {to} without the flow"), one);
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
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    phone: usize,
    report: &mut Report,
) -> Result<u8, DemoError> {
    let imsi = imsi(ran, phone);
    let filter = format!("permit inout icmp from {} to assigned", plan::N6_SERVER);
    let rule = json!({
        "name": NAME, "precedence": 10, "five_qi": FIVE_QI, "filters": [filter],
        "guaranteed_down_bps": GUARANTEED_BPS, "guaranteed_up_bps": GUARANTEED_BPS,
        "maximum_down_bps": MAXIMUM_BPS, "maximum_up_bps": MAXIMUM_BPS,
    });
    let path = format!("/v1/ues/{imsi}/qos?session={SESSION}");
    let status = ran.meanwhile(|| core.http("POST", &path, Some(&rule), stage.stop))?;
    let name = format!("POST {path}");
    report.checks.equal(name, 202, status);
    ran.wait("a QoS flow at UE and gNB", |ran| {
        flow_of(ran, phone).is_some()
    })?;
    let qfi = flow_of(ran, phone);
    qfi.ok_or_else(|| DemoError::answer("the SMF", "no flow"))
}

/// The flow of a UE's rule, if its gNB has it as well.
fn flow_of(ran: &Ran<'_>, phone: usize) -> Option<u8> {
    let rule = ran.accept(phone)?.rules.first()?;
    let radio = ran.fleet.radio(phone, SESSION)?;
    let mut flows = radio.request.flows.iter();
    let is_there = flows.any(|flow| flow.qfi == rule.qfi);
    is_there.then_some(rule.qfi)
}

fn stop(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    phone: usize,
    report: &mut Report,
) -> Result<(), DemoError> {
    let path = format!("/v1/ues/{}/qos/{NAME}?session={SESSION}", imsi(ran, phone));
    let status = ran.meanwhile(|| core.http("DELETE", &path, None, stage.stop))?;
    report.checks.equal(format!("DELETE {path}"), 202, status);
    ran.wait("the end of a QoS flow at UE and gNB", |ran| {
        let rules = ran.accept(phone).map_or(0, |accept| accept.rules.len());
        let radio = ran.fleet.radio(phone, SESSION);
        let flows = radio.map_or(0, |radio| radio.request.flows.len());
        (rules, flows) == (0, 1)
    })
}

fn imsi(ran: &Ran<'_>, phone: usize) -> String {
    let supi = ran.ue(phone).supi();
    supi.map_or_else(String::new, |supi| supi.imsi().to_owned())
}

/// What UEs have sent and got in these flows.
fn counted_all(ran: &Ran<'_>, flows: &[u8]) -> Result<Vec<[u64; 2]>, DemoError> {
    let counted = |(phone, qfi): (usize, &u8)| {
        let counters = ran.report(phone)?.counters;
        let qfi = Qfi::new(*qfi).unwrap_or_default();
        let of = [&counters.uplink_by_qfi, &counters.downlink_by_qfi];
        Ok(of.map(|flows| flows.get(&qfi).map_or(0, |flow| flow.packets)))
    };
    flows.iter().enumerate().map(counted).collect()
}
