//! Key set identifiers (ngKSI; TS 24.501, 9.11.3.32): a challenge has none of a UE's own, or the UE answers it by #71
//! (5.4.1.3.7).

use sluice_n1::NO_KEY;

use crate::context::state::State;
use crate::context::ue::UeId;

/// Names of keys, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct KeyNames {
    bits: u8,
    last: Option<u8>,
}

impl KeyNames {
    /// One more.
    pub fn add(&mut self, ngksi: u8) {
        if ngksi < NO_KEY {
            self.bits |= 1 << ngksi;
            self.last = Some(ngksi);
        }
    }

    /// Adds the names of another set.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.bits |= other.bits;
        self.last = self.last.or(other.last);
        self
    }

    /// A name that is none of these, the first behind the last of them; if there is none, another than the last.
    pub fn another(self) -> u8 {
        let first = self.last.map_or(0, |last| last + 1);
        let mut all = (0..NO_KEY).map(|step| (first + step) % NO_KEY);
        let free = all.find(|ngksi| self.bits & 1 << ngksi == 0);
        free.unwrap_or(first % NO_KEY)
    }
}

impl State {
    /// Names of the keys that are known here of a UE.
    pub fn key_names(&self, ue: UeId) -> KeyNames {
        let mut names = KeyNames::default();
        let known = self.ues.get(ue.0);
        let keys = known.map(|ue| [ue.security.as_ref(), ue.new_security.as_ref()]);
        for keys in keys.into_iter().flatten().flatten() {
            names.add(keys.context.ngksi());
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_have_a_name_that_is_free() {
        assert_eq!(KeyNames::default().another(), 0);
        for used in 0..=NO_KEY {
            let mut names = KeyNames::default();
            names.add(used);
            let new = names.another();
            assert!(new < NO_KEY && new != used, "{used}: {new}");
        }
        // The UE names none, and the AMF has 0 for it.
        let mut held = KeyNames::default();
        held.add(0);
        let mut named = KeyNames::default();
        named.add(NO_KEY);
        assert_eq!(named.and(held).another(), 1);
        // All but 3, of which 4 was the last.
        let mut names = KeyNames::default();
        for used in [0, 1, 2, 5, 6, 4] {
            names.add(used);
        }
        assert_eq!(names.another(), 3);
        names.add(3);
        assert_eq!(names.another(), 4, "none is free");
    }
}
