//! What the demo of the core plays, and what must hold.

use std::time::Instant;

use sluice::screen::Screen;
use sluice_core::system;
use sluice_host::netns::Ns;
use sluice_ids::Supi;
use sluice_sbi::Line;
use sluice_sctp::Loss;
use sluice_security::suci::HomeKey;
use sluice_security::{K, Opc};
use sluice_ue::{Sim, Ue, UeState};

use super::core::{Account, Core, Status};
use super::ran::Ran;
use super::report::{self, Report};
use crate::args::DemoArgs;
use crate::child::Stop;
use crate::error::{DemoError, InStep as _};
use crate::plan;

/// Registers UEs, brings one back, deregisters one.
pub(super) fn play(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    (amf, gnb): (&Ns, &Ns),
    report: &mut Report,
) -> Result<(), DemoError> {
    let mut home_key = [0; 32];
    system::random(&mut home_key);
    let (accounts, ues) = subscribers(args.ues, home_key)?;
    screen.step("the core listens, the gNB sets up SCTP and N2");
    let core = Core::start(amf, accounts, home_key).in_step("start of the core")?;
    let mut ran = Ran::start(gnb, ues, stop).in_step("SCTP")?;
    ran.set_up().in_step("NG Setup")?;
    let is_set_up = ran.gnb.response().is_some();
    let answer = if is_set_up {
        "NG Setup Response"
    } else {
        "NG Setup Failure"
    };
    let checks = &mut report.checks;
    checks.equal("the AMF's answer", "NG Setup Response", answer);
    screen.step(&format!("{} UEs register", args.ues));
    register(&mut ran, &core, report)?;
    screen.step("a UE comes back by service request, is released, and another leaves");
    come_and_go(&mut ran, &core, report)?;
    if !args.once {
        screen.step("the association stays up until Ctrl-C");
        while !stop.is_requested() && ran.lost.is_none() {
            ran.turn()?;
        }
        report.interrupted = stop.is_requested();
        report.checks.holds(
            "the association while nothing was said",
            "up",
            ran.lost.map_or("up".to_owned(), |why| why.to_string()),
            ran.lost.is_none(),
        );
        // What is left is done all the same.
        stop.forget();
    }
    ran.end().in_step("end of the association")?;
    let name = "how the gNB's association ended";
    let why = ran.lost.unwrap_or(Loss::Silent);
    report
        .checks
        .equal(name, Loss::Ended.to_string(), why.to_string());
    ran.wait("the AMF hears of it", |_| core.status().gnbs == 0)?;
    settle(&ran, core.stop(), screen, report);
    Ok(())
}

/// SIMs with random keys; identities are shown and concealed in turn.
fn subscribers(count: u32, home_key: [u8; 32]) -> Result<(Vec<Account>, Vec<Ue>), DemoError> {
    let public = || HomeKey::profile_a(home_key).public();
    let (mut accounts, mut ues) = (Vec::new(), Vec::new());
    for number in 1..=count {
        let (mut k, mut opc) = ([0; 16], [0; 16]);
        system::random(&mut k);
        system::random(&mut opc);
        let msin = format!("{number:010}");
        let no_subscriber = || DemoError::answer("the plan", "no subscriber");
        let supi = Supi::from_msin(plan::plmn(), &msin).ok_or_else(no_subscriber)?;
        let mut sim = Sim::new(plan::plmn(), &msin, &K::new(k), &Opc::new(opc));
        if is_concealed(number as usize - 1) {
            sim.conceal_with(plan::HOME_KEY_ID, public());
        }
        accounts.push(Account { supi, k, opc });
        ues.push(Ue::new(sim, plan::plmn()).ok_or_else(no_subscriber)?);
    }
    Ok((accounts, ues))
}

fn is_concealed(phone: usize) -> bool {
    phone % 2 == 1
}

