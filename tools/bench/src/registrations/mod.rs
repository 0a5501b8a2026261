//! `sluice bench core`: what registrations cost the core.
//!
//! `core` has the core and its UEs in one process and in virtual time, where only the core's work is
//! counted; `wire` has SCTP between them; `limit` is the crypto and the codecs alone; `storm` has more registrations
//! than can be done, `soak` registered UEs that come and go for long; `wiring` sets functions of one host beside those
//! of two.

mod limit;
mod soak;
mod storm;
mod virtual_core;
mod wire;
mod wiring;

use serde_json::{Value, json};
use sluice_host::process::resident_bytes;
use sluice_n2::FromAmf;

use crate::Failure;
use crate::args::{CoreArgs, CorePart, CoreRanArgs};
use crate::report;
use crate::stats::{Summary, percentile, round};
use crate::watch::history::Series;
use crate::watch::{Failed, Measured};
use virtual_core::Cost;
pub(crate) use virtual_core::{Around, Identity, VirtualCore, parts, ue};

/// UEs of a batch: as many as a busy AMF has under way at a time.
const BATCH: usize = 256;
/// Registered UEs of the small core that the great one is compared with.
const SMALL: u32 = 1_000;
/// Rounds of crypto and codecs.
const ROUNDS: u32 = 2_000;
/// Octets of a registered UE at the most, and by how much more a registration may cost among many.
const GOAL_BYTES: f64 = 8_192.0;
const GOAL_GROWTH: f64 = 1.2;
/// Goodput per CPU-second in a storm, by that at capacity, at the least.
const GOAL_STORM: f64 = 0.9;

pub fn run(args: &CoreArgs) -> Result<Measured, Failed> {
    let measured = match args.only {
        Some(CorePart::Registrations) => all(args),
        Some(CorePart::Storm) => storms(args).map(|storms| measured(vec![storms])),
        Some(CorePart::Soak) => soaked(args).map(|soaked| measured(vec![soaked])),
        Some(CorePart::Wiring) => wiring::measure(args).map(|part| measured(vec![part])),
        None => all(args).and_then(|all| match args.storm_s {
            0 => Ok(all),
            _ => Ok(join(all, measured(vec![storms(args)?]))),
        }),
    };
    measured.map_err(Failed::Midway)
}

/// A part that is no row of registrations.
struct Part {
    key: &'static str,
    json: Value,
    series: Vec<Series>,
    table: String,
    fault: Option<String>,
}

fn measured(parts: Vec<Part>) -> Measured {
    let object = parts
        .iter()
        .map(|part| (part.key.to_owned(), part.json.clone()));
    let object: serde_json::Map<_, _> = object.collect();
    Measured {
        json: report::object("core", Value::Object(object)),
        series: parts.iter().flat_map(|part| part.series.clone()).collect(),
        table: parts.iter().map(|part| part.table.as_str()).collect(),
        fault: parts.into_iter().find_map(|part| part.fault),
    }
}

fn join(mut one: Measured, other: Measured) -> Measured {
    if let (Value::Object(all), Value::Object(more)) = (&mut one.json, other.json) {
        more.into_iter().for_each(|(key, value)| {
            all.entry(key).or_insert(value);
        });
    }
    one.series.extend(other.series);
    one.table += &other.table;
    one.fault = one.fault.or(other.fault);
    one
}

