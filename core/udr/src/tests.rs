use sluice_ids::UpProtection;
use sluice_sbi::{
    AdvanceSqn, CallId, Key, Nf, NotStored, Place, QueryAccessAndMobility, QuerySessionManagement,
    QuerySubscription, StoreAuthentication, UpdateSqn,
};
use sluice_security::{K, Opc};

use super::*;

mod context_data;

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

fn udr() -> Udr {
    let subscriber = Subscriber {
        credentials: Credentials::milenage(K::new([1; 16]), Opc::new([2; 16])),
        sqn: Sqn::default(),
        ambr_bps: (1_000, 500),
        slices: vec![(Snssai::new(1, None), true)],
        networks: Vec::new(),
    };
    let mut udr = Udr::default();
    assert!(udr.insert(supi(), subscriber));
    udr
}

const ID: RequestId = RequestId {
    from: Place {
        nf: Nf::Udm,
        number: 0,
    },
    call: CallId(Key {
        slot: 1,
        generation: 0,
    }),
};

fn ask(udr: &mut Udr, message: impl Into<Message>) -> Vec<Effect> {
    let mut effects = Vec::new();
    let request = Input::Request {
        id: ID,
        message: message.into().into(),
    };
    udr.handle(Now::default(), request, &mut effects);
    effects
}

