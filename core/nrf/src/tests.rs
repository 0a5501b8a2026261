#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use sluice_ids::{Dnn, Plmn, Snssai, Tac, Tai};
use sluice_sbi::{
    Allowed, CallId, DeregisterNf, DiscoverNfs, HeartBeat, Key, NfInstance, NfProfile, NfQuery,
    NfStatus, NfsFound, NoMatch, RegisterNf, RequestId, Requester, ServeMore, Served,
};

use super::*;

const BEATING: Config = Config {
    heart_beat_s: 10,
    validity_s: 60,
};

fn slice(sst: u8) -> Snssai {
    Snssai::new(sst, None)
}

fn dnn(name: &str) -> Dnn {
    Dnn::new(name).unwrap()
}

fn tai(tac: u8) -> Tai {
    let plmn = Plmn::new("001", "01").unwrap();
    Tai {
        plmn,
        tac: Tac([0, 0, tac]),
    }
}

fn at(seconds: u64) -> Now {
    Now {
        instant: Instant(0).plus_ms(seconds * 1_000),
        unix_s: seconds,
    }
}

fn instance(number: u8) -> NfInstance {
    NfInstance::of([number; 16])
}

fn smf(number: u8) -> NfProfile {
    let served = Served::new(&[slice(1)], &[dnn("internet")], &[tai(1)]);
    NfProfile::new(instance(number), Nf::Smf, &[], served)
}

/// An AMF that says nothing more of itself.
fn amf() -> Requester {
    Requester::new(Nf::Amf, None, None)
}

fn query(sst: u8, name: &str, tac: u8) -> NfQuery {
    NfQuery::new(
        amf(),
        Nf::Smf,
        Some(slice(sst)),
        Some(dnn(name)),
        Some(tai(tac)),
    )
}

fn ask(nrf: &mut Nrf, now: Now, message: impl Into<Message>) -> Message {
    let (from, slot, generation) = (Nf::Amf, 0, 0);
    let call = CallId(Key { slot, generation });
    let (id, message) = (
        RequestId {
            from: from.into(),
            call,
        },
        message.into().into(),
    );
    let mut effects = Vec::new();
    nrf.handle(now, Input::Request { id, message }, &mut effects);
    match &effects[..] {
        [Effect::Answer { message, .. }] => **message,
        other => panic!("{other:?}"),
    }
}

fn register(nrf: &mut Nrf, now: Now, profile: NfProfile) {
    let answer = ask(nrf, now, RegisterNf { profile });
    assert!(answer.answer_to::<RegisterNf>().is_ok());
}

fn discover(nrf: &mut Nrf, query: NfQuery) -> NfsFound {
    let answer = ask(nrf, at(0), DiscoverNfs { query });
    answer.answer_to::<DiscoverNfs>().unwrap().found
}

fn instances(found: &NfsFound) -> Vec<NfInstance> {
    found.all().iter().map(|one| one.instance).collect()
}

/// The clock goes on to then; what operators are told meanwhile.
fn pass(nrf: &mut Nrf, until: Now) -> Vec<String> {
    let mut effects = Vec::new();
    while nrf.next_deadline() <= until.instant {
        let instant = nrf.next_deadline();
        nrf.handle(Now { instant, ..until }, Input::Time, &mut effects);
    }
    let told = effects.into_iter().map(|effect| match effect {
        Effect::Refused(refused) => refused.to_string(),
        other => panic!("{other:?}"),
    });
    told.collect()
}

#[test]
fn who_does_what_is_asked_for_is_found_by_priority_then_load() {
    let mut nrf = Nrf::new(BEATING);
    let (mut first, mut last) = (smf(1), smf(2));
    (first.priority, last.priority) = (1.into(), 2.into());
    for profile in [last, smf(3).with_load(50), first, smf(4).with_load(7)] {
        register(&mut nrf, at(0), profile);
    }
    let found = discover(&mut nrf, query(1, "internet", 1));
    assert_eq!(instances(&found), [4, 3, 1, 2].map(instance));
    assert_eq!(found.validity_s.get(), 60);
    // A heart-beat brings another load.
    let beat = HeartBeat {
        instance: instance(4),
        load: 51,
    };
    assert_eq!(ask(&mut nrf, at(1), beat), Done::ALL.into());
    let found = discover(&mut nrf, query(1, "internet", 1));
    assert_eq!(instances(&found), [3, 4, 1, 2].map(instance));
    assert_eq!(nrf.counters().found[&Nf::Smf], 2);
}

