//! Runners `cores` and `skew`: more workers than there are CPUs, in virtual time.
//!
//! The cost of turns is measured on the two real workers first, with the packets of the point.

use super::testbed::{
    CurrentTestbed, Load, add_distribution, each, engine_mpps, model, repeats, sessions,
};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::elastic::measure::{Pause, moves};
use sluice_bench::elastic::models::{Model, arrange, full_load};
use sluice_bench::elastic::samples::turns;
use sluice_bench::elastic::virtual_time::burst::{Course, Offer, Scene};
use sluice_bench::elastic::virtual_time::costs::Measured as Costs;
use sluice_bench::elastic::virtual_time::{throughput, throughput_with};
use sluice_bench::stats::percentile;
use sluice_port::Packet;

/// Moves that are looked at, with packets so far apart at each worker.
const MOVES: u32 = 100;
const APART_NS: f64 = 1000.0;

const MS: f64 = 1_000_000.0;
/// Evenly before, then the burst; what it comes to is counted behind the time for levelling.
const BEFORE_NS: f64 = 5.0 * MS;
const LEVELLED_NS: f64 = 20.0 * MS;
const COUNTED_NS: f64 = 15.0 * MS;
/// Longer than full queues and rings take when nothing comes any more: by then what came while it was
/// counted has left, or is lost.
const LEAVING_NS: f64 = 25.0 * MS;

/// Costs of the packets of the moment, and what the real workers made.
pub struct Known {
    of: (u32, Load),
    costs: Costs,
    real: [(Model, f64); 3],
}

/// Throughput with so many cores.
pub fn cores<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    known: &mut Option<Known>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let load = Load::of(job)?;
    let (name, cores) = (job.text("model")?, job.number("cores")? as usize);
    let model = model(name)?;
    let mut measured = Measured::default();
    let known = known_of(testbed, known, job, &load)?;
    if let Some((_, mpps)) = known.real.iter().find(|(m, _)| cores == 2 && *m == model) {
        measured.add("real_mpps", [*mpps]);
    }
    // A pipeline has at least one who polls and one who executes.
    if cores == 1 && model == Model::Pipeline {
        return Ok(measured);
    }
    let model = if cores == 1 {
        Model::RunToCompletion
    } else {
        model
    };
    let mpps = throughput(&known.costs, model, cores.max(1));
    let line_bits = job.number("line_rate_gbps")? * 1000.0;
    // On a line each frame has its FCS, preamble and gap besides.
    let frame_bits =
        (load.tunnel_frame() + (super::testbed::FCS + super::testbed::LINE) as f64) * 8.0;
    measured.add("mpps", [mpps]);
    measured.add("gbps", [(mpps * frame_bits).min(line_bits) / 1000.0]);
    Ok(measured)
}

/// One worker's UEs, or some of them, get so much load.
pub fn skew<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    known: &mut Option<Known>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let load = Load::of(job)?;
    let known = known_of(testbed, known, job, &load)?;
    let name = job.text("model")?;
    let skew = Skew {
        model: model(name)?,
        levels: name != "rtc",
        owners: job.number("workers")? as usize,
        other_load: job.number("other_load")?,
        hot_load: job.number("hot_load")?,
        share_of_ues: job.number("burst_share_of_ues")?,
    };
    let mut all = vec![];
    for seed in 0..repeats(job)? {
        job.go_on()?;
        all.push(skew.burst(&known.costs, seed as u64 + 1));
    }
    let mut measured = Measured::default();
    measured.add("offered_mpps", all.iter().map(|b| b.offered_mpps));
    measured.add("sent_mpps", all.iter().map(|b| b.sent_mpps));
    measured.add(
        "sent_percent",
        all.iter().map(|b| b.sent_mpps / b.offered_mpps * 100.0),
    );
    measured.add(
        "latency_us_p99",
        all.iter()
            .map(|b| f64::from(percentile(&b.times_ns, 0.99)) / 1000.0),
    );
    if let Some(last) = all.last() {
        add_distribution(&mut measured, &last.times_ns);
    }
    Ok(measured)
}

/// How one worker's UEs get more.
struct Skew {
    model: Model,
    /// Sessions move by the load.
    levels: bool,
    /// Workers that execute; a pipeline has pollers besides.
    owners: usize,
    /// Load of each worker's UEs, and that of the first one's once it bursts, by what a worker is
    /// able to.
    other_load: f64,
    hot_load: f64,
    /// Which share of the first worker's UEs makes the burst.
    share_of_ues: f64,
}

/// Packets that came after the time for levelling.
struct BurstResult {
    offered_mpps: f64,
    sent_mpps: f64,
    /// Of packets that were sent; sorted.
    times_ns: Vec<u32>,
}

