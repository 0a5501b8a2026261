//! A part of the demo from set-up to clean-up.
//!
//! Parts are removed in reverse order of their set-up, also after a failure.

use std::path::PathBuf;
use std::time::Instant;

use super::bridge::Bridge;
use super::captures::Captures;
use super::child::Stop;
use super::error::{DemoError, InStep as _};
use super::plan;
use super::report::{Part, Report};
use super::servers::Servers;
use super::topology::{Topology, left_over};
use super::upf::{Addresses, Upf, config};
use super::workdir::WorkDir;
use crate::args::{DemoArgs, Driver};
use sluice_program::screen::Screen;

/// Lines of logs that are shown when something went wrong.
pub(super) const LOG_LINES: usize = 30;

/// Arguments and places of a part.
#[derive(Clone, Copy)]
pub(super) struct DemoContext<'a> {
    pub(super) args: &'a DemoArgs,
    pub(super) stop: &'a Stop,
    pub(super) screen: &'a Screen,
    pub(super) work: &'a WorkDir,
    pub(super) topology: &'a Topology,
}

impl DemoContext<'_> {
    pub(super) fn step(&self, text: &str) {
        self.screen.step(text);
    }
}

/// The UPF and the data network's servers, while a part is played.
pub(super) struct Running<'a> {
    pub(super) upf: &'a Upf,
    pub(super) servers: &'a Servers,
    /// The file in which the bridge to memif tells what it lost.
    pub(super) lost_by_bridge: Option<PathBuf>,
}

/// A part: who tells the UPF of sessions, and what is played with it.
pub(super) trait Play: Part {
    /// The one that chooses UEs' addresses.
    const ADDRESSES: Addresses;

    /// Plays between the first message and the last that is captured.
    fn play(
        stage: DemoContext<'_>,
        captures: &mut Captures,
        running: &Running<'_>,
        report: &mut Report<Self>,
    ) -> Result<(), DemoError>
    where
        Self: Sized;

    /// Checks what tshark says of N3 and N4.
    fn check_captures(
        captures: Captures,
        stage: DemoContext<'_>,
        report: &mut Report<Self>,
    ) -> Result<(), DemoError>
    where
        Self: Sized;
}

/// Plays a part, and tells what came of it. Only what cannot even be reported is an error.
pub(super) fn show<P: Play>(
    part: P,
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
) -> Result<Report<P>, DemoError> {
    let started = Instant::now();
    let mut report = Report::new(part, screen.clone());
    if let Err(error) = run(args, stop, screen, &mut report) {
        // What fails while somebody wants the end, fails for that.
        report.interrupted = error.is_interruption() || stop.is_requested();
        report.error = Some(error.to_string());
        report.too_busy = error.is_busy();
        if report.too_busy {
            screen.say(&format!("  {error}"));
        } else if report.interrupted {
            screen.say("  interrupted: the rest was not checked");
        } else {
            let logs = report.part.logs().into_iter();
            for (whose, log) in logs.chain([("upf", &report.upf_log[..])]) {
                log.iter()
                    .for_each(|line| screen.say(&format!("  {whose}: {line}")));
            }
            let name = "the demo ran to its end";
            let got = error.to_string();
            report.checks.holds(name, "no error", got, false);
        }
    }
    let left = left_over()?.len();
    let name = "namespaces that are left behind";
    report.checks.equal(name, 0, left);
    report.duration_s = started.elapsed().as_secs_f64();
    report.finish();
    Ok(report)
}

/// Sets up, plays, takes down.
fn run<P: Play>(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    report: &mut Report<P>,
) -> Result<(), DemoError> {
    screen.step(&format!("namespaces and links for {} UEs", args.ues));
    if !args.once {
        screen.say("  it goes on until Ctrl-C, and then leaves nothing behind");
    }
    let work = WorkDir::create()?;
    let topology = Topology::create().in_step("namespaces and links")?;
    let stage = DemoContext {
        args,
        stop,
        screen,
        work: &work,
        topology: &topology,
    };
    let outcome = with_captures(stage, report);
    screen.step("everything is taken down");
    let deleted = topology.delete().in_step("taking down");
    outcome.and(deleted)
}

/// Everything that passes N3 and N4 is seen, from the first message to the last.
fn with_captures<P: Play>(stage: DemoContext<'_>, report: &mut Report<P>) -> Result<(), DemoError> {
    stage.stop.check()?;
    let mut captures = Captures::start(stage.topology, stage.work).in_step("captures")?;
    with_upf(stage, &mut captures, report)?;
    stage.step("tshark judges what passed N4 and N3");
    P::check_captures(captures, stage, report).in_step("judgement of the captures")?;
    stage.stop.check()
}

fn with_upf<P: Play>(
    stage: DemoContext<'_>,
    captures: &mut Captures,
    report: &mut Report<P>,
) -> Result<(), DemoError> {
    let (driver, stop, ns) = (stage.args.driver, stage.stop, &stage.topology.upf);
    stop.check()?;
    let name = config::driver_name(driver);
    stage.step(&format!("the UPF on {name} ports"));
    let mut bridge = match driver {
        Driver::Memif => {
            let bridge = Bridge::start(ns, stage.work, stop);
            Some(bridge.in_step("start of the bridge")?)
        }
        Driver::AfPacket | Driver::AfXdp => None,
    };
    let upf = Upf::start(ns, stage.work, driver, P::ADDRESSES, stop);
    let mut upf = upf.in_step("start of the UPF")?;
    let lost_by_bridge = bridge.as_ref().map(Bridge::losses);
    let outcome = with_servers(stage, captures, &upf, lost_by_bridge, report);
    // If it has died, that is the cause, and what failed elsewhere a consequence.
    let alive = upf.daemon.check_alive().in_step("life of the UPF");
    let bridged = bridge
        .as_mut()
        .map_or(Ok(()), |bridge| bridge.daemon.check_alive());
    let alive = alive.and(bridged.in_step("life of the bridge"));
    if outcome.is_err() || alive.is_err() || report.checks.failed() > 0 {
        report.upf_log = upf.daemon.log_tail(LOG_LINES);
    }
    alive.and(outcome)?;
    let ended = upf.daemon.stop();
    let name = "how the UPF ended when asked to";
    report.checks.equal(name, "exit status: 0", &ended);
    Ok(())
}

fn with_servers<P: Play>(
    stage: DemoContext<'_>,
    captures: &mut Captures,
    upf: &Upf,
    lost_by_bridge: Option<PathBuf>,
    report: &mut Report<P>,
) -> Result<(), DemoError> {
    stage.step("nginx and iperf3 in the data network");
    let ipv6 = stage.topology.start_ipv6();
    ipv6.in_step("IPv6 of the data network")?;
    let count = plan::iperf_ues(stage.args.ues);
    let servers = Servers::start(&stage.topology.dn, stage.work, count, stage.stop);
    let servers = servers.in_step("servers of the data network")?;
    let running = Running {
        upf,
        servers: &servers,
        lost_by_bridge,
    };
    P::play(stage, captures, &running, report)
}
