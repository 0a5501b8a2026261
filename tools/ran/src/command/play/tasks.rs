//! Background tasks: pings and commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ended::Ended;
use super::programs;
use super::{Player, Row};
use crate::Halt;
use crate::command::ping::{self, Plan, Running};
use crate::scenario::{Ping, RunProgram};

/// Something that goes on by itself.
pub struct Task {
    line: u32,
    stop: Arc<AtomicBool>,
    work: Work,
}

enum Work {
    Ping(Running),
    Run(std::thread::JoinHandle<Ended>, RunProgram),
}

impl Work {
    fn is_finished(&self) -> bool {
        match self {
            Self::Ping(running) => running.is_finished(),
            Self::Run(running, _) => running.is_finished(),
        }
    }
}

impl Player {
    pub(super) fn ping(&mut self, line: u32, ping: &Ping) -> Result<(), Halt> {
        let ues = ping.ues.iter().filter_map(|ue| self.network.ues().get(*ue));
        let attached = ues.filter(|ue| ue.can_send());
        self.last_ping = self.last_ping.wrapping_add(1);
        let from = attached.filter_map(|ue| Some((ue.ns.clone(), ue.address_for(ping.to)?)));
        let from = from.collect();
        let plan = Plan {
            from,
            to: ping.to,
            count: ping.count,
            interval: ping.interval,
            payload_bytes: ping.payload_bytes,
            wait: ping.wait,
            identifier: self.last_ping,
        };
        let stop = Arc::new(AtomicBool::new(false));
        match ping::start(plan, Arc::clone(&stop)) {
            Ok(running) => self.begin(line, stop, Work::Ping(running), ping.background),
            Err(error) => {
                self.network.fail(format!("ping: {error}"));
                Ok(())
            }
        }
    }

    pub(super) fn run(&mut self, line: u32, program: &RunProgram) -> Result<(), Halt> {
        let (stop, begun) = programs::start(self.network.ues(), program);
        match begun {
            Ok(running) => {
                let work = Work::Run(running, program.clone());
                self.begin(line, stop, work, program.background)
            }
            Err(error) => {
                self.network.fail(format!("run: {error}"));
                Ok(())
            }
        }
    }

    fn begin(
        &mut self,
        line: u32,
        stop: Arc<AtomicBool>,
        work: Work,
        background: bool,
    ) -> Result<(), Halt> {
        self.tasks.push(Task { line, stop, work });
        match background {
            true => Ok(()),
            false => self.await_tasks(line),
        }
    }

    /// Waits for the tasks of a line, or of all lines with 0.
    pub(super) fn await_tasks(&mut self, line: u32) -> Result<(), Halt> {
        let waits = |task: &Task| line == 0 || task.line == line;
        self.take_finished();
        while self.tasks.iter().any(waits) {
            self.pause(Duration::from_millis(10))?;
        }
        Ok(())
    }

    pub(super) fn take_finished(&mut self) {
        let finished: Vec<_> = self
            .tasks
            .extract_if(.., |task| task.work.is_finished())
            .collect();
        finished.into_iter().for_each(|task| self.take(task));
    }

    /// Ends all tasks, and counts what they have done.
    pub(super) fn stop_tasks(&mut self) {
        let tasks = std::mem::take(&mut self.tasks);
        for task in &tasks {
            task.stop.store(true, Ordering::Relaxed);
        }
        for task in tasks {
            match task.work {
                // What was cut short is no verdict about the program.
                Work::Run(running, _) => drop(running.join()),
                Work::Ping(_) => self.take(task),
            }
        }
    }

    fn take(&mut self, task: Task) {
        match task.work {
            Work::Ping(running) => match running.join() {
                Ok(Ok(tally)) => self.ledger.add_pings(&tally),
                Ok(Err(error)) => self.network.fail(format!("ping: {error}")),
                Err(_) => self.network.fail("ping: its thread panicked"),
            },
            Work::Run(running, program) => match running.join() {
                Ok(ended) => {
                    let (expected, seen, pass) = ended.judge(&program);
                    for line in ended.complaints(&program) {
                        self.network.screen.say(&format!("    {line}"));
                    }
                    let what = format!("run {}", program.command);
                    self.tell(Row {
                        line: task.line,
                        what,
                        expected,
                        seen,
                        pass,
                    });
                }
                Err(_) => self.network.fail("run: its thread panicked"),
            },
        }
    }
}
