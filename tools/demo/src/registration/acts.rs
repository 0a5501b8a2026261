//! What the demo of the core plays, and what must hold.

use std::time::{Duration, Instant};

use sluice_core_runtime::system;
use sluice_host::netns::Ns;
use sluice_ids::Supi;
use sluice_n1::RegistrationKind;
use sluice_sctp::Loss;
use sluice_security::suci::HomeKey;
use sluice_security::{K, Opc};
use sluice_ue::{Procedure, Sim, Ue, UeState};

use super::core::{Account, Core, Status};
use super::mobility::By;
use super::n1::N1;
use super::ran::Ran;
use super::report::{self, Report};
use super::{Stage, flow, mobility, traffic};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::plan;
use crate::upf::Upf;

const LIMIT: Duration = Duration::from_secs(30);

/// Subscribers as the core knows them, and their UEs, each with its namespace.
type Subscribers = (Vec<Account>, Vec<(Ue, Ns)>);

/// UEs register, have sessions and traffic, are idle and called, go from gNB to gNB, have flows of their own;
/// one is sent away, the others go.
pub(super) fn play(stage: &Stage<'_>, upf: &Upf, report: &mut Report) -> Result<(), DemoError> {
    let mut home_key = [0; 32];
    system::random(&mut home_key);
    let (accounts, ues) = subscribers(stage, home_key)?;
    let (screen, topology) = (stage.screen, stage.topology);
    screen.step("the core listens, and associates with the UPF");
    let core = Core::start(&topology.smf, stage.work, &accounts, home_key, stage.stop);
    let mut core = core.in_step("start of the core")?;
    let n1 = N1::start(&core.socket, stage.work.join("n1.pcapng")).in_step("capture of N1")?;
    let played = with_core(stage, upf, &core, ues, report);
    let judged = n1.judge().in_step("judgement of N1");
    let alive = core.check_alive().in_step("life of the core");
    if played.is_err() || alive.is_err() || report.checks.failed() > 0 {
        report.core_log = core.log_tail(30);
        report.refusals = core.refusals().unwrap_or_default();
    }
    alive.and(played)?;
    check_n1(judged?, stage.args.ues as usize, report);
    let ended = core.stop();
    let name = "how the core ended when asked to";
    report.checks.equal(name, "exit status: 0", &ended);
    Ok(())
}

/// Types of messages that each UE has said or heard (TS 24.501, table 9.7.1 and 9.7.2).
const NAS: [(&str, &str); 12] = [
    ("0x41", "Registration Request"),
    ("0x42", "Registration Accept"),
    ("0x43", "Registration Complete"),
    ("0x56", "Authentication Request"),
    ("0x57", "Authentication Response"),
    ("0x5d", "Security Mode Command"),
    ("0x5e", "Security Mode Complete"),
    ("0x4c", "Service Request"),
    ("0x4e", "Service Accept"),
    ("0xc1", "PDU Session Establishment Request"),
    ("0xc2", "PDU Session Establishment Accept"),
    ("0xcb", "PDU Session Modification Command"),
];

/// What tshark found in NAS.
fn check_n1((judged, types): (report::Capture, Vec<String>), ues: usize, report: &mut Report) {
    let complaint = judged.first_complaints.first().cloned();
    let got = complaint.unwrap_or_else(|| format!("nothing in {} messages", judged.frames));
    let is_clean = judged.frames > 0 && judged.complaints == 0;
    let checks = &mut report.checks;
    let name = "what tshark complains of in N1";
    checks.holds(name, "nothing", got, is_clean);
    checks.equal("messages that the capture of N1 missed", 0, judged.missed);
    for (number, name) in NAS {
        let has = |types: &&String| types.split([' ', '|']).any(|one| one == number);
        let count = types.iter().filter(has).count();
        let name = format!("{name} in N1");
        let expected = format!("{ues} at least");
        checks.holds(name, expected, count.to_string(), count >= ues);
    }
    report.captures.push(judged);
}

