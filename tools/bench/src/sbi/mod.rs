//! `sluice bench sbi`: requests of service-based interfaces per CPU-second, beside an echo of the same exchanges.
//!
//! `mix` has calls of all functions in the shares that a core under load has, `nrf` registrations, discoveries and tokens,
//! `registrations` UEs that register with a core in two programs; each sends what our services write through the HTTP/2 of
//! a program, and has the process' whole CPU. The limit is an echo: the same requests and responses, octet by octet, by
//! hyper alone. `memory` is what an open connection and an open stream take.

mod carried;
mod echo;
mod keys;
mod memory;
mod mix;
mod nrf;
mod registrations;

use std::fmt::Display;

use http::header::{AUTHORIZATION, HeaderValue};
use serde_json::json;
use sluice_sbi::Nf;
use sluice_sbi_http2::TlsFiles;
use sluice_services::{Consumer, Memory, Own, Request, Response};
use sluice_testbed::{apart, core as testbed, services};

use crate::Failure;
use crate::args::SbiArgs;
use crate::measure::{Effort, Judged, disturbance, quietest};
use crate::registrations::{Identity, VirtualCore, ue};
use crate::report::{Outcome, between, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use crate::watch::{Failed, Measured};
use carried::{Calls, Pair, plain};
use echo::Exchange;
use keys::Keys;
use nrf::{Kind, OfNrf};

/// Calls under way at a time.
const WINDOW: usize = 32;
/// UEs that register at a time.
const BATCH: u32 = 64;
/// CPU beside the echo's, at the most: half as many requests per CPU-second.
const GOAL_RATIO: f64 = 2.0;
/// Attempts to measure undisturbed.
const ATTEMPTS: usize = 3;
/// Heads of the table.
const HEADS: &str = "|per CPU-s|us (min-max)|limit us|ratio|goal";

pub fn run(args: &SbiArgs) -> Result<Measured, Failed> {
    measure(args).map_err(Failed::Midway)
}

/// Error as it is told.
fn told(error: impl Display) -> Failure {
    error.to_string()
}

fn measure(args: &SbiArgs) -> Result<Measured, Failure> {
    let is_asked = |name: &str| name.contains(&args.only);
    // First: memory that others have freed would hide what connections take.
    let memory = is_asked("sbi/memory").then(|| memory::measure(args.connections));
    let memory = memory.transpose()?.unwrap_or_default();
    let keys = Keys::new()?;
    let mut outcomes = Vec::new();
    for (name, tls) in [("clear", None), ("tls", Some(keys.tls()))] {
        let name = format!("sbi/mix/{name}");
        if is_asked(&name) {
            let calls = mix::Mix::new();
            let count = calls.len();
            outcomes.push(of_calls(args, name, (calls, count), tls)?);
        }
    }
    for (name, kind) in Kind::ALL {
        let name = format!("sbi/nrf/{name}");
        if is_asked(&name) {
            let calls = OfNrf::new(kind, &keys, &mut memory_of(String::new()))?;
            let count = nrf::FUNCTIONS.into();
            outcomes.push(of_calls(args, name, (calls, count), Some(keys.tls()))?);
        }
    }
    let name = "sbi/registrations/tls";
    if is_asked(name) {
        outcomes.push(of_registrations(args, name, &keys)?);
    }
    let line = memory.is_object().then(|| {
        let [connection, stream] =
            ["bytes_per_connection", "bytes_per_stream"].map(|key| &memory[key]);
        format!("an open connection takes {connection} octets, a stream of it {stream}\n")
    });
    let rest = json!({ "results": Outcome::to_json(&outcomes), "memory": memory });
    Ok(Outcome::measured(("sbi", rest), (HEADS, &outcomes), line))
}

/// Memory of a program of the testbed's core.
fn memory_of(root: String) -> Memory {
    let (plmn, slice) = (testbed::plmn(), testbed::slice(1));
    Memory::new(Own {
        root,
        guami: testbed::amf(&[slice]).guami,
        plmn,
        slice: Some(slice),
        areas: Vec::new(),
        needs_tokens: true,
        instances: Nf::ALL.map(|nf| (nf, keys::instance(nf))).into(),
    })
}

/// CPU in nanoseconds, what it was for, and how many requests that took.
struct Work {
    cpu_ns: f64,
    units: f64,
    requests: usize,
}

/// A row: a subject, and the exchanges of one of its units.
struct Row<'a> {
    name: String,
    unit: &'static str,
    exchanges: Vec<Exchange>,
    tls: Option<TlsFiles>,
    goal: Option<f64>,
    lap: Box<dyn FnMut() -> Result<Work, Failure> + 'a>,
}

