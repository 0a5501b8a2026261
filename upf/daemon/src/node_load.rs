//! This node's load for N4: the share of their time that workers spend on packets, measured once a second.

use super::scaling::readings;
use sluice_control::core::UpfControl;
use sluice_control::scaling::Reading;
use sluice_control::scaling::load_estimate::LoadEstimate;
use sluice_n4::Instant;
use sluice_port::Packet;

/// From one measurement to the next.
const PERIOD_NS: u64 = 1_000_000_000;

/// What was read last.
#[derive(Default)]
pub struct NodeLoad {
    estimate: LoadEstimate,
    last: Vec<Reading>,
    measured_ns: u64,
}

impl NodeLoad {
    /// Measures if it is time.
    pub fn turn<P: Packet>(&mut self, now: Instant, core: &mut UpfControl<P>) {
        let elapsed_ns = now.0.saturating_sub(self.measured_ns);
        if elapsed_ns < PERIOD_NS {
            return;
        }
        let readings = self.estimate.of(readings(core));
        let percent = mean_percent(&self.last, &readings, elapsed_ns);
        self.last = readings;
        self.measured_ns = now.0;
        core.up.measure_load(now, percent);
    }
}

/// The mean of all workers: those that rest can be brought in.
fn mean_percent(last: &[Reading], now: &[Reading], elapsed_ns: u64) -> u8 {
    if last.len() != now.len() || now.is_empty() {
        return 0;
    }
    let busy_ns = |(last, now): (&Reading, &Reading)| {
        now.busy_ns.saturating_sub(last.busy_ns).min(elapsed_ns)
    };
    let sum_ns: u64 = last.iter().zip(now).map(busy_ns).sum();
    let all_ns = elapsed_ns.saturating_mul(now.len() as u64).max(1);
    (sum_ns.saturating_mul(100) / all_ns).min(100) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_all_workers_counts() {
        let busy = |busy_ns| Reading {
            busy_ns,
            ..Reading::default()
        };
        let last = [busy(100), busy(0)];
        assert_eq!(mean_percent(&last, &[busy(1100), busy(0)], 1000), 50);
        assert_eq!(mean_percent(&last, &[busy(1100), busy(9000)], 1000), 100);
        assert_eq!(mean_percent(&last, &last, 1000), 0);
        assert_eq!(mean_percent(&[], &last, 1000), 0, "the first reading");
    }
}
