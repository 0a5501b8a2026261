//! Load of workers since the last query: load, time asleep, what each stage took, and the shards
//! with most packets.

use serde_json::{Map, Value, json};
use sluice_control::core::UpfControl;
use sluice_datapath::forward::slow_reason::SlowReason;
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::limits::HANDOVER_RING;
use sluice_datapath::stage_timer::Stage;
use sluice_mem::ticks;
use sluice_port::Packet;
use std::time::Instant;

/// How many of a worker's shards are named.
const HOTTEST: usize = 3;

/// Counters of the workers at the last question.
pub struct Load {
    pub started: Instant,
    started_ticks: u64,
    asked: Instant,
    last: Vec<Reading>,
    cpus: Vec<Option<usize>>,
}

/// What one worker had counted.
#[derive(Clone, Default)]
struct Reading {
    busy_ns: u64,
    busy_turns: u64,
    packets: u64,
    asleep_ns: u64,
    away_ns: u64,
    stages: [Timed; Stage::ALL.len()],
    heat: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct Timed {
    ticks: u64,
    packets: u64,
    batches: u64,
}

impl Load {
    /// For workers on these CPUs, from now on.
    pub fn new(cpus: Vec<Option<usize>>) -> Self {
        let now = Instant::now();
        Self {
            started: now,
            started_ticks: ticks::now(),
            asked: now,
            last: vec![Reading::default(); cpus.len()],
            cpus,
        }
    }

    /// Ticks of the processor's clock in a nanosecond, measured since the start.
    pub fn ticks_per_ns(&self) -> f64 {
        let elapsed_ns = self.started.elapsed().as_nanos().max(1) as f64;
        ticks::now().wrapping_sub(self.started_ticks) as f64 / elapsed_ns
    }

    /// A line for each worker. Shares are of the time since the last question.
    pub fn workers<P: Packet>(&mut self, core: &UpfControl<P>) -> Vec<Value> {
        let elapsed_ns = self.asked.elapsed().as_nanos().max(1) as f64;
        self.asked = Instant::now();
        let ticks_per_ns = self.ticks_per_ns();
        let end = core.end();
        let (owned, pollers) = (end.mover().owned(), end.mover().pollers());
        let all = end.stats().iter().zip(&mut self.last).zip(&self.cpus);
        all.enumerate()
            .map(|(id, ((stats, last), cpu))| {
                let now = Reading::of(stats);
                let queues = pollers.iter().filter(|(_, by)| usize::from(*by) == id);
                let mut line = json!({
                    "id": id,
                    "core": cpu,
                    "shards": owned[id],
                    "rx_queues": queues.count(),
                    "received": stats.received.get(),
                    "transmitted": stats.transmitted.get(),
                    "handed_in": stats.handed_in.get(),
                    "handed_out": stats.handed_out.get(),
                    "mss_clamped": stats.mss_clamped.get(),
                    "transactions": stats.transactions.get(),
                    "busy_turns": stats.busy_turns.get(),
                    "idle_turns": stats.idle_turns.get(),
                    "slow_path": slow_path(stats),
                    "ring_waiting": stats.waiting.get(),
                    "ring_places": HANDOVER_RING * (end.workers() - 1),
                });
                if let Value::Object(line) = &mut line {
                    now.describe(last, (elapsed_ns, ticks_per_ns), line);
                }
                *last = now;
                line
            })
            .collect()
    }
}

impl Reading {
    fn of(stats: &WorkerStats) -> Self {
        let timed = |stage| {
            let counters = stats.stages.of(stage);
            Timed {
                ticks: counters.ticks.get(),
                packets: counters.packets.get(),
                batches: counters.batches.get(),
            }
        };
        Self {
            busy_ns: stats.busy_ns.get(),
            busy_turns: stats.busy_turns.get(),
            packets: stats.received.get() + stats.handed_in.get(),
            asleep_ns: stats.asleep_ns.get(),
            away_ns: stats.away_ns.get(),
            stages: Stage::ALL.map(timed),
            heat: stats.heat.iter().map(|heat| heat.get()).collect(),
        }
    }

