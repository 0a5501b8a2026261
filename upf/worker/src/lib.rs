//! Worker threads of the UPF: the loop around `Worker::turn` with DPDK's ports, and its rests.
//!
//! A crate of its own, because the packet path is compiled here: builds for tests optimise it and leave the
//! rest of the daemon as it is.
#![forbid(unsafe_code)]

use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::worker::Worker;
use sluice_host::{clock, thread};
use sluice_port::PortIo;
use sluice_port_dpdk::{DpdkIo, Eal, register_thread};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Turns without work before a worker rests: some 20 us of polling, so that a busy but uneven
/// stream never waits for a wake-up.
const TURNS_BEFORE_REST: u32 = 200;

/// The first rest; it doubles until the configured longest.
const FIRST_REST: Duration = Duration::from_micros(5);

/// How long a worker sleeps that polls no queue: its rings wake it. Also the longest that it takes
/// to notice the end of the program.
const PARKED: Duration = Duration::from_millis(10);

/// How a worker's thread runs.
#[derive(Clone, Debug)]
pub struct Pace {
    /// CPU that it stays on.
    pub cpu: Option<usize>,
    /// Longest rest; zero: it never rests.
    pub rest_max: Duration,
}

/// A running worker.
pub struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Starts a thread for `worker`.
    pub fn start(
        eal: &Eal,
        worker: Worker<DpdkIo>,
        stats: Arc<WorkerStats>,
        pace: Pace,
        name: &str,
    ) -> io::Result<Self> {
        let eal = eal.clone();
        let run = move |stop: &AtomicBool| {
            let _registered = register_thread(&eal)
                .inspect_err(|e| tracing::warn!("worker without a packet cache of its own: {e}"));
            run(worker, &stats, &pace, stop);
        };
        Self::spawn(name, run)
    }

    /// Starts a thread for a worker at ports that ask nothing of it.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start_plain<I: PortIo + 'static>(
        worker: Worker<I>,
        stats: Arc<WorkerStats>,
        pace: Pace,
        name: &str,
    ) -> io::Result<Self> {
        Self::spawn(name, move |stop: &AtomicBool| {
            run(worker, &stats, &pace, stop);
        })
    }

    fn spawn(name: &str, run: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(&flag))?;
        Ok(Self { stop, thread })
    }

    /// Ends the worker after its turn. What it held is freed and counted as `Stopped`.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        if self.thread.join().is_err() {
            tracing::error!("a worker thread panicked");
        }
    }

    /// True if the thread ended by itself, which it never should.
    pub fn has_died(&self) -> bool {
        self.thread.is_finished()
    }
}

fn run<I: PortIo>(mut worker: Worker<I>, stats: &WorkerStats, pace: &Pace, stop: &AtomicBool) {
    if let Some(cpu) = pace.cpu
        && let Err(e) = thread::pin(&[cpu])
    {
        tracing::warn!("{e}");
    }
    thread::sleep_precisely();
    let mut rest = Rest::new(pace.rest_max);
    while !stop.load(Ordering::Acquire) {
        let began_ns = clock::monotonic_ns();
        let work = worker.turn(began_ns);
        stats.count_turn(work, clock::monotonic_ns() - began_ns);
        if work > 0 {
            rest.reset();
        } else {
            rest.idle(&mut worker, stats);
        }
    }
    worker.stop();
}

/// Sleeps longer the longer nothing comes.
struct Rest {
    idle_turns: u32,
    next: Duration,
    max: Duration,
}

impl Rest {
    fn new(max: Duration) -> Self {
        Self {
            idle_turns: 0,
            next: FIRST_REST.min(max),
            max,
        }
    }

    fn reset(&mut self) {
        *self = Self::new(self.max);
    }

    fn idle<I: PortIo>(&mut self, worker: &mut Worker<I>, stats: &WorkerStats) {
        self.idle_turns = self.idle_turns.saturating_add(1);
        if self.max.is_zero() || self.idle_turns < TURNS_BEFORE_REST {
            return std::hint::spin_loop();
        }
        let began_ns = clock::monotonic_ns();
        if worker.is_parked() {
            worker.sleep(PARKED);
        } else {
            worker.sleep(worker.may_sleep(began_ns, self.next));
            self.next = (self.next * 2).min(self.max);
        }
        stats.asleep_ns.add(clock::monotonic_ns() - began_ns);
    }
}