impl Row<'_> {
    /// Repetitions, each beside one of the echo: CPU of a unit in both.
    fn measure(mut self, reps: u16) -> Result<Outcome, Failure> {
        let effort = Effort::new(reps, 0.0);
        let (laps, conditions) = quietest(
            (&self.name, ATTEMPTS, reps.into()),
            || {
                effort.repeat(|_| {
                    let lap = (self.lap)()?;
                    let echo = (lap.requests, WINDOW);
                    let limit_ns = echo::measure(&self.exchanges, echo, self.tls.as_ref())?;
                    let limit_ns = limit_ns * lap.requests as f64;
                    Ok((lap.cpu_ns / lap.units, limit_ns / lap.units))
                })
            },
            |laps: &Vec<(f64, f64)>| {
                let [ns, limit] = summaries(laps);
                Judged {
                    disturbed: disturbance(ns.spread().max(limit.spread()), 0.0, "the CPU"),
                    preempted: f64::NAN,
                    ns: ns.median,
                }
            },
        )?;
        let [ns, limit] = summaries(&laps);
        let ratio = ns.median / limit.median;
        let octets = |one: &Exchange| one.request.body().len() + one.response.body().len();
        let octets: usize = self.exchanges.iter().map(octets).sum();
        let figures = json!({
            "name": self.name,
            "unit": self.unit,
            "limit_ns_median": round(limit.median),
            "ratio_to_limit": round(ratio),
            "goal_ratio": self.goal,
            "body_octets_of_exchange": round(octets as f64 / self.exchanges.len() as f64),
        });
        let rate = Summary::of(laps.iter().map(|(ns, _)| 1e9 / ns));
        let more = [
            spread("per_cpu_s", rate),
            spread("ns", ns),
            conditions.to_json(),
        ];
        let ratios = laps.iter().map(|(ns, limit_ns)| ns / limit_ns);
        let series = Series::ratio(self.name.clone(), "ns by the echo's", ratios);
        Ok(Outcome {
            json: more.into_iter().fold(figures, join),
            cells: vec![
                self.name,
                format!("{:.0}", rate.median),
                between(ns.map(|ns| ns / 1e3), 1),
                format!("{:.1}", limit.median / 1e3),
                format!("{ratio:.2}"),
                self.goal.map_or(String::new(), |goal| goal.to_string()),
            ],
            below: conditions.line(),
            series: vec![series.disturbed(conditions.disturbed)],
        })
    }
}

/// Of subject and limit.
fn summaries(laps: &[(f64, f64)]) -> [Summary; 2] {
    [
        Summary::of(laps.iter().map(|(ns, _)| *ns)),
        Summary::of(laps.iter().map(|(_, ns)| *ns)),
    ]
}

/// Calls that repeat after so many.
fn of_calls(
    args: &SbiArgs,
    name: String,
    (mut calls, all): (impl Calls, usize),
    tls: Option<TlsFiles>,
) -> Result<Outcome, Failure> {
    let mut pair = Pair::start(tls.as_ref())?;
    let row = Row {
        exchanges: pair.exchanges(&mut calls, all)?,
        name,
        unit: "request",
        tls,
        goal: None,
        lap: Box::new(|| {
            let count = args.requests as usize;
            let (cpu_ns, requests) = pair.run(&mut calls, count, WINDOW)?;
            let units = requests as f64;
            let requests = requests as usize;
            Ok(Work {
                cpu_ns,
                units,
                requests,
            })
        }),
    };
    row.measure(args.reps)
}

/// UEs that register with a core whose AUSF, UDM and NSSF are another program.
fn of_registrations(args: &SbiArgs, name: &str, keys: &Keys) -> Result<Outcome, Failure> {
    let attempts = ATTEMPTS as u32 * (u32::from(args.reps) + 1);
    let (core, around, both) = registrations::start(args.registrations * attempts, keys)?;
    let mut core = VirtualCore::of(core, around)?;
    let mut next = 1;
    let mut batch = |size: u32| -> Result<f64, Failure> {
        let numbers = next..next + size;
        next += size;
        let mut ues: Vec<_> = numbers.map(|number| ue(number, Identity::Null)).collect();
        Ok(core.register(&mut ues, false)?.cpu.as_nanos() as f64)
    };
    let row = Row {
        exchanges: exchanges_of_a_registration(keys)?,
        name: name.to_owned(),
        unit: "registration",
        tls: Some(keys.tls()),
        goal: Some(GOAL_RATIO),
        lap: Box::new(|| {
            let (mut left, mut cpu_ns) = (args.registrations, 0.0);
            let before = both.counts().requests;
            while left > 0 {
                let size = left.min(BATCH);
                cpu_ns += batch(size)?;
                left -= size;
            }
            Ok(Work {
                cpu_ns,
                units: args.registrations.into(),
                requests: (both.counts().requests - before) as usize,
            })
        }),
    };
    let each = row.exchanges.len();
    let mut outcome = row.measure(args.reps)?;
    let counts = both.counts();
    outcome.json["exchanges_each"] = json!(each);
    outcome.json["tokens_verified"] = json!(counts.verified);
    outcome.json["requests_with_known_tokens"] = json!(counts.known);
    Ok(outcome)
}