    /// What happened between `last` and now.
    fn describe(
        &self,
        last: &Self,
        (elapsed_ns, ticks_per_ns): (f64, f64),
        line: &mut Map<String, Value>,
    ) {
        let busy_ns = self.busy_ns.saturating_sub(last.busy_ns);
        let packets = self.packets.saturating_sub(last.packets);
        let turns = self.busy_turns.saturating_sub(last.busy_turns);
        let share = |ns: u64| json!((ns as f64 / elapsed_ns).min(1.0));
        let asleep_ns = self.asleep_ns.saturating_sub(last.asleep_ns);
        let away_ns = self.away_ns.saturating_sub(last.away_ns);
        let ns = ratio(busy_ns as f64, packets);
        line.insert("busy_share".into(), share(busy_ns));
        line.insert("asleep_share".into(), share(asleep_ns));
        line.insert("away_share".into(), share(away_ns));
        line.insert("ns_per_packet".into(), json!(ns));
        line.insert(
            "cycles_per_packet".into(),
            json!(ns.map(|ns| ns * ticks_per_ns)),
        );
        line.insert(
            "packets_per_turn".into(),
            json!(ratio(packets as f64, turns)),
        );
        line.insert("hottest".into(), Value::Array(self.hottest(last)));
        line.insert("stages".into(), self.stages(last, ticks_per_ns));
    }

    /// By samples: see [`sluice_datapath::stage_timer`].
    fn stages(&self, last: &Self, ticks_per_ns: f64) -> Value {
        let all = Stage::ALL.into_iter().zip(&self.stages).zip(&last.stages);
        let described = all.filter_map(|((stage, now), last)| {
            let packets = now.packets.saturating_sub(last.packets);
            let batches = now.batches.saturating_sub(last.batches);
            let cycles = ratio(now.ticks.saturating_sub(last.ticks) as f64, packets)?;
            let told = json!({
                "cycles_per_packet": cycles,
                "ns_per_packet": cycles / ticks_per_ns,
                "packets_per_batch": ratio(packets as f64, batches),
                "batches_timed": batches,
            });
            Some((stage.name().to_owned(), told))
        });
        Value::Object(described.collect())
    }

    /// The shards with most packets, and their shares of the worker's.
    fn hottest(&self, last: &Self) -> Vec<Value> {
        let before = |shard: usize| last.heat.get(shard).copied().unwrap_or(0);
        let all = self.heat.iter().enumerate();
        let mut heats: Vec<(u64, usize)> = all
            .map(|(shard, heat)| (heat.saturating_sub(before(shard)), shard))
            .filter(|(heat, _)| *heat > 0)
            .collect();
        let total: u64 = heats.iter().map(|(heat, _)| heat).sum();
        heats.sort_unstable_by(|a, b| b.cmp(a));
        let named = heats.iter().take(HOTTEST);
        named
            .map(|(heat, shard)| json!({ "shard": shard, "share": *heat as f64 / total as f64 }))
            .collect()
    }
}

/// Packets that left the fast path since the start, by the reasons that there were.
fn slow_path(stats: &WorkerStats) -> Value {
    let all = SlowReason::ALL.into_iter();
    let counted = all.map(|reason| (reason, stats.slow[reason as usize].get()));
    let told = counted.filter(|(_, packets)| *packets > 0);
    let told = told.map(|(reason, packets)| (reason.name().to_owned(), json!(packets)));
    Value::Object(told.collect())
}

/// Nothing of nothing is no figure.
fn ratio(of: f64, n: u64) -> Option<f64> {
    (n > 0).then(|| of / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_since_the_last_question_is_told() {
        let stats = WorkerStats::default();
        let before = Reading::of(&stats);
        stats.received.add(1_000);
        stats.busy_ns.add(50_000);
        stats.busy_turns.add(10);
        stats.asleep_ns.add(400_000);
        stats.away_ns.add(100_000);
        stats.heat[7].add(300);
        stats.heat[9].add(100);
        let execute = stats.stages.of(Stage::Execute);
        execute.ticks.add(6_000);
        execute.packets.add(100);
        execute.batches.add(1);
        let mut line = Map::new();
        Reading::of(&stats).describe(&before, (1_000_000.0, 3.0), &mut line);
        let want = json!({
            "busy_share": 0.05, "asleep_share": 0.4, "away_share": 0.1,
            "ns_per_packet": 50.0, "cycles_per_packet": 150.0, "packets_per_turn": 100.0,
            "hottest": [{ "shard": 7, "share": 0.75 }, { "shard": 9, "share": 0.25 }],
            "stages": { "execute": {
                "cycles_per_packet": 60.0, "ns_per_packet": 20.0,
                "packets_per_batch": 100.0, "batches_timed": 1,
            } },
        });
        assert_eq!(Value::Object(line), want);
        let mut idle = Map::new();
        Reading::of(&stats).describe(&Reading::of(&stats), (1_000.0, 3.0), &mut idle);
        assert!(idle["ns_per_packet"].is_null() && idle["hottest"] == json!([]));
    }
}