/// Three times as many registrations as can be done, of gNBs that keep away whom they are asked to, and of gNBs that
/// do not.
fn storms(args: &CoreArgs) -> Result<Part, Failure> {
    let size = storm::Size::full(args.storm_s.max(1));
    let mut part = Part {
        key: "storms",
        json: Value::Null,
        series: Vec::new(),
        table: String::new(),
        fault: None,
    };
    let mut all = Vec::new();
    for (name, obeys) in [("core/storm/obeyed", true), ("core/storm/deaf", false)] {
        eprintln!("{name}: {} s of the core's time", size.storm_s);
        let outcome = storm::measure(&size, obeys)?;
        let counts = outcome.storm.counts;
        part.table += &format!(
            "  {name:<28}{:>8.0} per CPU-second, {:.2} of {:.0} at capacity (goal {GOAL_STORM}); of {} that came gNBs kept \
             {} away, SCTP held {} back, {} were shed; {} of {} services failed; {:.0} MiB, then {:.0}\n",
            outcome.storm.goodput(),
            outcome.ratio,
            outcome.capacity.goodput(),
            counts.arrivals,
            counts.kept_away,
            counts.held_back,
            counts.unanswered + counts.released,
            counts.no_services,
            counts.services + counts.no_services,
            outcome.resident_bytes.0 as f64 / f64::from(1 << 20),
            outcome.resident_bytes.1 as f64 / f64::from(1 << 20),
        );
        let ratio = std::iter::once(outcome.ratio);
        part.series
            .push(Series::shown(name.to_owned(), "of the goodput at capacity", ratio).higher());
        let mut json = outcome.json(name);
        json["goal_ratio"] = json!(GOAL_STORM);
        all.push(json);
    }
    part.json = Value::Array(all);
    Ok(part)
}

fn soaked(args: &CoreArgs) -> Result<Part, Failure> {
    let size = soak::Size {
        ues: args.ues,
        cycles_hz: args.soak_hz,
        time_s: args.soak_s,
    };
    let soaked = soak::measure(&size)?;
    let json = soaked.json();
    Ok(Part {
        key: "soak",
        table: format!(
            "  {} registered UEs, {} cycles of service and idle in {} s, {} failures; service {} ms (p99 {}); {:.0} MiB, \
             then {:.0}\n",
            soaked.registered,
            soaked.cycles,
            json["seconds"],
            soaked.failures.values().sum::<u64>(),
            json["service_ms_p50"],
            json["service_ms_p99"],
            soaked.resident_bytes.0 as f64 / f64::from(1 << 20),
            soaked.resident_bytes.1 as f64 / f64::from(1 << 20),
        ),
        fault: soaked.fault(),
        series: Vec::new(),
        json,
    })
}

/// gNB and UEs of [`run`], in a process of their own.
pub fn run_ran(args: &CoreRanArgs) -> sluice_program::exit::Exit {
    match wire::run_ran(args) {
        Ok(()) => sluice_program::exit::Exit::Done,
        Err(why) => {
            eprintln!("sluice bench core-ran: {why}");
            sluice_program::exit::Exit::Failed
        }
    }
}

/// A row of the report.
struct Row {
    name: String,
    /// Per CPU-second, of repetitions.
    per_s: Vec<f64>,
    goal: Option<f64>,
    /// Service time of a registration, sorted.
    service_ns: Vec<u64>,
    limit_ns: Option<f64>,
}

impl Row {
    fn median(&self) -> f64 {
        Summary::of(self.per_s.iter().copied()).median
    }

    fn json(&self) -> Value {
        let us = |share| round(percentile(&self.service_ns, share) as f64 / 1e3);
        let mut object = json!({
            "name": self.name,
            "registrations_per_cpu_s_median": round(self.median()),
            "registrations_per_cpu_s_min": round(self.per_s.iter().copied().fold(f64::INFINITY, f64::min)),
            "registrations_per_cpu_s_max": round(self.per_s.iter().copied().fold(0.0, f64::max)),
            "cpu_us_median": round(1e6 / self.median()),
            "goal_per_cpu_s": self.goal,
        });
        if !self.service_ns.is_empty() {
            object["service_us_p50"] = json!(us(0.5));
            object["service_us_p99"] = json!(us(0.99));
        }
        if let Some(limit_ns) = self.limit_ns {
            object["limit_us"] = json!(round(limit_ns / 1e3));
            object["ratio_to_limit"] = json!(round(1e9 / self.median() / limit_ns));
        }
        object
    }

