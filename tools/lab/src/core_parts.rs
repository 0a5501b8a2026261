//! Runner `core-parts`: CPU of a UE's procedures, split into network functions, wiring, SCTP, crypto, store, and UE with gNB.
//!
//! The same UEs go through the same steps at three cores: one on a thread, one that stores contexts as well, and one in
//! the wiring that is asked for, which stores them, too. What the second has used beyond the first is the store's, what
//! the third has used beyond the second is the wiring's. Crypto and SCTP are measured alone, and taken from the first.

mod alone;

use super::core_procedures::at_work::{Core, Ran, Room, UpfAtWork, failures};
use super::core_procedures::files::{Activity, CoreFile};
use super::core_procedures::place::Place;
use super::testbed::{bad, repeats};
use crate::experiments::{Job, Measured, Problem};
use crate::programs::cpu;
use sluice_host::env_check::{self, Need};
use sluice_host::process::Process;
use sluice_program::ask::ask_for;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Procedures in the order of their steps.
const PROCEDURES: [&str; 3] = ["registration", "session", "deregistration"];
const STEPS: [&str; 3] = ["register", "establish", "deregister"];
/// UEs do that before what counts: connections are made, and memory is touched.
const WARM_UP: Duration = Duration::from_millis(300);
/// After a step UEs are released.
const SETTLES: Duration = Duration::from_millis(100);
/// Longest step.
const STEP_LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);
/// Contexts have keys, and are stored in memory alone.
const MEMORY: &str = "/dev/shm";

/// Figures that were measured in one go, and not asked for yet: procedures of a wiring come one after the other.
#[derive(Default)]
pub struct Known {
    of: String,
    left: BTreeMap<&'static str, Measured>,
}

/// One procedure in one wiring.
pub fn core_parts(cpus: [usize; 2], known: &mut Known, job: &Job<'_>) -> Result<Measured, Problem> {
    if let Some(lack) = env_check::missing(&[Need::NetworkAdmin, Need::Tool("ip")]).first() {
        return Err(Problem::Lacking(lack.to_string()));
    }
    let wiring = job.text("wiring")?;
    let ues = job.number("ues")? as u32;
    let procedure = job.text("procedure")?;
    let of = format!("{wiring}, {ues} UEs, {} times", repeats(job)?);
    if known.of != of || !known.left.contains_key(procedure) {
        let left = measure(&cpus, (wiring, ues), job)?;
        *known = Known { of, left };
    }
    let found = known.left.remove(procedure);
    found.ok_or_else(|| bad("procedure", procedure, &PROCEDURES.join(", ")))
}

/// CPU of one UE's procedure, in microseconds; and messages on N2.
#[derive(Clone, Copy, Default, Debug)]
struct Spent {
    core_us: f64,
    ran_us: f64,
    n2_messages: f64,
}

/// Of each procedure.
type OfSteps = [Spent; 3];

fn measure(
    cpus: &[usize],
    (wiring, ues): (&str, u32),
    job: &Job<'_>,
) -> Result<BTreeMap<&'static str, Measured>, Problem> {
    let crypto_us = alone::crypto_us()?;
    let sctp_us = alone::sctp_message_us()?;
    let mut all: [Vec<Parts>; 3] = Default::default();
    for _ in 0..repeats(job)? {
        let spend = |wiring, stores| spend(cpus, (wiring, stores), ues, job);
        let thread = spend("thread", false)?;
        let stored = spend("thread", true)?;
        let wired = match wiring {
            "thread" => stored,
            wiring => spend(wiring, true)?,
        };
        for (n, all) in all.iter_mut().enumerate() {
            let three = [thread[n], stored[n], wired[n]];
            all.push(Parts::of(three, (crypto_us[n], sctp_us)));
        }
    }
    let measured = all.iter().map(|parts| Parts::measured(parts));
    Ok(PROCEDURES.into_iter().zip(measured).collect())
}

/// Parts of one UE's procedure, in microseconds of CPU.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Parts {
    nf: f64,
    wiring: f64,
    sctp: f64,
    crypto: f64,
    store: f64,
    ran: f64,
}

impl Parts {
    /// Of a core on a thread, one that stores contexts, and one in a wiring.
    fn of([thread, stored, wired]: [Spent; 3], (crypto_us, sctp_us): (f64, f64)) -> Self {
        let sctp = thread.n2_messages * sctp_us;
        Self {
            nf: (thread.core_us - sctp - crypto_us).max(0.0),
            wiring: (wired.core_us - stored.core_us).max(0.0),
            sctp,
            crypto: crypto_us,
            store: (stored.core_us - thread.core_us).max(0.0),
            ran: wired.ran_us,
        }
    }

    fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("nf", self.nf),
            ("wiring", self.wiring),
            ("sctp", self.sctp),
            ("crypto", self.crypto),
            ("store", self.store),
            ("ran", self.ran),
        ]
    }

    fn total(&self) -> f64 {
        self.named().iter().map(|(_, us)| us).sum()
    }

    /// Series of all parts and of their shares, one value of each repetition.
    fn measured(all: &[Self]) -> Measured {
        let mut measured = Measured::default();
        measured.add("total_us", all.iter().map(Self::total));
        let names = all.first().map(Self::named);
        for (n, (name, _)) in names.into_iter().flatten().enumerate() {
            let us = |parts: &Self| parts.named()[n].1;
            measured.add(&format!("{name}_us"), all.iter().map(us));
            let percent = |parts: &Self| 100.0 * us(parts) / parts.total();
            measured.add(&format!("{name}_percent"), all.iter().map(percent));
        }
        measured
    }
}

