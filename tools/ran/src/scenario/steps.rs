//! A scenario step: an action, a check, or the end.

use std::time::Duration;

use super::actions::{
    ActionReader, Attach, Churn, Cycle, Detach, Echo, Handover, Misbehave, MuteGnb, Ping, Repeat,
    Restart, RunProgram, Signal,
};
use super::kinds::{self, Bound};
use super::names::Names;
use crate::metrics::METRICS;
use sluice_program::config::fields::Fields;
use sluice_program::config::kind;

/// A step and where it stands.
#[derive(Clone, Debug)]
pub struct Step {
    pub line: u32,
    /// When it begins at the earliest, from the beginning of the script.
    pub at: Option<Duration>,
    pub act: Act,
}

/// Action of a step.
#[derive(Clone, Debug)]
pub enum Act {
    /// UEs get sessions and devices.
    Attach(Attach),
    Detach(Detach),
    /// UEs move to another gNB.
    Handover(Handover),
    Ping(Ping),
    /// Echo Requests of gNBs.
    Echo(Echo),
    Run(RunProgram),
    Wait(Duration),
    Restart(Restart),
    /// gNBs keep things to themselves.
    Mute(MuteGnb),
    Churn(Churn),
    /// UEs with SIMs do something.
    Signal(Signal),
    /// UEs with SIMs do it again and again.
    Cycle(Cycle),
    /// UEs with SIMs do something wrong.
    Misbehave(Misbehave),
    /// gNBs lose their UEs and tell the AMF (NG Reset).
    Reset(Vec<usize>),
    Repeat(Repeat),
    Check(Check),
    End,
}

/// Condition of a check.
#[derive(Clone, Debug)]
pub struct Check {
    /// Each figure with its bound.
    pub expectations: Vec<Expectation>,
    /// From when on counters count.
    pub since: Since,
    /// How long what is expected may take to come.
    pub within: Duration,
    /// At which gNBs, for figures of gNBs; `None`: all.
    pub gnbs: Option<Vec<usize>>,
}

/// A figure and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    pub line: u32,
    /// Index into [`METRICS`].
    pub metric: usize,
    pub bound: Bound,
}

/// From when on counters count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Since {
    /// The check before.
    Check,
    Start,
}

/// Keys that say what a step does.
const ACTIONS: [&str; 24] = [
    "attach",
    "detach",
    "handover",
    "ping",
    "echo",
    "run",
    "wait",
    "restart_gnb",
    "mute_gnb",
    "churn",
    "register",
    "establish",
    "release",
    "idle",
    "service",
    "page",
    "move_tunnels",
    "deregister",
    "cycle",
    "misbehave",
    "reset_n2",
    "repeat",
    "check",
    "end",
];

impl Step {
    pub(super) fn read(f: &mut Fields<'_, '_>, names: &Names) -> Option<Self> {
        let line = f.line();
        let at = f.optional("at", &kinds::duration());
        let given = ACTIONS.iter().filter(|key| f.has(key)).count();
        let stage = ActionReader { names };
        let acts = [
            f.optional_section("attach", |f| stage.attach(f)),
            f.optional_section("detach", |f| stage.detach(f)),
            f.optional_section("handover", |f| stage.handover(f)),
            f.optional_section("ping", |f| stage.ping(f)),
            f.optional_section("echo", |f| stage.echo(f)),
            f.optional_section("run", |f| stage.run(f)),
            f.optional("wait", &kinds::duration())
                .map(|at| Act::Wait(at.value)),
            f.optional_section("restart_gnb", |f| stage.restart(f)),
            f.optional_section("mute_gnb", |f| stage.mute(f)),
            f.optional_section("churn", |f| stage.churn(f)),
            f.optional_section("register", |f| stage.register(f)),
            f.optional_section("establish", |f| stage.establish(f)),
            f.optional_section("release", |f| stage.release(f)),
            f.optional_section("idle", |f| stage.idle(f)),
            f.optional_section("service", |f| stage.service(f)),
            f.optional_section("page", |f| stage.page(f)),
            f.optional_section("move_tunnels", |f| stage.move_tunnels(f)),
            f.optional_section("deregister", |f| stage.deregister(f)),
            f.optional_section("cycle", |f| stage.cycle(f)),
            f.optional_section("misbehave", |f| stage.misbehave(f)),
            f.optional_section("reset_n2", |f| stage.reset(f)),
            f.optional_section("repeat", |f| stage.repeat(f)),
            f.optional_section("check", |f| Some(check(f, names))),
            f.optional_section("end", |_| Some(Act::End)),
        ];
        if given != 1 {
            let what = match given {
                0 => "a step without an action",
                _ => "a step with several actions; each needs an item of its own",
            };
            let (key, expected) = (f.key(""), format!("one of {}", ACTIONS.join(", ")));
            let key = key.trim_end_matches('.').to_owned();
            f.report().problem(line, key, what, expected);
        }
        Some(Self {
            line,
            at: at.map(|at| at.value),
            act: acts.into_iter().flatten().next()?,
        })
    }
}

fn check(f: &mut Fields<'_, '_>, names: &Names) -> Act {
    let since = kind::word(&[("check", Since::Check), ("start", Since::Start)]);
    let since = f.or("since", "check", &since);
    let within = f.or("within", "2s", &kinds::duration());
    let gnbs = f.optional("gnbs", &names.gnbs());
    let mut expectations = Vec::new();
    for (index, metric) in METRICS.iter().enumerate() {
        if let Some(found) = f.optional(metric.name, &kinds::bound()) {
            if gnbs.is_some() && !metric.of_gnbs {
                let what = "told for all gNBs together";
                let key = f.key(metric.name);
                f.report()
                    .problem(found.line, key, what, "a check without gnbs");
            }
            expectations.push(Expectation {
                line: found.line,
                metric: index,
                bound: found.value,
            });
        }
    }
    if !METRICS.iter().any(|metric| f.has(metric.name)) {
        let (line, key) = (f.line(), f.key(""));
        let key = key.trim_end_matches('.').to_owned();
        let expected = "figures with what they must be, such as ping_lost: 0";
        f.report()
            .problem(line, key, "nothing is checked", expected);
    }
    // In the order of the file.
    expectations.sort_by_key(|expectation| expectation.line);
    Act::Check(Check {
        expectations,
        since: since.value,
        within: within.value,
        gnbs: gnbs.map(|at| at.value),
    })
}
