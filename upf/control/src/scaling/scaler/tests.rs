//! Two made workers under load that comes and stays uneven.

use super::super::policy::Cycles;
use super::*;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::limits::SHARDS;

/// Two workers with all shards, and sessions in each; what comes for a shard is given.
struct Two {
    owners: Vec<WorkerId>,
    heat: Vec<u64>,
    readings: Vec<Reading>,
    moves: usize,
    lot: u64,
    /// Cost of a turn by itself; none: a worker with time left has turns without work.
    turn_ns: Option<u64>,
}

/// A worker does so many packets between two looks, and no more.
const ABLE: f64 = 8_000.0;
/// One packet of so many stands for all of them.
const SAMPLE: u64 = 32;

impl Two {
    fn new() -> Self {
        Self {
            owners: (0..SHARDS).map(|s| WorkerId((s % 2) as u8)).collect(),
            heat: vec![1; SHARDS as usize],
            readings: vec![Reading::default(); 2],
            moves: 0,
            lot: 1,
            turn_ns: None,
        }
    }

    /// Time until the next look, in which `demand` packets come for each shard; what share of
    /// its time each worker would need for all of them.
    fn pass(&mut self, demand: impl Fn(usize) -> f64) -> [f64; 2] {
        let of = |worker| {
            let own = (0..SHARDS as usize).filter(|s| self.owners[*s] == worker);
            own.map(|s| (s, demand(s))).collect::<Vec<_>>()
        };
        [of(WorkerId(0)), of(WorkerId(1))].map(|own| self.work(&own))
    }

    fn work(&mut self, own: &[(usize, f64)]) -> f64 {
        let Some((first, _)) = own.first() else {
            return 0.0;
        };
        let worker = usize::from(self.owners[*first]);
        let all: f64 = own.iter().map(|(_, demand)| demand).sum();
        let done = all.min(ABLE);
        let mut busy_ns = (done / ABLE * LOOK_NS as f64) as u64;
        if let Some(turn_ns) = self.turn_ns {
            // Each of its turns finds a packet or two.
            self.readings[worker].busy_turns += (LOOK_NS - busy_ns) / turn_ns;
            busy_ns = LOOK_NS;
        }
        self.readings[worker].busy_ns += busy_ns;
        for _ in 0..done as u64 / SAMPLE {
            self.lot = self
                .lot
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let mut at = (self.lot >> 11) as f64 / (1_u64 << 53) as f64 * all;
            let shard = own.iter().find(|(_, demand)| {
                at -= demand;
                at <= 0.0
            });
            self.heat[shard.map_or(*first, |(shard, _)| *shard)] += SAMPLE;
        }
        all / ABLE
    }
}

impl ScaledWorkers for Two {
    fn readings(&self) -> Vec<Reading> {
        self.readings.clone()
    }

    fn heat(&self) -> Vec<u64> {
        self.heat.clone()
    }

    fn owner(&self, shard: ShardId) -> WorkerId {
        self.owners[usize::from(shard.0)]
    }

    fn owned(&self) -> Vec<u32> {
        let first = self.owners.iter().filter(|w| **w == WorkerId(0)).count() as u32;
        vec![first, SHARDS - first]
    }

    fn is_moving(&self) -> bool {
        false
    }

    fn spread(&mut self, workers: usize) {
        panic!("{workers} workers, of two that are both needed");
    }

    fn move_shard(&mut self, shard: ShardId, to: WorkerId) {
        self.moves += 1;
        self.owners[usize::from(shard.0)] = to;
    }
}

fn scaler(two: &Two) -> Scaler {
    let bounds = Bounds { least: 2, most: 2 };
    let burst = 128;
    Scaler::new(Box::new(Cycles::default()), bounds, burst, two, 0)
}

/// Looks, one after the other: after how many no worker has more than it can do any more, and
/// how many moves there were behind that.
fn looks(n: u64, demand: impl Fn(usize) -> f64) -> (u64, usize) {
    looks_at(Two::new(), n, demand)
}

fn looks_at(mut two: Two, n: u64, demand: impl Fn(usize) -> f64) -> (u64, usize) {
    let mut scaler = scaler(&two);
    let (mut level_at, mut moves) = (0, 0);
    for look in 1..=n {
        let shares = two.pass(&demand);
        if shares.iter().any(|share| *share > 1.0) {
            (level_at, moves) = (look, two.moves);
        }
        scaler.turn(look * LOOK_NS, &mut two);
    }
    (level_at, two.moves - moves)
}

#[test]
fn heavy_ues_in_all_shards_of_a_worker_are_levelled_within_ten_looks() {
    // 1.25 of what worker 0 is able to, and 0.45.
    let (looks, _) = looks(200, |s| if s % 2 == 0 { 4.9 } else { 1.75 });
    assert!(looks < 10, "{looks} looks");
}

#[test]
fn a_worker_whose_turns_all_find_a_little_is_not_full() {
    let mut two = Two::new();
    two.turn_ns = Some(500);
    for reading in &mut two.readings {
        (reading.idle_turns, reading.idle_ns) = (100, 100 * 500);
    }
    let demand = |s| if s % 2 == 0 { 4.9 } else { 1.75 };
    let (looks, _) = looks_at(two, 200, demand);
    assert!(looks < 10, "{looks} looks");
}

#[test]
fn a_few_heavy_shards_are_levelled_within_ten_looks() {
    let (looks, _) = looks(200, |s| match s {
        _ if s % 256 == 0 => 420.0,
        _ => 1.6,
    });
    assert!(looks < 10, "{looks} looks");
}

#[test]
fn what_is_level_does_not_move_for_the_noise_of_samples() {
    let mut two = Two::new();
    let mut scaler = scaler(&two);
    for look in 1..=1_000 {
        two.pass(|_| 2.9);
        scaler.turn(look * LOOK_NS, &mut two);
    }
    assert_eq!(two.moves, 0);
}

#[test]
fn what_fits_nowhere_does_not_swing_to_and_fro() {
    let mut two = Two::new();
    let mut scaler = scaler(&two);
    for look in 1..=1_000 {
        two.pass(|_| 5.0);
        scaler.turn(look * LOOK_NS, &mut two);
    }
    assert!(two.moves < SHARDS as usize / 10, "{} moves", two.moves);
}
