//! Rules of `sluice bench filters`, and the two ways in which all of them may be tried.

use super::Matcher;
use sluice_datapath::forward::flow::Flow;
use sluice_datapath::limits::BLOCK_RULES;
use sluice_datapath::session::filter_hint::{FlowHints, RuleHints};
use sluice_datapath::session::flow_filter::{
    AddressRange, FilterRun, FlowFilter, FlowFilterSlots, FlowFilters,
};

const UDP: u8 = 17;
const UE: u32 = u32::from_be_bytes([10, 0, 0, 1]);
/// Servers, one for each session, and ports, ten for each rule.
const SERVER: u32 = u32::from_be_bytes([44, 0, 0, 0]);
const FIRST_PORT: u16 = 10_000;
const PORTS: u16 = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One server and one port: `permit out 17 from 44.0.0.1/32 10000 to assigned`.
    Exact,
    /// Ten ports of anybody's: `permit out 17 from any 10000-10009 to assigned`.
    Ranges,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Exact, Self::Ranges];

    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ranges => "ranges",
        }
    }
}

/// Rules of a session, in order of precedence.
#[derive(Clone, Debug)]
pub struct RuleSet {
    pub filters: Vec<FlowFilter>,
    server: u32,
}

impl RuleSet {
    pub fn new(kind: Kind, session: u32, rules: usize) -> Self {
        let server = SERVER + session;
        let filter = |rule: usize| {
            let port = port(rule);
            let (remote, last) = match kind {
                Kind::Exact => (AddressRange::Ipv4(server, 32), port),
                Kind::Ranges => (AddressRange::Any, port + PORTS - 1),
            };
            FlowFilter {
                protocol: Some(UDP),
                remote,
                remote_ports: Some((port, last)),
                ..FlowFilter::default()
            }
        };
        Self {
            filters: (0..rules).map(filter).collect(),
            server,
        }
    }

    /// A flow towards the UE that meets this rule and no other.
    pub fn flow(&self, rule: usize) -> Flow {
        Flow {
            protocol: UDP,
            source: self.server.into(),
            destination: UE.into(),
            ports: Some((port(rule), 4_000)),
            ..Flow::default()
        }
    }
}

fn port(rule: usize) -> u16 {
    FIRST_PORT + rule as u16 * PORTS
}

/// A table of all filters, as the path has it, and a run for each rule of each session.
fn table(sets: &[RuleSet]) -> (FlowFilters, Vec<Vec<FilterRun>>) {
    let all: usize = sets.iter().map(|set| set.filters.len()).sum();
    let mut slots = FlowFilterSlots::new(all);
    let mut places = 0..;
    let mut runs_of = |set: &RuleSet| {
        let filters = set.filters.iter().zip(places.by_ref());
        let runs = filters.filter_map(|(filter, at)| {
            slots.set(at, filter);
            FilterRun::new(at, 1)
        });
        runs.collect()
    };
    let runs = sets.iter().map(&mut runs_of).collect();
    (slots.reader(), runs)
}

/// Filters one by one.
pub struct Linear {
    table: FlowFilters,
    runs: Vec<FilterRun>,
}

impl Matcher for Linear {
    fn all_of(sets: &[RuleSet]) -> Vec<Self> {
        let (table, runs) = table(sets);
        let one = |runs| Self {
            table: table.clone(),
            runs,
        };
        runs.into_iter().map(one).collect()
    }

    #[inline]
    fn first(&self, flow: &Flow) -> Option<usize> {
        let mut runs = self.runs.iter();
        runs.position(|run| self.table.any_met(*run, flow))
    }
}

/// As the path does: eight rules are asked by their hints at once, and those that may be meant by their filters.
pub struct Hinted {
    table: FlowFilters,
    blocks: Vec<(RuleHints, Vec<FilterRun>)>,
}

impl Matcher for Hinted {
    fn all_of(sets: &[RuleSet]) -> Vec<Self> {
        let (table, runs) = table(sets);
        let block = |runs: &[FilterRun]| {
            let mut hints = RuleHints::default();
            for (at, run) in runs.iter().enumerate() {
                hints.set(at, FlowHints::of_filters(table.run(*run)));
            }
            (hints, runs.to_vec())
        };
        let one = |runs: &Vec<FilterRun>| Self {
            table: table.clone(),
            blocks: runs.chunks(BLOCK_RULES).map(block).collect(),
        };
        runs.iter().map(one).collect()
    }

    #[inline]
    fn first(&self, flow: &Flow) -> Option<usize> {
        let of_flow = FlowHints::of(flow);
        let met = |hints: RuleHints, runs: &[FilterRun]| {
            let mut candidates = hints.candidates(of_flow, runs.len() as u32);
            candidates.find(|at| self.table.any_met(runs[*at], flow))
        };
        let mut blocks = self.blocks.iter().enumerate();
        blocks.find_map(|(n, (hints, runs))| Some(n * BLOCK_RULES + met(*hints, runs)?))
    }
}
