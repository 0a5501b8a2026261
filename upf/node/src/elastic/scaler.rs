//! Scaling while it is on: looks at the workers when a look is due, and does what the load asks for.
//!
//! Two rhythms. How many workers work is decided every [`PERIOD_NS`], by the policy: workers that
//! come and go cost something, and a policy must not follow every burst. Uneven load is looked for
//! every [`LOOK_NS`] instead: a worker that can do no more loses packets as soon as its queue is
//! full, which at some Mpps takes a millisecond, and a move of a shard costs microseconds.

use super::effort::Effort;
use super::level::{Heat, Levelling, level};
use super::policy::{Bounds, Policy};
use super::{Elastic, Load, Reading, Sizes};
use sluice_mem::shard::ShardId;
use sluice_path::limits::SHARDS;
use sluice_path::worker::WorkerId;

/// From one look to the next: some 10,000 packets of a full worker.
pub const LOOK_NS: u64 = 1_000_000;
/// From one decision on the number of workers to the next.
pub const PERIOD_NS: u64 = 5 * LOOK_NS;
/// Without need, load is levelled every so many looks.
const LEVEL_EVERY: u64 = 10;
/// Counters of all shards that were read longer ago tell of other times. They are not read at every
/// look: they are some hundred cache lines of each worker, which it writes to all the time.
const HEAT_FRESH_NS: u64 = 3 * LOOK_NS / 2;
/// A full worker that could not be relieved is left alone for so many looks; and one that was, from
/// when its shards are gone: it has its queue to work off, and looks full until then.
const PAUSE: u64 = 3;
/// Busier than this between two looks, a worker needs relief at once. One that does all that it can
/// shows less than 1: its turns cost something by themselves.
const FULL: f64 = 0.85;
/// When no worker is busier than this, all have time enough.
const EASY: f64 = 0.5;
/// Differences that are left alone, as a share of the mean: as a rule, and while a worker is full.
/// What a full worker is seen to do is less than what came for it, so a small difference tells of a
/// greater one.
const TOLERANCE: f64 = 0.05;
const TOLERANCE_FULL: f64 = 0.01;
/// A shard with fewer packets between two looks was seen by a few samples only: it cannot be told
/// apart from others of its worker that had none.
const KNOWN_PACKETS: u64 = 256;

/// The workers as scaling sees them, and what it does with them.
pub trait Fleet {
    /// What was counted on each so far.
    fn readings(&self) -> Vec<Reading>;
    /// Packets of each shard so far.
    fn heat(&self) -> Vec<u64>;
    /// The owner of a shard, or its next one while it moves.
    fn owner(&self, shard: ShardId) -> WorkerId;
    /// Shards of each worker.
    fn owned(&self) -> Vec<u32>;
    /// Whether any shard moves.
    fn is_moving(&self) -> bool;
    /// So many workers, the first ones, share all shards and queues from now on.
    fn spread(&mut self, workers: usize);
    /// A shard goes to a worker.
    fn move_shard(&mut self, shard: ShardId, to: WorkerId);
}

/// What a look led to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// Nothing.
    Nothing,
    /// So many workers work now.
    Workers(usize),
    /// Shards were moved, and these are new among those too much for any worker.
    Levelled {
        /// How many.
        moves: usize,
        /// Not told before.
        giants: Vec<ShardId>,
    },
}

/// Scaling that is on.
pub struct Scaler {
    elastic: Elastic,
    bounds: Bounds,
    looks: u64,
    next_ns: u64,
    looked_ns: u64,
    period_ns: u64,
    active: usize,
    effort: Effort,
    last: Vec<Reading>,
    /// Of each worker, between the last two looks.
    busy_ns: Vec<u64>,
    heat: Vec<u64>,
    /// When that was read.
    heat_ns: u64,
    /// A full worker is not relieved before this look: the last one found no way to.
    again: u64,
    /// Workers that shards were taken from the last time, and the look from which on that counts no
    /// more.
    relieved: Vec<bool>,
    rested_at: u64,
    giants: Vec<ShardId>,
    changes: u64,
    levelling_moves: u64,
}

