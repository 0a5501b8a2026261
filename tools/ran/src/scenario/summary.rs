//! Summary of a scenario, for `--check`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Act, Scenario, Step};

impl Scenario {
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let n4 = match &self.n4 {
            Some(n4) => format!("SMF {} ({}), UPF {}", n4.smf, n4.dialect, n4.upf),
            None if self.has_sims() => "no N4: the network's SMF makes the tunnels".to_owned(),
            None => "no N4: tunnels are given".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{n4}");
        for group in &self.gnbs {
            let (count, name, n3) = (group.count, &group.name, group.n3);
            let n2 = group.n2.as_ref().map_or_else(String::new, |n2| {
                format!(", N2 from {} to the AMF {}", n2.local, n2.amf)
            });
            let _ = writeln!(text, "gNBs: {count} x {name}, N3 from {n3} on{n2}");
        }
        for group in &self.ues {
            let (count, name) = (group.count, &group.name);
            if let Some(sims) = &group.sims {
                let (imsi, sessions) = (group.imsi, sims.sessions.len());
                let _ = writeln!(
                    text,
                    "UEs: {count} x {name}, IMSI from {imsi:015} on, {sessions} sessions each"
                );
                continue;
            }
            let first = group.addresses_of(0);
            let ipv4 = first.ipv4().map(|ipv4| ipv4.to_string());
            let ipv6 = first.ipv6().map(|ipv6| ipv6.to_string());
            let first: Vec<_> = ipv4.into_iter().chain(ipv6).collect();
            let first = first.join(" and ");
            let _ = writeln!(text, "UEs: {count} x {name}, addresses from {first} on");
        }
        let (steps, checks) = count(&self.steps);
        let end = match self.ends() {
            true => "and ends",
            false => "then goes on until Ctrl-C",
        };
        let _ = writeln!(
            text,
            "script: {steps} steps, {checks} figures checked, {end}"
        );
        text
    }

    pub fn summary_json(&self) -> Value {
        let (steps, checks) = count(&self.steps);
        json!({
            "gnbs": self.names.gnb_count(),
            "ues": self.names.ue_count(),
            "steps": steps,
            "checks": checks,
            "ends": self.ends(),
        })
    }

    pub fn has_sims(&self) -> bool {
        self.ues.iter().any(|group| group.sims.is_some())
    }

    /// Whether the script says where it ends.
    pub fn ends(&self) -> bool {
        ends(&self.steps)
    }
}

fn ends(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.act {
        Act::End => true,
        Act::Repeat(repeat) => ends(&repeat.steps),
        _ => false,
    })
}

/// Steps and expectations, as they stand in the file.
fn count(steps: &[Step]) -> (usize, usize) {
    steps.iter().fold((0, 0), |(steps, checks), step| {
        let (more_steps, more_checks) = match &step.act {
            Act::Repeat(repeat) => count(&repeat.steps),
            Act::Check(check) => (0, check.expectations.len()),
            _ => (0, 0),
        };
        (steps + 1 + more_steps, checks + more_checks)
    })
}
