//! `sluice ran`: gNBs and UEs for a UPF or a core, played by a script with checks.
//!
//! | file | what it does |
//! |---|---|
//! | `args` | the command line |
//! | `play` | the script, step by step, on a [`Network`] |
//! | `ping` | echoes from UEs through their devices |
//! | `show` | the live table, and the result |

pub mod args;
mod ping;
mod play;
mod show;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sluice_host::env_check::{self, Need};
use sluice_host::netns;
use sluice_host::signal::Shutdown;

use crate::scenario::Scenario;
use crate::{Failure, Halt, Network, Undo, Until};
use args::RanArgs;
use play::{Player, ScenarioResult};
use sluice_program::check;
use sluice_program::config::Refused;
use sluice_program::exit::Exit;
use sluice_program::logging::{self, Verbosity};
use sluice_program::screen::Screen;

/// Does what the file says.
pub fn run(args: &RanArgs, verbosity: Verbosity) -> Exit {
    logging::start(verbosity, "warn");
    let loaded = match Scenario::load(&args.config) {
        Ok(loaded) => loaded,
        Err(refused) => return refuse(args, &refused),
    };
    if args.check {
        return accept(args, &loaded.scenario);
    }
    match play(args, loaded.scenario) {
        Ok(outcome) => {
            let text = match args.json {
                true => format!("{:#}\n", outcome.json()),
                false => outcome.text(),
            };
            check::write_out(&text);
            outcome.exit()
        }
        Err(failure) => {
            for line in failure.why.lines() {
                eprintln!("sluice ran: {line}");
            }
            if args.json {
                let object = json!({"error": failure.why});
                check::write_out(&format!("{object:#}\n"));
            }
            failure.exit
        }
    }
}

fn refuse(args: &RanArgs, refused: &Refused) -> Exit {
    eprintln!("{refused}");
    if args.json {
        check::write_out(&check::refused_json(refused));
    }
    Exit::Usage
}

fn accept(args: &RanArgs, scenario: &Scenario) -> Exit {
    let file = args.config.display();
    let text = match args.json {
        true => {
            let summary = scenario.summary_json();
            let file = file.to_string();
            let object = json!({"file": file, "ok": true, "problems": [], "summary": summary});
            format!("{object:#}\n")
        }
        false => format!("{file}: ok\n{}", scenario.summary()),
    };
    check::write_out(&text);
    Exit::Done
}

/// Sets up, plays, takes down.
fn play(args: &RanArgs, scenario: Scenario) -> Result<ScenarioResult, Failure> {
    let needs = [Need::NetworkAdmin, Need::Tun, Need::Tool("ip")];
    let lacking = env_check::missing(&needs);
    if !lacking.is_empty() {
        let lines: Vec<_> = lacking.iter().map(ToString::to_string).collect();
        return Err(Failure::lacking(lines.join("\n")));
    }
    let shutdown = Shutdown::install().map_err(Failure::lacking)?;
    let screen = Screen::new();
    for name in netns::sweep().map_err(Failure::lacking)? {
        screen.say(&format!("removed {name}, which a killed run had left"));
    }
    let begun = Instant::now();
    let until = Until {
        flag: shutdown.flag(),
        deadline: args.time.map(|time| begun + time),
    };
    let scenario = Arc::new(scenario);
    screen.step(&format!(
        "{} gNBs, {} UEs",
        scenario.names.gnb_count(),
        scenario.names.ue_count()
    ));
    let network = Network::start(&scenario, &screen, until)?;
    let mut player = Player::new(network, &args.config);
    let halt = player.play(args.once);
    screen.step("giving everything back");
    let _watch = Impatience::watch(&shutdown, player.undo());
    Ok(player.finish(halt, begun.elapsed()))
}

/// Ends the process at once when somebody asks a second time.
struct Impatience;

impl Impatience {
    fn watch(shutdown: &Shutdown, undo: Undo) -> Self {
        let flag = shutdown.flag();
        // A new wish, not the one that brought us here.
        flag.store(false, std::sync::atomic::Ordering::Relaxed);
        let look = move || {
            while !flag.load(std::sync::atomic::Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
            // Devices and commands go with the process; addresses, rules and names of namespaces
            // do not.
            undo.run();
            let ours = format!("sluice-{}-", std::process::id());
            for name in netns::names().unwrap_or_default() {
                if name.starts_with(&ours) {
                    let _ = netns::forget(&name);
                }
            }
            eprintln!("sluice ran: ended at once; sessions stay at the UPF");
            std::process::exit(1);
        };
        // Without it, the end takes as long as it takes.
        let _ = std::thread::Builder::new()
            .name("impatience".to_owned())
            .spawn(look);
        Self
    }
}

/// Place in the scenario, as file and line.
fn at(file: &Path, line: u32) -> String {
    format!("{}:{line}", file.display())
}
