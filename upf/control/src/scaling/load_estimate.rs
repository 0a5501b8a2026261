//! Load estimate: the time that packets take, without the fixed cost of polling.
//!
//! A worker polls on while it has time, so with few packets each of its turns finds some of them, and
//! it is busy all the time without being anywhere near its limit: with more packets it would find more
//! in each turn. What a turn costs by itself is what a turn costs that finds nothing; the rest of a
//! busy turn grows with its packets, and as a share of all time is what a worker does of what it
//! could.
//!
//! Turns that find as many packets as some drivers ever give at a time count whole: with more packets
//! there would be no fewer of them. So a worker that does all that it can is never taken for one that
//! could do more, whatever its driver and however dear its turns.
//!
//! A packet costs less in company: what is waited for is waited for together, and code stays in the
//! caches. Where full turns were seen, packets of the others count as much as those did. That price may
//! be out of date, for other packets come now; if it is too low turns fill up, and tell the new one. A
//! worker that had no full turns yet has the price of those that had: where polling is dear it may never
//! find nothing, and would seem full with a third of what it can do.

use super::Reading;
use sluice_datapath::ledger::TURN_FULL;

/// Turns without work between two readings whose mean counts: one that was interrupted must not make
/// it.
const TURNS: u64 = 16;
/// Growth of a turn's cost that is believed between two readings. A lower cost is believed at once, a higher one
/// slowly, as an interruption makes a turn long and nothing makes it short.
const GROWTH: f64 = 1.02;

/// Packets of full turns between two readings whose mean price counts.
const KNOWN: u64 = 8 * TURN_FULL as u64;
/// How much of a new price is believed.
const NEWEST: f64 = 0.25;

/// Of each worker.
#[derive(Clone, Debug, Default)]
pub struct LoadEstimate {
    workers: Vec<WorkerCost>,
}

#[derive(Clone, Copy, Debug, Default)]
struct WorkerCost {
    last: Reading,
    /// Without what turns cost by themselves.
    busy_ns: u64,
    /// Cost of a turn by itself; none if that was not seen yet.
    turn_ns: Option<f64>,
    /// Cost of a packet in full turns; none if there were none yet.
    packet_ns: Option<f64>,
}

impl LoadEstimate {
    /// The same readings; busy is only the time that packets took.
    pub fn of(&mut self, mut readings: Vec<Reading>) -> Vec<Reading> {
        self.workers.resize(readings.len(), WorkerCost::default());
        let both = self.workers.iter_mut().zip(&readings);
        both.for_each(|(worker, reading)| worker.learn(reading));
        let prices_ns = self.workers.iter().filter_map(|w| w.packet_ns);
        let (known, sum_ns) = prices_ns.fold((0, 0.0), |(n, sum), ns| (n + 1, sum + ns));
        let of_others_ns = (known > 0).then(|| sum_ns / f64::from(known));
        for (worker, reading) in self.workers.iter_mut().zip(&mut readings) {
            reading.busy_ns = worker.read(*reading, of_others_ns);
        }
        readings
    }
}

impl WorkerCost {
    /// Learns the cost of turns and packets.
    fn learn(&mut self, now: &Reading) {
        let since = |of: fn(&Reading) -> u64| of(now).saturating_sub(of(&self.last));
        let idle_turns = since(|r| r.idle_turns);
        if idle_turns >= TURNS {
            let mean_ns = since(|r| r.idle_ns) as f64 / idle_turns as f64;
            let most_ns = self.turn_ns.map_or(mean_ns, |ns| ns * GROWTH);
            self.turn_ns = Some(mean_ns.min(most_ns));
        }
        let (full_work, full_ns) = (since(|r| r.full_work), since(|r| r.full_ns));
        if full_work >= KNOWN {
            let mean_ns = full_ns as f64 / full_work as f64;
            let last_ns = self.packet_ns.unwrap_or(mean_ns);
            self.packet_ns = Some(last_ns + NEWEST * (mean_ns - last_ns));
        }
    }

