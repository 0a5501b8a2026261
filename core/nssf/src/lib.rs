//! Network slice selection function (TS 23.501, 6.2.14; TS 29.531): which slices a UE may use where it is.
//!
//! The NSSF answers at once, from its configuration and from what it is told of the subscriber, the gNB and the AMF; it keeps
//! nothing of UEs.
#![forbid(unsafe_code)]

mod availability;

use std::collections::BTreeMap;

use sluice_ids::{Plmn, Snssai, Tai};
use sluice_sbi::{
    Done, Effect, Input, Instant, Message, NetworkFunction, Now, Problem, RequestId, SelectSlices,
    Served, SlicesSelected,
};

use availability::Availability;

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
    availability: Availability,
    now: Now,
}

impl Nssf {
    /// With what is served.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Something else is served from now on.
    pub fn reconfigure(&mut self, config: Config) {
        if self.config != config {
            self.changing(|nssf| nssf.config = config);
        }
    }

    /// Areas that AMFs have told, and subscriptions to changes there.
    pub fn availability(&self) -> (usize, usize) {
        let availability = &self.availability;
        (availability.areas(), availability.subscriptions())
    }

    /// Slices by areas that are subscribed to.
    fn watched(&self) -> BTreeMap<Tai, Vec<Snssai>> {
        let served = |tai: &Tai| served(&self.config, tai.plmn);
        self.availability.watched(&served)
    }

    /// Does something that may change slices of areas, and tells who has subscribed to them.
    fn changing<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.watched();
        let done = change(self);
        let served = |tai: &Tai| served(&self.config, tai.plmn);
        self.availability.tell_changes(self.now, &before, &served);
        done
    }

    /// A request of an AMF about what it supports, or of whoever wants to hear of that.
    fn availability_request(&mut self, message: &Message) -> Result<Message, Problem> {
        match message {
            Message::StoreAvailability(request) => self.changing(|nssf| {
                let served = |tai: &Tai| served(&nssf.config, tai.plmn);
                nssf.availability.store(request, &served).map(Message::from)
            }),
            Message::ForgetAvailability(request) => {
                let is_known = self.changing(|nssf| nssf.availability.forget(request.amf));
                is_known
                    .then_some(Done::ALL.into())
                    .ok_or(Problem::ContextNotFound)
            }
            Message::SubscribeAvailability(request) => {
                let subscribed = self.availability.subscribe(self.now, request);
                subscribed.map(Message::from)
            }
            Message::UnsubscribeAvailability(request) => {
                let done = self.availability.unsubscribe(request.id.get());
                done.map(|()| Done::ALL.into())
            }
            _ => Err(Problem::Protocol),
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Nnssf_NSSelection_Get for a registration (TS 29.531, 5.2.2.2.2): slices that the UE asked for, that it
    /// subscribes to and that are there; where none of those it asked for is, the default ones (TS 23.501,
    /// 5.15.5.2.1).
    fn select(&mut self, request: &SelectSlices) -> SlicesSelected {
        let served = served(&self.config, request.tai.plmn);
        let at_amf = self.availability.of(request.amf, request.tai);
        let of_plmn = |slice: &Snssai| {
            let mut subscribed = request.subscribed();
            served.contains(slice) && subscribed.any(|(one, _)| one == *slice)
        };
        // An AMF that has told nothing supports whatever its gNB offers.
        let is_here = |slice: &Snssai| {
            let is_at_amf = at_amf.is_none_or(|slices| slices.contains(slice));
            of_plmn(slice) && is_at_amf && request.offered().contains(slice)
        };
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
            message => {
                let answer = self.availability_request(message);
                answer.unwrap_or_else(Message::from).into()
            }
        };
        Effect::Answer { id, message }
    }
}

/// Slices that a PLMN serves.
fn served(config: &Config, plmn: Plmn) -> &[Snssai] {
    let mut plmns = config.plmns.iter();
    let served = plmns.find(|(one, _)| *one == plmn);
    served.map_or(&[][..], |(_, slices)| slices)
}

