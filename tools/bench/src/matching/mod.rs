//! `sluice bench filters`: from how many SDF filters on a classifier finds a packet's rule sooner than the path does.
//!
//! Rules have one filter each, in order of precedence, and every packet meets one of them, each as often as another. Three
//! ways give the same rule: all filters [one by one](Linear), the path's own with an octet of [hints](Hinted) for each rule,
//! and a classifier of one hash table for each set of conditions. No packet is read: flows are
//! known beforehand.

mod classifier;
mod rules;

use crate::Failure;
use crate::args::FiltersArgs;
use crate::measure::Effort;
use crate::report::{Outcome, between, join, spread};
use crate::stats::{Random, Summary};
use crate::watch::history::Series;
use crate::watch::{Failed, Measured};
use classifier::Classifier;
use rules::{Kind, RuleSet};
use serde_json::{Value, json};
use sluice_datapath::forward::flow::Flow;
use sluice_host::clock;
use std::hint::black_box;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Rules of a session.
pub const RULES: [usize; 8] = [1, 2, 5, 10, 20, 50, 100, 200];
/// Rules of all sessions together where each has its own: beyond what caches hold.
const RULES_OF_ALL: usize = 1 << 18;
/// Flows between two looks at the clock.
const ROUND: usize = 4_096;
const HEADS: &str = "|rules|linear ns|path ns|classifier ns";

/// Finds the first rule that a flow meets, of one session's.
pub trait Matcher: Sized {
    /// One for each session's rules, which are in order of precedence.
    fn all_of(sets: &[RuleSet]) -> Vec<Self>;
    /// The place of the rule.
    fn first(&self, flow: &Flow) -> Option<usize>;
}

pub use rules::{Hinted, Linear};

/// Sessions of one kind, with the same rules or each with its own.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    kind: Kind,
    own: bool,
    rules: usize,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let kinds = Kind::ALL.into_iter();
        kinds.flat_map(|kind| {
            [false, true].into_iter().flat_map(move |own| {
                RULES
                    .into_iter()
                    .map(move |rules| Self { kind, own, rules })
            })
        })
    }

    /// Name of the family of rules, which has its own break-even.
    fn family(&self) -> String {
        let whose = if self.own { "own" } else { "shared" };
        format!("filters/{}/{whose}", self.kind.name())
    }

    fn sessions(&self) -> usize {
        match self.own {
            true => RULES_OF_ALL / self.rules,
            false => 1,
        }
    }
}

/// Nanoseconds for a flow, by repetition.
struct Times {
    case: Case,
    /// Of filters one by one, of the path, of the classifier.
    ns: Vec<[f64; 3]>,
}

/// Places of these.
const LINEAR: usize = 0;
const PATH: usize = 1;
const CLASSIFIER: usize = 2;

/// Measures.
pub fn run(args: &FiltersArgs) -> Result<Measured, Failed> {
    let effort = Effort::new(args.reps, args.seconds);
    let cases = Case::all().filter(|case| case.family().contains(&args.only));
    let mut all = Vec::new();
    for case in cases {
        eprintln!("{} with {} rules", case.family(), case.rules);
        all.push(measure(case, effort).map_err(Failed::Midway)?);
    }
    let outcomes: Vec<Outcome> = all.iter().map(Times::outcome).collect();
    let even = break_even(&all);
    let (even, lines): (Vec<Value>, Vec<String>) = even.into_iter().unzip();
    let rest = json!({
        "seconds_each": args.seconds,
        "results": Outcome::to_json(&outcomes),
        "break_even": even,
    });
    Ok(Outcome::measured(
        ("filters", rest),
        (HEADS, &outcomes),
        lines,
    ))
}

