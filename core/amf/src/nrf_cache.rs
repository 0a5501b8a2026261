//! Answers of the NRF to the AMF: the best SMF for a slice, a data network and an area, while the answer is valid, and
//! the last answer after that (TS 29.510, 5.3.2.2.2).

use std::collections::BTreeMap;

use sluice_ids::{Dnn, Snssai, Tai};
use sluice_sbi::{Instant, NfInstance, NfsFound};

use crate::limits;

/// Query for an SMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub slice: Snssai,
    pub dnn: Dnn,
    pub area: Tai,
}

type Key = (Snssai, Tai, Vec<u8>);

impl Wanted {
    fn key(&self) -> Key {
        (self.slice, self.area, self.dnn.labels().to_vec())
    }
}

/// Cached answers of the NRF.
#[derive(Debug, Default)]
pub(crate) struct Discovered {
    /// The best SMF, and until when that is so.
    by_wish: BTreeMap<Key, (NfInstance, Instant)>,
    /// Until then the NRF is not asked, since it has not answered.
    pub silent_until: Instant,
}

impl Discovered {
    /// Answers that are kept.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_wish.len()
    }

    /// The SMF that counts by now.
    pub fn valid(&self, wanted: &Wanted, now: Instant) -> Option<NfInstance> {
        let (instance, until) = self.by_wish.get(&wanted.key())?;
        (now < *until).then_some(*instance)
    }

    /// The last one that was known.
    pub fn last(&self, wanted: &Wanted) -> Option<NfInstance> {
        self.by_wish.get(&wanted.key()).map(|(one, _)| *one)
    }

    /// Invalidates the answer to a query.
    pub fn forget(&mut self, wanted: &Wanted) {
        self.by_wish.remove(&wanted.key());
    }

    /// The first that was found, if any was.
    pub fn take(&mut self, wanted: &Wanted, found: &NfsFound, now: Instant) -> Option<NfInstance> {
        self.silent_until = Instant(0);
        let Some(best) = found.all().first() else {
            self.forget(wanted);
            return None;
        };
        let is_new = !self.by_wish.contains_key(&wanted.key());
        if is_new && self.by_wish.len() >= limits::DISCOVERED {
            // The one that ends first goes.
            let first = self.by_wish.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(key) = first.map(|(key, _)| key.clone()) {
                self.by_wish.remove(&key);
            }
        }
        let valid_ms = u64::from(found.validity_s.get()) * 1_000;
        let until = now.plus_ms(valid_ms);
        self.by_wish.insert(wanted.key(), (best.instance, until));
        Some(best.instance)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use sluice_ids::{Plmn, Tac};
    use sluice_sbi::{Found, NoMatch};

    use super::*;

    fn wanted(number: usize) -> Wanted {
        let plmn = Plmn::new("001", "01").unwrap();
        Wanted {
            slice: Snssai::new(1, None),
            dnn: Dnn::new(&format!("n{number}")).unwrap(),
            area: Tai {
                plmn,
                tac: Tac([0, 0, 1]),
            },
        }
    }

    fn found(number: u8, validity_s: u32) -> NfsFound {
        let one = Found {
            instance: NfInstance::of([number; 16]),
            priority: 1.into(),
            capacity: 1.into(),
            load: 0,
        };
        NfsFound::new(validity_s, &[one])
    }

    #[test]
    fn an_answer_counts_as_long_as_it_is_valid_and_is_remembered_after_that() {
        let mut discovered = Discovered::default();
        let (one, begin) = (wanted(1), Instant(0));
        assert_eq!(discovered.valid(&one, begin), None);
        let best = discovered.take(&one, &found(1, 60), begin);
        assert_eq!(best, Some(NfInstance::of([1; 16])));
        assert_eq!(discovered.valid(&one, begin.plus_ms(59_999)), best);
        assert_eq!(discovered.valid(&one, begin.plus_ms(60_000)), None);
        assert_eq!(discovered.last(&one), best);
        assert_eq!(discovered.valid(&wanted(2), begin), None);
        // The NRF knows of none any more.
        let none = NfsFound::none(NoMatch::Suspended);
        assert_eq!(discovered.take(&one, &none, begin), None);
        assert_eq!(discovered.last(&one), None);
    }

    #[test]
    fn an_answer_that_is_valid_for_no_time_is_the_last_one_alone() {
        let (mut discovered, now) = (Discovered::default(), Instant(5));
        let one = wanted(1);
        let best = discovered.take(&one, &found(1, 0), now);
        assert!(best.is_some());
        assert_eq!(discovered.valid(&one, now), None);
        assert_eq!(discovered.last(&one), best);
    }

    #[test]
    fn answers_are_bounded_and_the_one_that_ends_first_goes() {
        let mut discovered = Discovered::default();
        for number in 0..=limits::DISCOVERED {
            let validity_s = 100 + number as u32;
            discovered.take(&wanted(number), &found(1, validity_s), Instant(0));
        }
        assert_eq!(discovered.len(), limits::DISCOVERED);
        assert_eq!(discovered.last(&wanted(0)), None);
        assert!(discovered.last(&wanted(1)).is_some());
    }
}