impl Scaler {
    /// From now on.
    pub fn new(
        policy: Box<dyn Policy + Send>,
        bounds: Bounds,
        sizes: Sizes,
        fleet: &impl Fleet,
        now_ns: u64,
    ) -> Self {
        let mut effort = Effort::default();
        let readings = effort.of(fleet.readings());
        let workers = readings.len();
        let active = fleet.owned().iter().filter(|n| **n > 0).count();
        Self {
            elastic: Elastic::new(policy, bounds, sizes, &readings, active, now_ns),
            bounds,
            looks: 0,
            next_ns: now_ns + LOOK_NS,
            looked_ns: now_ns,
            period_ns: now_ns + PERIOD_NS,
            active,
            busy_ns: vec![0; readings.len()],
            effort,
            last: readings,
            heat: fleet.heat(),
            heat_ns: now_ns,
            again: 0,
            relieved: vec![false; workers],
            rested_at: 0,
            giants: Vec::new(),
            changes: 0,
            levelling_moves: 0,
        }
    }

    /// The policy's name.
    pub fn policy(&self) -> &'static str {
        self.elastic.policy()
    }

    /// Between how many workers it decides.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Workers that work.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Loads of the last period.
    pub fn loads(&self) -> &[Load] {
        self.elastic.loads()
    }

    /// Shards that alone are too much for any worker.
    pub fn giants(&self) -> &[ShardId] {
        &self.giants
    }

    /// Decisions for another number of workers, and moves to level their load.
    pub fn counts(&self) -> (u64, u64) {
        (self.changes, self.levelling_moves)
    }

    /// Looks if it is time.
    pub fn turn(&mut self, now_ns: u64, fleet: &mut impl Fleet) -> Done {
        if now_ns < self.next_ns {
            return Done::Nothing;
        }
        self.next_ns = now_ns + LOOK_NS;
        self.looks += 1;
        let readings = self.effort.of(fleet.readings());
        let elapsed_ns = self.take_busy(now_ns, &readings);
        if fleet.is_moving() {
            self.rested_at = self.looks + PAUSE;
        }
        if now_ns >= self.period_ns {
            self.period_ns = now_ns + PERIOD_NS;
            if let Some(wanted) = self.elastic.period(now_ns, &readings) {
                self.active = wanted;
                self.changes += 1;
                self.read_heat(now_ns, fleet);
                fleet.spread(wanted);
                return Done::Workers(wanted);
            }
        }
        let routine = self.looks.is_multiple_of(LEVEL_EVERY);
        let full = self.is_full(elapsed_ns) && self.looks >= self.again;
        if full && !routine && now_ns > self.heat_ns + HEAT_FRESH_NS {
            // What is hot now shows by what comes until the next look.
            self.read_heat(now_ns, fleet);
            return Done::Nothing;
        }
        if full || routine && self.busiest_ns() > EASY * elapsed_ns {
            let done = self.level(full, now_ns, fleet);
            if full && done == Done::Nothing && !fleet.is_moving() {
                self.again = self.looks + PAUSE;
            }
            return done;
        }
        if routine {
            self.read_heat(now_ns, fleet);
        }
        Done::Nothing
    }

    fn read_heat(&mut self, now_ns: u64, fleet: &impl Fleet) -> Vec<u64> {
        self.heat_ns = now_ns;
        core::mem::replace(&mut self.heat, fleet.heat())
    }

    /// How long each worker was busy since the last look. Returns how long that was ago.
    fn take_busy(&mut self, now_ns: u64, readings: &[Reading]) -> f64 {
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns).max(1) as f64;
        self.looked_ns = now_ns;
        for ((busy, last), now) in self.busy_ns.iter_mut().zip(&self.last).zip(readings) {
            *busy = now.busy_ns.saturating_sub(last.busy_ns);
        }
        self.last.copy_from_slice(readings);
        elapsed_ns
    }

    fn busiest_ns(&self) -> f64 {
        self.busy_ns.iter().copied().max().unwrap_or(0) as f64
    }

    /// Whether a worker is, for another reason than that it was.
    fn is_full(&self, elapsed_ns: f64) -> bool {
        let rests = |relieved: bool| relieved && self.looks < self.rested_at;
        let mut workers = self.busy_ns.iter().zip(&self.relieved);
        workers.any(|(busy_ns, relieved)| *busy_ns as f64 > FULL * elapsed_ns && !rests(*relieved))
    }

    /// Moves shards away from workers that have too many. Not while others move: their packets are
    /// with two workers.
    fn level(&mut self, full: bool, now_ns: u64, fleet: &mut impl Fleet) -> Done {
        let before = self.read_heat(now_ns, fleet);
        if fleet.is_moving() {
            return Done::Nothing;
        }
        let heats = heats(&before, &self.heat, &self.busy_ns, fleet);
        let working = (0..).zip(self.busy_ns.iter().copied());
        let loads: Vec<(WorkerId, u64)> = working.take(self.active).collect();
        let tolerance = if full { TOLERANCE_FULL } else { TOLERANCE };
        let Levelling { moves, giants } = level(&heats, &loads, tolerance);
        let told = core::mem::replace(&mut self.giants, giants);
        let new = self.giants.iter().filter(|giant| !told.contains(giant));
        let giants: Vec<ShardId> = new.copied().collect();
        self.levelling_moves += moves.len() as u64;
        if !moves.is_empty() {
            self.relieved.fill(false);
            self.rested_at = self.looks + PAUSE;
        }
        for (shard, to) in &moves {
            if let Some(from) = self.relieved.get_mut(usize::from(fleet.owner(*shard))) {
                *from = true;
            }
            fleet.move_shard(*shard, *to);
        }
        match moves.len() {
            0 if giants.is_empty() => Done::Nothing,
            moves => Done::Levelled { moves, giants },
        }
    }
}

