//! Runner `housekeeping`: control core load on its own CPU or on the
//! worker's.

use super::pfcp::world_of;
use super::testbed::{LabMachine, bad, repeats};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::path::io::Pool;
use sluice_bench::pfcp::flow::{self, FlowLoad};
use sluice_bench::pfcp::port::{self, PortDoor};
use sluice_bench::pfcp::testbed::{Cpus, Loop};
use sluice_bench::stats::percentile;
use sluice_port_dpdk::Mbuf;

/// Packets of one worker while sessions are modified.
pub fn housekeeping(ground: &LabMachine<Mbuf>, job: &Job<'_>) -> Result<Measured, Problem> {
    let [control, worker] = ground.cpus;
    let n4 = match job.text("control")? {
        "own core" => control,
        "the worker's core" => worker,
        other => return Err(bad("control", other, "'own core' or 'the worker's core'")),
    };
    let failed = Problem::Failed;
    let fresh = || -> Pool<Mbuf> { (ground.pool)() };
    let (n4_port, mut n4_wire) = port::pair(fresh());
    let mut world = world_of(ground, job, n4_port, Cpus { n4, worker })?;
    let asked = FlowLoad {
        rate_per_s: job.number("modifications_per_s")?,
        what: Loop::Housekeeping,
        reps: repeats(job)?,
    };
    job.go_on()?;
    let mut door = PortDoor(fresh());
    let figures = flow::measure(&mut world, (&mut door, &mut n4_wire), asked).map_err(failed)?;
    let mut measured = Measured::default();
    let trips_us = |share| f64::from(percentile(&figures.trips_ns, share)) / 1000.0;
    measured.add(
        "mpps",
        [figures.mpps.min, figures.mpps.median, figures.mpps.max],
    );
    measured.add("answer_us_p50", [trips_us(0.5)]);
    measured.add("answer_us_p99", [trips_us(0.99)]);
    measured.add("lost", [figures.lost as f64]);
    Ok(measured)
}
