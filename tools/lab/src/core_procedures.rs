//! Runner `core-procedures`: a 5G core in one of its wirings, and UEs that register, establish a session and deregister
//! in a closed loop; with `activity: mobility` they are handed over and paged as well.
//!
//! `sluice core` and `sluice ran` run as they are, in namespaces. A thread of the lab answers on N4 for the UPF, near or
//! behind a relay; UEs that are paged have `sluice upf`.

pub mod at_work;
pub mod files;
pub mod place;
mod relay;
mod upf;

use super::testbed::{bad, best_of, each, repeats};
use crate::experiments::{Job, Measured, Problem};
use crate::programs::cpu;
use at_work::{Core, Ran, Room, UpfAtWork, failures};
use files::{Activity, CoreFile};
use place::Place;
use serde_json::Value;
use sluice_host::env_check::{self, Need};
use std::time::Duration;

/// Name of a procedure in series, and at `sluice ran`.
const PROCEDURES: [(&str, &str); 3] = [
    ("registration", "registration"),
    ("session", "session_establishment"),
    ("deregistration", "deregistration"),
];
/// Further ones with `activity: mobility`.
const MOBILITY: [(&str, &str); 2] = [("handover", "handover"), ("paging", "paging")];
/// Figures of each, in series and at `sluice ran`.
const FIGURES: [(&str, &str); 3] = [("mean", "mean_ms"), ("p50", "p50_ms"), ("p99", "p99_ms")];
/// Before what counts: connections are made, and memory is touched.
const WARM_UP: Duration = Duration::from_millis(300);
/// How often a time is doubled in which not all procedures were done.
const LONGER: usize = 4;
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

/// A point's core, and its surroundings.
struct Setting<'a> {
    wiring: &'a str,
    ues: u32,
    activity: Activity,
    /// Functions have namespaces of their own.
    is_apart: bool,
    /// The AMF asks the NRF for an SMF before each session.
    discovers_each: bool,
    /// One way to the UPF.
    distance: Duration,
}

impl<'a> Setting<'a> {
    fn of(job: &'a Job<'_>) -> Result<Self, Problem> {
        let activity = match job.text("activity") {
            Ok("mobility") => Activity::Mobility,
            Ok("sessions") | Err(_) => Activity::Sessions,
            Ok(other) => return Err(bad("activity", other, "sessions or mobility")),
        };
        let is_apart = match job.text("namespaces") {
            Ok("one each") => true,
            Ok("one") | Err(_) => false,
            Ok(other) => return Err(bad("namespaces", other, "one or 'one each'")),
        };
        let discovers_each = match job.text("discovery") {
            Ok("each time") => true,
            Ok("kept") | Err(_) => false,
            Ok(other) => return Err(bad("discovery", other, "kept or 'each time'")),
        };
        let ms = job.number("upf_ms").unwrap_or(0.0);
        let distance = Duration::try_from_secs_f64(ms / 1e3);
        let setting = Self {
            wiring: job.text("wiring")?,
            ues: job.number("ues")? as u32,
            activity,
            is_apart,
            discovers_each,
            distance: distance.map_err(|_| bad("upf_ms", &ms.to_string(), "milliseconds"))?,
        };
        setting.is_possible()?;
        Ok(setting)
    }

    fn is_possible(&self) -> Result<(), Problem> {
        let is_far = !self.distance.is_zero();
        let why = match (self.is_apart, self.activity) {
            (true, _) if self.wiring != "http2" => {
                "rings and sockets do not leave a machine; expected http2"
            }
            (true, Activity::Mobility) => "one UPF for paging; expected namespaces: one",
            (true, _) if is_far => "one UPF near the SMF; expected upf_ms: 0",
            (_, Activity::Mobility) if is_far => "one UPF for paging; expected upf_ms: 0",
            _ => return Ok(()),
        };
        Err(Problem::Failed(why.to_owned()))
    }

    fn place(&self) -> Result<Place, Problem> {
        match (self.activity, self.is_apart) {
            (Activity::Mobility, _) => Place::with_data_network(),
            (Activity::Sessions, true) => Place::apart(),
            (Activity::Sessions, false) => Place::one(),
        }
    }

    fn procedures(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let further: &[(&str, &str)] = match self.activity {
            Activity::Mobility => &MOBILITY,
            Activity::Sessions => &[],
        };
        PROCEDURES.iter().chain(further).copied()
    }
}