impl Skew {
    fn burst(&self, costs: &Costs, seed: u64) -> BurstResult {
        let Self { model, owners, .. } = *self;
        let (hand, take) = (costs.hand.full_ns(), costs.take.full_ns());
        // As many as keep the others busy, and one more: pollers are never what is short.
        let pollers = match model {
            Model::Pipeline => (owners as f64 * hand / take).ceil() as usize + 1,
            _ => 0,
        };
        let workers = [pollers + owners, pollers];
        // Packets that a worker is able to in a nanosecond.
        let able = throughput_with(costs, model, workers) / 1000.0 / owners as f64;
        let queues = if pollers == 0 { owners } else { pollers };
        let scene = Scene {
            model,
            workers,
            offer: Offer {
                even: self.other_load * able * owners as f64 / queues as f64,
                on_top: (self.hot_load - self.other_load).max(0.0) * able,
            },
            share_of_ues: self.share_of_ues,
            begins_ns: BEFORE_NS,
            levels: self.levels,
            seed,
        };
        let mut course = Course::new(costs, scene);
        let from_ns = BEFORE_NS + LEVELLED_NS;
        let window_ns = [from_ns, from_ns + COUNTED_NS];
        (course.all.window_ns, course.traffic.window_ns) = (window_ns, window_ns);
        course.all.times_ns = Some(vec![]);
        while course.now_ns < window_ns[1] + LEAVING_NS {
            if course.now_ns >= window_ns[1] {
                course.traffic.feeds.iter_mut().for_each(|f| f.rate = 0.0);
            }
            course.step();
        }
        let times = course.all.times_ns.take().unwrap_or_default();
        let mut times_ns: Vec<u32> = times.into_iter().map(|ns| ns as u32).collect();
        times_ns.sort_unstable();
        BurstResult {
            offered_mpps: course.traffic.came as f64 / COUNTED_NS * 1000.0,
            sent_mpps: times_ns.len() as f64 / COUNTED_NS * 1000.0,
            times_ns,
        }
    }
}

/// The costs of these packets: those that are known, or measured now.
fn known_of<'a, P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    known: &'a mut Option<Known>,
    job: &Job<'_>,
    load: &Load,
) -> Result<&'a Known, Problem> {
    let of = (sessions(job)?, load.clone());
    if known.as_ref().is_none_or(|known| known.of != of) {
        *known = Some(measure(testbed, job, of)?);
    }
    known
        .as_ref()
        .ok_or_else(|| Problem::Failed("no costs".to_owned()))
}

fn measure<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    job: &Job<'_>,
    of: (u32, Load),
) -> Result<Known, Problem> {
    let each = each(job)?;
    let testbed = testbed.of_sessions(of.0, &of.1)?;
    let pauses = moves(testbed, MOVES, APART_NS);
    let mut costs = Costs {
        moves_ns: pauses_ns(&pauses),
        ..Costs::default()
    };
    let mut real = Model::ALL.map(|model| (model, f64::NAN));
    for (model, engine) in &mut real {
        job.go_on()?;
        arrange(testbed, *model);
        let full = full_load(testbed, repeats(job)?, each);
        *engine = engine_mpps(&full);
        costs.add(*model, &turns(testbed, APART_NS));
    }
    let costs = costs.settled();
    if !costs.is_complete() {
        let why = "the real workers took no turns of some kind; nothing can be reckoned from them";
        return Err(Problem::Failed(why.to_owned()));
    }
    Ok(Known { of, costs, real })
}

/// Of all moves, if each was disturbed.
fn pauses_ns(pauses: &[Pause]) -> Vec<f64> {
    match Pause::took_ns(pauses) {
        quiet if quiet.is_empty() => pauses.iter().map(|p| p.took_ns as f64).collect(),
        quiet => quiet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_bench::elastic::virtual_time::costs::Costs as Each;

    fn sent(model: Model, levels: bool, hot_load: f64) -> f64 {
        let costs = Costs {
            own: Each::fixed(200.0),
            hand: Each::fixed(120.0),
            take: Each::fixed(230.0),
            idle_ns: vec![150],
            moves_ns: vec![2_000.0],
        };
        let skew = Skew {
            model,
            levels,
            owners: 4,
            other_load: 0.4,
            hot_load,
            share_of_ues: 0.2,
        };
        let outcome = skew.burst(&costs, 1);
        let share = outcome.sent_mpps / outcome.offered_mpps;
        assert!(share <= 1.0, "sent {share} of what was offered");
        share
    }

    /// A poller that hands over pays more than half of what executing costs, so moves alone would not
    /// do for run-to-completion: the card has to follow.
    #[test]
    fn a_burst_is_levelled_where_sessions_move_and_nowhere_else() {
        let rtc = Model::RunToCompletion;
        // Where every queue has room nothing is lost.
        assert_eq!(sent(rtc, false, 0.5), 1.0);
        assert!(sent(rtc, false, 1.75) < 0.8);
        for hot_load in [1.25, 1.75] {
            for model in [rtc, Model::Pipeline] {
                let share = sent(model, true, hot_load);
                assert!(share > 0.97, "{model:?} at {hot_load}: {share}");
            }
        }
    }
}
