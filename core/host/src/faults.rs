//! Faults of the carrier, for tests: messages between functions that are lost.

use std::collections::BTreeSet;

use sluice_sbi::Nf;

/// Ways on which messages are lost.
#[derive(Debug, Default)]
pub struct Faults {
    /// Functions that nobody reaches.
    cut_off: BTreeSet<Nf>,
    /// From one function to another.
    lost: BTreeSet<(Nf, Nf)>,
}

impl Faults {
    /// Whether messages from one to another are lost.
    pub(crate) fn are_apart(&self, from: Nf, to: Nf) -> bool {
        let is_cut_off = self.cut_off.contains(&from) || self.cut_off.contains(&to);
        is_cut_off || self.lost.contains(&(from, to))
    }

    /// Messages from and to these functions are lost from now on, as when their hosts were not reached.
    pub fn cut_off(&mut self, functions: &[Nf]) {
        self.cut_off = functions.iter().copied().collect();
    }

    /// Messages on these ways, each from one function to another, are lost from now on, and those on all others are
    /// not.
    pub fn lose(&mut self, ways: &[(Nf, Nf)]) {
        self.lost = ways.iter().copied().collect();
    }
}
