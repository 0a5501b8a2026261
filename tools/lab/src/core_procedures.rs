//! Runner `core-procedures`: a 5G core in one of its wirings, and UEs that register, establish a session and deregister
//! in a closed loop.
//!
//! `sluice core` and `sluice ran` run as they are, in a namespace; a thread of the lab answers on N4 for the UPF.

mod cpu;
mod programs;
mod upf;

use super::testbed::{bad, best_of, each, repeats};
use crate::experiments::{Job, Measured, Problem};
use programs::{Core, Ran};
use serde_json::Value;
use sluice_host::env_check::{self, Need};
use sluice_host::netns::Netns;
use std::time::Duration;
use upf::Upf;

/// Name of a procedure in series, and at `sluice ran`.
const PROCEDURES: [(&str, &str); 3] = [
    ("registration", "registration"),
    ("session", "session_establishment"),
    ("deregistration", "deregistration"),
];
/// Figures of each, in series and at `sluice ran`.
const FIGURES: [(&str, &str); 3] = [("mean", "mean_ms"), ("p50", "p50_ms"), ("p99", "p99_ms")];
/// Before what counts: connections are made, and memory is touched.
const WARM_UP: Duration = Duration::from_millis(300);
/// If others had the CPUs for more of the time, it is measured again. The kernel's own work for sockets takes some.
const OTHERS_MOST: f64 = 0.05;

/// CPUs of the core, and of RAN and UPF.
struct Cpus {
    core: Vec<usize>,
    rest: Vec<usize>,
}

impl Cpus {
    fn of(cpus: [usize; 2], job: &Job<'_>) -> Result<Self, Problem> {
        let [near, far] = cpus;
        match job.text("placement")? {
            "CPUs shared" => Ok(Self {
                core: cpus.to_vec(),
                rest: cpus.to_vec(),
            }),
            "core on one CPU" => Ok(Self {
                core: vec![near],
                rest: vec![far],
            }),
            other => Err(bad(
                "placement",
                other,
                "'CPUs shared' or 'core on one CPU'",
            )),
        }
    }
}

/// One wiring under one load.
pub fn core_procedures(cpus: [usize; 2], job: &Job<'_>) -> Result<Measured, Problem> {
    let needs = [Need::NetworkAdmin, Need::Tool("ip")];
    if let Some(lack) = env_check::missing(&needs).first() {
        return Err(Problem::Lacking(lack.to_string()));
    }
    let cpus = Cpus::of(cpus, job)?;
    let ues = job.number("ues")? as u32;
    let failed = |error: &dyn std::fmt::Display| Problem::Failed(error.to_string());
    let ns = Netns::create("lab-core").map_err(|e| failed(&e))?;
    let folder = tempfile::tempdir().map_err(|e| failed(&e))?;
    let _upf = Upf::start(ns.ns(), cpus.rest.clone())?;
    let core = Core::start(
        (ns.ns(), folder.path()),
        &cpus.core,
        (job.text("wiring")?, ues),
        job,
    )?;
    let ran = Ran {
        ns: ns.ns(),
        folder: folder.path(),
        cpus: &cpus.rest,
        ues,
    };
    ran.cycle(WARM_UP, job)?;
    let mut figures = Figures::default();
    let mut disturbed = None;
    for _ in 0..repeats(job)? {
        let seen = best_of(OTHERS_MOST, || {
            job.go_on()?;
            let before = cpu::Times::now(core.pid());
            let told = ran.cycle(each(job)?, job)?;
            let spent = cpu::Times::now(core.pid()).since(before);
            Ok(((told, spent.core_ms), spent.others_share))
        })?;
        disturbed = disturbed.or(seen.disturbed);
        let (told, core_cpu_ms) = seen.what;
        figures.add(&told, (ues, each(job)?), core_cpu_ms)?;
    }
    let mut measured = figures.measured();
    measured.disturbed = disturbed;
    Ok(measured)
}

/// Values of series, one of each repetition.
#[derive(Default)]
struct Figures(std::collections::BTreeMap<String, Vec<f64>>);

impl Figures {
    /// Of what `sluice ran` tells of its procedures.
    fn add(
        &mut self,
        told: &Value,
        (ues, took): (u32, Duration),
        core_cpu_ms: f64,
    ) -> Result<(), Problem> {
        let mut done = 0.0;
        for (name, row) in PROCEDURES {
            let row = &told[row];
            let number = |key: &str| row[key].as_f64().unwrap_or_default();
            if number("done") == 0.0 {
                return Err(Problem::Failed(format!("no {name} was done: {told}")));
            }
            if number("refused") + number("timed_out") + number("lost") > 0.0 {
                let reasons = &row["reasons"];
                return Err(Problem::Failed(format!("{name} has failed: {reasons}")));
            }
            for (figure, key) in FIGURES {
                self.push(&format!("{name}_ms_{figure}"), number(key));
            }
            done += number("done");
        }
        // Each UE had one under way when the time was over.
        let in_time = done - f64::from(ues);
        self.push("procedures_per_s", in_time / took.as_secs_f64());
        let lives = told["registration"]["done"].as_f64().unwrap_or(1.0);
        self.push("core_cpu_ms", core_cpu_ms / lives);
        Ok(())
    }

    fn push(&mut self, series: &str, value: f64) {
        self.0.entry(series.to_owned()).or_default().push(value);
    }

    fn measured(self) -> Measured {
        let mut measured = Measured::default();
        for (series, values) in self.0 {
            measured.add(&series, values);
        }
        measured
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told() -> Value {
        let row = |ms: f64| {
            json!({
                "done": 20, "refused": 0, "timed_out": 0, "lost": 0,
                "mean_ms": ms, "p50_ms": ms / 2.0, "p99_ms": 3.0 * ms, "reasons": {},
            })
        };
        json!({ "registration": row(6.0), "session_establishment": row(4.0), "deregistration": row(2.0) })
    }

    #[test]
    fn rows_of_procedures_become_series() {
        let mut figures = Figures::default();
        figures
            .add(&told(), (10, Duration::from_secs(2)), 50.0)
            .unwrap();
        let measured = figures.measured();
        let of = |name: &str| measured.series[name].median;
        assert_eq!(of("registration_ms_mean"), 6.0);
        assert_eq!(of("session_ms_p50"), 2.0);
        assert_eq!(of("deregistration_ms_p99"), 6.0);
        assert_eq!(of("procedures_per_s"), 25.0);
        assert_eq!(of("core_cpu_ms"), 2.5);
    }

    #[test]
    fn a_procedure_that_failed_spoils_the_point() {
        let mut told = told();
        told["session_establishment"]["refused"] = json!(1);
        told["session_establishment"]["reasons"] = json!({ "refused: #26": 1 });
        let mut figures = Figures::default();
        let why = figures.add(&told, (1, Duration::from_secs(1)), 1.0);
        let why = why.unwrap_err().to_string();
        assert!(
            why.contains("session has failed") && why.contains("#26"),
            "{why}"
        );
        let why = figures.add(&json!({}), (1, Duration::from_secs(1)), 1.0);
        assert!(why.unwrap_err().to_string().contains("no registration"));
    }
}
