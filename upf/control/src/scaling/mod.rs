//! Load-driven scaling: number of active workers, and the shards of each.
//!
//! Sans-IO: readings of counters and times in, decisions out. [`Elastic`] turns counters into
//! [`Load`]s and asks a [`Policy`] how many workers are wanted; [`scaler::Scaler`] has it do so when
//! it is time, and levels what lies unevenly on them ([`rebalance`]).

pub mod load_estimate;
pub mod policy;
pub mod rebalance;
pub mod scaler;

use policy::{Bounds, Policy};

/// Counters of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Time spent on turns that found work.
    pub busy_ns: u64,
    /// Such turns.
    pub busy_turns: u64,
    /// Packets and transactions of all turns.
    pub work: u64,
    /// Packets of turns that were full.
    pub full_work: u64,
    /// Time spent on these.
    pub full_ns: u64,
    /// Time spent on turns that found none, without sleep.
    pub idle_ns: u64,
    /// Such turns.
    pub idle_turns: u64,
    /// Time in which others had its CPU.
    pub away_ns: u64,
    /// Packets from receive queues and from other workers.
    pub packets: u64,
}

impl Reading {
    /// For how much of the time since then the worker had its CPU. What others had of it is known when it
    /// is over, and some of that may have been before then: less than nothing may be left.
    fn own_ns(&self, last: &Self, elapsed_ns: f64) -> f64 {
        elapsed_ns - self.away_ns.saturating_sub(last.away_ns) as f64
    }
}

/// How much one worker has to do, each as a share: 0 nothing, 1 all that it can.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Load {
    /// Time with packets, of the time in which it had its CPU.
    pub busy: f64,
    /// Packets that a busy turn finds, of the most that it takes.
    pub burst_fill: f64,
}

/// Decides every period.
pub struct Elastic {
    policy: Box<dyn Policy + Send>,
    bounds: Bounds,
    /// Packets that a turn takes at the most.
    burst: u64,
    /// Of each worker, and when that was read.
    last: Vec<(Reading, u64)>,
    asked_ns: u64,
    loads: Vec<Load>,
    active: usize,
}

impl Elastic {
    /// For workers of which `active`, the first, work now, and whose turns take `burst` packets at the most.
    pub fn new(
        policy: Box<dyn Policy + Send>,
        bounds: Bounds,
        burst: u64,
        readings: &[Reading],
        active: usize,
        now_ns: u64,
    ) -> Self {
        Self {
            policy,
            bounds,
            burst,
            last: readings.iter().map(|reading| (*reading, now_ns)).collect(),
            asked_ns: now_ns,
            loads: vec![Load::default(); readings.len()],
            active,
        }
    }

    /// Loads of the last period.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// The policy's name.
    pub fn policy(&self) -> &'static str {
        self.policy.name()
    }

    /// A period is over: how many workers are to work from now on, if that changes.
    pub fn period(&mut self, now_ns: u64, readings: &[Reading]) -> Option<usize> {
        let period_ns = now_ns.saturating_sub(self.asked_ns).max(1) as f64;
        self.asked_ns = now_ns;
        for ((load, (last, read_ns)), now) in
            self.loads.iter_mut().zip(&mut self.last).zip(readings)
        {
            let elapsed_ns = now_ns.saturating_sub(*read_ns).max(1) as f64;
            // Of one that hardly had its CPU nothing is known yet.
            if now.own_ns(last, elapsed_ns) >= period_ns / 2.0 {
                *load = share(*last, *now, self.burst, elapsed_ns);
                (*last, *read_ns) = (*now, now_ns);
            }
        }
        let working = &self.loads[..self.active.min(self.loads.len())];
        let wanted = self.policy.wanted(now_ns, working);
        let most = self.bounds.most.min(self.loads.len());
        let wanted = wanted.clamp(self.bounds.least.min(most), most);
        (wanted != self.active).then(|| {
            self.active = wanted;
            wanted
        })
    }
}

