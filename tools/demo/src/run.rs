//! The demo from set-up to clean-up.
//!
//! What is set up first goes last, also when something fails.

use std::path::PathBuf;
use std::time::Instant;

use super::acts;
use super::bridge::Bridge;
use super::captures::Captures;
use super::child::Stop;
use super::core::Core;
use super::error::{DemoError, InStep as _};
use super::host::{Host, UePlace};
use super::phase::undisturbed;
use super::plan;
use super::ran::Ran;
use super::report::{Report, UeReport};
use super::servers::Servers;
use super::topology::Topology;
use super::upf::Upf;
use super::upf_config::{self, Addresses};
use super::watch::Watch;
use super::workdir::WorkDir;
use crate::args::{DemoArgs, Driver};
use sluice_program::screen::Screen;

/// Lines of the UPF's log that are shown when something went wrong.
const LOG_LINES: usize = 30;

/// What the whole demo works with.
pub(super) struct DemoContext<'a> {
    pub(super) args: &'a DemoArgs,
    pub(super) stop: &'a Stop,
    pub(super) screen: &'a Screen,
    pub(super) work: &'a WorkDir,
    pub(super) topology: &'a Topology,
}

/// Sets up, plays, takes down.
pub(super) fn run(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    report: &mut Report,
) -> Result<(), DemoError> {
    let started = Instant::now();
    screen.step(&format!("namespaces and links for {} UEs", args.ues));
    if !args.once {
        screen.say("  it goes on until Ctrl-C, and then leaves nothing behind");
    }
    let work = WorkDir::create()?;
    let topology = Topology::create(args.ues).in_step("namespaces and links")?;
    let stage = DemoContext {
        args,
        stop,
        screen,
        work: &work,
        topology: &topology,
    };
    let outcome = with_captures(&stage, report);
    screen.step("everything is taken down");
    let deleted = topology.delete().in_step("taking down");
    report.duration_s = started.elapsed().as_secs_f64();
    outcome.and(deleted)
}

/// Everything that passes N3 and N4 is seen, from the first message to the last.
fn with_captures(stage: &DemoContext<'_>, report: &mut Report) -> Result<(), DemoError> {
    stage.stop.check()?;
    let mut captures = Captures::start(stage.topology, stage.work).in_step("captures")?;
    with_upf(stage, &mut captures, report)?;
    stage.screen.step("tshark judges what passed N4 and N3");
    report.captures = captures
        .judge(stage.work)
        .in_step("judgement of the captures")?;
    acts::check_captures(report);
    stage.stop.check()
}

fn with_upf(
    stage: &DemoContext<'_>,
    captures: &mut Captures,
    report: &mut Report,
) -> Result<(), DemoError> {
    stage.stop.check()?;
    let driver = stage.args.driver;
    stage.screen.step(&format!(
        "the UPF on {} ports",
        upf_config::driver_name(driver)
    ));
    let mut bridge = match driver {
        Driver::Memif => Some(
            Bridge::start(&stage.topology.upf, stage.work, stage.stop)
                .in_step("start of the bridge")?,
        ),
        Driver::AfPacket | Driver::AfXdp => None,
    };
    let mut upf = Upf::start(
        &stage.topology.upf,
        stage.work,
        driver,
        Addresses::Smf,
        stage.stop,
    )
    .in_step("start of the UPF")?;
    let lost_by_bridge = bridge.as_ref().map(Bridge::losses);
    let outcome = with_servers(stage, captures, &upf, lost_by_bridge, report);
    // If it has died, that is the cause, and what failed elsewhere a consequence.
    let alive = upf.check_alive().in_step("life of the UPF");
    let bridged = bridge.as_mut().map_or(Ok(()), Bridge::check_alive);
    let alive = alive.and(bridged.in_step("life of the bridge"));
    if outcome.is_err() || alive.is_err() || report.checks.failed() > 0 {
        report.upf_log = upf.log_tail(LOG_LINES);
    }
    alive.and(outcome)?;
    let ended = upf.stop();
    report
        .checks
        .equal("how the UPF ended when asked to", "exit status: 0", &ended);
    Ok(())
}

