//! Runners `cores` and `skew`: more workers than there are CPUs, in virtual time.
//!
//! What turns cost is measured
//! on the two real workers first, for the very packets of the point.

use super::testbed::{Load, Rig, add_distribution, bad, each, engine_mpps, repeats, sessions};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::elastic::measure::{Pause, moves};
use sluice_bench::elastic::models::{self, arrange, full_load};
use sluice_bench::elastic::samples::turns;
use sluice_bench::elastic::virtual_time::costs::Measured as Costs;
use sluice_bench::elastic::virtual_time::{Model, throughput};
use sluice_port::Packet;

/// Moves that are looked at, with packets so far apart at each worker.
const MOVES: u32 = 100;
const APART_NS: f64 = 1000.0;

/// Costs of the packets of the moment, and what the real workers made.
pub struct Known {
    of: (u32, Load),
    costs: Costs,
    real: [(models::Model, f64); 3],
}

/// Throughput with so many cores.
pub fn cores<P: Packet + Send + 'static>(
    rig: &mut Rig<P>,
    known: &mut Option<Known>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let load = Load::of(job)?;
    let (name, cores) = (job.text("model")?, job.number("cores")? as usize);
    let model = model(name)?;
    let mut measured = Measured::default();
    let known = known_of(rig, known, job, &load)?;
    if let Some((_, mpps)) = known
        .real
        .iter()
        .find(|(m, _)| cores == 2 && *m == real(model))
    {
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
    rig: &mut Rig<P>,
    known: &mut Option<Known>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let load = Load::both_ways(job)?;
    let known = known_of(rig, known, job, &load)?;
    let name = job.text("model")?;
    let scene = super::burst::Scene {
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
        all.push(super::burst::run(&known.costs, &scene, seed as u64 + 1));
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
        all.iter().map(|b| f64::from(b.p99_ns) / 1000.0),
    );
    if let Some(last) = all.last() {
        add_distribution(&mut measured, &last.times_ns);
    }
    Ok(measured)
}

fn model(name: &str) -> Result<Model, Problem> {
    match name {
        "rtc" | "sluice" => Ok(Model::RunToCompletion),
        "pipeline" => Ok(Model::Pipeline),
        "mixed" => Ok(Model::Mixed),
        other => Err(bad("model", other, "rtc, pipeline, mixed or sluice")),
    }
}

fn real(model: Model) -> models::Model {
    match model {
        Model::RunToCompletion => models::Model::RunToCompletion,
        Model::Pipeline => models::Model::Pipeline,
        Model::Mixed => models::Model::Mixed,
    }
}

/// The costs of these packets: those that are known, or measured now.
fn known_of<'a, P: Packet + Send + 'static>(
    rig: &mut Rig<P>,
    known: &'a mut Option<Known>,
    job: &Job<'_>,
    load: &Load,
) -> Result<&'a Known, Problem> {
    let of = (sessions(job)?, load.clone());
    if known.as_ref().is_none_or(|known| known.of != of) {
        *known = Some(measure(rig, job, of)?);
    }
    known
        .as_ref()
        .ok_or_else(|| Problem::Failed("no costs".to_owned()))
}

fn measure<P: Packet + Send + 'static>(
    rig: &mut Rig<P>,
    job: &Job<'_>,
    of: (u32, Load),
) -> Result<Known, Problem> {
    let each = each(job)?;
    let world = rig.world(of.0, &of.1)?;
    let pauses = moves(world, MOVES, APART_NS);
    let mut costs = Costs {
        moves_ns: pauses_ns(&pauses),
        ..Costs::default()
    };
    let mut real = models::Model::ALL.map(|model| (model, f64::NAN));
    for (model, engine) in &mut real {
        job.go_on()?;
        arrange(world, *model);
        let full = full_load(world, repeats(job)?, each);
        *engine = engine_mpps(&full);
        costs.add(*model, &turns(world, APART_NS));
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
