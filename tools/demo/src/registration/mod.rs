//! `sluice demo --core`: UEs register with the core over N1 and N2, through SCTP between two
//! namespaces.
//!
//! ```text
//!  gnb                               amf
//!  [UEs] gNB [n2] --- N2 veth --- [n2] AMF, AUSF, UDM, UDR
//! ```

mod acts;
mod core;
mod ran;
mod report;

use std::io::Write as _;
use std::net::Ipv4Addr;

use sluice_host::capture::Capture;
use sluice_host::env_check::Need;
use sluice_host::netns::{self, Netns};
use sluice_host::signal::Shutdown;
use sluice_host::tshark;
use sluice_host::veth::{Veth, VethEnd};

use super::args::DemoArgs;
use super::child::Stop;
use super::error::{DemoError, InStep as _};
use super::plan;
use super::topology::left_over;
use super::workdir::{self, WorkDir};
use sluice::screen::Screen;

use self::report::{Capture as Judged, Report};

/// Complaints that a report shows.
const SHOWN_MAX: usize = 10;

/// What it needs.
pub(super) fn needs() -> Vec<Need> {
    let tools = ["ip", "ethtool", "tcpdump", "tshark"];
    let tools = tools.into_iter().map(Need::Tool);
    [Need::NetworkAdmin].into_iter().chain(tools).collect()
}

/// Runs it and prints what came of it; whether all was well.
pub(super) fn show(args: &DemoArgs) -> Result<bool, DemoError> {
    let shutdown = Shutdown::install()?;
    let stop = Stop(shutdown.flag());
    let screen = Screen::new();
    for name in netns::sweep()? {
        screen.say(&format!("removed {name}, which a killed run had left"));
    }
    workdir::sweep();
    let mut report = Report::new(screen.clone());
    if let Err(error) = run(args, &stop, &screen, &mut report) {
        // What fails while somebody wants the end, fails for that.
        report.interrupted = error.is_interruption() || stop.is_requested();
        report.error = Some(error.to_string());
        if !report.interrupted {
            let name = "the demo ran to its end";
            let got = error.to_string();
            report.checks.holds(name, "no error", got, false);
        }
    }
    let left = left_over()?;
    report
        .checks
        .equal("namespaces that are left behind", 0, left.len());
    report.finish();
    let text = if args.json {
        // Numbers, texts and lists can always be written.
        serde_json::to_string_pretty(&report).unwrap_or_default()
    } else {
        report.text()
    };
    // A closed pipe (`| head`) is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{text}");
    Ok(report.is_good())
}

/// The laboratory. The link comes before namespaces, so that it goes first.
struct Lab {
    n2: Veth,
    amf: Netns,
    gnb: Netns,
}

impl Lab {
    fn create() -> Result<Self, DemoError> {
        let (amf, gnb) = (Netns::create("amf")?, Netns::create("gnb")?);
        let end =
            |ns: &Netns, at: Ipv4Addr| VethEnd::bare(ns, "n2").with_address(at, plan::LINK_PREFIX);
        let (near, far) = (end(&amf, plan::N2_AMF), end(&gnb, plan::N2_GNB));
        let n2 = Veth::create(&near, &far, plan::LINK_MTU)?;
        Ok(Self { n2, amf, gnb })
    }

    fn delete(mut self) -> Result<(), DemoError> {
        let outcomes = [self.n2.delete(), self.amf.delete(), self.gnb.delete()];
        for outcome in outcomes {
            outcome?;
        }
        Ok(())
    }
}

fn run(
    args: &DemoArgs,
    stop: &Stop,
    screen: &Screen,
    report: &mut Report,
) -> Result<(), DemoError> {
    screen.step("two namespaces, one for the core, one for a gNB and its UEs");
    if !args.once {
        screen.say("  it goes on until Ctrl-C, and then leaves nothing behind");
    }
    let work = WorkDir::create()?;
    let lab = Lab::create().in_step("namespaces and links")?;
    let path = work.join("n2.pcap");
    let capture = Capture::start(&lab.gnb, "n2", "ip proto 132", &path).in_step("capture")?;
    let played = acts::play(args, stop, screen, (&lab.amf, &lab.gnb), report);
    screen.step("tshark judges what passed N2");
    let judged = judge(capture).in_step("judgement of the capture");
    screen.step("everything is taken down");
    let deleted = lab.delete().in_step("taking down");
    played?;
    let judged = judged?;
    acts::check_capture(&judged, report);
    report.captures.push(judged);
    deleted
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
