//! Network slice selection function (TS 23.501, 6.2.14; TS 29.531): which slices a UE may use where it is.
//!
//! It answers at once, from its configuration and from what it is told of the subscriber and the gNB; it keeps
//! nothing of UEs.
#![forbid(unsafe_code)]

use sluice_ids::{Plmn, Snssai};
use sluice_sbi::{
    Effect, Input, Instant, Message, NetworkFunction, Now, Problem, RequestId, SelectSlices,
    Served, SlicesSelected,
};

/// What is served.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// Slices of each PLMN.
    pub plmns: Vec<(Plmn, Vec<Snssai>)>,
}

/// What happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Selections with at least one slice.
    pub selected: u64,
    /// Selections without any.
    pub none: u64,
    /// Slices that were asked for and rejected.
    pub rejected: u64,
}

/// The function.
#[derive(Debug, Default)]
pub struct Nssf {
    config: Config,
    counters: Counters,
}

impl Nssf {
    /// With what is served.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            counters: Counters::default(),
        }
    }

    /// Something else is served from now on.
    pub fn reconfigure(&mut self, config: Config) {
        self.config = config;
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Nnssf_NSSelection_Get for a registration (TS 29.531, 5.2.2.2.2): slices that the UE asked for, that it
    /// subscribes to and that are there; where none of those it asked for is, the default ones (TS 23.501,
    /// 5.15.5.2.1).
    fn select(&mut self, request: &SelectSlices) -> SlicesSelected {
        let mut plmns = self.config.plmns.iter();
        let served = plmns.find(|(plmn, _)| *plmn == request.tai.plmn);
        let served = served.map_or(&[][..], |(_, slices)| slices);
        let of_plmn = |slice: &Snssai| {
            let mut subscribed = request.subscribed();
            served.contains(slice) && subscribed.any(|(one, _)| one == *slice)
        };
        let is_here = |slice: &Snssai| of_plmn(slice) && request.offered().contains(slice);
        let requested = request.requested();
        let (mut allowed, rejected): (Vec<Snssai>, Vec<Snssai>) =
            requested.iter().copied().partition(is_here);
        if allowed.is_empty() {
            let defaults = request.subscribed().filter(|(_, is_default)| *is_default);
            allowed = defaults.map(|(slice, _)| slice).filter(is_here).collect();
        }
        self.counters.rejected += rejected.len() as u64;
        match allowed.is_empty() {
            true => self.counters.none += 1,
            false => self.counters.selected += 1,
        }
        let rejected: Vec<(Snssai, bool)> = rejected
            .into_iter()
            .map(|slice| (slice, of_plmn(&slice)))
            .collect();
        SlicesSelected::new(&allowed, &rejected)
    }

    fn request(&mut self, id: RequestId, message: &Message) -> Effect {
        let message = match message {
            Message::SelectSlices(request) => self.select(request).into(),
            _ => Problem::Protocol.into(),
        };
        Effect::Answer { id, message }
    }
}

impl NetworkFunction for Nssf {
    fn handle(&mut self, _: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        if let Input::Request { id, message } = input {
            let answer = self.request(id, &message);
            effects.push(answer);
        }
    }

    fn serves(&self, slices: &[Snssai]) -> Vec<Served> {
        Served::parts(slices, &[], &[])
    }

    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use sluice_ids::{Tac, Tai};

    use super::*;

    fn slice(sst: u8) -> Snssai {
        Snssai::new(sst, None)
    }

    fn plmn() -> Plmn {
        Plmn::new("001", "01").unwrap()
    }

    /// Of what is asked for and what the gNB offers; 1 and 4 are default slices, 5 is not subscribed.
    fn asked(requested: &[u8], offered: &[u8]) -> SelectSlices {
        let tac = Tac([0, 0, 1]);
        let of = |ssts: &[u8]| ssts.iter().copied().map(slice).collect::<Vec<_>>();
        let subscribed = [(1, true), (2, false), (3, false), (4, true)];
        let subscribed = subscribed.map(|(sst, is_default)| (slice(sst), is_default));
        let tai = Tai { plmn: plmn(), tac };
        SelectSlices::new(tai, &of(requested), &subscribed, &of(offered))
    }

    fn ssts<'a>(slices: impl IntoIterator<Item = &'a Snssai>) -> Vec<u8> {
        slices.into_iter().map(|slice| slice.sst).collect()
    }

    fn nssf() -> Nssf {
        let slices = [1, 2, 4, 5].map(slice).to_vec();
        Nssf::new(Config {
            plmns: vec![(plmn(), slices)],
        })
    }

    #[test]
    fn slices_are_allowed_that_are_asked_for_subscribed_served_and_offered() {
        let mut nssf = nssf();
        let selected = nssf.select(&asked(&[1, 2, 3, 5], &[1, 3, 4, 5]));
        assert_eq!(ssts(selected.allowed()), [1]);
        // 2 is not offered here; 3 is not served, and 5 not subscribed, in the whole PLMN.
        let rejected: Vec<(u8, bool)> =
            selected.rejected().map(|(s, area)| (s.sst, area)).collect();
        assert_eq!(rejected, [(2, true), (3, false), (5, false)]);
        let counters = nssf.counters();
        assert_eq!(
            (counters.selected, counters.none, counters.rejected),
            (1, 0, 3)
        );
    }

    #[test]
    fn default_slices_are_for_who_asks_for_none_that_is_there() {
        let mut nssf = nssf();
        for requested in [&[][..], &[3], &[9, 3]] {
            let selected = nssf.select(&asked(requested, &[1, 2, 3, 4]));
            assert_eq!(ssts(selected.allowed()), [1, 4], "{requested:?}");
            assert_eq!(selected.rejected().count(), requested.len());
        }
        let selected = nssf.select(&asked(&[3], &[2, 3]));
        assert_eq!(selected.allowed(), []);
        assert_eq!(nssf.counters().none, 1);
    }

    #[test]
    fn another_plmn_has_no_slices_and_a_reconfiguration_counts_at_once() {
        let mut nssf = nssf();
        nssf.reconfigure(Config::default());
        let selected = nssf.select(&asked(&[1], &[1]));
        assert_eq!(selected.allowed(), []);
        assert_eq!(selected.rejected().collect::<Vec<_>>(), [(slice(1), false)]);
    }

    #[test]
    fn what_is_no_selection_is_a_protocol_error() {
        let (mut nssf, mut effects) = (nssf(), Vec::new());
        let id = RequestId {
            from: sluice_sbi::Nf::Amf.into(),
            call: sluice_sbi::CallId(sluice_sbi::Key {
                slot: 0,
                generation: 0,
            }),
        };
        let message = sluice_sbi::Done::ALL.into();
        nssf.handle(Now::default(), Input::Request { id, message }, &mut effects);
        let expected: Message = Problem::Protocol.into();
        assert!(matches!(&effects[..], [Effect::Answer { message, .. }] if **message == expected));
    }
}
