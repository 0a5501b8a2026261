//! `ran.yaml`: from text to a checked [`Scenario`].
//!
//! Start at [`Scenario::from_text`]. The commented example, `docs/ran.yaml`, names every key.

mod actions;
mod kinds;
mod names;
mod nodes;
mod steps;
mod summary;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

pub use actions::{
    ActionReader, Attach, Churn, Detach, Echo, Handover, MuteGnb, Ping, Repeat, Restart, RunProgram,
};
pub use kinds::{Bound, NetnsPlace};
pub use names::Names;
pub use nodes::{Gnbs, N4, StaticTunnels, Ues};
pub use steps::{Act, Check, Expectation, Since, Step};

use sluice::config::fields::Fields;
use sluice::config::problem::Report;
use sluice::config::{KnownKey, Refused, yaml};

/// UEs in one scenario: each is a TUN device.
pub const UES_MAX: usize = 4096;
/// gNBs in one scenario: each is a thread.
pub const GNBS_MAX: usize = 256;

/// What is played.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Towards the UPF's N4; `None`: somebody else's SMF, and tunnels that are given.
    pub n4: Option<N4>,
    /// gNBs, in groups.
    pub gnbs: Vec<Gnbs>,
    /// UEs, in groups.
    pub ues: Vec<Ues>,
    /// Who is who.
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
        let text = sluice::config::read_text(file)?;
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

    fn read(f: &mut Fields<'_, '_>) -> Self {
        let n4 = f.optional_section("n4", N4::read);
        let gnbs = f.required_sections("gnbs", "a list of gNBs with their n3", Gnbs::read);
        let names = Names::of_gnbs(&gnbs, f);
        let expected = "a list of groups of UEs with their first address";
        let ues = f.required_sections("ues", expected, |f| Ues::read(f, &names));
        let names = names.with_ues(&ues, f);
        nodes::check_tunnels(n4.as_ref(), &ues, f);
        let echo_every = f.or("echo_every", "never", &kinds::duration_or_never());
        let seed = f.or("seed", "1", &sluice::config::kind::number(0, u64::MAX, ""));
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