    fn line(&self) -> String {
        let goal = self
            .goal
            .map_or(String::new(), |goal| format!(", goal {goal:.0}"));
        let limit = self.limit_ns.map_or(String::new(), |ns| {
            format!("; crypto and codecs alone {:.0} us", ns / 1e3)
        });
        let (per_s, us) = (self.median(), 1e6 / self.median());
        format!(
            "  {:<28}{per_s:>8.0} per CPU-second ({us:.0} us{goal}){limit}\n",
            self.name
        )
    }
}

fn all(args: &CoreArgs) -> Result<Measured, Failure> {
    // First: memory that others have freed would hide what UEs take.
    eprintln!("{} registered UEs", args.ues);
    let many = many(args.ues)?;
    let mut rows = Vec::new();
    for identity in Identity::ALL {
        eprintln!("registrations by {}, in process", identity.name());
        rows.push(in_process(args, identity)?);
    }
    for identity in [Identity::Null, Identity::ProfileA] {
        eprintln!("registrations by {}, over SCTP", identity.name());
        rows.push(over_sctp(args, identity)?);
    }
    let table: String = rows.iter().map(Row::line).collect();
    let growth = many["cost_ratio"].as_f64().unwrap_or_default();
    let bytes = many["bytes_per_ue"].as_f64().unwrap_or_default();
    let below = format!(
        "  a registered UE takes {bytes:.0} octets (goal {GOAL_BYTES:.0}); a registration among {} UEs \
         costs {growth:.2} times one among {SMALL} (goal {GOAL_GROWTH})\n",
        args.ues
    );
    let series = rows.iter().map(|row| {
        let samples = row.per_s.iter().copied();
        Series::shown(row.name.clone(), "registrations per CPU-second", samples).higher()
    });
    let results: Vec<Value> = rows.iter().map(Row::json).collect();
    Ok(Measured {
        json: report::object("core", json!({"results": results, "many": many})),
        series: series.collect(),
        table: format!("{table}{below}"),
        fault: None,
    })
}

fn in_process(args: &CoreArgs, identity: Identity) -> Result<Row, Failure> {
    let mut core = VirtualCore::new(args.registrations * u32::from(args.reps) + BATCH as u32 + 1)?;
    let (mut per_s, mut service_ns) = (Vec::new(), Vec::new());
    let mut number = 0;
    for _ in 0..args.reps {
        let (mut cpu_s, mut count) = (0.0, 0);
        while count < args.registrations {
            let size = (args.registrations - count).min(BATCH as u32);
            let numbers = number + 1..=number + size;
            (number, count) = (number + size, count + size);
            let mut ues: Vec<_> = numbers
                .map(|number| virtual_core::ue(number, identity))
                .collect();
            if identity == Identity::Guti {
                core.register(&mut ues, false)?;
            }
            cpu_s += core.register(&mut ues, false)?.cpu.as_secs_f64();
        }
        per_s.push(f64::from(count) / cpu_s);
    }
    // Once more with the time of each message, which costs time itself.
    let ues = (number + 1..=number + BATCH as u32).map(|number| virtual_core::ue(number, identity));
    let mut ues: Vec<_> = ues.collect();
    if identity == Identity::Guti {
        core.register(&mut ues, false)?;
    }
    service_ns.extend(core.register(&mut ues, true)?.service_ns);
    service_ns.sort_unstable();
    Ok(Row {
        name: format!("core/in_process/{}", identity.name()),
        per_s,
        goal: Some(identity.goal()),
        service_ns,
        limit_ns: Some(limit_ns(&mut core, identity, number + BATCH as u32 + 1)?),
    })
}