#[test]
fn why_nobody_is_found_is_told() {
    let mut nrf = Nrf::new(BEATING);
    let reason = |nrf: &mut Nrf, query| discover(nrf, query).reason;
    let served = query(1, "internet", 1);
    assert_eq!(reason(&mut nrf, served), NoMatch::NotRegistered);
    register(&mut nrf, at(0), smf(1));
    assert_eq!(reason(&mut nrf, served), NoMatch::Matched);
    assert_eq!(
        reason(&mut nrf, query(2, "internet", 1)),
        NoMatch::NotServed
    );
    assert_eq!(reason(&mut nrf, query(1, "ims", 1)), NoMatch::NotServed);
    assert_eq!(
        reason(&mut nrf, query(1, "internet", 2)),
        NoMatch::NotInArea
    );
    let pcf = NfQuery::new(amf(), Nf::Pcf, None, None, None);
    assert_eq!(reason(&mut nrf, pcf), NoMatch::NotRegistered);
    pass(&mut nrf, at(60));
    assert_eq!(reason(&mut nrf, served), NoMatch::Suspended);
    let counters = nrf.counters();
    assert_eq!((counters.found[&Nf::Smf], counters.none[&Nf::Smf]), (1, 5));
}

#[test]
fn an_smf_of_other_plmns_is_not_found() {
    let mut nrf = Nrf::new(BEATING);
    let other = Plmn::new("208", "93").unwrap();
    let profile = smf(1);
    let profile = NfProfile::new(profile.instance, Nf::Smf, &[other], profile.served);
    register(&mut nrf, at(0), profile);
    let found = discover(&mut nrf, query(1, "internet", 1));
    assert_eq!(found.reason, NoMatch::NotRegistered);
}

#[test]
fn parts_of_a_profile_count_together_and_a_new_profile_replaces_all_of_them() {
    let mut nrf = Nrf::new(BEATING);
    register(&mut nrf, at(0), smf(1));
    let served = Served::new(&[slice(2)], &[dnn("ims")], &[]);
    let more = ServeMore {
        instance: instance(1),
        served,
    };
    assert_eq!(ask(&mut nrf, at(0), more), Done::ALL.into());
    for (asked, number) in [
        (query(1, "internet", 1), 1),
        (query(2, "ims", 9), 1),
        // Not what one part has of the slice, and the other of the data network.
        (query(1, "ims", 1), 0),
    ] {
        assert_eq!(discover(&mut nrf, asked).all().len(), number, "{asked:?}");
    }
    register(&mut nrf, at(0), smf(1));
    assert_eq!(discover(&mut nrf, query(2, "ims", 9)).all(), []);
}

#[test]
fn who_misses_its_heart_beats_is_suspended_then_forgotten_and_counted() {
    let mut nrf = Nrf::new(BEATING);
    register(&mut nrf, at(0), smf(1));
    assert_eq!(pass(&mut nrf, at(24)), Vec::<String>::new());
    assert_eq!(nrf.counters().missed[&Nf::Smf], 1);
    // One that is late is still in time.
    let beat = HeartBeat {
        instance: instance(1),
        load: 0,
    };
    assert_eq!(ask(&mut nrf, at(24), beat), Done::ALL.into());
    assert!(pass(&mut nrf, at(24 + 24)).is_empty());
    let told = pass(&mut nrf, at(24 + 25));
    assert!(
        told[0].contains("it is suspended, and not discovered"),
        "{told:?}"
    );
    let status = nrf.profiles().next().unwrap().status;
    assert_eq!(status, NfStatus::Suspended);
    // It comes back, and is gone for good after that.
    assert_eq!(ask(&mut nrf, at(50), beat), Done::ALL.into());
    assert_eq!(discover(&mut nrf, query(1, "internet", 1)).all().len(), 1);
    let told = pass(&mut nrf, at(50 + 105));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("it is forgotten"), "{told:?}");
    assert_eq!(nrf.profiles().count(), 0);
    assert_eq!(nrf.next_deadline(), Instant::NEVER);
    assert_eq!(
        ask(&mut nrf, at(160), beat),
        Problem::ContextNotFound.into()
    );
    let counters = nrf.counters();
    assert_eq!((counters.suspended, counters.forgotten), (2, 1));
    assert_eq!(
        (counters.unknown, counters.missed[&Nf::Smf]),
        (1, 1 + 2 + 10)
    );
}