/// The time that each shard took between two looks: a worker's, as its packets were shared out among
/// its shards. It is time that is levelled, for a worker that polls for others is busy with that too.
///
/// Packets are sampled, so those of a worker's shards that were seen by a few samples or none are
/// taken for equal: by chance alone one of them has all of a sample and its neighbour nothing, and to
/// move the first would move next to nothing.
fn heats(before: &[u64], now: &[u64], busy_ns: &[u64], fleet: &impl Fleet) -> Vec<Heat> {
    let seen = (0..SHARDS as u16).zip(now.iter().zip(before));
    // Where nobody ever sent anything, nothing will come.
    let seen = seen.filter(|(_, (now, _))| **now > 0);
    let mut heats: Vec<Heat> = seen
        .map(|(shard, (now, before))| Heat {
            shard: ShardId(shard),
            owner: fleet.owner(ShardId(shard)),
            heat: now.saturating_sub(*before),
        })
        .collect();
    // Of each worker: all packets, those of unknown shards, and how many these are.
    let mut sums = vec![(0, 0, 0); busy_ns.len()];
    for heat in &heats {
        let Some((all, unknown, count)) = sums.get_mut(usize::from(heat.owner)) else {
            continue;
        };
        *all += heat.heat;
        if heat.heat < KNOWN_PACKETS {
            (*unknown, *count) = (*unknown + heat.heat, *count + 1);
        }
    }
    for heat in &mut heats {
        let owner = usize::from(heat.owner);
        let Some((all, unknown, count)) = sums.get(owner).filter(|(all, ..)| *all > 0) else {
            heat.heat = 0;
            continue;
        };
        let (packets, shards) = match heat.heat < KNOWN_PACKETS {
            true => (*unknown, *count),
            false => (heat.heat, 1),
        };
        heat.heat = busy_ns[owner] * packets / (all * shards);
    }
    heats
}

#[cfg(test)]
mod tests {
    use super::super::policy::Cycles;
    use super::*;

    /// Two workers with all shards, and sessions in each; what comes for a shard is given.
    struct Two {
        owners: Vec<WorkerId>,
        heat: Vec<u64>,
        readings: Vec<Reading>,
        moves: usize,
        lot: u64,
        /// What a turn costs by itself; none: a worker with time left has turns without work.
        turn_ns: Option<u64>,
    }

    /// A worker does so many packets between two looks, and no more.
    const ABLE: f64 = 8_000.0;
    /// One packet of so many stands for all of them.
    const SAMPLE: u64 = 32;

    impl Two {
        fn new() -> Self {
            Self {
                owners: (0..SHARDS).map(|s| (s % 2) as WorkerId).collect(),
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
            [of(0), of(1)].map(|own| self.work(&own))
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

    impl Fleet for Two {
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
            let first = self.owners.iter().filter(|w| **w == 0).count() as u32;
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
        let sizes = Sizes {
            burst: 128,
            rings: 4096,
        };
        Scaler::new(Box::new(Cycles::default()), bounds, sizes, two, 0)
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
}
