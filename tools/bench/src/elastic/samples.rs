//! Samples of poll cost by burst size, and of latency, in short intervals: the machine's speed
//! changes from one moment to the next, so what is to be compared comes from the same moments.

use super::models::full_load;
use super::source::Pace;
use super::testbed::Testbed;
use super::turns::TurnSample;
use crate::stats::percentile;
use core::ops::RangeInclusive;
use sluice_host::clock;
use sluice_port::Packet;
use std::time::Duration;

/// Packets for a queue from each of the two sources in a turn, so that turns of every size are known.
const SIZES: [usize; 6] = [2, 4, 8, 16, 32, 128];
/// How often all sizes are measured, and for how long each.
const LAPS: usize = 12;
const LAP: Duration = Duration::from_millis(8);
/// How fast the machine may be, as a share of how fast it was, to be the same.
pub const SAME_SPEED: RangeInclusive<f64> = 0.85..=1.18;
/// Latencies are looked at for so long at a time: short enough that most are without a hiccup. One as
/// long before may still be felt.
const WINDOW_NS: u64 = 2_000_000;

/// Turns of both workers.
pub type Turns = [Vec<TurnSample>; 2];

/// Turns with few packets, some, and as many as fit, as arranged, of laps in which the machine was as
/// fast as in most.
pub fn turns<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, apart_ns: f64) -> Turns {
    let laps: Vec<(f64, Turns)> = (0..LAPS).map(|_| lap(testbed, apart_ns)).collect();
    let speeds: Vec<f64> = laps.iter().map(|lap| lap.0).collect();
    let usual = usual(&speeds);
    let mut all = Turns::default();
    for (mpps, turns) in laps {
        if is_same(mpps, usual) {
            add(&mut all, turns);
        }
    }
    all
}

/// The speed that most are the same as: a machine that is fast for a while and slow for a while is
/// seldom as fast as on average.
fn usual(speeds: &[f64]) -> f64 {
    let count = |usual: &f64| speeds.iter().filter(|mpps| is_same(**mpps, *usual)).count();
    let most = speeds.iter().copied().max_by_key(count);
    most.unwrap_or_default()
}

fn is_same(mpps: f64, usual: f64) -> bool {
    mpps == usual || SAME_SPEED.contains(&(mpps / usual))
}

/// Rate of both workers at full load in this lap, in Mpps, and turns of every size.
fn lap<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, apart_ns: f64) -> (f64, Turns) {
    let full = full_load(testbed, 1, LAP);
    let mut turns = full.turns;
    let paces = SIZES.map(Pace::Bursts).into_iter();
    for pace in paces.chain([Pace::every(apart_ns)]) {
        add(&mut turns, paced(testbed, pace));
    }
    (full.mpps.median, turns)
}

fn add(all: &mut Turns, more: Turns) {
    let both = all.iter_mut().zip(more);
    both.for_each(|(all, more)| all.extend(more));
}

/// Bursts of a size make turns of that size: at full load they have about as many each, and others are
/// seen only when a worker was away, with cold caches.
fn paced<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, pace: Pace) -> Turns {
    testbed.sources(move |_, source| source.set_pace(pace));
    testbed.turn_for(1_000_000);
    testbed.workers(|_, _, turns| drop(turns.sample(true)));
    testbed.turn_for(LAP.as_nanos() as u64);
    let turns = testbed.workers(|_, _, turns| turns.sample(false));
    testbed.drain();
    turns
}

/// How long packets took from arrival to departure: the median, 99 % and 99.9 %, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latency {
    /// Of windows in which neither worker was away for longer than a hiccup.
    pub us: [f64; 3],
    pub all_us: [f64; 3],
    /// How many windows there were, and how many of them do not count for the first.
    pub windows: usize,
    pub disturbed: usize,
}

/// While packets come `apart_ns` apart to each worker.
pub fn latency<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    each: Duration,
    apart_ns: f64,
) -> Latency {
    testbed.sources(|_, source| drop(source.take_samples()));
    testbed.sources(move |_, source| source.set_pace(Pace::every(apart_ns)));
    testbed.turn_for(1_000_000);
    let until_ns = clock::monotonic_ns() + each.as_nanos() as u64;
    let (mut quiet, mut disturbed) = (vec![], vec![]);
    let mut latency = Latency::default();
    while clock::monotonic_ns() < until_ns {
        let began_ns = clock::monotonic_ns();
        testbed.watch.sample(true);
        testbed.turn_for(WINDOW_NS);
        testbed.watch.sample(false);
        let times = testbed.sources(|_, source| source.take_samples()).concat();
        let was_away = testbed.watch.hiccup_since(began_ns - WINDOW_NS);
        latency.windows += 1;
        latency.disturbed += usize::from(was_away);
        let which = if was_away { &mut disturbed } else { &mut quiet };
        which.extend(times);
    }
    testbed.drain();
    latency.us = shares_us(&mut quiet);
    quiet.append(&mut disturbed);
    latency.all_us = shares_us(&mut quiet);
    latency
}

fn shares_us(times_ns: &mut [u32]) -> [f64; 3] {
    times_ns.sort_unstable();
    [0.5, 0.99, 0.999].map(|share| f64::from(percentile(times_ns, share)) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_two_speeds_is_as_fast_as_it_mostly_was() {
        let slow_mostly = [5.0, 10.0, 5.1, 9.9, 4.9, 5.0, 10.1];
        assert!((4.9..=5.1).contains(&usual(&slow_mostly)));
        assert!(
            !is_same(5.0, 7.5) && !is_same(10.0, 7.5),
            "the mean is nobody's"
        );
        assert_eq!(usual(&[0.0]), 0.0);
        assert!(is_same(0.0, 0.0));
    }
}