fn measure(case: Case, effort: Effort) -> Result<Times, Failure> {
    let mut random = Random::new(case.rules as u64 + 1);
    let sets: Vec<RuleSet> = (0..case.sessions())
        .map(|session| RuleSet::new(case.kind, session as u32, case.rules))
        .collect();
    let asked: Vec<(usize, usize)> = (0..ROUND)
        .map(|_| (random.below(sets.len()), random.below(case.rules)))
        .collect();
    let flows: Vec<(usize, Flow)> = asked
        .iter()
        .map(|(session, rule)| (*session, sets[*session].flow(*rule)))
        .collect();
    let (linear, path) = (Linear::all_of(&sets), Hinted::all_of(&sets));
    let classifier = Classifier::all_of(&sets);
    for ((session, flow), (_, rule)) in flows.iter().zip(&asked) {
        let found = [
            linear[*session].first(flow),
            path[*session].first(flow),
            classifier[*session].first(flow),
        ];
        if found != [Some(*rule); 3] {
            return Err(format!("rule {rule} should be met, and not {found:?}"));
        }
    }
    let ns = effort.repeat(|_| {
        Ok([
            lap(&linear, &flows, effort.each),
            lap(&path, &flows, effort.each),
            lap(&classifier, &flows, effort.each),
        ])
    })?;
    Ok(Times { case, ns })
}

/// Nanoseconds of CPU time for a flow. Flows do not wait for one another, as those of a burst do not.
fn lap<M: Matcher>(sessions: &[M], flows: &[(usize, Flow)], each: Duration) -> f64 {
    let began_ns = clock::thread_cpu_ns();
    let (mut met, mut asked, mut took_ns) = (0, 0, 0);
    while u128::from(took_ns) < each.as_nanos() || asked == 0 {
        for (session, flow) in flows {
            met += sessions[*session].first(flow).unwrap_or(0);
        }
        asked += flows.len();
        took_ns = clock::thread_cpu_ns() - began_ns;
    }
    black_box(met);
    took_ns as f64 / asked as f64
}

impl Times {
    fn outcome(&self) -> Outcome {
        let family = self.case.family();
        let all = [LINEAR, PATH, CLASSIFIER].map(|way| self.summary(way));
        let mut json = json!({
            "name": family,
            "rules": self.case.rules,
            "sessions": self.case.sessions(),
        });
        for (name, summary) in ["linear_ns", "path_ns", "classifier_ns"]
            .into_iter()
            .zip(all)
        {
            json = join(json, spread(name, summary));
        }
        let mut cells = vec![family.clone(), self.case.rules.to_string()];
        cells.extend(all.map(|summary| between(summary, 1)));
        let name = format!("{family}/{}", self.case.rules);
        let ratios = self.ns.iter().map(|ns| ns[PATH] / ns[LINEAR]);
        let unit = "path's ns by those of filters one by one";
        Outcome {
            json,
            cells,
            series: vec![Series::ratio(name, unit, ratios)],
            ..Outcome::default()
        }
    }

    fn summary(&self, way: usize) -> Summary {
        Summary::of(self.ns.iter().map(|ns| ns[way]))
    }
}

/// From how many rules on the classifier is sooner, by family: for scripts, and in words.
fn break_even(all: &[Times]) -> Vec<(Value, String)> {
    let mut families: Vec<String> = all.iter().map(|times| times.case.family()).collect();
    families.dedup();
    let told = families.into_iter().map(|family| {
        let of = || all.iter().filter(|times| times.case.family() == family);
        // The least number from which on it is so for all that follow.
        let from = |other: usize| {
            let median = |times: &Times, way| times.summary(way).median;
            let sooner = |times: &&Times| median(times, CLASSIFIER) < median(times, other);
            let last_later = of()
                .filter(|times| !sooner(times))
                .map(|t| t.case.rules)
                .max();
            of().map(|t| t.case.rules)
                .find(|rules| Some(*rules) > last_later)
        };
        let (linear, path) = (from(LINEAR), from(PATH));
        let most = of().map(|t| t.case.rules).max().unwrap_or(0);
        let words = |rules: Option<usize>| match rules {
            Some(rules) => format!("from {rules} rules on"),
            None => format!("not up to {most} rules"),
        };
        let line = format!(
            "{family}: a classifier is sooner than filters one by one {}, than the path {}\n",
            words(linear),
            words(path)
        );
        let json = json!({"name": family, "linear_rules": linear, "path_rules": path});
        (json, line)
    });
    told.collect()
}
