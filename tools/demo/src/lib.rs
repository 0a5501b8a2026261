//! `sluice demo`: UEs, gNBs, a data network and an SMF around a real UPF, and real programs
//! whose traffic must come through without a loss and with every byte accounted for.
//!
//! | file | what is in it |
//! |---|---|
//! | `run` | a part from beginning to end |
//! | `smf` | the first part: an SMF of the demo's own; attach, traffic, path switch, detach |
//! | `core` | the second part: UEs that register with `sluice core` through SCTP, and have sessions of it |
//! | `plan` | addresses and amounts |
//! | `topology`, `servers`, `ran`, `upf`, `bridge` | what is set up for both |
//! | `traffic` | ping, curl, iperf3 and what they say |
//! | `captures`, `headers` | every message that passed, judged from outside |
//! | `checks`, `report` | what must hold, and the outcome |
//! | `host`, `phase` | what the host lost, and what is repeated for it |
//! | `watch` | the live table |
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; names that say all have no comment"
)]

use std::io::Write as _;

use sluice_host::env_check::{self, Need};
use sluice_host::netns;
use sluice_host::signal::Shutdown;

use crate::args::DemoArgs;
use sluice_program::exit::Exit;

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
mod report;
mod run;
mod servers;
mod smf;
mod topology;
mod traffic;
mod upf;
mod watch;
mod workdir;

pub use self::plan::UES_MAX;

use self::child::Stop;
use self::core::report::CorePart;
use self::error::DemoError;
use self::report::{Part, Report};
use self::smf::report::SmfPart;
use sluice_program::screen::Screen;

/// Runs the demo from the first preparation to the last check.
pub fn run(args: &DemoArgs) -> Exit {
    let lacking = env_check::missing(&needs());
    if !lacking.is_empty() {
        eprintln!("sluice demo: {}", DemoError::Missing(lacking));
        return Exit::Lacking;
    }
    if let Some(lacking) = upf::config::lacks(args.driver) {
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
        let part = CorePart::of(args.wirings()[0]);
        let report = run::show(part, args, &stop, &screen)?;
        print(&report, args.json);
        return Ok(report.exit());
    }
    let until_done = DemoArgs {
        once: true,
        ..args.clone()
    };
    let first = if args.shows_core() { &until_done } else { args };
    let part = SmfPart {
        driver: upf::config::driver_name(args.driver),
        ..SmfPart::default()
    };
    let mut report = run::show(part, first, &stop, &screen)?;
    let wirings = if args.shows_core() {
        args.wirings()
    } else {
        &[]
    };
    for (place, wiring) in wirings.iter().enumerate() {
        if report.interrupted || report.too_busy {
            break;
        }
        let wiring_name = wiring.transport();
        screen.step(&format!(
            "the same UPF with the core in the SMF's place, its functions by {wiring_name}"
        ));
        let is_last = place + 1 == wirings.len();
        let args = if is_last { args } else { &until_done };
        let core = run::show(CorePart::of(*wiring), args, &stop, &screen)?;
        report.add(&core);
        report.part.core.push(core);
    }
    print(&report, args.json);
    Ok(report.exit())
}

fn needs() -> Vec<Need> {
    let tools = [
        "ip", "ethtool", "tcpdump", "tshark", "ping", "curl", "nginx", "iperf3",
    ];
    let first = [Need::NetworkAdmin, Need::Tun];
    first.into_iter().chain(tools.map(Need::Tool)).collect()
}

fn print<P: Part>(report: &Report<P>, as_json: bool) {
    let text = if as_json {
        // Numbers, texts and lists can always be written.
        serde_json::to_string_pretty(report).unwrap_or_default()
    } else {
        report.text()
    };
    // A closed pipe (`| head`) is the reader's choice.
    let _ = writeln!(std::io::stdout(), "{text}");
}
