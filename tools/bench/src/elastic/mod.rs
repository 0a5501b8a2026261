//! `sluice bench elastic`: cost of shard migration, and the execution models.
//!
//! Two real workers with a source and a sink inside their ports (`source`), which number and stamp
//! each packet (`watch`), and a card between them (`card`); the control core runs beside the first.
//! `measure` moves shards one by one, `models` lets the same two workers be run-to-completion, a
//! pipeline and a mixture, `heavy` has some UEs become heavy while the daemon's scaling is on, and
//! `virtual_time` reckons with more workers by what turns of these two took.

mod heavy;
pub mod measure;
mod mempool_cache;
pub mod models;
pub(crate) mod nic_model;
pub mod packet_template;
mod report;
pub mod samples;
pub mod source;
mod steered;
pub mod testbed;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
pub(crate) mod turns;
pub mod virtual_time;
pub mod watch;

use super::args::ElasticArgs;
use super::path::variant::Variant;
use super::watch::{Failed, Measured};
use crate::Failure;
use crate::machine;
use heavy::{FILLS, FITS};
use measure::Pause;
use mempool_cache::Stock;
use models::Model;
use report::Outcome;
use sluice_port_dpdk::{Eal, MbufPool, register_thread};
use std::time::Duration;
use testbed::Testbed;

/// Packet memory in MiB, and packets: rings, queues and hold of two workers, several times over.
pub const PACKET_MEMORY_MIB: u32 = 96;
pub const PACKETS: u32 = 32_767;
/// Bursts of heavy UEs of a kind, on either worker in turn.
const BURSTS: usize = 20;

/// Measures.
pub fn run(args: &ElasticArgs) -> Result<Measured, Failed> {
    let cpus = machine::two_cpus(&args.cpus, "one for each worker").map_err(Failed::Lacking)?;
    let dpdk = machine::dpdk(PACKET_MEMORY_MIB, PACKETS, Some(cpus[0]));
    let (eal, pool) = dpdk.map_err(Failed::Lacking)?;
    let outcome = all(args, cpus, &eal, &pool).map_err(Failed::Midway)?;
    Ok(Measured {
        json: report::to_json(&outcome),
        table: report::to_table(&outcome),
        series: outcome.series(),
        fault: None,
    })
}

fn all(
    args: &ElasticArgs,
    cpus: [usize; 2],
    eal: &Eal,
    pool: &MbufPool,
) -> Result<Outcome, Failure> {
    let alloc = || {
        let mut stock = Stock::of(pool);
        Box::new(move || stock.take()) as Box<_>
    };
    eprintln!("establishing {} sessions", args.sessions);
    let registered = eal.clone();
    let pools = [alloc(), alloc()];
    let mut testbed = Testbed::build(args.sessions, cpus, Variant::USUAL, pools, move || {
        Box::new(register_thread(&registered).ok())
    })?;
    let apart_ns = 1000.0 / args.rate_mpps;
    let pauses = measure::moves(&mut testbed, args.moves, apart_ns);
    testbed.drain();
    let balance = measure::balance(&testbed);
    let drops = testbed.core.ledger().dropped;
    let each = Duration::from_secs_f64(args.seconds);
    let mut models = vec![];
    for model in Model::ALL {
        eprintln!("elastic/{}", model.name());
        let reps = args.reps.into();
        models.push(models::model(&mut testbed, model, reps, each, apart_ns));
    }
    eprintln!("heavy hitters");
    let mut bursts = |offer| heavy::bursts(&mut testbed, offer, BURSTS);
    let (fits, fills) = (bursts(FITS), bursts(FILLS));
    testbed.end();
    eprintln!("more workers, in virtual time");
    let in_virtual_time = virtual_time::results(&models, &Pause::took_ns(&pauses));
    Ok(Outcome {
        sessions: args.sessions,
        cpus,
        pauses,
        rate_mpps: 2.0 * args.rate_mpps,
        balance,
        drops,
        models,
        fits,
        fills,
        in_virtual_time,
    })
}