#[test]
fn who_deregisters_is_gone_at_once() {
    let mut nrf = Nrf::new(BEATING);
    register(&mut nrf, at(0), smf(1));
    let gone = DeregisterNf {
        instance: instance(1),
    };
    assert_eq!(ask(&mut nrf, at(0), gone), Done::ALL.into());
    assert_eq!(ask(&mut nrf, at(0), gone), Problem::ContextNotFound.into());
    assert_eq!(nrf.next_deadline(), Instant::NEVER);
    let more = ServeMore {
        instance: instance(1),
        served: smf(1).served,
    };
    assert_eq!(ask(&mut nrf, at(0), more), Problem::ContextNotFound.into());
}

#[test]
fn profiles_and_their_parts_are_bounded() {
    let mut nrf = Nrf::default();
    let numbered = |number: u16| {
        let [high, low] = number.to_be_bytes();
        let mut octets = [0; 16];
        (octets[0], octets[1]) = (high, low);
        NfProfile::new(NfInstance::of(octets), Nf::Smf, &[], smf(1).served)
    };
    for number in 0..PROFILES as u16 {
        register(&mut nrf, at(0), numbered(number));
    }
    let full = Message::from(Problem::NoResources);
    let profile = numbered(PROFILES as u16);
    assert_eq!(ask(&mut nrf, at(0), RegisterNf { profile }), full);
    // One that is there may change.
    register(&mut nrf, at(0), numbered(0));
    let instance = numbered(7).instance;
    let served = smf(1).served;
    for _ in PROFILES..PARTS {
        let more = ServeMore { instance, served };
        assert_eq!(ask(&mut nrf, at(0), more), Done::ALL.into());
    }
    assert_eq!(ask(&mut nrf, at(0), ServeMore { instance, served }), full);
    assert_eq!(nrf.counters().no_room, 2);
    // Without heart-beats none of them is missed.
    assert_eq!(nrf.next_deadline(), Instant::NEVER);
}

#[test]
fn what_is_no_request_to_it_is_a_protocol_error() {
    let mut nrf = Nrf::default();
    let answer = ask(&mut nrf, at(0), Message::from(Done::ALL));
    assert_eq!(answer, Problem::Protocol.into());
}

/// All that a registration has to say by now, answered by the NRF, or lost.
fn speak(one: &mut Registration, nrf: &mut Nrf, now: Now, is_lost: bool) -> Vec<&'static str> {
    let mut said = Vec::new();
    while let Some(message) = one.say(now, 3) {
        said.push(message.name());
        if !is_lost {
            one.heard(ask(nrf, now, message));
        }
    }
    said
}

const REGISTER: &str = "Nnrf_NFManagement_NFRegister Request";
const MORE: &str = "Nnrf_NFManagement_NFUpdate Request (served)";
const BEAT: &str = "Nnrf_NFManagement_NFUpdate Request (heart-beat)";

#[test]
fn a_function_registers_beats_and_registers_anew_when_it_was_forgotten() {
    let mut nrf = Nrf::new(BEATING);
    let served = Served::new(&[slice(2)], &[dnn("ims")], &[]);
    let mut one = Registration::new(smf(1), vec![served, served]);
    assert_eq!(
        speak(&mut one, &mut nrf, at(0), false),
        [REGISTER, MORE, MORE]
    );
    assert_eq!(one.due(), at(10).instant);
    assert_eq!(speak(&mut one, &mut nrf, at(10), false), [BEAT]);
    assert_eq!(nrf.profiles().next().unwrap().load(), 3);
    // The NRF is another one.
    let mut nrf = Nrf::new(BEATING);
    let said = speak(&mut one, &mut nrf, at(20), false);
    assert_eq!(said, [BEAT, REGISTER, MORE, MORE]);
    assert_eq!(nrf.profiles().next().unwrap().parts().len(), 3);
    // It serves something else; the same once more says nothing.
    one.change(smf(1), Vec::new());
    assert_eq!(speak(&mut one, &mut nrf, at(21), false), [REGISTER]);
    one.change(smf(1), Vec::new());
    assert_eq!(speak(&mut one, &mut nrf, at(22), false).len(), 0);
    one.leave();
    let said = speak(&mut one, &mut nrf, at(23), false);
    assert_eq!(said, ["Nnrf_NFManagement_NFDeregister Request"]);
    assert_eq!((nrf.profiles().count(), one.due()), (0, Instant::NEVER));
}

