//! The measurements: moves one by one, all at once, and run-to-completion beside the pipeline.

use super::source::Pace;
use super::world::World;
use crate::bench::path::world::Failure;
use crate::bench::stats::Summary;
use sluice_host::clock;
use sluice_mem::shard::ShardId;
use sluice_path::limits::SHARDS;
use sluice_port::Packet;
use std::time::Duration;

/// Packets of the shard flow for so long before it is moved, and behind that.
const AROUND_NS: u64 = 30_000;
/// A hiccup so long before the move may still be felt.
const BEFORE_NS: u64 = 20_000;

/// A move's pause.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// The longest time from arrival to departure of a packet of the moved shard.
    pub ns: u64,
    /// From the order to the last token.
    pub took_ns: u64,
    /// A worker was away meanwhile.
    pub disturbed: bool,
}

/// What became of all packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Balance {
    /// That came.
    pub made: u64,
    /// That came and never left.
    pub lost: u64,
    /// That left behind a later one of their flow.
    pub reordered: u64,
    /// That came while the queue was full: the source's, not the path's.
    pub missed: u64,
}

/// Moves `moves` shards, one after the other, while packets come `apart_ns` apart to each worker.
pub fn moves<P: Packet + Send + 'static>(
    world: &mut World<P>,
    moves: u32,
    apart_ns: f64,
) -> Vec<Pause> {
    world.sources(move |_, source| source.set_pace(Pace::Every(apart_ns)));
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut pauses = Vec::with_capacity(moves as usize);
    let mut shown = 0;
    for done in 0..moves {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pauses.push(one_move(world, (state % u64::from(SHARDS)) as u16));
        if done * 10 / moves > shown {
            shown = done * 10 / moves;
            eprintln!("{done} of {moves} moves");
        }
    }
    pauses
}

fn one_move<P: Packet + Send + 'static>(world: &mut World<P>, shard: u16) -> Pause {
    let end = world.core.end_mut();
    let to = 1 - end.mover().owner(ShardId(shard));
    world.watch.watch(shard.into());
    world.turn_for(AROUND_NS);
    // What the shard's packets take without a move is not the move's.
    world.watch.watch(shard.into());
    let began_ns = clock::monotonic_ns();
    world.core.end_mut().move_shard(ShardId(shard), to);
    world.settle();
    let took_ns = clock::monotonic_ns() - began_ns;
    world.turn_for(AROUND_NS);
    Pause {
        ns: world.watch.longest_ns(),
        took_ns,
        disturbed: world.watch.hiccup_since(began_ns - BEFORE_NS),
    }
}

/// What became of all packets so far; call it when none is under way.
pub fn balance<P: Packet>(world: &World<P>) -> Balance {
    let watch = &world.watch;
    let made = watch.sum(|eye| &eye.made);
    Balance {
        made,
        lost: made - watch.sum(|eye| &eye.left),
        reordered: watch.sum(|eye| &eye.reordered),
        missed: watch.sum(|eye| &eye.missed),
    }
}

/// Who polls and who owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Each worker polls what it owns.
    RunToCompletion,
    /// One polls, the other owns everything.
    Pipeline,
    /// One polls and owns some; the other owns the rest.
    Mixed,
}

impl Model {
    pub const ALL: [Self; 3] = [Self::RunToCompletion, Self::Pipeline, Self::Mixed];

    pub fn name(self) -> &'static str {
        match self {
            Self::RunToCompletion => "elastic/rtc",
            Self::Pipeline => "elastic/pipeline",
            Self::Mixed => "elastic/mixed",
        }
    }

    /// Which worker owns a shard.
    fn owner(self, shard: u32) -> u8 {
        match self {
            Self::RunToCompletion => (shard % 2) as u8,
            Self::Pipeline => 1,
            // Polling costs about a third of a packet.
            Self::Mixed => u8::from(shard % 8 >= 3),
        }
    }

    /// Whether the packets of a shard come in at worker `worker`.
    fn comes_to(self, shard: u32, worker: usize) -> bool {
        match self {
            Self::RunToCompletion => shard as usize % 2 == worker,
            _ => worker == 0,
        }
    }
}

/// A model's throughput and latency.
#[derive(Clone, Debug)]
pub struct ModelFigures {
    pub model: Model,
    /// Of both workers together, at full load.
    pub mpps: Summary,
    /// At the rate given: the median, 99 % and 99.9 % of times from arrival to departure.
    pub latency_us: [f64; 3],
    pub latency_rate_mpps: f64,
    pub balance: Balance,
}

/// Measures a model; the shards move to their owners first.
pub fn model<P: Packet + Send + 'static>(
    world: &mut World<P>,
    model: Model,
    reps: usize,
    each: Duration,
    apart_ns: f64,
) -> Result<ModelFigures, Failure> {
    world.drain();
    let before = balance(world);
    for shard in 0..SHARDS {
        let to = model.owner(shard);
        world.core.end_mut().move_shard(ShardId(shard as u16), to);
    }
    world.settle();
    let flows = world.flows.clone();
    world.sources(move |worker, source| {
        source.set_flows(flows.clone(), |shard| model.comes_to(shard, worker));
    });
    let mut rates = vec![];
    world.sources(|_, source| source.set_pace(Pace::Full));
    for rep in 0..=reps {
        let (left, began_ns) = (world.watch.sum(|eye| &eye.left), clock::monotonic_ns());
        world.turn_for(each.as_nanos() as u64);
        let packets = world.watch.sum(|eye| &eye.left) - left;
        let us = (clock::monotonic_ns() - began_ns) as f64 / 1000.0;
        // The first one warms up.
        if rep > 0 {
            rates.push(packets as f64 / us);
        }
    }
    world.drain();
    let latency_us = latency(world, each, model, apart_ns);
    world.drain();
    let after = balance(world);
    Ok(ModelFigures {
        model,
        mpps: Summary::of(rates),
        latency_us,
        latency_rate_mpps: 2000.0 / apart_ns,
        balance: Balance {
            made: after.made - before.made,
            lost: after.lost - before.lost,
            reordered: after.reordered - before.reordered,
            missed: after.missed - before.missed,
        },
    })
}

/// At twice the rate of one worker, from as many sources as poll.
fn latency<P: Packet + Send + 'static>(
    world: &mut World<P>,
    each: Duration,
    model: Model,
    apart_ns: f64,
) -> [f64; 3] {
    world.sources(|_, source| drop(source.take_samples()));
    world.sources(move |worker, source| {
        source.set_pace(match (model, worker) {
            (Model::RunToCompletion, _) => Pace::Every(apart_ns),
            (_, 0) => Pace::Every(apart_ns / 2.0),
            _ => Pace::Still,
        });
    });
    world.turn_for(1_000_000);
    world.watch.sample(true);
    world.turn_for(each.as_nanos() as u64);
    world.watch.sample(false);
    let mut times = world.sources(|_, source| source.take_samples()).concat();
    times.sort_unstable();
    [0.5, 0.99, 0.999].map(|share| f64::from(percentile(&times, share)) / 1000.0)
}

/// Of sorted values.
pub fn percentile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(at.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}
