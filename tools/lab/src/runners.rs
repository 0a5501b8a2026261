//! Runners by name, and their shared resources.

use super::many_workers::{self, Known};
use super::testbed::{CurrentTestbed, Machine};
use super::{
    core_parts, core_procedures, lookup, models, pfcp, placement, scaling, shaping, user_plane,
    zero_loss,
};
use crate::experiments::{Job, Measured, Problem, Runner};
use sluice_bench::elastic::{PACKET_MEMORY_MIB, PACKETS};
use sluice_bench::machine;
use sluice_bench::path::io::Pool;
use sluice_host::thread;
use sluice_port_dpdk::{Eal, Mbuf, MbufPool, register_thread};
use std::any::Any;
use std::sync::Arc;

/// All that measures; DPDK starts with the first point.
pub struct Lab {
    /// Asked for before DPDK starts, which binds this thread to one of them.
    cpus: Vec<usize>,
    ready: Option<Ready>,
    parts: core_parts::Known,
}

/// A runner that starts programs on these CPUs.
type OfPrograms = fn([usize; 2], &Job<'_>) -> Result<Measured, Problem>;

struct Ready {
    testbed: CurrentTestbed<Mbuf>,
    known: Option<Known>,
    pool: MbufPool,
    eal: Eal,
}

impl Lab {
    /// On these CPUs, or the first two.
    pub fn new(cpus: &[u16]) -> Self {
        let cpus = match cpus {
            [] => thread::allowed_cpus().unwrap_or_default(),
            asked => asked.iter().map(|cpu| usize::from(*cpu)).collect(),
        };
        Self {
            cpus,
            ready: None,
            parts: core_parts::Known::default(),
        }
    }

    pub fn end(&mut self) {
        self.ready = None;
    }

    fn cpus(&self) -> Result<[usize; 2], Problem> {
        match self.cpus[..] {
            [near, far, ..] => Ok([near, far]),
            _ => Err(Problem::Lacking(
                "two CPUs are needed, one for each worker".to_owned(),
            )),
        }
    }

    fn ready(&mut self) -> Result<&mut Ready, Problem> {
        if self.ready.is_none() {
            let cpus = self.cpus()?;
            let (eal, pool) = start(cpus[0])?;
            let testbed = CurrentTestbed::new(machine(cpus, &eal, &pool));
            self.ready = Some(Ready {
                testbed,
                known: None,
                pool,
                eal,
            });
        }
        let lacking = || Problem::Lacking("DPDK did not start".to_owned());
        self.ready.as_mut().ok_or_else(lacking)
    }
}

/// DPDK and its packet memory.
pub fn start(cpu: usize) -> Result<(Eal, MbufPool), Problem> {
    machine::dpdk(PACKET_MEMORY_MIB, PACKETS, Some(cpu)).map_err(Problem::Lacking)
}

/// DPDK's buffers and threads.
pub fn machine(cpus: [usize; 2], eal: &Eal, pool: &MbufPool) -> Machine<Mbuf> {
    let (eal, pool) = (eal.clone(), pool.clone());
    let fresh = move || -> Pool<Mbuf> {
        let pool = pool.clone();
        Box::new(move || pool.alloc())
    };
    let register = move || -> Box<dyn Any> { Box::new(register_thread(&eal).ok()) };
    Machine {
        pool: Box::new(fresh),
        register: Arc::new(register),
        cpus,
    }
}

impl Runner for Lab {
    fn measure(&mut self, job: &Job<'_>) -> Result<Measured, Problem> {
        let runner = job.experiment.runner.as_deref().unwrap_or_default();
        // Those whose programs have the CPUs for themselves.
        let of_programs = match runner {
            "placement" => Some(placement::placement as OfPrograms),
            "core-procedures" => Some(core_procedures::core_procedures as OfPrograms),
            "user-plane" => Some(user_plane::user_plane as OfPrograms),
            _ => None,
        };
        if runner == "core-parts" {
            let cpus = self.cpus()?;
            if let Some(ready) = &mut self.ready {
                ready.testbed.clear();
            }
            return core_parts::core_parts(cpus, &mut self.parts, job);
        }
        if let Some(measure) = of_programs {
            let cpus = self.cpus()?;
            if let Some(ready) = &mut self.ready {
                ready.testbed.clear();
            }
            return measure(cpus, job);
        }
        if runner == "lookup" {
            // Without packets.
            return lookup::lookup(job);
        }
        if runner == "shaping" {
            // In virtual time.
            return shaping::shaping(job);
        }
        let ready = self.ready()?;
        let testbed = &mut ready.testbed;
        match runner {
            "zero-loss" => zero_loss::zero_loss(testbed, job),
            "models" => models::models(testbed, job),
            "profiles" => models::profiles(testbed, job),
            "cores" => many_workers::cores(testbed, &mut ready.known, job),
            "skew" => many_workers::skew(testbed, &mut ready.known, job),
            "scaling" => scaling::scaling(testbed, job),
            "pfcp" => {
                testbed.clear();
                let machine = machine(testbed.cpus(), &ready.eal, &ready.pool);
                pfcp::pfcp(&machine, &ready.pool, job)
            }
            "housekeeping" => {
                testbed.clear();
                let machine = machine(testbed.cpus(), &ready.eal, &ready.pool);
                pfcp::housekeeping(&machine, job)
            }
            other => Err(Problem::Failed(format!("there is no runner '{other}'"))),
        }
    }
}