fn with_core(
    stage: &Stage<'_>,
    upf: &Upf,
    core: &Core,
    ues: Vec<(Ue, Ns)>,
    report: &mut Report,
) -> Result<(), DemoError> {
    let (screen, stop) = (stage.screen, stage.stop);
    stop.wait_until("the PFCP association", LIMIT, || {
        Ok(core.status()?.upfs == 1)
    })
    .in_step("N4")?;
    screen.step("two gNBs set up SCTP and N2");
    let mut ran = Ran::start(&stage.topology.gnb, ues, stop).in_step("SCTP")?;
    let accepted = ran.set_up().in_step("NG Setup")?;
    let name = "gNBs that the AMF has accepted";
    report.checks.equal(name, ran.stations.len(), accepted);
    screen.step(&format!(
        "{} UEs register, and get IPv4 and IPv6",
        stage.args.ues
    ));
    register(&mut ran, core, report)?;
    establish(&mut ran, core, stage, report)?;
    let host = Host::watch(stage.topology, &ran.ue_places(), &upf.ctl, None)?;
    traffic::all(stage, &host, &mut ran, report)?;
    mobility::request_service(stage, &host, &mut ran, core, report)?;
    mobility::page(stage, &host, &mut ran, core, report)?;
    mobility::hand_over(stage, &host, &mut ran, By::Xn, report)?;
    mobility::hand_over(stage, &host, &mut ran, By::N2, report)?;
    flow::dedicated(stage, &host, &mut ran, core, report)?;
    if !stage.args.once {
        screen.step("the core and its UEs stay up until Ctrl-C");
        while !stop.is_requested() && ran.lost().is_none() {
            ran.turn()?;
        }
        report.interrupted = stop.is_requested();
        let lost = ran.lost();
        let got = lost.map_or("up".to_owned(), |why| why.to_string());
        let name = "the associations while nothing was said";
        report.checks.holds(name, "up", got, lost.is_none());
        // What is left is done all the same.
        stop.forget();
    }
    leave(stage, &mut ran, core, report)?;
    traffic::settle(&ran, core, &host, stage, report).in_step("charging records")?;
    report.host_loss_packets = host.lost()?.total();
    end(&mut ran, core, stage, report)
}

/// SIMs with random keys; identities are shown and concealed in turn.
fn subscribers(stage: &Stage<'_>, home_key: [u8; 32]) -> Result<Subscribers, DemoError> {
    let public = || HomeKey::profile_a(home_key).public();
    let (mut accounts, mut ues) = (Vec::new(), Vec::new());
    for (number, ns) in (1..).zip(&stage.topology.ues) {
        let (mut k, mut opc) = ([0; 16], [0; 16]);
        system::random(&mut k);
        system::random(&mut opc);
        let msin = format!("{number:010}");
        let no_subscriber = || DemoError::answer("the plan", "no subscriber");
        let supi = Supi::from_msin(plan::plmn(), &msin).ok_or_else(no_subscriber)?;
        let mut sim = Sim::new(plan::plmn(), &msin, &K::new(k), &Opc::new(opc));
        if is_concealed(number - 1) {
            sim.conceal_with(plan::HOME_KEY_ID, public());
        }
        accounts.push(Account { supi, k, opc });
        let ue = Ue::new(sim, plan::plmn()).ok_or_else(no_subscriber)?;
        ues.push((ue, (**ns).clone()));
    }
    Ok((accounts, ues))
}

fn is_concealed(phone: usize) -> bool {
    phone % 2 == 1
}

fn register(ran: &mut Ran<'_>, core: &Core, report: &mut Report) -> Result<(), DemoError> {
    let count = ran.count();
    let initial = Procedure::Register(RegistrationKind::Initial);
    for phone in 0..count {
        let registration_ms = ran.play(phone, initial).in_step("registration")?;
        let ue = ran.ue(phone);
        let supi = ue.supi().map_or_else(String::new, |supi| supi.to_string());
        let is_registered = ue.state() == UeState::Registered && ue.guti().is_some();
        let scheme = match is_concealed(phone) {
            true => "profile A",
            false => "null scheme",
        };
        let name = format!("registration of {supi} ({scheme})");
        let got = format!("{:?} in {registration_ms:.1} ms", ue.state());
        report.checks.holds(name, "Registered", got, is_registered);
        report.ues.push(report::Ue {
            supi,
            scheme,
            registration_ms,
            ..report::Ue::default()
        });
    }
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    checks.equal(
        "UEs that the AMF has registered",
        count as u64,
        status.registered,
    );
    checks.equal("UEs that are connected", count as u64, status.connected);
    Ok(())
}

fn establish(
    ran: &mut Ran<'_>,
    core: &Core,
    stage: &Stage<'_>,
    report: &mut Report,
) -> Result<(), DemoError> {
    let count = ran.count();
    for phone in 0..count {
        ran.establish(phone).in_step("PDU session")?;
    }
    // Kernels ask for a router, and look whether anybody else has their address.
    let end = Instant::now() + LIMIT;
    for phone in 0..count {
        while ran.ipv6(phone)?.is_none() && Instant::now() < end {
            stage.stop.check()?;
            ran.turn()?;
        }
        let ipv4 = ran.ipv4(phone).map(|ipv4| ipv4.to_string());
        let ipv6 = ran.ipv6(phone)?.map(|ipv6| ipv6.to_string());
        let addresses: Vec<_> = [ipv4, ipv6].into_iter().flatten().collect();
        let name = format!("{} addresses", report.ues[phone].supi);
        let got = addresses.join(" ");
        let is_whole = addresses.len() == 2;
        report.checks.holds(name, "IPv4 and IPv6", got, is_whole);
        report.ues[phone].addresses = addresses;
    }
    let status = at_rest(core, ran)?;
    let name = "PDU sessions that the SMF has";
    report.checks.equal(name, count as u64, status.sessions);
    Ok(())
}

