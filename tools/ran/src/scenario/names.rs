//! Names of gNBs, UEs and groups.

use std::ops::Range;

use super::{GNBS_MAX, Gnbs, N2_UES_MAX, Ues};
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::Kind;

/// Names of gNBs, and the UEs of each group.
#[derive(Clone, Debug, Default)]
pub struct Names {
    gnbs: Vec<String>,
    groups: Vec<(String, Range<usize>)>,
    sims: Vec<Range<usize>>,
    without_devices: Vec<Range<usize>>,
    /// Something is wrong with `gnbs` or `ues`, so that some may be missing here. What speaks of
    /// them is not checked: it would be blamed for the first problem once more.
    lacks_gnbs: bool,
    lacks_ues: bool,
}

impl Names {
    /// Names of gNBs; a duplicate is a problem.
    pub(super) fn of_gnbs(gnbs: &[Gnbs], f: &mut Fields<'_, '_>) -> Self {
        let mut this = Self::default();
        for group in gnbs {
            for name in group.names() {
                if this.gnbs.contains(&name) {
                    let what = format!("two gNBs are called {name}");
                    let expected = "different names";
                    f.report().problem(group.line, "gnbs", what, expected);
                }
                this.gnbs.push(name);
            }
        }
        if this.gnbs.len() > GNBS_MAX {
            let what = format!("{} gNBs", this.gnbs.len());
            let expected = format!("at most {GNBS_MAX}");
            let line = f.line();
            f.report().problem(line, "gnbs", what, expected);
            this.gnbs.truncate(GNBS_MAX);
        }
        this.lacks_gnbs = !f.report().is_clean("gnbs");
        this
    }

    pub(super) fn with_ues(mut self, ues: &[Ues], f: &mut Fields<'_, '_>) -> Self {
        let mut first = 0;
        for group in ues {
            if self.groups.iter().any(|(name, _)| *name == group.name) {
                let what = format!("two groups are called {}", group.name);
                let expected = "different names";
                f.report().problem(group.line, "ues", what, expected);
            }
            let end = first + group.count;
            self.groups.push((group.name.clone(), first..end));
            self.sims.extend(group.sims.is_some().then_some(first..end));
            self.without_devices
                .extend((!group.has_devices()).then_some(first..end));
            first = end;
        }
        if first > N2_UES_MAX {
            let (what, expected) = (format!("{first} UEs"), format!("at most {N2_UES_MAX}"));
            let line = f.line();
            f.report().problem(line, "ues", what, expected);
        }
        self.lacks_ues = !f.report().is_clean("ues");
        self
    }

    pub fn ue_count(&self) -> usize {
        self.groups.last().map_or(0, |(_, ues)| ues.end)
    }

    /// A gNB's name.
    pub fn gnb(&self, index: usize) -> &str {
        self.gnbs.get(index).map_or("?", String::as_str)
    }

    pub fn has_sim(&self, ue: usize) -> bool {
        self.sims.iter().any(|ues| ues.contains(&ue))
    }

    pub(super) fn is_without_device(&self, ue: usize) -> bool {
        self.without_devices.iter().any(|ues| ues.contains(&ue))
    }

    /// UEs with SIMs among some UEs; none at all is a problem.
    pub(super) fn with_sims(&self, ues: &At<Vec<usize>>, f: &mut Fields<'_, '_>) -> Vec<usize> {
        let all = ues.value.iter().copied();
        let sims: Vec<_> = all.filter(|ue| self.has_sim(*ue)).collect();
        if sims.is_empty() && !self.lacks_ues {
            let (key, expected) = (f.key("ues"), "UEs of a group with sim");
            f.report()
                .problem(ues.line, key, "none of them has a SIM", expected);
        }
        sims
    }

    /// How many gNBs.
    pub fn gnb_count(&self) -> usize {
        self.gnbs.len()
    }

    /// Whether a handover has nowhere to go.
    pub(super) fn is_one_gnb(&self) -> bool {
        self.gnbs.len() == 1 && !self.lacks_gnbs
    }

    /// Indices of a group's UEs.
    pub fn group(&self, index: usize) -> Range<usize> {
        self.groups.get(index).map_or(0..0, |(_, ues)| ues.clone())
    }

    /// `all`, `1-4,7`, or names of groups; gives indices from 0, each once.
    pub(super) fn ues(&self) -> Kind<Vec<usize>> {
        let names: Vec<_> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
        let expected = format!(
            "all, numbers from 1 to {} such as 1-4,7, or a group: {}",
            self.ue_count(),
            names.join(", ")
        );
        let this = self.clone();
        Kind::new(expected, move |text| this.pick_ues(text))
    }

    /// A gNB's name or number; gives its index from 0.
    pub(super) fn one_gnb(&self) -> Kind<usize> {
        let this = self.clone();
        Kind::new(self.expected_gnb(), move |text| this.gnb_index(text))
    }

    /// A gNB, or the `next` one after the UE's: `None`.
    pub(super) fn gnb_or_next(&self) -> Kind<Option<usize>> {
        let expected = format!("next or {}", self.expected_gnb());
        let this = self.clone();
        Kind::new(expected, move |text| match text {
            "next" => Some(None),
            _ => this.gnb_index(text).map(Some),
        })
    }

    /// `all` or gNBs with commas between; gives indices from 0.
    pub(super) fn gnbs(&self) -> Kind<Vec<usize>> {
        let expected = format!("all, or with commas between them {}", self.expected_gnb());
        let this = self.clone();
        Kind::new(expected, move |text| match text {
            "all" => Some((0..this.gnbs.len()).collect()),
            _ if this.lacks_gnbs => Some(Vec::new()),
            _ => text
                .split(',')
                .map(|part| this.gnb_index(part.trim()))
                .collect(),
        })
    }

    fn expected_gnb(&self) -> String {
        match &self.gnbs[..] {
            [] => "a gNB's name".to_owned(),
            [one] => format!("the gNB's name, {one}"),
            [first, .., last] => format!("a gNB's name: {first} ... {last}"),
        }
    }

    fn gnb_index(&self, text: &str) -> Option<usize> {
        let found = self.gnbs.iter().position(|name| name == text);
        found.or(self.lacks_gnbs.then_some(0))
    }

    fn pick_ues(&self, text: &str) -> Option<Vec<usize>> {
        if self.lacks_ues {
            return Some(Vec::new());
        }
        let mut picked = Vec::new();
        for part in text.split(',') {
            picked.extend(self.range(part.trim())?);
        }
        picked.sort_unstable();
        picked.dedup();
        (!picked.is_empty() || text == "all").then_some(picked)
    }

    fn range(&self, text: &str) -> Option<Range<usize>> {
        if text == "all" {
            return Some(0..self.ue_count());
        }
        if let Some((_, ues)) = self.groups.iter().find(|(name, _)| name == text) {
            return Some(ues.clone());
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let good = 1 <= first && first <= last && last <= self.ue_count();
        good.then(|| first - 1..last)
    }
}