/// One wiring under one load.
pub fn core_procedures(cpus: [usize; 2], job: &Job<'_>) -> Result<Measured, Problem> {
    let setting = Setting::of(job)?;
    let mut needs = vec![Need::NetworkAdmin, Need::Tool("ip")];
    if setting.activity == Activity::Mobility {
        needs.push(Need::Tun);
    }
    if let Some(lack) = env_check::missing(&needs).first() {
        return Err(Problem::Lacking(lack.to_string()));
    }
    let cpus = Cpus::of(cpus, job)?;
    let place = setting.place()?;
    let folder = tempfile::tempdir().map_err(|e| Problem::Failed(e.to_string()))?;
    let room = Room {
        place: &place,
        folder: folder.path(),
        core_cpus: &cpus.core,
        rest_cpus: &cpus.rest,
    };
    let _upf = match setting.activity {
        Activity::Sessions => UpfAtWork::without_packets(&room, setting.distance)?,
        Activity::Mobility => UpfAtWork::with_packets(&room, job)?,
    };
    let core_file = CoreFile {
        wiring: setting.wiring,
        subscribers: setting.ues,
        discovers_each: setting.discovers_each,
        contexts: None,
    };
    let core = Core::start(&room, &core_file, job)?;
    let ran = Ran {
        room: &room,
        ues: setting.ues,
        activity: setting.activity,
    };
    ran.warm_up(WARM_UP, job)?;
    let mut figures = Figures::default();
    let mut disturbed = None;
    for _ in 0..repeats(job)? {
        let seen = best_of(OTHERS_MOST, || {
            job.go_on()?;
            let pids = core.pids();
            let before = cpu::Times::now(&pids);
            let (told, took) = cycle(&ran, &setting, job)?;
            let spent = cpu::Times::now(&pids).since(before);
            Ok(((told, took, spent.core_ms), spent.others_share))
        })?;
        disturbed = disturbed.or(seen.disturbed);
        let (told, took, core_cpu_ms) = seen.what;
        figures.add(&told, &setting, (took, core_cpu_ms))?;
    }
    let mut measured = figures.measured();
    measured.disturbed = disturbed;
    Ok(measured)
}

/// UEs at work for as long as the job says, or longer where the machine is too slow for one life of a UE.
fn cycle(
    ran: &Ran<'_>,
    setting: &Setting<'_>,
    job: &Job<'_>,
) -> Result<(Value, Duration), Problem> {
    let mut lasts = each(job)?;
    for _ in 0..LONGER {
        let told = ran.cycle(lasts, job)?;
        let is_done = |row: &str| told[row]["done"].as_u64() > Some(0);
        if setting.procedures().all(|(_, row)| is_done(row)) || !failures(&told).is_empty() {
            return Ok((told, lasts));
        }
        lasts *= 2;
    }
    Ok((ran.cycle(lasts, job)?, lasts))
}

/// Values of series, one of each repetition.
#[derive(Default)]
struct Figures(std::collections::BTreeMap<String, Vec<f64>>);

impl Figures {
    /// Of what `sluice ran` tells of its procedures.
    fn add(
        &mut self,
        told: &Value,
        setting: &Setting<'_>,
        (took, core_cpu_ms): (Duration, f64),
    ) -> Result<(), Problem> {
        let failed = failures(told);
        if !failed.is_empty() {
            return Err(Problem::Failed(failed));
        }
        let mut done = 0.0;
        for (name, row) in setting.procedures() {
            let row = &told[row];
            let number = |key: &str| row[key].as_f64().unwrap_or_default();
            if number("done") == 0.0 {
                return Err(Problem::Failed(format!("no {name} was done: {told}")));
            }
            for (figure, key) in FIGURES {
                self.push(&format!("{name}_ms_{figure}"), number(key));
            }
            done += number("done");
        }
        // Each UE had one under way when the time was over.
        let in_time = done - f64::from(setting.ues);
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

    fn of_ues(ues: u32) -> Setting<'static> {
        Setting {
            wiring: "ring",
            ues,
            activity: Activity::Sessions,
            is_apart: false,
            discovers_each: false,
            distance: Duration::ZERO,
        }
    }

    #[test]
    fn rows_of_procedures_become_series() {
        let mut figures = Figures::default();
        let took = Duration::from_secs(2);
        figures.add(&told(), &of_ues(10), (took, 50.0)).unwrap();
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
        let second = (Duration::from_secs(1), 1.0);
        let why = figures.add(&told, &of_ues(1), second);
        let why = why.unwrap_err().to_string();
        assert!(
            why.contains("session_establishment has failed") && why.contains("#26"),
            "{why}"
        );
        let why = figures.add(&json!({}), &of_ues(1), second);
        assert!(why.unwrap_err().to_string().contains("no registration"));
    }

    #[test]
    fn what_a_wiring_cannot_do_is_refused() {
        let apart = Setting {
            is_apart: true,
            ..of_ues(1)
        };
        assert!(apart.is_possible().is_err());
        let http2 = Setting {
            wiring: "http2",
            ..apart
        };
        assert!(http2.is_possible().is_ok());
        let far = Setting {
            distance: Duration::from_millis(1),
            activity: Activity::Mobility,
            ..of_ues(1)
        };
        assert!(far.is_possible().is_err());
    }
}