impl NetworkFunction for Nssf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.now = now;
        match input {
            Input::Request { id, message } => {
                let answer = self.request(id, &message);
                effects.push(answer);
            }
            Input::Reply { call, message } => self.availability.answered(call, &message),
            Input::Time => self.availability.expire(now),
            _ => {}
        }
        self.availability.take_effects(effects);
    }

    fn serves(&self, slices: &[Snssai]) -> Vec<Served> {
        Served::parts(slices, &[], &[])
    }

    fn next_deadline(&self) -> Instant {
        self.availability.next_deadline()
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

    /// An area of an update, which may be the first and the last.
    fn stored(amf: u8, tac: u8, (is_first, is_last): (bool, bool), ssts: &[u8]) -> Message {
        let slices: Vec<Snssai> = ssts.iter().copied().map(slice).collect();
        sluice_sbi::StoreAvailability {
            amf: sluice_sbi::NfInstance::of([amf; 16]),
            is_first,
            is_last,
            tai: area(tac),
            slices: sluice_sbi::AvailableSlices::new(&slices),
        }
        .into()
    }

    const ALONE: (bool, bool) = (true, true);

    fn area(tac: u8) -> Tai {
        let tac = Tac([0, 0, tac]);
        Tai { plmn: plmn(), tac }
    }

    fn at(unix_s: u64) -> Now {
        Now {
            instant: Instant(unix_s * 1_000_000_000),
            unix_s,
        }
    }

    /// Answer to a request, and what subscribers are told.
    fn ask(nssf: &mut Nssf, message: impl Into<Message>) -> (Message, Vec<Message>) {
        let (mut effects, now) = (Vec::new(), nssf.now);
        let id = RequestId {
            from: sluice_sbi::Place::outside(sluice_sbi::Nf::Nssf),
            call: sluice_sbi::CallId(sluice_sbi::Key {
                slot: 0,
                generation: 0,
            }),
        };
        let message = message.into().into();
        nssf.handle(now, Input::Request { id, message }, &mut effects);
        let (mut answer, mut told) = (None, Vec::new());
        for effect in effects {
            match effect {
                Effect::Answer { message, .. } => answer = Some(*message),
                Effect::Call { to, message, .. } => {
                    assert!(to.is_outside());
                    told.push(*message);
                }
                other => panic!("{other:?}"),
            }
        }
        (answer.unwrap(), told)
    }

    fn authorized(message: &Message) -> Vec<u8> {
        match message {
            Message::AvailabilityStored(stored) => ssts(stored.authorized.get()),
            Message::NotifyAvailability(notice) => ssts(notice.authorized.get()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_amf_has_what_it_supports_and_no_other_amf_is_bound_by_that() {
        let mut nssf = nssf();
        let (answer, told) = ask(&mut nssf, stored(1, 1, ALONE, &[1, 3]));
        // 3 is none of the PLMN's.
        assert_eq!((authorized(&answer), told.len()), (vec![1], 0));
        let own = asked(&[1, 2, 4], &[1, 2, 4]).of_amf(sluice_sbi::NfInstance::of([1; 16]));
        let other = own.of_amf(sluice_sbi::NfInstance::of([2; 16]));
        assert_eq!(ssts(nssf.select(&own).allowed()), [1]);
        assert_eq!(ssts(nssf.select(&other).allowed()), [1, 2, 4]);
        // Areas of before are forgotten by the next update, and by a deletion.
        ask(&mut nssf, stored(1, 2, ALONE, &[2]));
        assert_eq!(nssf.availability().0, 1);
        assert_eq!(ssts(nssf.select(&own).allowed()), [1, 2, 4]);
        let amf = sluice_sbi::NfInstance::of([1; 16]);
        let forget = sluice_sbi::ForgetAvailability { amf };
        assert_eq!(ask(&mut nssf, forget).0, Done::ALL.into());
        assert_eq!(ask(&mut nssf, forget).0, Problem::ContextNotFound.into());
        assert_eq!(nssf.availability(), (0, 0));
    }

    fn subscribe(id: u64, tac: u8, until_unix_s: u64) -> sluice_sbi::SubscribeAvailability {
        sluice_sbi::SubscribeAvailability {
            id: id.into(),
            areas: 1,
            area: [area(tac); sluice_sbi::AREAS],
            until_unix_s: until_unix_s.into(),
        }
    }

    #[test]
    fn subscribers_hear_of_changes_in_their_areas_until_their_time_is_over() {
        let mut nssf = nssf();
        nssf.now = at(100);
        let (answer, _) = ask(&mut nssf, subscribe(0, 1, 150));
        let Message::AvailabilitySubscribed(subscribed) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(subscribed.until_unix_s.get(), 150);
        let (_, told) = ask(&mut nssf, stored(1, 1, ALONE, &[1, 2]));
        assert_eq!(authorized(&told[0]), [1, 2]);
        // The same once more, another area, and what another AMF has as well are no changes.
        for same in [
            stored(1, 2, (true, false), &[4]),
            stored(1, 1, (false, true), &[1, 2]),
            stored(2, 1, ALONE, &[2]),
        ] {
            assert!(ask(&mut nssf, same).1.is_empty());
        }
        let (_, told) = ask(&mut nssf, stored(1, 1, ALONE, &[4]));
        assert_eq!(told.len(), 1);
        assert_eq!(authorized(&told[0]), [2, 4], "2 is another AMF's");
        nssf.reconfigure(Config {
            plmns: vec![(plmn(), vec![slice(4)])],
        });
        assert_eq!(nssf.next_deadline(), Instant(0));
        let mut effects = Vec::new();
        nssf.handle(at(101), Input::Time, &mut effects);
        assert_eq!(effects.len(), 1);
        // It changes, and ends.
        let (answer, _) = ask(&mut nssf, subscribe(subscribed.id.get(), 2, 0));
        assert!(
            matches!(answer, Message::AvailabilitySubscribed(one) if one.until_unix_s.get() == 101 + 86_400)
        );
        assert!(ask(&mut nssf, stored(1, 1, ALONE, &[1])).1.is_empty());
        nssf.handle(at(101 + 86_400), Input::Time, &mut effects);
        assert_eq!(nssf.availability().1, 0);
        for (id, until_unix_s, problem) in [
            (0, 3, Problem::Protocol),
            (subscribed.id.get(), 0, Problem::ContextNotFound),
        ] {
            let (answer, _) = ask(&mut nssf, subscribe(id, 1, until_unix_s));
            assert_eq!(answer, problem.into());
        }
    }
}
