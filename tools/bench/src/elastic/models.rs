//! Execution models on two workers: run-to-completion, pipeline, and a mixture, each with the same
//! source.

use super::measure::{PacketBalance, balance};
use super::samples::{self, Latency, Turns, latency};
use super::source::{Pace, Source};
use super::testbed::Testbed;
use crate::path::topology::{N3, N6};
use crate::stats::Summary;
use sluice_datapath::limits::BURST;
use sluice_host::clock;
use sluice_port::{Burst, Packet, PortIo, QueueId};
use std::time::Duration;

/// Division of work: polling and ownership.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Each worker polls what it owns: the card knows the shards.
    RunToCompletion,
    /// Some poll, the others own everything.
    Pipeline,
    /// Of two one polls and owns some, and the other owns the rest; of more all poll what the card gives
    /// them, knowing no shards, and all own.
    Mixed,
}

impl Model {
    pub const ALL: [Self; 3] = [Self::RunToCompletion, Self::Pipeline, Self::Mixed];

    pub fn name(self) -> &'static str {
        match self {
            Self::RunToCompletion => "rtc",
            Self::Pipeline => "pipeline",
            Self::Mixed => "mixed",
        }
    }

    fn owner(self, shard: u32) -> u8 {
        match self {
            Self::RunToCompletion => (shard % 2) as u8,
            Self::Pipeline => 1,
            // Polling costs about a third of a packet.
            Self::Mixed => u8::from(shard % 8 >= 3),
        }
    }

    fn poller(self, shard: u32) -> usize {
        match self {
            Self::RunToCompletion => shard as usize % 2,
            _ => 0,
        }
    }
}

/// A model's throughput and latency.
#[derive(Clone, Debug)]
pub struct ModelFigures {
    pub model: Model,
    /// Of both workers together, at full load.
    pub mpps: Summary,
    /// Of the same sources and sinks without an engine: the pollers send what they receive.
    pub source_mpps: f64,
    /// The one by the other, by repetition.
    pub ratios: Vec<f64>,
    /// Time of the engine on each worker for each packet of both, at full load, without source and sink.
    pub engine_ns: [f64; 2],
    pub latency: Latency,
    pub latency_rate_mpps: f64,
    pub balance: PacketBalance,
    /// The longest time that a worker was away; 0 if never for long.
    pub gap_ns: u64,
    /// Some turns of each worker, of every size.
    pub turns: Turns,
}

impl ModelFigures {
    /// Rate of the engine if packets cost nothing to make and to check: the capacity of the worker with most work.
    pub fn engine_mpps(&self) -> f64 {
        1000.0 / self.engine_ns[0].max(self.engine_ns[1])
    }
}

/// Measures a model; the shards move to their owners first.
pub fn model<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    model: Model,
    reps: usize,
    each: Duration,
    apart_ns: f64,
) -> ModelFigures {
    testbed.drain();
    let before = balance(testbed);
    arrange(testbed, model);
    testbed.watch.take(|eye| &eye.gap_ns);
    let (mut sources, mut fulls) = (vec![], vec![]);
    // Side by side, for the machine's speed changes meanwhile.
    for _ in 0..reps {
        sources.push(source_limit(testbed, each));
        fulls.push(full_load(testbed, 1, each));
    }
    let latency = latency(testbed, each, apart_ns);
    let turns = samples::turns(testbed, apart_ns);
    let rates = fulls.iter().map(|full| full.mpps.median);
    let ratios = rates
        .clone()
        .zip(&sources)
        .map(|(full, source)| full / source);
    let ratios = ratios.collect();
    let mpps = Summary::of(rates);
    let mean = |w: usize| fulls.iter().map(|f| f.engine_ns[w]).sum::<f64>() / reps.max(1) as f64;
    let engine_ns = [0, 1].map(mean);
    ModelFigures {
        model,
        mpps,
        source_mpps: Summary::of(sources).median,
        ratios,
        engine_ns,
        latency,
        latency_rate_mpps: 2000.0 / apart_ns,
        balance: balance(testbed).since(before),
        gap_ns: testbed.watch.take(|eye| &eye.gap_ns),
        turns,
    }
}

