//! `sluice demo`: UEs, gNBs, a data network and an SMF around a real UPF, and real programs
//! whose traffic must come through without a loss and with every byte accounted for.
//!
//! | file | what is in it |
//! |---|---|
//! | `run` | the demo from beginning to end |
//! | `acts` | its acts: attach, traffic, path switch, detach |
//! | `plan` | addresses and amounts |
//! | `topology`, `servers`, `ran`, `core`, `upf`, `bridge` | the parts that are set up |
//! | `traffic` | ping, curl, iperf3 and what they say |
//! | `captures`, `headers` | every message that passed, judged from outside |
//! | `checks`, `report` | what must hold, and the outcome |
//! | `host`, `phase` | what the host lost, and what is repeated for it |
//! | `watch` | the live table |
//! | `registration` | the second part: UEs that register with `sluice core` through SCTP, and have sessions of it |
#![forbid(unsafe_code)]

use std::io::Write as _;

use serde::Serialize;
use sluice_host::env_check::{self, Need};
use sluice_host::netns;
use sluice_host::signal::Shutdown;

use crate::args::DemoArgs;
use sluice_program::exit::Exit;

mod acts;
pub mod args;
pub mod bridge;
mod captures;
mod checks;
mod child;
mod core;
mod error;
mod headers;
mod host;
mod phase;
mod plan;
mod ran;
mod registration;
mod report;
mod run;
mod servers;
mod topology;
mod traffic;
mod upf;
mod upf_config;
mod watch;
mod workdir;

pub use self::plan::UES_MAX;

use self::child::Stop;
use self::error::DemoError;
use self::report::Report;
use sluice_program::screen::Screen;

/// Runs the demo from the first preparation to the last check.
pub fn run(args: &DemoArgs) -> Exit {
    let lacking = env_check::missing(&needs());
    if !lacking.is_empty() {
        eprintln!("sluice demo: {}", DemoError::Missing(lacking));
        return Exit::Lacking;
    }
    if let Some(lacking) = upf_config::lacks(args.driver) {
        eprintln!("sluice demo: {lacking}");
        return Exit::Lacking;
    }
    show(args).unwrap_or_else(|error| {
        eprintln!("sluice demo: {error}");
        Exit::Failed
    })
}

/// Plays the parts, and prints what came of them.
fn show(args: &DemoArgs) -> Result<Exit, DemoError> {
    let shutdown = Shutdown::install()?;
    let stop = Stop(shutdown.flag());
    let screen = Screen::new();
    for name in netns::sweep()? {
        screen.say(&format!("removed {name}, which a killed run had left"));
    }
    workdir::sweep();
    if !args.shows_upf() {
        let report = registration::show(args, &stop, &screen)?;
        print(&report, || report.text(), args.json);
        return Ok(report.exit());
    }
    let until_done = DemoArgs {
        once: args.once || args.shows_core(),
        ..args.clone()
    };
    let mut report = show_upf(&until_done, &stop, &screen)?;
    if args.shows_core() && !report.interrupted && !report.too_busy {
        screen.step("the same UPF with the core in the SMF's place");
        report.add_core(registration::show(args, &stop, &screen)?);
    }
    print(&report, || report.text(), args.json);
    Ok(report.exit())
}

fn needs() -> Vec<Need> {
    let tools = [
        "ip", "ethtool", "tcpdump", "tshark", "ping", "curl", "nginx", "iperf3",
    ];
    let first = [Need::NetworkAdmin, Need::Tun];
    first.into_iter().chain(tools.map(Need::Tool)).collect()
}

/// Only what cannot even be reported is an error.
fn show_upf(args: &DemoArgs, stop: &Stop, screen: &Screen) -> Result<Report, DemoError> {
    let mut report = Report::new(upf_config::driver_name(args.driver), screen.clone());
    if let Err(error) = run::run(args, stop, screen, &mut report) {
        // What fails while somebody wants the end, fails for that.
        report.interrupted = error.is_interruption() || stop.is_requested();
        report.error = Some(error.to_string());
        report.too_busy = error.is_busy();
        if report.too_busy {
            screen.say(&format!("  {error}"));
        } else if report.interrupted {
            screen.say("  interrupted: the rest was not checked");
        } else {
            for line in &report.upf_log {
                screen.say(&format!("  upf: {line}"));
            }
            let name = "the demo ran to its end";
            let got = error.to_string();
            report.checks.holds(name, "no error", got, false);
        }
    }
    let left = topology::left_over()?;
    report
        .checks
        .equal("namespaces that are left behind", 0, left.len());
    report.finish();
    Ok(report)
}

fn print(report: &impl Serialize, text: impl FnOnce() -> String, as_json: bool) {
    let text = if as_json {
        // Numbers, texts and lists can always be written.
        serde_json::to_string_pretty(report).unwrap_or_default()
    } else {
        text()
    };
    // A closed pipe (`| head`) is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{text}");
}
