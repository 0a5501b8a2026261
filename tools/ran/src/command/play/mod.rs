//! Scenario interpreter.

mod check;
mod churn;
mod ended;
mod outcome;
mod paced;
mod programs;
mod signals;
mod tasks;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use outcome::{Row, ScenarioResult};

use self::check::Ledger;
use self::tasks::Task;
use crate::Halt;
use crate::command::show::Live;
use crate::network::{Network, Undo};
use crate::scenario::{Act, Echo, MuteGnb, Repeat, Step};

/// Plays a scenario in a network.
pub struct Player {
    network: Network,
    file: PathBuf,
    begun: Instant,
    rows: Vec<Row>,
    /// Checks that held and are not told row by row any more.
    held_before: u64,
    failed_before: u64,
    ledger: Ledger,
    live: Live,
    tasks: Vec<Task>,
    /// gNBs that speak again at a time.
    unmute: Vec<(Instant, Vec<usize>)>,
    random: fastrand::Rng,
    last_ping: u16,
}

impl Player {
    /// At the beginning of the script.
    pub fn new(mut network: Network, file: &Path) -> Self {
        let ledger = Ledger::new(network.figures());
        let seed = network.scenario.seed;
        Self {
            network,
            file: file.to_owned(),
            begun: Instant::now(),
            rows: Vec::new(),
            held_before: 0,
            failed_before: 0,
            ledger,
            live: Live::new(),
            tasks: Vec::new(),
            unmute: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
            last_ping: std::process::id() as u16,
        }
    }

    /// Clean-up that is left if the player cannot finish.
    pub fn undo(&self) -> Undo {
        self.network.undo()
    }

    /// Plays to the end of the script, and then goes on doing nothing unless the script or `once`
    /// says that it is the end. Says why it ended.
    pub fn play(&mut self, once: bool) -> Halt {
        let scenario = std::sync::Arc::clone(&self.network.scenario);
        let played = self.steps(&scenario.steps);
        let played = match played {
            Ok(()) if once => Err(Halt::End),
            Ok(()) => self.go_on(),
            halt => halt,
        };
        match played {
            Ok(()) => Halt::End,
            Err(halt) => halt,
        }
    }

    fn go_on(&mut self) -> Result<(), Halt> {
        self.network
            .screen
            .step("the script is at its end; it goes on until Ctrl-C");
        loop {
            self.pause(Duration::from_secs(1))?;
        }
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Halt> {
        for step in steps {
            if let Some(at) = step.at {
                self.pause((self.begun + at).saturating_duration_since(Instant::now()))?;
            }
            self.network.until.check()?;
            self.step(step)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Halt> {
        match &step.act {
            Act::Attach(attach) => {
                self.say(step, &format!("attach {} UEs", attach.ues.len()));
                self.attach(attach)
            }
            Act::Detach(detach) => {
                self.say(step, &format!("detach {} UEs", detach.ues.len()));
                self.detach(detach)
            }
            Act::Handover(handover) => {
                let (moving, there) =
                    self.network
                        .movable(&handover.ues, handover.from, handover.to);
                let there = match there {
                    0 => String::new(),
                    1 => " (1 is there already)".to_owned(),
                    there => format!(" ({there} are there already)"),
                };
                self.say(step, &format!("handover of {moving} UEs{there}"));
                self.hand_over(handover)
            }
            Act::Ping(ping) => {
                self.say(step, &format!("ping {} from UEs", ping.to));
                self.ping(step.line, ping)
            }
            Act::Echo(echo) => self.echo(echo),
            Act::Run(program) => {
                self.say(step, &format!("run {}", program.command));
                self.run(step.line, program)
            }
            Act::Wait(time) => self.pause(*time),
            Act::Restart(restart) => {
                for gnb in &restart.gnbs {
                    let name = self.network.scenario.names.gnb(*gnb).to_owned();
                    self.say(step, &format!("{name} restarts"));
                    self.network.restart_gnb(*gnb);
                }
                Ok(())
            }
            Act::Mute(mute) => {
                self.mute(mute);
                Ok(())
            }
            Act::Churn(churn) => {
                self.say(step, &format!("{} UEs come and go", churn.ues.len()));
                self.churn(churn)
            }
            Act::Signal(signal) => {
                let (count, what) = (signal.ues.len(), signal.what.describe());
                self.say(step, &format!("{count} UEs {what}"));
                self.signal(signal)
            }
            Act::Cycle(cycle) => {
                let (count, at_once) = (cycle.ues.len(), cycle.at_once);
                let what = format!("{count} UEs register and deregister, {at_once} at a time");
                self.say(step, &what);
                self.cycle(cycle)
            }
            Act::Misbehave(misbehave) => {
                self.misbehave(misbehave);
                Ok(())
            }
            Act::Reset(gnbs) => {
                gnbs.iter().for_each(|gnb| self.network.reset_n2(*gnb));
                Ok(())
            }
            Act::Repeat(repeat) => self.repeat(repeat),
            Act::Check(check) => self.check(check),
            Act::End => Err(Halt::End),
        }
    }

    fn repeat(&mut self, repeat: &Repeat) -> Result<(), Halt> {
        let mut round: u64 = 0;
        while repeat.times.is_none_or(|times| round < times) {
            let began = Instant::now();
            self.steps(&repeat.steps)?;
            round += 1;
            // Steps that take no time must not take a core.
            if repeat.times.is_none() && began.elapsed() < Duration::from_millis(10) {
                self.pause(Duration::from_millis(100))?;
            }
        }
        Ok(())
    }

    fn echo(&mut self, echo: &Echo) -> Result<(), Halt> {
        for gnb in &echo.gnbs {
            self.network.send_echo(*gnb, echo.to, echo.wait);
        }
        while self.network.settle_echoes() > 0 {
            self.pause(Duration::from_millis(5))?;
        }
        Ok(())
    }

    fn mute(&mut self, mute: &MuteGnb) {
        for gnb in &mute.gnbs {
            self.network.mute_gnb(*gnb, mute.what);
        }
        if let Some(time) = mute.time {
            self.unmute.push((Instant::now() + time, mute.gnbs.clone()));
        }
    }

    /// Sleeps, while everything is looked after that goes on by itself.
    fn pause(&mut self, time: Duration) -> Result<(), Halt> {
        let end = Instant::now() + time;
        loop {
            self.settle();
            let next = self.unmute.iter().map(|(when, _)| *when).min();
            let next = next.map_or(end, |next| next.min(end));
            let part = next.saturating_duration_since(Instant::now());
            self.network.pause(part.min(Duration::from_secs(1)))?;
            if Instant::now() >= end {
                return Ok(());
            }
        }
    }

    /// Collects finished background tasks, and gNBs that send again.
    fn settle(&mut self) {
        let now = Instant::now();
        let due = self.unmute.extract_if(.., |(when, _)| *when <= now);
        let gnbs: Vec<_> = due.flat_map(|(_, gnbs)| gnbs).collect();
        for gnb in gnbs {
            self.network.mute_gnb(gnb, crate::Mute::No);
        }
        self.take_finished();
        self.live.look(&self.network);
    }

    fn say(&self, step: &Step, what: &str) {
        self.network
            .screen
            .step(&format!("line {}: {what}", step.line));
    }
}