/// Shards to their owners, packets to their pollers; each source makes half of everybody's.
pub fn arrange<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, model: Model) {
    testbed.drain();
    testbed.poll_own_queues();
    testbed.own(|shard| model.owner(shard));
    testbed.set_flows(
        |shard| model.poller(shard),
        |place, _| place % 2,
        |_, _| false,
    );
}

/// Figures of the workers at full load.
pub struct FullLoad {
    pub mpps: Summary,
    pub engine_ns: [f64; 2],
    pub turns: Turns,
}

/// As arranged; one repetition more comes before those that count.
pub fn full_load<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    reps: usize,
    each: Duration,
) -> FullLoad {
    let mut rates = vec![];
    testbed.sources(|_, source| source.set_pace(Pace::FULL));
    // The first one warms up.
    testbed.turn_for(each.as_nanos() as u64);
    testbed.workers(|_, _, turns| drop(turns.sample(true)));
    let units = |testbed: &Testbed<P>| {
        let stats = testbed.core.end().stats();
        [0, 1].map(|w| stats[w].received.get() + stats[w].handed_in.get())
    };
    let (units_before, all_before) = (units(testbed), testbed.watch.sum(|eye| &eye.left));
    for _ in 0..reps {
        let (left, began_ns) = (testbed.watch.sum(|eye| &eye.left), clock::monotonic_ns());
        testbed.turn_for(each.as_nanos() as u64);
        let packets = testbed.watch.sum(|eye| &eye.left) - left;
        rates.push(packets as f64 / (clock::monotonic_ns() - began_ns) as f64 * 1000.0);
    }
    let (units, all) = (units(testbed), testbed.watch.sum(|eye| &eye.left));
    let turns = testbed.workers(|_, _, turns| turns.sample(false));
    testbed.drain();
    let engine_ns = [0, 1].map(|w| {
        let (mut ns, mut seen) = (0, 0);
        for turn in turns[w].iter().filter(|turn| turn.counts()) {
            ns += u64::from(turn.ns);
            seen += u64::from(turn.polled + turn.handed_in);
        }
        let each_ns = ns as f64 / seen.max(1) as f64;
        each_ns * (units[w] - units_before[w]) as f64 / (all - all_before).max(1) as f64
    });
    FullLoad {
        mpps: Summary::of(rates),
        engine_ns,
        turns,
    }
}

/// Rate of sources and sinks by themselves: a loop that receives and sends replaces the engine on both workers.
fn source_limit<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, each: Duration) -> f64 {
    let (left, began_ns) = (testbed.watch.sum(|eye| &eye.left), clock::monotonic_ns());
    let until_ns = began_ns + each.as_nanos() as u64;
    testbed.workers(move |number, worker, _| {
        let queue = QueueId(number as u16);
        // Not before: what an engine had handed over by now would leave behind what the loop sends.
        worker.io().set_pace(Pace::FULL);
        while clock::monotonic_ns() < until_ns {
            forward(worker.io(), queue);
        }
        worker.io().set_pace(Pace::Still);
        // The other may have made some for us still.
        let until_ns = until_ns + 1_000_000;
        while clock::monotonic_ns() < until_ns {
            forward(worker.io(), queue);
        }
    });
    let packets = testbed.watch.sum(|eye| &eye.left) - left;
    packets as f64 / each.as_nanos() as f64 * 1000.0
}

fn forward<P: Packet>(io: &mut Source<P>, queue: QueueId) {
    io.work();
    for port in [N3, N6] {
        let mut burst = Burst::new();
        if io.rx(port, queue, &mut burst, BURST) > 0 {
            io.tx(port, QueueId(0), &mut burst);
        }
    }
}
