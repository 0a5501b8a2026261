//! Part with the core: UEs register with `sluice core` over N1 and N2, have sessions at `sluice upf`,
//! and real programs with traffic.

mod charging;
mod flow;
mod mobility;
mod n1;
mod process;
mod registration;
pub(crate) mod report;

use std::time::Instant;

use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_n1::EstablishmentAccept;
use sluice_ran::scenario::By;
use sluice_ran::{CALL_LIMIT, Network};
use sluice_security::suci::HomeKey;

use self::n1::N1;
use self::process::{Account, Core, Status};
use self::report::CorePart;
use crate::captures::{self, Captures, Judgement};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, paced};
use crate::plan::{self, Pace};
use crate::ran;
use crate::report::{Part as _, Report};
use crate::run::{DemoContext, LOG_LINES, Play, Running};
use crate::traffic::acts::{ping_and_http, tcp, udp};
use crate::traffic::iperf::Direction;
use crate::upf::Addresses;

const SESSION: u8 = 1;

impl Play for CorePart {
    const ADDRESSES: Addresses = Addresses::Upf;

    fn play(
        stage: DemoContext<'_>,
        _captures: &mut Captures,
        running: &Running<'_>,
        report: &mut Report<Self>,
    ) -> Result<(), DemoError> {
        let n2 = captures::start_n2(stage.topology, stage.work).in_step("captures")?;
        let played = with_core(stage, running, report);
        stage.step("tshark judges what passed N2");
        let judged = captures::judge_n2(n2).in_step("judgement of N2");
        played?;
        check_n2(judged?, report);
        Ok(())
    }

    fn check_captures(
        captures: Captures,
        stage: DemoContext<'_>,
        report: &mut Report<Self>,
    ) -> Result<(), DemoError> {
        for one in captures.judge(stage.work)? {
            let name = format!("what tshark complains of in {}", one.interface);
            let (got, is_clean) = (one.complaint("frames"), one.is_clean());
            report.checks.holds(name, "nothing", got, is_clean);
            report.part.user_plane_captures.push(one);
        }
        Ok(())
    }
}

/// UEs register, have sessions and traffic, are idle and called, go from gNB to gNB, have flows of their own;
/// one is sent away, the others go.
fn with_core(
    stage: DemoContext<'_>,
    running: &Running<'_>,
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let mut home_key = [0; 32];
    system::random(&mut home_key);
    let accounts = accounts(stage.args.ues)?;
    let screen = stage.screen;
    screen.step("the core listens, and associates with the UPF");
    let (ns, work) = (&stage.topology.smf, stage.work);
    let core = Core::start(
        ns,
        work,
        &accounts,
        home_key,
        (report.part.wiring, stage.stop),
    );
    let mut core = core.in_step("start of the core")?;
    let n1 = N1::start(&core.socket, work.join("n1.pcapng")).in_step("capture of N1")?;
    let public = HomeKey::profile_a(home_key).public();
    let sims: Vec<_> = accounts.iter().map(|one| one.sim(&public)).collect();
    let played = with_ran(stage, running, (&core, &accounts, &sims), report);
    let judged = n1.judge().in_step("judgement of N1");
    let alive = core.daemon.check_alive().in_step("life of the core");
    if played.is_err() || alive.is_err() || report.checks.failed() > 0 {
        report.part.core_log = core.daemon.log_tail(LOG_LINES);
        report.part.refusals = core.refusals().unwrap_or_default();
    }
    alive.and(played)?;
    n1::check(judged?, stage.args.ues as usize, report);
    let ended = core.daemon.stop();
    let name = "how the core ended when asked to";
    report.checks.equal(name, "exit status: 0", &ended);
    Ok(())
}

/// Identities are shown and concealed in turn.
fn accounts(ues: u32) -> Result<Vec<Account>, DemoError> {
    let account = |number: u32| {
        let supi = Supi::from_msin(plan::plmn(), &format!("{number:010}"))?;
        Some(Account::new(supi, number.is_multiple_of(2)))
    };
    let accounts: Option<Vec<_>> = (1..=ues).map(account).collect();
    accounts.ok_or_else(|| DemoError::answer("the plan", "no subscriber"))
}

fn with_ran(
    stage: DemoContext<'_>,
    running: &Running<'_>,
    (core, accounts, sims): (&Core, &[Account], &[String]),
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let (screen, stop) = (stage.screen, stage.stop);
    stop.wait_until("the PFCP association", CALL_LIMIT, || {
        Ok(core.status()?.upfs == 1)
    })
    .in_step("N4")?;
    screen.step("two gNBs set up SCTP and N2");
    let ran = ran::with_core(stage.topology, sims, stop, screen);
    let mut ran = ran.in_step("SCTP and NG Setup")?;
    let accepted = ran.n2().map_or(0, |n2| n2.gnbs_up().0);
    let name = "gNBs that the AMF has accepted";
    report.checks.equal(name, plan::N3_GNBS.len(), accepted);
    let count = accounts.len();
    screen.step(&format!("{count} UEs register, and get IPv4 and IPv6"));
    registration::register(&mut ran, core, accounts, report)?;
    registration::establish(&mut ran, core, report)?;
    let host = Host::watch(stage.topology, &ran::places(&ran)?, &running.upf.ctl, None)?;
    ping_and_http(stage, &host, running.servers, &mut ran, report)?;
    paced(screen, &host, report, "iperf3", |report, pace| {
        iperf(stage, &mut ran, pace, report).in_step("iperf3")
    })?;
    mobility::request_service(stage, &host, &mut ran, core, report)?;
    mobility::page(stage, &host, &mut ran, core, report)?;
    mobility::hand_over(stage, &host, &mut ran, By::Xn, report)?;
    mobility::hand_over(stage, &host, &mut ran, By::N2, report)?;
    flow::dedicated(stage, &host, &mut ran, core, report)?;
    if !stage.args.once {
        stay(stage, &mut ran, report);
    }
    registration::leave(stage, &mut ran, (core, accounts), report)?;
    charging::settle(stage, &host, &mut ran, (core, accounts), report)
        .in_step("charging records")?;
    report.host_loss_packets = host.lost()?.total();
    end(stage, &mut ran, (core, accounts), report)
}

