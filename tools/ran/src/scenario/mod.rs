//! `ran.yaml`: from text to a checked [`Scenario`].
//!
//! Start at [`Scenario::from_text`]. The commented example, `docs/ran.yaml`, names every key.

mod actions;
mod kinds;
mod n2;
mod names;
mod nodes;
mod steps;
mod summary;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

pub use actions::{
    ActionReader, Attach, By, Churn, Cycle, Detach, Echo, Handover, Misbehave, MuteGnb, Ping,
    Repeat, Restart, RunProgram, Signal, SignalKind, Wrong,
};
pub use kinds::{Bound, NetnsPlace};
pub use n2::{N2, Over, Sims};
pub use names::Names;
pub use nodes::{Gnbs, N4, NO_ADDRESS, StaticTunnels, Ues};
pub use steps::{Act, Check, Expectation, Since, Step};

use sluice_program::config::fields::Fields;
use sluice_program::config::problem::Report;
use sluice_program::config::{KnownKey, Refused, yaml};

/// UEs with TUN devices in one scenario.
pub const UES_MAX: usize = 4096;
/// UEs in one scenario: what an AMF of one site has, some KiB each.
pub const N2_UES_MAX: usize = 100_000;
/// gNBs in one scenario: each is a thread.
pub const GNBS_MAX: usize = 256;

/// Scenario of a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Towards the UPF's N4; `None`: somebody else's SMF, and tunnels that are given.
    pub n4: Option<N4>,
    /// gNBs, in groups.
    pub gnbs: Vec<Gnbs>,
    /// UEs, in groups.
    pub ues: Vec<Ues>,
    /// Names of gNBs and UEs.
    pub names: Names,
    /// How often each gNB sends an Echo Request by itself.
    pub echo_every: Option<Duration>,
    /// For what is picked at random.
    pub seed: u64,
    /// The script.
    pub steps: Vec<Step>,
}

/// A scenario, and the keys that were looked for.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Every key that there is, with its default.
    pub known_keys: Vec<KnownKey>,
}

impl Scenario {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// All that is wrong with it, each with line, key, problem and what was expected.
    pub fn load(file: &Path) -> Result<Loaded, Refused> {
        let text = sluice_program::config::read_text(file)?;
        Self::from_text(file, &text)
    }

    /// As [`load`](Self::load), with the text at hand.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub fn from_text(file: &Path, text: &str) -> Result<Loaded, Refused> {
        let mut report = Report::default();
        let scenario = match yaml::parse(text) {
            Err(e) => {
                report.problem(e.line, "", e.what, e.expected);
                None
            }
            Ok(root) => Fields::root(&root, &mut report, Self::read),
        };
        let (problems, _, known_keys) = report.finish();
        match scenario {
            Some(scenario) if problems.is_empty() => Ok(Loaded {
                scenario,
                known_keys,
            }),
            _ => Err(Refused {
                file: file.to_owned(),
                problems,
            }),
        }
    }

    /// PLMN that a gNB serves its UEs in; none for a gNB without an AMF.
    pub fn serving_plmn(&self, gnb: usize) -> Option<sluice_ids::Plmn> {
        let mut end = 0;
        let group = self.gnbs.iter().find(|group| {
            end += group.count;
            gnb < end
        });
        Some(group?.n2.as_ref()?.plmn)
    }

    /// Whether N3 is IPv6.
    pub fn is_n3_ipv6(&self) -> bool {
        self.gnbs.first().is_some_and(|group| group.n3.is_ipv6())
    }

    fn read(f: &mut Fields<'_, '_>) -> Self {
        let n4 = f.optional_section("n4", N4::read);
        let gnbs = f.required_sections("gnbs", "a list of gNBs with their n3", Gnbs::read);
        let names = Names::of_gnbs(&gnbs, f);
        let expected = "a list of groups of UEs with their first address, or with sim";
        let ues = f.required_sections("ues", expected, |f| Ues::read(f, &names));
        let names = names.with_ues(&ues, f);
        nodes::check_tunnels(n4.as_ref(), &ues, f);
        nodes::check_families(n4.as_ref(), &gnbs, &ues, f);
        n2::check(&gnbs, &ues, f);
        let echo_every = f.or("echo_every", "never", &kinds::duration_or_never());
        let seed = f.or(
            "seed",
            "1",
            &sluice_program::config::kind::number(0, u64::MAX, ""),
        );
        let expected = "a list of steps, such as - attach: {rate: 50}";
        let steps = f.required_sections("steps", expected, |f| Step::read(f, &names));
        Self {
            n4,
            gnbs,
            ues,
            names,
            echo_every: echo_every.value,
            seed: seed.value,
            steps,
        }
    }
}