/// Exchanges between both programs in one registration: as our functions have them in virtual time, with a token and the
/// header fields that they get on their way.
fn exchanges_of_a_registration(keys: &Keys) -> Result<Vec<Exchange>, Failure> {
    let mut core = apart::by(apart::Wiring::Http2, || VirtualCore::new(2))?;
    // After the first one the functions have found each other.
    core.register(&mut [ue(1, Identity::Null)], false)?;
    services::record();
    core.register(&mut [ue(2, Identity::Null)], false)?;
    let is_apart = |nf: &Nf| registrations::APART.contains(nf);
    let recorded = services::record().into_iter();
    let between = recorded.filter(|one| is_apart(&one.consumer) != is_apart(&one.producer));
    let mut memory = memory_of(String::new());
    let bearer = OfNrf::new(Kind::Token, keys, &mut memory)?.bearer(&mut memory)?;
    let played = between.map(|one| {
        let (mut request, response) = (one.request, one.response?);
        request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        Some(Exchange { request, response })
    });
    let played: Option<Vec<Exchange>> = played.collect();
    let played = played.ok_or("a request has no response")?;
    let count = played.len();
    let mut replay = Replay {
        played,
        asked: 0,
        served: 0,
    };
    let tls = keys.tls();
    let mut exchanges = Pair::start(Some(&tls))?.exchanges(&mut replay, count)?;
    let tokens = exchanges
        .iter_mut()
        .flat_map(|one| one.request.headers_mut().get_mut(AUTHORIZATION));
    tokens.for_each(|token: &mut HeaderValue| token.set_sensitive(true));
    Ok(exchanges)
}

/// Exchanges once more.
struct Replay {
    played: Vec<Exchange>,
    asked: usize,
    served: usize,
}

impl Calls for Replay {
    fn begin(&mut self, _: &mut Memory) -> Result<Consumer, Failure> {
        let exchange = self.played.get(self.asked).ok_or("all are played")?;
        self.asked += 1;
        Ok(plain(exchange.request.clone()))
    }

    fn serve(&mut self, _: &Request, _: &mut Memory) -> Response {
        self.served += 1;
        self.played[self.served - 1].response.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn measured(only: &str) -> Value {
        let args = SbiArgs {
            requests: 100,
            registrations: 4,
            connections: 16,
            reps: 5,
            only: only.to_owned(),
            watch: crate::watch::WatchArgs::default(),
        };
        measure(&args).unwrap_or_else(|why| panic!("{why}")).json
    }

    #[test]
    fn each_row_has_figures_beside_an_echo_of_as_many_octets() {
        let json = measured("");
        let rows = json["results"].as_array().map_or(&[][..], Vec::as_slice);
        let names: Vec<_> = rows.iter().map(|row| row["name"].as_str()).collect();
        let expected = [
            "sbi/mix/clear",
            "sbi/mix/tls",
            "sbi/nrf/register",
            "sbi/nrf/discover",
            "sbi/nrf/token",
            "sbi/registrations/tls",
        ];
        assert_eq!(names, expected.map(Some));
        for row in rows {
            for key in [
                "per_cpu_s_median",
                "ns_median",
                "limit_ns_median",
                "ratio_to_limit",
            ] {
                assert!(row[key].as_f64() > Some(0.0), "{key}: {row}");
            }
            assert!(
                row["body_octets_of_exchange"].as_f64() > Some(50.0),
                "{row}"
            );
            assert_eq!(row["repetitions"], 5, "{row}");
        }
        assert_eq!(json["memory"]["connections"], 16, "{json}");
        assert!(json["memory"]["bytes_per_stream"].is_number(), "{json}");
    }

    /// AUSF twice, UDM for it, slices, and the UDR for all that the UDM is asked.
    #[test]
    fn a_registration_has_its_exchanges_and_each_token_is_verified_once() {
        let json = measured("registrations");
        let row = &json["results"][0];
        let count = |key: &str| row[key].as_u64().unwrap_or_default();
        assert!(count("exchanges_each") > 8, "{row}");
        // Of each consumer one for each service that it asks.
        assert!((5..40).contains(&count("tokens_verified")), "{row}");
        assert!(count("requests_with_known_tokens") > 6 * 4 * 8, "{row}");
        assert_eq!(json["memory"], Value::Null);
    }
}