/// Crypto and codecs of a registration, alone.
fn limit_ns(core: &mut VirtualCore, identity: Identity, number: u32) -> Result<f64, Failure> {
    let mut one = virtual_core::ue(number, identity);
    if identity == Identity::Guti {
        core.register(std::slice::from_mut(&mut one), false)?;
    }
    let (up, down) = core.transcript(one)?;
    let down: Vec<_> = down
        .iter()
        .filter_map(|octets| FromAmf::decode(octets).ok())
        .collect();
    let crypto = limit::crypto_ns(identity, ROUNDS).ok_or("no crypto")?;
    Ok(crypto + limit::codec_ns(&up, &down, ROUNDS))
}

fn over_sctp(args: &CoreArgs, identity: Identity) -> Result<Row, Failure> {
    let mut per_s = Vec::new();
    for _ in 0..args.reps {
        let used = wire::measure(identity, args.registrations)?;
        per_s.push(f64::from(args.registrations) / used.as_secs_f64());
    }
    Ok(Row {
        name: format!("core/sctp_udp/{}", identity.name()),
        per_s,
        goal: Some(identity.goal()),
        service_ns: Vec::new(),
        limit_ns: None,
    })
}

/// Memory of a registered UE, and whether many make registrations dearer.
fn many(count: u32) -> Result<Value, Failure> {
    let before = resident_bytes();
    let mut core = VirtualCore::new(count)?;
    let empty = resident_bytes();
    // (CPU of a registration, UEs registered before) of each batch.
    let mut batches: Vec<(f64, u32)> = Vec::new();
    let mut number = 0;
    while number < count {
        let size = (count - number).min(BATCH as u32);
        let ues =
            (number + 1..=number + size).map(|number| virtual_core::ue(number, Identity::Null));
        let mut ues: Vec<_> = ues.collect();
        let Cost { cpu, .. } = core.register(&mut ues, false)?;
        batches.push((cpu.as_secs_f64() * 1e6 / f64::from(size), number));
        number += size;
    }
    if core.registered() != count as usize {
        return Err(format!("{} of {count} are registered", core.registered()));
    }
    let full = resident_bytes();
    let span = (count / 10).max(SMALL);
    let median = |from: u32, to: u32| {
        let of = batches.iter().filter(|(_, at)| (from..to).contains(at));
        Summary::of(of.map(|(us, _)| *us)).median
    };
    // The first batches warm caches and allocator up.
    let few_us = median(SMALL.min(count / 4), (SMALL + span).min(count / 2));
    let many_us = median(count.saturating_sub(span), count);
    let per_ue = |from: u64, to: u64| (to as f64 - from as f64) / f64::from(count);
    Ok(json!({
        "ues": count,
        "bytes_per_ue": round(per_ue(empty, full)),
        "goal_bytes_per_ue": GOAL_BYTES,
        "bytes_per_subscriber": round(per_ue(before, empty)),
        "cpu_us_among_few": round(few_us),
        "cpu_us_among_many": round(many_us),
        "cost_ratio": round(many_us / few_us),
        "goal_cost_ratio": GOAL_GROWTH,
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    fn args() -> CoreArgs {
        CoreArgs {
            registrations: 64,
            reps: 3,
            ues: 600,
            storm_s: 1,
            soak_s: 1,
            soak_hz: 10,
            only: None,
            watch: crate::watch::WatchArgs::default(),
        }
    }

    #[test]
    fn rows_in_process_have_figures_service_times_and_a_limit() {
        for identity in Identity::ALL {
            let row = in_process(&args(), identity).unwrap();
            let json = row.json();
            for key in [
                "cpu_us_median",
                "service_us_p50",
                "service_us_p99",
                "limit_us",
            ] {
                assert!(json[key].as_f64() > Some(0.0), "{key}: {json}");
            }
            assert!(json["ratio_to_limit"].as_f64() > Some(1.0), "{json}");
            assert_eq!(row.per_s.len(), 3);
        }
    }

    #[test]
    fn many_ues_are_weighed() {
        let many = many(3 * SMALL).unwrap();
        assert!(many["cpu_us_among_many"].as_f64() > Some(0.0), "{many}");
        assert!(many["cost_ratio"].as_f64() > Some(0.0), "{many}");
    }
}