fn answer(effects: &[Effect]) -> Message {
    match effects {
        [Effect::Answer { id: ID, message }] => **message,
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn a_sequence_number_is_stored_before_it_is_told() {
    let mut udr = udr();
    let advance = |above: Option<u64>| AdvanceSqn {
        supi: supi(),
        above: above.unwrap_or_default().into(),
        resynchronised: above.is_some(),
        floor: 7.into(),
    };
    for (above, expected) in [
        (None, 8),
        (None, 9),
        (Some(100 << 5), 101),
        (Some(50 << 5), 51),
    ] {
        let effects = ask(&mut udr, advance(above));
        let [Effect::Commit { id, .. }] = effects[..] else {
            panic!("not stored first: {effects:?}");
        };
        let mut effects = Vec::new();
        udr.handle(Now::default(), Input::Committed(id), &mut effects);
        let Message::AuthenticationSubscription(told) = answer(&effects) else {
            panic!("{effects:?}");
        };
        assert_eq!(Sqn::new(told.sqn.get()).sequence(), expected);
        assert_eq!(udr.sqn_of(&supi()).map(Sqn::sequence), Some(expected));
    }
}

/// Two UDMs have counted from the same number: the second one is told that of the first, also where another core was the
/// first.
#[test]
fn a_number_that_a_udm_has_counted_is_stored_if_nobody_was_faster() {
    let mut udr = udr();
    let update = |from: u64, to: u64| UpdateSqn {
        supi: supi(),
        from: from.into(),
        to: to.into(),
    };
    let told = |effects: &[Effect]| match answer(effects) {
        Message::AuthenticationSubscription(told) => told.sqn.get(),
        other => panic!("{other}"),
    };
    let committed = |udr: &mut Udr, id| {
        let mut effects = Vec::new();
        udr.handle(Now::default(), Input::Committed(id), &mut effects);
        effects
    };
    let effects = ask(&mut udr, update(0, 0x41));
    let [Effect::Commit { id, value, .. }] = &effects[..] else {
        panic!("not stored first: {effects:?}");
    };
    let stored = value.as_ref().and_then(|value| value.first_chunk::<8>());
    assert_eq!(stored, Some(&0x41_u64.to_be_bytes()));
    assert_eq!(told(&committed(&mut udr, *id)), 0x41);
    assert_eq!(told(&ask(&mut udr, update(0, 0x62))), 0x41);
    // What this repository counts goes on from there.
    assert!(next(&mut udr, 0, None).0 > 0x41 >> 5);
    udr.share_sequence_numbers();
    let last = udr.sqn_of(&supi()).expect("a subscriber").get();
    let (id, ..) = claim(&ask(&mut udr, update(last, last + 32)));
    let instead = [(50_u64 << 5).to_be_bytes(), [0; 8]].concat();
    let why = NotStored::Instead(&instead);
    let mut effects = Vec::new();
    udr.handle(
        Now::default(),
        Input::NotCommitted { id, why },
        &mut effects,
    );
    assert_eq!(told(&effects), 50 << 5);
}

#[test]
fn an_unknown_subscriber_is_not_found() {
    let mut udr = udr();
    let supi = Supi::from_imsi("001010000000002").expect("digits");
    let guami = Guami {
        plmn: sluice_ids::Plmn::new("001", "01").expect("digits"),
        amf: sluice_ids::AmfId::from_octets([1, 2, 3]),
    };
    for message in [
        Message::from(QuerySubscription { supi }),
        QueryAccessAndMobility { supi }.into(),
        AdvanceSqn {
            supi,
            above: 0.into(),
            resynchronised: false,
            floor: 0.into(),
        }
        .into(),
        UpdateSqn {
            supi,
            from: 0.into(),
            to: 1.into(),
        }
        .into(),
        StoreAmf {
            supi,
            guami,
            registered: true,
            network: guami.plmn.serving_network_name(),
        }
        .into(),
        proof(supi, guami.plmn, true).into(),
    ] {
        assert_eq!(
            answer(&ask(&mut udr, message)),
            Problem::UserNotFound.into()
        );
    }
    assert_eq!(answer(&ask(&mut udr, Done::ALL)), Problem::Protocol.into());
}

/// What a repository tells, and what it has stored before; it is stored at once.
fn next(udr: &mut Udr, unix_s: u64, resynchronised: Option<u64>) -> (u64, Option<Vec<u8>>) {
    let request = AdvanceSqn {
        supi: supi(),
        above: resynchronised.unwrap_or_default().into(),
        resynchronised: resynchronised.is_some(),
        floor: unix_s.into(),
    };
    let mut effects = ask(udr, request);
    let mut stored = None;
    if let [Effect::Commit { id, value, .. }] = &effects[..] {
        let id = *id;
        stored = value.clone();
        effects.clear();
        udr.handle(Now::default(), Input::Committed(id), &mut effects);
    }
    let Message::AuthenticationSubscription(told) = answer(&effects) else {
        panic!("{effects:?}");
    };
    (Sqn::new(told.sqn.get()).sequence(), stored)
}

/// A repository of a database that has stored this.
fn started(sqn: u64, difference_s: i64) -> Udr {
    let mut udr = Udr::default();
    let provision = Provision {
        subscriber: Subscriber {
            credentials: Credentials::milenage(K::new([1; 16]), Opc::new([2; 16])),
            sqn: Sqn::new(sqn),
            ambr_bps: (1_000, 500),
            slices: Vec::new(),
            networks: Vec::new(),
        },
        difference_s,
        is_barred: false,
    };
    assert_eq!(udr.provision(supi(), provision), Provisioned::New);
    udr
}

const T: u64 = 1_790_000_000;

#[test]
fn no_sequence_number_comes_twice_whenever_it_starts_again() {
    // What lies in the database, and the highest that a SIM was told.
    let (mut sqn, mut difference_s, mut highest) = (0u64, -(T as i64), 0);
    let mut unix_s = T;
    let mut stored_often = 0;
    for start in 0..200u64 {
        let mut udr = started(sqn, difference_s);
        for at in 0..start % 7 {
            let resynchronised = (start % 50 == 13 && at == 2).then_some((highest + 10_000) << 5);
            let (told, stored) = next(&mut udr, unix_s, resynchronised);
            assert!(told > highest, "{told} after {highest} at {unix_s}");
            highest = told;
            if let Some(stored) = stored {
                let (last, difference) = stored.split_first_chunk::<8>().expect("16 octets");
                sqn = u64::from_be_bytes(*last);
                difference_s = i64::from_be_bytes(difference.try_into().expect("16 octets"));
                stored_often += 1;
            }
            // Also many in a second, and starts within the same one.
            unix_s += [0, 0, 1, 0, 3_600, 400_000][(start + at) as usize % 6];
        }
    }
    assert!(stored_often > 0);
}

#[test]
fn what_time_tells_is_not_stored() {
    let mut udr = started(0, -(T as i64));
    assert!(
        next(&mut udr, T + 10, None).1.is_some(),
        "the second of the start"
    );
    for after in [100, 101, 86_400] {
        assert_eq!(next(&mut udr, T + after, None), (after, None));
    }
    // A second one in the same second runs ahead.
    let (told, stored) = next(&mut udr, T + 86_400, None);
    assert!(told == 86_401 && stored.is_some());
    // A SIM that is ahead: from then on time goes on from there.
    let (told, stored) = next(&mut udr, T + 90_000, Some(5_000_000 << 5));
    assert!(told == 5_000_001 && stored.is_some());
    assert_eq!(next(&mut udr, T + 90_010, None), (5_000_011, None));
    // A time that jumps back changes nothing.
    let (told, stored) = next(&mut udr, T, None);
    assert!(told == 5_000_012 && stored.is_some());
}

#[test]
fn a_change_goes_on_with_sequence_numbers_and_a_barred_one_may_only_leave() {
    let mut udr = started(0, -(T as i64));
    let (told, _) = next(&mut udr, T + 50, None);
    let provision = |k: u8, is_barred| Provision {
        subscriber: Subscriber {
            credentials: Credentials::milenage(K::new([k; 16]), Opc::new([2; 16])),
            sqn: Sqn::default(),
            ambr_bps: (7, 7),
            slices: Vec::new(),
            networks: Vec::new(),
        },
        difference_s: -(T as i64) - 60,
        is_barred,
    };
    assert_eq!(
        udr.provision(supi(), provision(1, true)),
        Provisioned::Changed
    );
    assert_eq!(udr.provision(supi(), provision(1, true)), Provisioned::Same);
    assert!(next(&mut udr, T + 50, None).0 > told);
    let guami = Guami {
        plmn: sluice_ids::Plmn::new("001", "01").expect("digits"),
        amf: sluice_ids::AmfId::from_octets([1, 2, 3]),
    };
    let store = |registered| StoreAmf {
        supi: supi(),
        guami,
        registered,
        network: guami.plmn.serving_network_name(),
    };
    ask(&mut udr, proof(supi(), guami.plmn, true));
    let refused = answer(&ask(&mut udr, store(true)));
    assert_eq!(refused, Problem::ServiceNotAllowed.into());
    assert!(matches!(
        ask(&mut udr, store(false))[..],
        [Effect::Commit { .. }]
    ));
    // Another SIM begins anew.
    assert_eq!(
        udr.provision(supi(), provision(3, false)),
        Provisioned::Changed
    );
    assert_eq!(udr.sqn_of(&supi()), Some(Sqn::default()));
    let refused = answer(&ask(&mut udr, store(true)));
    assert_eq!(
        refused,
        Problem::NotAuthenticated.into(),
        "the SIM of before has"
    );
    ask(&mut udr, proof(supi(), guami.plmn, true));
    assert!(matches!(
        ask(&mut udr, store(true))[..],
        [Effect::Commit { .. }]
    ));
    assert!(udr.supis().eq([supi()]));
}

/// What is to be stored of a sequence number: it, and the one that is expected to be the last before it.
fn claim(effects: &[Effect]) -> (CommitId, u64, u64) {
    let [
        Effect::Commit {
            id,
            value: Some(value),
            ..
        },
    ] = effects
    else {
        panic!("nothing is to be stored: {effects:?}");
    };
    let octets = |at: usize| u64::from_be_bytes(value[at..at + 8].try_into().expect("8 octets"));
    assert_eq!(value.len(), 24);
    (*id, octets(0), octets(16))
}

#[test]
fn a_number_that_another_core_has_used_is_not_told() {
    let mut udr = udr();
    udr.share_sequence_numbers();
    let advance = || AdvanceSqn {
        supi: supi(),
        above: 0.into(),
        resynchronised: false,
        floor: 7.into(),
    };
    let (first, sqn, before) = claim(&ask(&mut udr, advance()));
    assert_eq!((Sqn::new(sqn).sequence(), before), (8, 0));
    // Another has stored a higher one: the next above that is tried, against that.
    let theirs = Sqn::new(50 << 5 | 3);
    let mut effects = Vec::new();
    let instead = [theirs.get().to_be_bytes(), 43_i64.to_be_bytes()].concat();
    let why = NotStored::Instead(&instead);
    udr.handle(
        Now::default(),
        Input::NotCommitted { id: first, why },
        &mut effects,
    );
    let (second, sqn, before) = claim(&effects);
    assert!(second != first && Sqn::new(sqn) > theirs && before == theirs.get());
    let mut effects = Vec::new();
    udr.handle(Now::default(), Input::Committed(second), &mut effects);
    let Message::AuthenticationSubscription(told) = answer(&effects) else {
        panic!("{effects:?}");
    };
    assert_eq!(told.sqn.get(), sqn);
    // The next one goes on from there, also where time alone would tell it.
    let (third, next, before) = claim(&ask(&mut udr, advance()));
    assert!(next > sqn && before == sqn);
    // The store does not answer: nothing is told but that.
    let mut effects = Vec::new();
    let why = NotStored::Unanswered;
    udr.handle(
        Now::default(),
        Input::NotCommitted { id: third, why },
        &mut effects,
    );
    assert_eq!(answer(&effects), Problem::Timeout.into());
    // A number that another core has used changes nothing of what the UE may do.
    let subscriber = Subscriber {
        sqn: Sqn::new(900 << 5),
        ..udr.get(&supi()).expect("a subscriber").clone()
    };
    let provision = Provision {
        subscriber,
        difference_s: 0,
        is_barred: false,
    };
    assert_eq!(udr.provision(supi(), provision), Provisioned::Same);
}

fn proof(supi: Supi, plmn: sluice_ids::Plmn, success: bool) -> StoreAuthentication {
    StoreAuthentication {
        supi,
        network: plmn.serving_network_name(),
        method: AuthMethod::FiveGAka,
        success,
        unix_s: 7.into(),
    }
}

/// TS 33.501, 6.1.4.1a: an AMF has a UE where the UE has proved who it is, and nowhere else.
#[test]
fn an_amf_has_a_ue_where_it_has_proved_who_it_is() {
    let mut udr = udr();
    let plmn = |mnc| sluice_ids::Plmn::new("001", mnc).expect("digits");
    let store = |mnc, amf| StoreAmf {
        supi: supi(),
        guami: Guami {
            plmn: plmn(mnc),
            amf: sluice_ids::AmfId::from_octets([1, 2, amf]),
        },
        registered: true,
        network: plmn(mnc).serving_network_name(),
    };
    let is_taken = |udr: &mut Udr, mnc, amf| match &ask(udr, store(mnc, amf))[..] {
        [Effect::Commit { .. }] => true,
        refused => {
            assert_eq!(answer(refused), Problem::NotAuthenticated.into());
            false
        }
    };
    assert!(!is_taken(&mut udr, "01", 1), "nobody has asked it");
    ask(&mut udr, proof(supi(), plmn("01"), false));
    assert!(!is_taken(&mut udr, "01", 1), "it has failed");
    ask(&mut udr, proof(supi(), plmn("02"), true));
    assert!(!is_taken(&mut udr, "01", 1), "elsewhere");
    ask(&mut udr, proof(supi(), plmn("01"), true));
    assert!(is_taken(&mut udr, "01", 1));
    // A failure may be of anyone: it is told, and takes nothing away.
    ask(&mut udr, proof(supi(), plmn("01"), false));
    assert!(!udr.authentication_of(&supi()).expect("an event").success);
    assert!(is_taken(&mut udr, "01", 2));
    // The AMF that has the UE keeps it, also where it proves it no more.
    ask(&mut udr, proof(supi(), plmn("02"), true));
    assert!(is_taken(&mut udr, "01", 2));
    assert!(!is_taken(&mut udr, "01", 3));
    // The one that had it before does not take it away (TS 29.503, 5.3.2.4.2).
    let leave = StoreAmf {
        registered: false,
        ..store("01", 1)
    };
    let refused = ask(&mut udr, leave);
    assert_eq!(answer(&refused), Problem::ContextNotFound.into());
    assert!(is_taken(&mut udr, "01", 2));
}

/// TS 33.514: of a data network and slice for time sensitive communication both protections are required, and all UEs of
/// a 5G VN group have one policy. They have what their subscriptions say, each of its slice.
#[test]
fn scas_33_514_4_2_7_1_and_4_2_8_1_a_user_plane_security_policy_is_told_as_it_is_subscribed() {
    let required = UpSecurity {
        integrity: UpProtection::Required,
        confidentiality: UpProtection::Required,
    };
    let (slice, other, dnn) = (
        Snssai::new(1, None),
        Snssai::new(2, None),
        Dnn::new("tsc").expect("a name"),
    );
    let mut udr = udr();
    let second = Supi::from_imsi("001010000000002").expect("digits");
    for who in [supi(), second] {
        let network = |slice| DataNetwork::new(slice, dnn, (1_000, 1_000));
        let subscriber = Subscriber {
            credentials: Credentials::milenage(K::new([1; 16]), Opc::new([2; 16])),
            sqn: Sqn::default(),
            ambr_bps: (1_000, 500),
            slices: vec![(slice, true), (other, false)],
            networks: vec![
                DataNetwork {
                    up_security: Some(required),
                    ..network(slice)
                },
                network(other),
            ],
        };
        assert!(udr.insert(who, subscriber));
    }
    for (supi, slice, expected) in [
        (supi(), slice, Some(required)),
        (second, slice, Some(required)),
        (second, other, None),
    ] {
        let query = QuerySessionManagement { supi, slice, dnn };
        let Message::SessionManagement(told) = answer(&ask(&mut udr, query)) else {
            panic!("no subscription");
        };
        assert_eq!(told.up_security.get(), expected);
    }
}