/// The last UE is sent away by the operator; the others go.
fn leave(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    core: &Core,
    report: &mut Report,
) -> Result<(), DemoError> {
    let last = ran.count() - 1;
    stage
        .screen
        .step("the operator deregisters a UE, the others leave");
    let supi = ran.ue(last).supi();
    let supi = supi.ok_or_else(|| DemoError::answer("the plan", "no subscriber"))?;
    core.deregister(&supi)
        .in_step("deregistration by the operator")?;
    ran.leave(last).in_step("deregistration by the operator")?;
    let state = ran.ue(last).state();
    let (got, is_gone) = (format!("{state:?}"), state == UeState::Deregistered);
    let name = format!("{supi} after the operator has deregistered it");
    report.checks.holds(name, "Deregistered", got, is_gone);
    traffic::ping_in_vain(stage, ran, last, report)?;
    let status = at_rest(core, ran)?;
    let name = "UEs registered after one was sent away";
    report.checks.equal(name, last as u64, status.registered);
    for phone in 0..last {
        let switch_off = false;
        ran.play(phone, Procedure::Deregister { switch_off })
            .in_step("deregistration")?;
        ran.leave(phone).in_step("deregistration")?;
    }
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    checks.equal("UEs registered at the end", 0, status.registered);
    checks.equal("PDU sessions at the end", 0, status.sessions);
    checks.equal("procedures under way at the end", 0, status.procedures);
    Ok(())
}

/// How the core stands when it has taken all that the gNB has sent.
pub(super) fn at_rest(core: &Core, ran: &mut Ran<'_>) -> Result<Status, DemoError> {
    let end = Instant::now() + LIMIT;
    loop {
        let status = core.status()?;
        if status.procedures == 0 && status.received == ran.sent {
            return Ok(status);
        }
        if Instant::now() >= end {
            let what = format!("the core's rest ({status:?}, sent {})", ran.sent);
            return Err(DemoError::TooLate { what, limit: LIMIT });
        }
        ran.turn()?;
    }
}

/// The association ends, the first UE's call flow is shown, and the accounts of both ends are compared.
fn end(
    ran: &mut Ran<'_>,
    core: &Core,
    stage: &Stage<'_>,
    report: &mut Report,
) -> Result<(), DemoError> {
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    checks.equal("NGAP messages from gNBs to AMF", ran.sent, status.received);
    checks.equal("NGAP messages from AMF to gNBs", status.sent, ran.received);
    ran.end().in_step("end of the association")?;
    for why in ran.endings() {
        let why = why.unwrap_or(Loss::Silent);
        let name = "how a gNB's association ended";
        checks.equal(name, Loss::Ended.to_string(), why.to_string());
    }
    stage.stop.wait_until("the AMF hears of it", LIMIT, || {
        Ok(core.status()?.associations == 0)
    })?;
    for phone in 0..ran.count() {
        let supi = ran.ue(phone).supi();
        let said = supi.map(|supi| core.flow(&supi)).transpose()?;
        report.call_flow.extend(said.unwrap_or_default());
    }
    stage.screen.step("what was said of the first UE");
    let first = ran.ue(0).supi();
    for line in first
        .map(|supi| core.flow(&supi))
        .transpose()?
        .unwrap_or_default()
    {
        stage.screen.say(&format!("  {line}"));
    }
    let completed = report
        .call_flow
        .iter()
        .filter(|line| line.ends_with("Registration Complete"));
    let (count, wanted) = (completed.count(), ran.count());
    report
        .checks
        .equal("registrations in the call_flow", wanted, count);
    let refusals = core.refusals()?;
    report
        .checks
        .equal("requests that the core refused", 0, refusals.len());
    Ok(())
}

/// What tshark found.
pub(super) fn check_capture(capture: &report::Capture, report: &mut Report) {
    let checks = &mut report.checks;
    let name = "what tshark complains of in SCTP and NGAP";
    let got = match capture.first_complaints.first() {
        None => format!("nothing in {} frames", capture.frames),
        Some(first) => format!("{} frames, the first: {first}", capture.complaints),
    };
    let is_clean = capture.frames > 0 && capture.complaints == 0;
    checks.holds(name, "nothing", got, is_clean);
    checks.equal("frames that the capture missed", 0, capture.missed);
    let least = 1.0 + 13.0 * report.ues.len() as f64;
    checks.at_least(
        "NGAP that tshark recognised",
        least,
        capture.messages as f64,
        "messages",
    );
}