fn share(last: Reading, now: Reading, burst: u64, elapsed_ns: f64) -> Load {
    let busy_ns = now.busy_ns.saturating_sub(last.busy_ns) as f64;
    let turns = now.busy_turns.saturating_sub(last.busy_turns).max(1) as f64;
    let packets = now.packets.saturating_sub(last.packets) as f64;
    Load {
        busy: (busy_ns / now.own_ns(&last, elapsed_ns).max(1.0)).min(1.0),
        burst_fill: (packets / turns / burst as f64).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::policy::Cycles;
    use super::*;

    const MS: u64 = 1_000_000;

    /// Workers that share `work_ns` of each millisecond evenly among those that work.
    fn run(
        elastic: &mut Elastic,
        readings: &mut [Reading],
        now_ns: &mut u64,
        work_ns: u64,
    ) -> usize {
        let active = elastic.active;
        for reading in readings.iter_mut().take(active) {
            let busy_ns = (work_ns / active as u64).min(MS);
            reading.busy_ns += busy_ns;
            reading.busy_turns += 10;
            reading.packets += 10 * busy_ns / 10_000;
        }
        *now_ns += MS;
        elastic.period(*now_ns, readings);
        elastic.active
    }

    #[test]
    fn workers_come_with_the_load_and_go_after_it_without_swinging() {
        let mut readings = vec![Reading::default(); 4];
        let bounds = Bounds { least: 1, most: 4 };
        let burst = 128;
        let mut elastic = Elastic::new(Box::new(Cycles::default()), bounds, burst, &readings, 1, 0);
        let mut now_ns = 0;
        let mut run = |work_ns: u64, ms: usize| -> Vec<usize> {
            let each = (0..ms).map(|_| run(&mut elastic, &mut readings, &mut now_ns, work_ns));
            each.collect()
        };
        assert_eq!(run(300_000, 50).last(), Some(&1));
        // 1.8 cores of work: two workers would be at 90 %, so three.
        let counts = run(1_800_000, 20);
        assert_eq!(counts.last(), Some(&3), "{counts:?}");
        assert!(counts.windows(2).all(|w| w[0] <= w[1]), "{counts:?}");
        // It stays there, and nobody goes for a short pause.
        assert!(run(1_800_000, 100).iter().all(|n| *n == 3));
        assert!(run(100_000, 100).iter().all(|n| *n == 3));
        assert!(run(1_800_000, 100).iter().all(|n| *n == 3));
        let counts = run(100_000, 3_000);
        assert_eq!(counts.last(), Some(&1));
        assert!(counts.windows(2).all(|w| w[0] >= w[1]), "{counts:?}");
        assert_eq!(
            run(9_000_000, 50).last(),
            Some(&4),
            "no more than there are"
        );
    }

    #[test]
    fn who_had_the_cpu_for_a_tenth_of_the_time_and_was_busy_in_it_is_full() {
        let now = Reading {
            busy_ns: 100,
            away_ns: 900,
            ..Reading::default()
        };
        let burst = 1;
        assert_eq!(share(Reading::default(), now, burst, 1000.0).busy, 1.0);
        let idle = Reading { busy_ns: 10, ..now };
        let load = share(Reading::default(), idle, burst, 1000.0);
        assert_eq!(load.busy, 0.1, "what others did is not its load");
    }

    #[test]
    fn what_others_had_of_a_cpu_does_not_bring_workers_in_or_keep_them() {
        let (bounds, burst) = (Bounds { least: 1, most: 2 }, 1);
        let mut readings = [Reading::default(); 2];
        let mut elastic = Elastic::new(Box::new(Cycles::default()), bounds, burst, &readings, 2, 0);
        // Each is busy for a tenth of its time, but others have the CPU in turns of three periods.
        let mut active = 2;
        for ms in 1..3_000 {
            for (worker, reading) in readings.iter_mut().enumerate() {
                let turn = (ms + 4 * worker) % 8;
                if turn < 5 {
                    reading.busy_ns += MS / 10;
                } else if turn == 7 {
                    reading.busy_ns += MS / 4;
                    reading.away_ns += 3 * MS - MS / 4;
                }
            }
            active = elastic.period(ms as u64 * MS, &readings).unwrap_or(active);
        }
        assert_eq!(active, 1);
    }

    #[test]
    fn loads_are_shares_of_time_and_bursts() {
        let now = Reading {
            busy_ns: 250,
            busy_turns: 4,
            packets: 256,
            ..Reading::default()
        };
        let load = share(Reading::default(), now, 128, 1000.0);
        let want = Load {
            busy: 0.25,
            burst_fill: 0.5,
        };
        assert_eq!(load, want);
    }
}