/// CPU of one UE's procedures with a core in this wiring, that stores contexts or does not.
fn spend(
    cpus: &[usize],
    (wiring, stores): (&str, bool),
    ues: u32,
    job: &Job<'_>,
) -> Result<OfSteps, Problem> {
    let failed = |e: std::io::Error| Problem::Failed(e.to_string());
    let folder = tempfile::tempdir().map_err(failed)?;
    let contexts = stores.then(|| tempfile::tempdir_in(MEMORY)).transpose();
    let contexts = contexts.map_err(failed)?;
    let place = Place::one()?;
    let room = Room {
        place: &place,
        folder: folder.path(),
        core_cpus: cpus,
        rest_cpus: cpus,
    };
    let _upf = UpfAtWork::without_packets(&room, Duration::ZERO)?;
    let config = CoreFile {
        wiring,
        subscribers: ues,
        discovers_each: false,
        contexts: contexts.as_ref().map(tempfile::TempDir::path),
    };
    let core = Core::start(&room, &config, job)?;
    let ran = Ran {
        room: &room,
        ues,
        activity: Activity::Sessions,
    };
    ran.warm_up(WARM_UP, job)?;
    let mut process = ran.begin(&steps(folder.path()))?;
    let mut seen = Vec::new();
    for n in 0..=STEPS.len() {
        until_there(&folder.path().join(format!("at-{n}")), &mut process, job)?;
        std::thread::sleep(SETTLES);
        seen.push(Seen::now(&core, process.number(), folder.path()));
        fs::write(folder.path().join(format!("go-{n}")), "").map_err(failed)?;
    }
    let told = ran.end(process, STEP_LIMIT, job)?;
    let why = failures(&told);
    if !why.is_empty() {
        return Err(Problem::Failed(why));
    }
    let mut spent = OfSteps::default();
    for (spent, both) in spent.iter_mut().zip(seen.windows(2)) {
        *spent = both[1].since(&both[0], ues);
    }
    Ok(spent)
}

/// Steps of all UEs, between which the script waits until this process has looked.
fn steps(folder: &Path) -> String {
    let folder = folder.display();
    let waits = |n: usize| {
        format!(
            "\x20 - run: {{namespace: current, command: 'touch {folder}/at-{n}; until [ -e {folder}/go-{n} ]; do sleep 0.01; done'}}\n"
        )
    };
    let step = |(n, step): (usize, &&str)| format!("\x20 - {step}:\n{}", waits(n + 1));
    let steps: String = STEPS.iter().enumerate().map(step).collect();
    waits(0) + &steps + "\x20 - end:\n"
}

fn until_there(file: &Path, process: &mut Process, job: &Job<'_>) -> Result<(), Problem> {
    let end = Instant::now() + STEP_LIMIT;
    while !file.exists() {
        job.go_on()?;
        if process.status().is_some() || Instant::now() > end {
            let what = "gNB and UEs do not come to their next step";
            return Err(Problem::Failed(what.to_owned()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Counts until a moment.
struct Seen {
    core_ns: u64,
    ran_ns: u64,
    n2_messages: u64,
}

impl Seen {
    fn now(core: &Core, ran: u32, folder: &Path) -> Self {
        let core_ns = cpu::run_ns_of_all(&core.pids());
        let ran_ns = cpu::run_ns(ran);
        // After that: the core works for its answer.
        let counters = ask_for(&folder.join("core.sock"), "counters").unwrap_or_default();
        let n2 = |name: &str| counters["n2"][name].as_u64().unwrap_or_default();
        Self {
            core_ns,
            ran_ns,
            n2_messages: n2("received") + n2("sent"),
        }
    }

    fn since(&self, before: &Self, ues: u32) -> Spent {
        let of_one = |now: u64, before: u64| now.saturating_sub(before) as f64 / f64::from(ues);
        Spent {
            core_us: of_one(self.core_ns, before.core_ns) / 1e3,
            ran_us: of_one(self.ran_ns, before.ran_ns) / 1e3,
            n2_messages: of_one(self.n2_messages, before.n2_messages),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_what_core_and_ues_have_used() {
        let spent = |core_us| Spent {
            core_us,
            ran_us: 70.0,
            n2_messages: 10.0,
        };
        let three = [spent(100.0), spent(130.0), spent(330.0)];
        let parts = Parts::of(three, (20.0, 3.0));
        let expected = Parts {
            nf: 50.0,
            wiring: 200.0,
            sctp: 30.0,
            crypto: 20.0,
            store: 30.0,
            ran: 70.0,
        };
        assert_eq!(parts, expected);
        assert_eq!(parts.total(), 400.0);
        let measured = Parts::measured(&[parts]);
        assert_eq!(measured.series["wiring_percent"].median, 50.0);
        assert_eq!(measured.series.len(), 13);
    }

    #[test]
    fn what_others_have_used_makes_no_part_negative() {
        let three = [9.0, 5.0, 3.0].map(|core_us| Spent {
            core_us,
            ..Spent::default()
        });
        let parts = Parts::of(three, (20.0, 3.0));
        assert!(parts.named().iter().all(|(_, us)| *us >= 0.0));
    }
}