    /// How long packets took so far; `of_others_ns`: what they cost elsewhere.
    fn read(&mut self, now: Reading, of_others_ns: Option<f64>) -> u64 {
        let last = core::mem::replace(&mut self.last, now);
        let since = |of: fn(&Reading) -> u64| of(&now).saturating_sub(of(&last));
        let (full_work, full_ns) = (since(|r| r.full_work), since(|r| r.full_ns));
        let filled = since(|r| r.packets) / TURN_FULL as u64;
        let unfilled = since(|r| r.busy_turns).saturating_sub(filled);
        let turns_ns = unfilled as f64 * self.turn_ns.unwrap_or_default();
        let by_turns_ns = since(|r| r.busy_ns).saturating_sub(turns_ns as u64);
        let others = since(|r| r.work).saturating_sub(full_work);
        let by_price_ns = |ns: f64| full_ns + (others as f64 * ns) as u64;
        self.busy_ns += self
            .packet_ns
            .or(of_others_ns)
            .map_or(by_turns_ns, |ns| by_turns_ns.min(by_price_ns(ns)));
        self.busy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A millisecond of turns that cost 200 ns and 50 ns for each packet, of which `rate` come in
    /// a nanosecond and a turn takes `most`.
    fn pass(reading: &mut Reading, rate: f64, most: f64) {
        pass_at(reading, rate, most, |packets| 50.0 * packets);
    }

    /// The same at another price.
    fn pass_at(reading: &mut Reading, rate: f64, most: f64, price_ns: impl Fn(f64) -> f64) {
        let (mut left_ns, mut come) = (1_000_000.0, 0.0);
        while left_ns > 0.0 {
            let packets = f64::min(come, most).floor();
            let ns = 200.0 + price_ns(packets);
            let (all_ns, turns) = match packets {
                0.0 => (&mut reading.idle_ns, &mut reading.idle_turns),
                _ => (&mut reading.busy_ns, &mut reading.busy_turns),
            };
            *all_ns += ns as u64;
            *turns += 1;
            reading.packets += packets as u64;
            reading.work += packets as u64;
            if packets >= TURN_FULL as f64 {
                reading.full_work += packets as u64;
                reading.full_ns += ns as u64;
            }
            come += ns * rate - packets;
            left_ns -= ns;
        }
    }

    fn load(effort: &mut LoadEstimate, reading: &mut Reading, rate: f64) -> f64 {
        load_of(effort, reading, rate, 256.0)
    }

    fn load_of(effort: &mut LoadEstimate, reading: &mut Reading, rate: f64, most: f64) -> f64 {
        let before = effort.of(vec![*reading])[0].busy_ns;
        pass(reading, rate, most);
        (effort.of(vec![*reading])[0].busy_ns - before) as f64 / 1e6
    }

    #[test]
    fn load_is_the_share_of_the_packets_that_a_worker_could_do() {
        let (mut effort, mut reading) = (LoadEstimate::default(), Reading::default());
        for share in [0.01, 0.1, 0.3, 0.6, 0.9] {
            let load = load(&mut effort, &mut reading, share / 50.0);
            // Its turns fill up, which may seem more than it is.
            assert!((-0.03..0.11).contains(&(load - share)), "{load} of {share}");
        }
        // All turns find something, and most of their time is not the packets'.
        let busy_ns = reading.busy_ns;
        let load = load(&mut effort, &mut reading, 0.3 / 50.0);
        assert!(reading.busy_ns - busy_ns > 900_000, "{load}");
        assert!(load < 0.35, "{load}");
    }

    #[test]
    fn an_interruption_does_not_make_turns_dear() {
        let (mut effort, mut reading) = (LoadEstimate::default(), Reading::default());
        load(&mut effort, &mut reading, 0.01 / 50.0);
        reading.idle_ns += 4_000_000;
        reading.idle_turns += 1;
        let load = load(&mut effort, &mut reading, 0.5 / 50.0);
        assert!((load - 0.5).abs() < 0.08, "{load}");
    }

    #[test]
    fn who_does_all_that_it_can_is_full_however_few_packets_its_driver_gives() {
        let (mut effort, mut reading) = (LoadEstimate::default(), Reading::default());
        load(&mut effort, &mut reading, 0.01 / 50.0);
        for most in [256.0, 128.0, 64.0, 32.0] {
            let load = load_of(&mut effort, &mut reading, 2.0 / 50.0, most);
            assert!(load > 0.98, "{load} with {most} at a time");
        }
    }

    /// The first packets of a turn cost more than those in their company.
    fn in_company(scale: f64) -> impl Fn(f64) -> f64 {
        move |packets| scale * (50.0 * packets + 100.0 * packets.min(8.0))
    }

    #[test]
    fn packets_alone_count_no_more_than_those_in_company() {
        let (mut effort, mut reading) = (LoadEstimate::default(), Reading::default());
        let mut load = |rate: f64, scale: f64| {
            let before = effort.of(vec![reading])[0].busy_ns;
            pass_at(&mut reading, rate, 128.0, in_company(scale));
            (effort.of(vec![reading])[0].busy_ns - before) as f64 / 1e6
        };
        // A turn of 128 takes 7,400 ns.
        let most = 128.0 / 7_400.0;
        load(0.01 * most, 1.0);
        let at_first = load(0.4 * most, 1.0);
        assert!(at_first > 0.6, "{at_first}: nothing else is known");
        load(2.0 * most, 1.0);
        for share in [0.1, 0.3, 0.4, 0.6] {
            let load = load(share * most, 1.0);
            assert!((-0.02..0.12).contains(&(load - share)), "{load} of {share}");
        }
        assert!(load(0.8 * most, 1.0) > 0.8, "turns are full, or nearly");
        // All packets become three times as dear: for a moment that is overlooked.
        let loads: Vec<f64> = (0..8).map(|_| load(0.4 * most, 3.0)).collect();
        assert!(loads[7] > 0.9, "{loads:?}");
        assert!(load(0.1 * most, 3.0) > 0.25);
    }

    #[test]
    fn who_had_no_full_turns_learns_from_who_had() {
        let mut effort = LoadEstimate::default();
        let mut both = [Reading::default(); 2];
        let most = 128.0 / 7_400.0;
        let mut loads = |shares: [f64; 2]| {
            let before = effort.of(both.to_vec());
            for (reading, share) in both.iter_mut().zip(shares) {
                pass_at(reading, share * most, 128.0, in_company(1.0));
            }
            let after = effort.of(both.to_vec());
            [0, 1].map(|w| (after[w].busy_ns - before[w].busy_ns) as f64 / 1e6)
        };
        // It always finds some packets, and never nothing.
        assert!(loads([0.4, 0.4])[1] > 0.9, "nothing is known yet");
        let known = loads([2.0, 0.4]);
        assert!(known[0] > 0.95, "{known:?}");
        assert!((0.35..0.55).contains(&known[1]), "{known:?}");
    }

    #[test]
    fn before_any_turn_was_idle_all_time_counts() {
        let (mut effort, mut reading) = (LoadEstimate::default(), Reading::default());
        let load = load(&mut effort, &mut reading, 2.0 / 50.0);
        assert!(load > 0.98, "{load}");
    }
}
