//! Simulated packet arrivals: random, or as many as are taken; and the card that deals them to queues.

use super::workers::{Arrivals, Came, Workers};
use sluice_control::scaling::scaler::ScaledWorkers;
use sluice_datapath::limits::{MOVES, SHARDS, STEERED_GROUP_BITS};
use sluice_mem::shard::ShardId;
use std::collections::VecDeque;

/// Packets of one queue.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    /// Shards that its packets are of, and those of heavy UEs, each as often as it has UEs.
    pub shards: Vec<u16>,
    pub heavy: Vec<u16>,
    /// Packets in a nanosecond; infinite: as many as are taken.
    pub rate: f64,
    /// The share of them that is of heavy UEs.
    pub heavy_share: f64,
    /// When the next one comes.
    pub next_ns: f64,
}

impl Feed {
    /// Another rate from then on.
    pub fn set(&mut self, rate: f64, heavy_share: f64, now_ns: f64) {
        (self.rate, self.heavy_share) = (rate, heavy_share);
        self.next_ns = self.next_ns.max(now_ns);
    }
}

/// Packets of all queues; the times between them are exponential.
pub struct Traffic {
    pub feeds: Vec<Feed>,
    /// Packets that came within this span, taken or missed.
    pub window_ns: [f64; 2],
    pub came: u64,
    lot: u64,
}

impl Traffic {
    pub fn new(feeds: Vec<Feed>, seed: u64) -> Self {
        Self {
            feeds,
            window_ns: [0.0, f64::INFINITY],
            came: 0,
            lot: seed.wrapping_mul(2) | 1,
        }
    }

    /// From now on packets of these shards come to queue `to` instead of `from`.
    pub fn resteer(&mut self, shards: impl Fn(u16) -> bool, [from, to]: [usize; 2], now_ns: f64) {
        let old = &mut self.feeds[from];
        let [heavy, all] = [old.heavy_share * old.rate, old.rate];
        let take = |of: &mut Vec<u16>, rate: f64| {
            let had = of.len().max(1) as f64;
            let gone: Vec<u16> = of.extract_if(.., |shard| shards(*shard)).collect();
            let share = gone.len() as f64 / had;
            (gone, rate * share)
        };
        let (shards, even_gone) = take(&mut old.shards, all - heavy);
        let (hot, heavy_gone) = take(&mut old.heavy, heavy);
        let left = all - even_gone - heavy_gone;
        old.set(
            left,
            (heavy - heavy_gone) / left.max(f64::MIN_POSITIVE),
            now_ns,
        );
        let new = &mut self.feeds[to];
        let heavy = new.heavy_share * new.rate + heavy_gone;
        let all = new.rate + even_gone + heavy_gone;
        new.shards.extend(shards);
        new.heavy.extend(hot);
        new.set(all, heavy / all.max(f64::MIN_POSITIVE), now_ns);
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.lot = self
            .lot
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.lot >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn shard(&mut self, queue: usize) -> u16 {
        let (kind, at) = (self.share(), self.share());
        let feed = &self.feeds[queue];
        let shards = match kind < feed.heavy_share {
            true => &feed.heavy,
            false => &feed.shards,
        };
        let at = (at * shards.len() as f64) as usize;
        shards.get(at).copied().unwrap_or_default()
    }
}

impl Arrivals for Traffic {
    fn take(&mut self, queue: usize, until_ns: f64, max: usize, into: &mut VecDeque<Came>) -> u64 {
        let rate = self.feeds[queue].rate;
        if self.feeds[queue].shards.is_empty() || rate <= 0.0 {
            return 0;
        }
        let (mut taken, mut missed) = (0, 0);
        while (rate.is_infinite() && taken < max) || self.feeds[queue].next_ns <= until_ns {
            let at_ns = match rate.is_infinite() {
                true if taken == max => break,
                true => until_ns,
                false => self.feeds[queue].next_ns,
            };
            let shard = self.shard(queue);
            let [from_ns, to_ns] = self.window_ns;
            self.came += u64::from((from_ns..to_ns).contains(&at_ns));
            if taken < max {
                into.push_back(Came { at_ns, shard });
                taken += 1;
            } else {
                missed += 1;
            }
            if !rate.is_infinite() {
                self.feeds[queue].next_ns -= (1.0 - self.share()).ln() / rate;
            }
        }
        missed
    }
}

/// Groups of shards that it steers.
const GROUPS: u16 = 1 << STEERED_GROUP_BITS[0];

/// Groups of shards come to the queue of who owns most of their shards, as the daemon steers them; what
/// lies in a queue stays there, and that packets wait for its end does not count.
pub struct Card {
    queues: Vec<usize>,
}

impl Card {
    /// As the shards are dealt at first.
    pub fn of(owners: usize) -> Self {
        let queues = (0..GROUPS).map(|group| usize::from(group) % owners);
        Self {
            queues: queues.collect(),
        }
    }

    /// Steers groups whose shards have moved, when no shard moves any more.
    pub fn follow(&mut self, all: &Workers, traffic: &mut Traffic, now_ns: f64) {
        if all.is_moving() {
            return;
        }
        let shards_of = |group: u16| (group..SHARDS as u16).step_by(GROUPS.into());
        let mut left = MOVES / (SHARDS as usize / usize::from(GROUPS));
        for group in 0..GROUPS {
            let queue = &mut self.queues[usize::from(group)];
            let mut owned = vec![0; all.owned().len()];
            shards_of(group).for_each(|shard| owned[usize::from(all.owner(ShardId(shard)))] += 1);
            let most = owned.iter().position(|n| n * 2 > shards_of(group).count());
            if let Some(to) = most.filter(|to| to != queue && left > 0) {
                traffic.resteer(|shard| shard % GROUPS == group, [*queue, to], now_ns);
                *queue = to;
                left -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_come_as_the_rate_says_and_no_more_than_fit_wait() {
        let feed = Feed {
            shards: vec![1, 2],
            heavy: vec![3],
            rate: 0.01,
            heavy_share: 0.5,
            ..Feed::default()
        };
        let mut traffic = Traffic::new(vec![feed], 1);
        let mut came = VecDeque::new();
        traffic.window_ns = [2e5, 4e5];
        let missed = traffic.take(0, 1e6, 8_000, &mut came);
        let within = came.iter().filter(|c| (2e5..4e5).contains(&c.at_ns));
        assert_eq!(within.count() as u64, traffic.came);
        assert!((9_500..10_500).contains(&(missed + 8_000)), "{missed}");
        let heavy = came.iter().filter(|came| came.shard == 3).count();
        assert!((3_700..4_300).contains(&heavy), "{heavy}");
        assert!(came.iter().is_sorted_by(|a, b| a.at_ns <= b.at_ns));
        let other = Feed::default();
        traffic.feeds.push(other);
        traffic.resteer(|shard| shard > 1, [0, 1], 1e6);
        let [old, new] = &traffic.feeds[..] else {
            panic!("two queues")
        };
        assert_eq!(
            (&old.shards[..], &new.shards[..], &new.heavy[..]),
            (&[1][..], &[2][..], &[3][..])
        );
        assert!((old.rate - 0.0025).abs() < 1e-9 && old.heavy_share.abs() < 1e-9);
        assert!((new.rate - 0.0075).abs() < 1e-9 && (new.heavy_share - 2.0 / 3.0).abs() < 1e-9);
        traffic.feeds[0].set(f64::INFINITY, 0.0, 1e6);
        assert_eq!(traffic.take(0, 2e6, 100, &mut came), 0);
        assert_eq!(came.len(), 8_100);
    }
}
