//! SMF selection (TS 23.502, 4.3.2.2.3; TS 23.501, 6.3.2): by discovery at the NRF, whose answers are kept as
//! long as they are valid. While the NRF does not answer, the last answer counts, or else the default SMF.

use std::collections::BTreeMap;

use sluice_ids::{Dnn, Snssai, Tai};
use sluice_n1::Cause;
use sluice_sbi::{DiscoverNfs, Instant, Nf, NfInstance, NfQuery, NfsFound, NoMatch};

use crate::explained::Reason;
use crate::limits;
use crate::procedure::Procedure;

/// What an SMF is wanted for.
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

/// What the NRF has answered.
#[derive(Debug, Default)]
pub(crate) struct Discovered {
    /// The best SMF, and until when that is so.
    by_wish: BTreeMap<Key, (NfInstance, Instant)>,
    /// Until then the NRF is not asked, since it has not answered.
    silent_until: Instant,
}

impl Discovered {
    /// Answers that are kept.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_wish.len()
    }

    /// The SMF that counts by now.
    fn valid(&self, wanted: &Wanted, now: Instant) -> Option<NfInstance> {
        let (instance, until) = self.by_wish.get(&wanted.key())?;
        (now < *until).then_some(*instance)
    }

    /// The last one that was known.
    fn last(&self, wanted: &Wanted) -> Option<NfInstance> {
        self.by_wish.get(&wanted.key()).map(|(one, _)| *one)
    }

    /// What was known does not count any more.
    pub fn forget(&mut self, wanted: &Wanted) {
        self.by_wish.remove(&wanted.key());
    }

    /// The first that was found, if any was.
    fn take(&mut self, wanted: &Wanted, found: &NfsFound, now: Instant) -> Option<NfInstance> {
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

/// The SMF for a new session; none is the default one.
///
/// # Errors
/// What the UE is told when there is none (TS 24.501, 5.4.5.2.5), and what operators are.
pub(crate) async fn run(
    p: &Procedure,
    wanted: &Wanted,
) -> Result<Option<NfInstance>, (Cause, Reason)> {
    let (known, is_silent) = p.with(|state| {
        let now = state.now.instant;
        let known = state.discovered.valid(wanted, now);
        state.counters.smfs_by_cache += u64::from(known.is_some());
        (known, now < state.discovered.silent_until)
    });
    if known.is_some() {
        return Ok(known);
    }
    if !is_silent {
        let query = NfQuery::new(
            Nf::Smf,
            Some(wanted.slice),
            Some(wanted.dnn),
            Some(wanted.area),
        );
        if let Ok(answer) = p.call("2", DiscoverNfs { query }).await {
            return p.with(|state| {
                let found = answer.found;
                let best = state.discovered.take(wanted, &found, state.now.instant);
                match best {
                    Some(_) => state.counters.smfs_by_nrf += 1,
                    None => state.counters.no_smf += 1,
                }
                best.map(Some).ok_or_else(|| none(wanted, found.reason))
            });
        }
    }
    p.with(|state| {
        let until = state.now.instant.plus_ms(limits::NRF_SILENT_MS);
        if !is_silent {
            state.discovered.silent_until = until;
        }
        let last = state.discovered.last(wanted);
        let counters = &mut state.counters;
        match last {
            Some(_) => counters.smfs_by_old_answer += 1,
            None if state.config.default_smf => counters.smfs_by_default += 1,
            None => {
                counters.no_smf += 1;
                let why = "the NRF does not answer, and there is no default SMF".to_owned();
                let remedy = "look at sluice ctl --core nfs; set nrf.default_smf";
                let cause = Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN;
                return Err((cause, (why, remedy)));
            }
        }
        Ok(last)
    })
}

/// Why there is no SMF.
fn none(wanted: &Wanted, reason: NoMatch) -> (Cause, Reason) {
    let Wanted { slice, dnn, .. } = wanted;
    match reason {
        NoMatch::NotServed => (
            Cause::DNN_NOT_SUPPORTED,
            (
                format!("no SMF serves the data network {dnn} in the slice {slice:?}"),
                "add it to data_networks, and to networks and slices of a UPF, in core.yaml, and reload",
            ),
        ),
        NoMatch::NotInArea => (
            Cause::PAYLOAD_NOT_FORWARDED,
            (
                format!("no SMF serves {dnn} in the slice {slice:?} where the UE is"),
                "add the tracking area to areas of a UPF in core.yaml, and reload",
            ),
        ),
        NoMatch::Suspended => (
            Cause::PAYLOAD_NOT_FORWARDED,
            (
                format!("the SMF of {dnn} in the slice {slice:?} has missed its heart-beats"),
                "look at sluice ctl --core nfs, and at the SMF",
            ),
        ),
        NoMatch::NotRegistered | NoMatch::Matched => (
            Cause::PAYLOAD_NOT_FORWARDED,
            (
                "no SMF is registered at the NRF".to_owned(),
                "look at sluice ctl --core nfs; sessions need n4, upfs and data_networks in core.yaml",
            ),
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use sluice_ids::{Plmn, Tac};
    use sluice_sbi::Found;

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

    #[test]
    fn what_the_ue_is_told_follows_from_why_there_is_none() {
        let cause = |reason| none(&wanted(1), reason).0;
        assert_eq!(cause(NoMatch::NotServed), Cause::DNN_NOT_SUPPORTED);
        for reason in [
            NoMatch::NotRegistered,
            NoMatch::Suspended,
            NoMatch::NotInArea,
        ] {
            assert_eq!(cause(reason), Cause::PAYLOAD_NOT_FORWARDED, "{reason:?}");
        }
    }
}