fn register(ran: &mut Ran<'_>, core: &Core, report: &mut Report) -> Result<(), DemoError> {
    let count = ran.phones.len();
    for phone in 0..count {
        let begun = Instant::now();
        ran.register(phone).in_step("registration")?;
        let registration_ms = begun.elapsed().as_secs_f64() * 1e3;
        let ue = &ran.phones[phone].ue;
        let supi = ue.supi().map_or_else(String::new, |supi| supi.to_string());
        let is_registered = ue.state() == UeState::Registered && ue.guti().is_some();
        let scheme = if is_concealed(phone) {
            "profile A"
        } else {
            "null scheme"
        };
        let name = format!("registration of {supi} ({scheme})");
        let got = format!("{:?} in {registration_ms:.1} ms", ue.state());
        report.checks.holds(name, "Registered", got, is_registered);
        report.ues.push(report::Ue {
            supi,
            scheme,
            registration_ms,
        });
    }
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    checks.equal("UEs that the AMF has registered", count, status.registered);
    checks.equal("UEs that are connected", 0, status.connected);
    Ok(())
}

fn come_and_go(ran: &mut Ran<'_>, core: &Core, report: &mut Report) -> Result<(), DemoError> {
    let (first, last) = (0, ran.phones.len() - 1);
    ran.request_service(first).in_step("service request")?;
    let phone = &ran.phones[first];
    let context = phone.at.and_then(|at| ran.gnb.context(at));
    let is_same = match (context, phone.ue.kgnb()) {
        (Some(context), Some(key)) => context.key == key,
        _ => false,
    };
    report.checks.holds(
        "KgNB of the UE and of its gNB",
        "the same",
        if is_same { "the same" } else { "different" },
        is_same,
    );
    ran.release(first).in_step("release")?;
    ran.deregister(last).in_step("deregistration")?;
    let status = at_rest(core, ran)?;
    let checks = &mut report.checks;
    checks.equal("UEs registered after one has left", last, status.registered);
    checks.equal("procedures under way", 0, status.procedures);
    Ok(())
}

/// How the core stands when it has taken all that the gNB has sent.
fn at_rest(core: &Core, ran: &mut Ran<'_>) -> Result<Status, DemoError> {
    ran.wait("the AMF's rest", |ran| {
        let status = core.status();
        status.procedures == 0 && status.received == ran.sent
    })?;
    Ok(core.status())
}

/// Shows the first UE's ladder, and compares the accounts of both ends.
fn settle(ran: &Ran<'_>, status: Status, screen: &Screen, report: &mut Report) {
    screen.step("what was said of the first UE");
    for line in ladder_of_first(ran, &status) {
        screen.say(&format!("  {line}"));
    }
    report.ladder = status.ladder.0.iter().map(ToString::to_string).collect();
    let completed = "Registration Complete";
    let complete = status.ladder.0.iter().filter(|line| line.what == completed);
    let checks = &mut report.checks;
    checks.equal(
        "registrations in the ladder",
        ran.phones.len(),
        complete.count(),
    );
    checks.equal("NGAP messages from gNB to AMF", ran.sent, status.received);
    checks.equal("NGAP messages from AMF to gNB", status.sent, ran.received);
    let failure = status.failure.unwrap_or_else(|| "none".to_owned());
    checks.equal("errors of the core", "none", &failure);
}

/// NG Setup and the first registration, which nothing else went beside; then what else the first UE
/// did.
fn ladder_of_first<'a>(ran: &Ran<'_>, status: &'a Status) -> impl Iterator<Item = &'a Line> {
    let lines = &status.ladder.0;
    let is_end = |line: &Line| line.what == "UE Context Release Complete";
    let end = lines.iter().position(is_end).map_or(0, |end| end + 1);
    let (registration, rest) = lines.split_at(end);
    let first = ran.phones.first().and_then(|phone| phone.ue.supi());
    let later = rest.iter().filter(move |line| line.supi == first);
    registration.iter().chain(later)
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
    let least = 1.0 + 9.0 * report.ues.len() as f64;
    checks.at_least(
        "NGAP that tshark recognised",
        least,
        capture.messages as f64,
        "messages",
    );
}