fn with_servers(
    stage: &DemoContext<'_>,
    captures: &mut Captures,
    upf: &Upf,
    lost_by_bridge: Option<PathBuf>,
    report: &mut Report,
) -> Result<(), DemoError> {
    stage
        .screen
        .step("nginx and iperf3 in the data network, gNBs, SMF");
    stage
        .topology
        .start_ipv6()
        .in_step("IPv6 of the data network")?;
    let iperf_servers = plan::iperf_ues(stage.args.ues);
    let servers = Servers::start(&stage.topology.dn, stage.work, iperf_servers, stage.stop)
        .in_step("servers of the data network")?;
    let mut ran = Ran::start(stage.topology).in_step("gNBs")?;
    let mut core = Core::start(&stage.topology.smf).in_step("PFCP association")?;
    acts::attach(stage, &mut core, &mut ran).in_step("sessions")?;
    report.ues = ran.ues.iter().map(ue_report).collect();
    let host = Host::watch(stage.topology, &places(&ran), &upf.ctl, lost_by_bridge)?;
    undisturbed(stage.screen, &host, report, "echoes", |report| {
        acts::greet(stage, &ran, report).in_step("signalling")
    })?;
    let watch = Watch::start(stage.screen, &upf.ctl, &ran.ues)?;
    play(stage, &host, &servers, &mut core, &mut ran, report)?;
    if !stage.args.once {
        stage.screen.step("tshark judges what passed N3 so far");
        captures
            .signalling_only(stage.topology, stage.work)
            .in_step("captures")?;
        play_on(stage, &host, &servers, &ran, report)?;
    }
    drop(watch);
    acts::detach(stage, &host, &mut core, &ran, report).in_step("deletion of the sessions")?;
    undisturbed(stage.screen, &host, report, "no session", |report| {
        acts::knock(stage, &upf.ctl, &ran, report).in_step("traffic without a session")
    })?;
    acts::account(stage, &host, &upf.ctl, &ran, report).in_step("the UPF's accounts")?;
    core.end().in_step("release of the PFCP association")
}

/// Traffic, a path switch, more traffic.
fn play(
    stage: &DemoContext<'_>,
    host: &Host<'_>,
    servers: &Servers,
    core: &mut Core,
    ran: &mut Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    acts::ping_and_http(stage, host, servers, ran, report)?;
    acts::switch_path(stage, host, core, ran, report).in_step("path switch")?;
    acts::iperf(stage, host, ran, report)?;
    report.rounds = 1;
    Ok(())
}

/// Rounds of traffic until Ctrl-C, after which the demo ends in order; another Ctrl-C cuts that
/// short.
fn play_on(
    stage: &DemoContext<'_>,
    host: &Host<'_>,
    servers: &Servers,
    ran: &Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    while !stage.stop.is_requested() {
        stage
            .screen
            .step("another round; Ctrl-C ends the demo in order");
        let round = acts::ping_and_http(stage, host, servers, ran, report)
            .and_then(|()| acts::iperf(stage, host, ran, report));
        match round {
            Ok(()) => report.rounds += 1,
            Err(error) if error.is_interruption() => {}
            Err(error) => return Err(error),
        }
    }
    stage.stop.forget();
    Ok(())
}

fn places(ran: &Ran) -> Vec<UePlace> {
    let place = |ue: &super::ran::Ue| UePlace {
        name: ue.name.clone(),
        ns: ue.ns.clone(),
        tun: ue.tun().clone(),
    };
    ran.ues.iter().map(place).collect()
}

fn ue_report(ue: &super::ran::Ue) -> UeReport {
    UeReport {
        name: ue.name.clone(),
        address: ue.address.to_string(),
        ..UeReport::default()
    }
}