/// Until Ctrl-C; what is left is done all the same.
fn stay(stage: DemoContext<'_>, ran: &mut Network, report: &mut Report<CorePart>) {
    stage.step("the core and its UEs stay up until Ctrl-C");
    let lost = |ran: &Network| ran.n2().and_then(|n2| n2.why_lost());
    while !stage.stop.is_requested() && lost(ran).is_none() {
        ran.go_on();
    }
    report.interrupted = stage.stop.is_requested();
    let lost = lost(ran);
    let got = lost.map_or("up".to_owned(), |why| why.to_string());
    let name = "the associations while nothing was said";
    report.checks.holds(name, "up", got, lost.is_none());
    stage.stop.forget();
}

/// UDP both ways, then TCP each way. Whether the UPF loses packets is what the part without a core asks.
fn iperf(
    stage: DemoContext<'_>,
    ran: &mut Network,
    pace: Pace,
    report: &mut Report<CorePart>,
) -> Result<Starved, DemoError> {
    for (ue, flows) in udp(stage, ran, pace)?.into_iter().enumerate() {
        for (way, flow) in [("uplink", flows.uplink), ("downlink", flows.downlink)] {
            let mbps = flow.bits_per_second / 1e6;
            let (lost, packets) = (flow.lost_packets, flow.packets);
            let got = format!("{mbps:.1} Mbit/s, {lost} of {packets} packets lost");
            let pass = packets > 0 && lost <= packets / 20;
            let name = format!("{} UDP {way}", report.part.ue(ue));
            report.checks.holds(name, "at most 5% lost", got, pass);
        }
    }
    for direction in [Direction::Uplink, Direction::Downlink] {
        tcp(stage, ran, (direction, pace), report)?;
    }
    Ok(Starved::new())
}

/// How the core stands when it has taken all that gNBs have sent.
fn at_rest(core: &Core, ran: &mut Network) -> Result<Status, DemoError> {
    let end = Instant::now() + CALL_LIMIT;
    loop {
        let status = core.status()?;
        let sent = ran.n2().map_or(0, |n2| n2.sent);
        if status.procedures == 0 && status.received == sent {
            return Ok(status);
        }
        if Instant::now() >= end {
            let what = format!("the core's rest ({status:?}, sent {sent})");
            let limit = CALL_LIMIT;
            return Err(DemoError::TooLate { what, limit });
        }
        ran.go_on();
    }
}

/// The message with which a UE's session was accepted.
fn accept(ran: &Network, ue: usize) -> Option<&EstablishmentAccept> {
    ran.sim(ue)?.ue.sessions().get(SESSION)
}

/// The associations end, the first UE's call flow is shown, and the accounts of both ends are compared.
fn end(
    stage: DemoContext<'_>,
    ran: &mut Network,
    (core, accounts): (&Core, &[Account]),
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    let status = at_rest(core, ran)?;
    let (sent, received) = ran.n2().map_or((0, 0), |n2| (n2.sent, n2.received));
    let checks = &mut report.checks;
    checks.equal("NGAP messages from gNBs to AMF", sent, status.received);
    checks.equal("NGAP messages from AMF to gNBs", status.sent, received);
    for why in ran.close_n2() {
        let name = "how a gNB's association ended";
        let got = why.map_or("silent".to_owned(), |why| why.to_string());
        let ended = sluice_sctp::Loss::Ended.to_string();
        checks.equal(name, ended, got);
    }
    stage
        .stop
        .wait_until("the AMF hears of it", CALL_LIMIT, || {
            Ok(core.status()?.associations == 0)
        })?;
    for account in accounts {
        report.part.call_flow.extend(core.flow(&account.supi)?);
    }
    stage.step("what was said of the first UE");
    for account in accounts.iter().take(1) {
        for line in core.flow(&account.supi)? {
            stage.screen.say(&format!("  {line}"));
        }
    }
    let lines = report.part.call_flow.iter();
    let completed = lines.filter(|line| line.ends_with("Registration Complete"));
    let (count, wanted) = (completed.count(), accounts.len());
    let checks = &mut report.checks;
    checks.equal("registrations in the call_flow", wanted, count);
    let refusals = core.refusals()?;
    let name = "requests that the core refused";
    checks.equal(name, 0, refusals.len());
    Ok(())
}

/// Checks of what tshark found in N2.
fn check_n2(judged: Judgement, report: &mut Report<CorePart>) {
    let checks = &mut report.checks;
    let name = "what tshark complains of in SCTP and NGAP";
    let got = match judged.first_complaints.first() {
        None => judged.complaint("frames"),
        Some(first) => format!("{} frames, the first: {first}", judged.complaints),
    };
    let is_clean = judged.frames > 0 && judged.complaints == 0;
    checks.holds(name, "nothing", got, is_clean);
    checks.equal("frames that the capture missed", 0, judged.missed);
    let least = 1.0 + 13.0 * report.part.ues.len() as f64;
    let found = judged.messages.unwrap_or(0) as f64;
    checks.at_least("NGAP that tshark recognised", least, found, "messages");
    report.captures.push(judged);
}
