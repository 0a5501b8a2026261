//! Scaling policies: the number of workers wanted.

use super::Load;

/// The least and the most workers that may work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// At least 1.
    pub least: usize,
    /// At most as many as there are.
    pub most: usize,
}

/// A way to decide. Asked every period.
pub trait Policy {
    /// Name of the policy.
    fn name(&self) -> &'static str;

    /// How many workers are wanted, by the loads of those that work.
    fn wanted(&mut self, now_ns: u64, working: &[Load]) -> usize;
}

/// Ours: by the time that packets take. A worker that is busy for most of its time needs help at
/// once; one is sent to rest only when the others could have done its work for a while.
#[derive(Clone, Debug)]
pub struct Cycles {
    /// Busier than this, a worker is helped.
    pub high: f64,
    /// Busy share that each worker should have.
    pub target: f64,
    /// After so long without need a worker rests.
    pub patience_ns: u64,
    last_need: Option<(usize, u64)>,
}

impl Default for Cycles {
    fn default() -> Self {
        Self {
            high: 0.8,
            target: 0.65,
            patience_ns: 1_000_000_000,
            last_need: None,
        }
    }
}

impl Policy for Cycles {
    fn name(&self) -> &'static str {
        "cycles"
    }

    fn wanted(&mut self, now_ns: u64, working: &[Load]) -> usize {
        let busy: f64 = working.iter().map(|load| load.busy).sum();
        let needed = ((busy / self.target).ceil() as usize).max(1);
        let active = working.len();
        if needed >= active {
            let hot = working.iter().any(|load| load.busy > self.high);
            self.last_need = Some((needed, now_ns));
            // One that can do no more may hide how much there is: ask for one more at the least.
            return if hot { needed.max(active + 1) } else { active };
        }
        let (most, since_ns) = self.last_need.unwrap_or((needed, now_ns));
        if needed > most || self.last_need.is_none() {
            self.last_need = Some((needed, now_ns));
        }
        if now_ns.saturating_sub(since_ns) < self.patience_ns {
            return active;
        }
        self.last_need = Some((needed, now_ns));
        active - 1
    }
}

/// As published systems that run to completion do: a moving average of how full bursts are.
#[derive(Clone, Debug, Default)]
pub struct BurstFill {
    average: f64,
}

/// Weight of the newest period in the moving average.
const NEWEST: f64 = 0.1;

impl Policy for BurstFill {
    fn name(&self) -> &'static str {
        "burst_fill"
    }

    fn wanted(&mut self, _: u64, working: &[Load]) -> usize {
        let now = mean(working, |load| load.burst_fill);
        self.average += NEWEST * (now - self.average);
        by_threshold(self.average, working.len(), 0.75, 0.1)
    }
}

fn mean(working: &[Load], of: impl Fn(&Load) -> f64) -> f64 {
    working.iter().map(of).sum::<f64>() / working.len().max(1) as f64
}

fn by_threshold(average: f64, active: usize, high: f64, low: f64) -> usize {
    match average {
        a if a > high => active + 1,
        a if a < low => active.saturating_sub(1).max(1),
        _ => active,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(n: usize, load: Load) -> Vec<Load> {
        vec![load; n]
    }

    #[test]
    fn thresholds_are_passed_by_averages_not_by_single_periods() {
        let full = Load {
            busy: 1.0,
            burst_fill: 1.0,
        };
        let mut policy = BurstFill::default();
        assert!(policy.wanted(0, &loads(2, full)) <= 2);
        let later = (0..40).map(|t| policy.wanted(t, &loads(2, full))).last();
        assert_eq!(later, Some(3));
        let idle = (0..80).map(|t| policy.wanted(t, &loads(2, Load::default())));
        assert_eq!(idle.last(), Some(1));
    }

    #[test]
    fn a_worker_that_can_do_no_more_is_helped_at_once() {
        let mut policy = Cycles::default();
        let full = Load {
            busy: 1.0,
            ..Load::default()
        };
        assert_eq!(policy.wanted(0, &loads(1, full)), 2);
        assert_eq!(
            policy.wanted(1, &loads(2, full)),
            4,
            "2 at 65 % each need 4"
        );
    }
}
