//! `sluice demo --core`: UEs register with `sluice core` over N1 and N2, have sessions at `sluice upf`,
//! and real programs with traffic.
//!
//! ```text
//!  ue1 .. ueN       two gNBs                upf                  dn
//!  [TUN ue]  <- RAN -> [n3] --- N3 veth --- [n3]   [n6] -- N6 -- [n6] HTTP, iperf3
//!                      [n2]                   [n4]
//!                        |                     |
//!                       N2 (SCTP)             N4
//!                        '--- [n2] smf [n4] ---'
//!                             sluice core
//! ```

mod acts;
mod core;
mod devices;
mod flow;
mod link;
mod mobility;
mod n1;
mod ran;
mod report;
mod traffic;

use std::net::Ipv4Addr;
use std::time::Instant;

use sluice_host::capture::Capture;
use sluice_host::netns::Netns;
use sluice_host::tshark;
use sluice_host::veth::{Veth, VethEnd};

use super::args::DemoArgs;
use super::captures::Captures;
use super::child::Stop;
use super::error::{DemoError, InStep as _};
use super::plan;
use super::servers::Servers;
use super::topology::{Topology, left_over};
use super::upf::Upf;
use super::upf_config::Addresses;
use super::workdir::WorkDir;
use sluice_program::screen::Screen;

use self::report::Capture as Judged;
pub(super) use self::report::Report;

/// Complaints that a report shows.
const SHOWN_MAX: usize = 10;

/// Plays it; what came of it.
pub(super) fn show(args: &DemoArgs, stop: &Stop, screen: &Screen) -> Result<Report, DemoError> {
    let started = Instant::now();
    let mut report = Report::new(screen.clone());
    if let Err(error) = run(args, stop, screen, &mut report) {
        // What fails while somebody wants the end, fails for that.
        report.interrupted = error.is_interruption() || stop.is_requested();
        report.error = Some(error.to_string());
        report.too_busy = error.is_busy();
        if report.too_busy {
            screen.say(&format!("  {error}"));
        } else if !report.interrupted {
            let name = "the demo ran to its end";
            let got = error.to_string();
            report.checks.holds(name, "no error", got, false);
            let logs = [("core", &report.core_log), ("upf", &report.upf_log)];
            for (whose, log) in logs {
                for line in log {
                    screen.say(&format!("  {whose}: {line}"));
                }
            }
        }
    }
    let left = left_over()?;
    report
        .checks
        .equal("namespaces that are left behind", 0, left.len());
    report.duration_s = started.elapsed().as_secs_f64();
    report.finish();
    Ok(report)
}

/// What the whole demo works with.
struct Stage<'a> {
    args: &'a DemoArgs,
    stop: &'a Stop,
    screen: &'a Screen,
    work: &'a WorkDir,
    topology: &'a Topology,
    servers: &'a Servers,
}

/// N2: the core is where the SMF is in the demo without it, and both gNBs share the link. It goes before
/// the namespaces.
fn n2(topology: &Topology) -> Result<Veth, DemoError> {
    let end =
        |ns: &Netns, at: Ipv4Addr| VethEnd::bare(ns, "n2").with_address(at, plan::LINK_PREFIX);
    let near = end(&topology.smf, plan::N2_AMF);
    let [first, second] = plan::N2_GNBS;
    let far = end(&topology.gnb, first);
    let veth = Veth::create(&near, &far, plan::LINK_MTU)?;
    veth.b().add_address(second, plan::LINK_PREFIX)?;
    Ok(veth)
}

fn run(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    report: &mut Report,
) -> Result<(), DemoError> {
    screen.step(&format!("namespaces and links for {} UEs", args.ues));
    if !args.once {
        screen.say("  it goes on until Ctrl-C, and then leaves nothing behind");
    }
    let work = WorkDir::create()?;
    let topology = Topology::create(args.ues).in_step("namespaces and links")?;
    let outcome = n2(&topology)
        .in_step("namespaces and links")
        .and_then(|mut link| {
            let outcome = with_captures(args, stop, screen, (&work, &topology), report);
            outcome.and(link.delete().in_step("taking down"))
        });
    screen.step("everything is taken down");
    let deleted = topology.delete().in_step("taking down");
    outcome.and(deleted)
}

/// Everything that passes N2, N3 and N4 is seen, from the first message to the last.
fn with_captures(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    (work, topology): (&WorkDir, &Topology),
    report: &mut Report,
) -> Result<(), DemoError> {
    let path = work.join("n2.pcap");
    let n2 = Capture::start(&topology.gnb, "n2", "ip proto 132", &path).in_step("captures")?;
    let others = Captures::start(topology, work).in_step("captures")?;
    let played = with_upf(args, stop, screen, (work, topology), report);
    screen.step("tshark judges what passed N2, N3 and N4");
    let judged = judge(n2).in_step("judgement of N2");
    let judged_others = others.judge(work).in_step("judgement of N3 and N4");
    played?;
    let judged = judged?;
    acts::check_capture(&judged, report);
    report.captures.push(judged);
    for one in judged_others? {
        let complaint = one.first_complaints.first().cloned();
        let nothing = || format!("nothing in {} frames", one.frames);
        let got = complaint.unwrap_or_else(nothing);
        let name = format!("what tshark complains of in {}", one.interface);
        report.checks.holds(name, "nothing", got, one.is_clean());
        report.user_plane_captures.push(one);
    }
    Ok(())
}

fn with_upf(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    (work, topology): (&WorkDir, &Topology),
    report: &mut Report,
) -> Result<(), DemoError> {
    screen.step("the UPF, and nginx and iperf3 in the data network");
    let upf = Upf::start(&topology.upf, work, args.driver, Addresses::Upf, stop);
    let mut upf = upf.in_step("start of the UPF")?;
    topology.start_ipv6().in_step("IPv6 of the data network")?;
    let count = plan::iperf_ues(args.ues);
    let servers = Servers::start(&topology.dn, work, count, stop);
    let servers = servers.in_step("servers of the data network")?;
    let stage = Stage {
        args,
        stop,
        screen,
        work,
        topology,
        servers: &servers,
    };
    let played = acts::play(&stage, &upf, report);
    // If it has died, that is the cause, and what failed elsewhere a consequence.
    let alive = upf.check_alive().in_step("life of the UPF");
    if played.is_err() || alive.is_err() || report.checks.failed() > 0 {
        report.upf_log = upf.log_tail(30);
    }
    alive.and(played)?;
    let ended = upf.stop();
    let name = "how the UPF ended when asked to";
    report.checks.equal(name, "exit status: 0", &ended);
    Ok(())
}

fn judge(capture: Capture) -> Result<Judged, DemoError> {
    let path = capture.path().to_owned();
    let count = capture.stop()?;
    let mut verdict = tshark::judge_n2(&path)?;
    // What is sent again tshark does not read as NGAP: it has judged it the first time.
    let is_again = |complaint: &String| complaint.contains("(retransmission)");
    verdict.complaints.retain(|complaint| !is_again(complaint));
    let complaints = verdict.complaints.len();
    verdict.complaints.truncate(SHOWN_MAX);
    Ok(Judged {
        interface: "N2",
        frames: verdict.frames,
        missed: count.dropped,
        complaints,
        first_complaints: verdict.complaints,
        messages: tshark::ngap_messages(&path)?,
    })
}
