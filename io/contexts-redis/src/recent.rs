//! The last puts, so that a server that has lost the last of them gets them again.

use std::collections::VecDeque;

use sluice_sbi::context_store::Changes;

/// The most puts that are remembered.
const PUTS: usize = 1024;
/// The most octets of keys and values that are remembered.
const OCTETS: usize = 4 << 20;

/// Changes by the version that they have led to, without a gap.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    puts: VecDeque<(u64, Changes)>,
    octets: usize,
}

/// Octets of keys and values.
fn size(changes: &Changes) -> usize {
    let of =
        |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| key.len() + value.as_ref().map_or(0, Vec::len);
    changes.iter().map(of).sum()
}

impl Recent {
    /// These changes have led to this version.
    pub(crate) fn add(&mut self, version: u64, changes: Changes) {
        self.octets += size(&changes);
        self.puts.push_back((version, changes));
        while self.puts.len() > PUTS || self.octets > OCTETS {
            let Some((_, gone)) = self.puts.pop_front() else {
                break;
            };
            self.octets -= size(&gone);
        }
    }

    /// All changes after a version; none if some of them are not remembered any more.
    pub(crate) fn since(&self, version: u64) -> Option<Changes> {
        let (first, _) = self.puts.front()?;
        (*first <= version + 1).then_some(())?;
        let after = self.puts.iter().filter(|(led_to, _)| *led_to > version);
        let mut all = Changes::new();
        for (_, changes) in after {
            all.extend(changes.clone());
        }
        Some(all)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: u8, value: u8, length: usize) -> Changes {
        Changes::from([(vec![key], Some(vec![value; length]))])
    }

    #[test]
    fn changes_since_a_version_are_all_or_none() {
        let mut recent = Recent::default();
        assert_eq!(recent.since(0), None);
        recent.add(5, change(1, 1, 1));
        recent.add(6, change(2, 2, 1));
        recent.add(7, change(1, 3, 1));
        assert_eq!(recent.since(3), None, "that of 4 is not there");
        let all = recent.since(4).expect("5 to 7");
        assert_eq!(
            all,
            [change(1, 3, 1), change(2, 2, 1)]
                .into_iter()
                .flatten()
                .collect()
        );
        assert_eq!(recent.since(6), Some(change(1, 3, 1)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = Recent::default();
        for version in 1..=10 {
            recent.add(version, change(version as u8, 0, OCTETS / 4));
        }
        assert!(recent.octets <= OCTETS);
        assert_eq!(recent.since(6), None);
        assert!(recent.since(7).is_some());
        for version in 11..=3_000 {
            recent.add(version, change(1, 1, 1));
        }
        assert_eq!(recent.puts.len(), PUTS);
    }
}