#[test]
fn what_is_not_answered_is_said_again() {
    let mut nrf = Nrf::new(BEATING);
    let mut one = Registration::new(smf(1), Vec::new());
    for seconds in [0, 3, 6] {
        assert_eq!(speak(&mut one, &mut nrf, at(seconds), true), [REGISTER]);
        assert_eq!(speak(&mut one, &mut nrf, at(seconds + 2), true).len(), 0);
    }
    assert_eq!(speak(&mut one, &mut nrf, at(9), false), [REGISTER]);
    // An answer that nobody waits for says nothing.
    one.heard(Problem::ContextNotFound.into());
    assert_eq!(one.due(), at(19).instant);
}

/// TS 33.518 4.2.2.2.1 (TS 29.510, 5.3.2.2.2): who is in none of the allowed slices, types and PLMNs of what it looks
/// for hears 403; one that does not say in which it is counts as one of this core.
#[test]
fn scas_33_518_4_2_2_2_1_discovery_is_for_those_that_are_allowed() {
    let mut nrf = Nrf::default();
    let plmn = |mnc: &str| Plmn::new("208", mnc).unwrap();
    let allowed = |sst| Allowed::new(&[Nf::Amf], &[slice(sst)], &[plmn("93")]).unwrap();
    register(&mut nrf, at(0), smf(1).with_allowed(allowed(1)));
    let mut discover = |kind, sst: Option<u8>, mnc: Option<&str>| {
        let requester = Requester::new(kind, sst.map(slice), mnc.map(plmn));
        let (slice, dnn) = (Some(slice(1)), Some(dnn("internet")));
        let query = NfQuery::new(requester, Nf::Smf, slice, dnn, None);
        let answer = ask(&mut nrf, at(0), DiscoverNfs { query });
        let found = answer.answer_to::<DiscoverNfs>();
        found.map(|answer| instances(&answer.found))
    };
    let forbidden = Err(Problem::DiscoveryForbidden);
    let found = Ok(vec![instance(1)]);
    assert_eq!(discover(Nf::Amf, Some(1), Some("93")), found);
    assert_eq!(discover(Nf::Amf, Some(2), Some("93")), forbidden);
    assert_eq!(discover(Nf::Amf, Some(1), Some("01")), forbidden);
    assert_eq!(discover(Nf::Pcf, Some(1), Some("93")), forbidden);
    assert_eq!(discover(Nf::Amf, None, Some("93")), found);
    assert_eq!(discover(Nf::Amf, Some(1), None), found);
    assert_eq!(nrf.counters().forbidden[&Nf::Smf], 3);
    // One that is for the other slice: each finds its own, and neither hears of the other.
    register(&mut nrf, at(0), smf(2).with_allowed(allowed(2)));
    let mut discover = |sst| {
        let requester = Requester::new(Nf::Amf, Some(slice(sst)), Some(plmn("93")));
        let query = NfQuery::new(requester, Nf::Smf, Some(slice(1)), None, None);
        let answer = ask(&mut nrf, at(0), DiscoverNfs { query });
        instances(&answer.answer_to::<DiscoverNfs>().unwrap().found)
    };
    assert_eq!(
        (discover(1), discover(2)),
        (vec![instance(1)], vec![instance(2)])
    );
    // PLMNs in which it serves need not be told.
    let own = NfProfile::new(instance(3), Nf::Udm, &[plmn("01")], smf(3).served);
    let own = own.with_allowed(Allowed::new(&[], &[], &[plmn("93")]).unwrap());
    register(&mut nrf, at(0), own);
    for (mnc, is_let) in [("01", true), ("93", true), ("02", false)] {
        let requester = Requester::new(Nf::Amf, None, Some(plmn(mnc)));
        let query = NfQuery::new(requester, Nf::Udm, None, None, None);
        let answer = ask(&mut nrf, at(0), DiscoverNfs { query });
        assert_eq!(answer.answer_to::<DiscoverNfs>().is_ok(), is_let, "{mnc}");
    }
}
