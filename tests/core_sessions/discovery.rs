//! The NRF of a core: who registers, who is discovered, and what the AMF does while the NRF is silent.

use sluice_n1::{Cause, SessionCause, SessionType};
use sluice_nrf::{NfType, Nrf};
use sluice_sbi::{
    Allowed, CallId, DiscoverNfs, Effect, Input, Key, Message, NetworkFunction, Nf, NfProfile,
    NfQuery, NfStatus, Problem, RegisterNf, RequestId, Requester,
};
use sluice_smf::{NetworkConfig, Pool};
use sluice_ue::WantedSession;

use crate::harness::*;
use crate::procedures::ESTABLISHMENT;
use crate::world::{self, TestNetwork, dnn, slice, tai};

/// An interval of 10 s; what is found counts for a minute.
const NRF: sluice_nrf::Config = sluice_nrf::Config {
    heart_beat_s: 10,
    validity_s: 60,
};

fn named(name: &str) -> WantedSession {
    WantedSession {
        dnn: Some(dnn(name)),
        ..wanted(SessionType::Ipv4)
    }
}

/// With heart-beats.
fn beating() -> TestNetwork {
    let core = world::core(world::config(), true);
    let smf = sluice_smf::Smf::new(smf_config()).unwrap();
    begin(core.with_smf(smf).with_nrf(NRF), &[1])
}

/// The AMF of these tests, for a slice of its own.
fn requester() -> Requester {
    Requester::new(Nf::Amf, Some(slice(1)), Some(world::plmn()))
}

/// An NRF's answer.
fn answer(nrf: &mut Nrf, world: &TestNetwork, message: impl Into<Message>) -> Message {
    let (slot, generation) = (0, 0);
    let call = CallId(Key { slot, generation });
    let (id, message) = (
        RequestId {
            from: Nf::Amf.into(),
            call,
        },
        message.into(),
    );
    let mut effects = Vec::new();
    nrf.handle(
        world.now,
        Input::Request {
            id,
            message: message.into(),
        },
        &mut effects,
    );
    let mut answers = effects.into_iter().filter_map(|effect| match effect {
        Effect::Answer { message, .. } => Some(message),
        _ => None,
    });
    *answers.next_back().unwrap()
}

fn status(world: &TestNetwork, nf: Nf) -> Option<NfStatus> {
    let mut profiles = world.core.nrf().unwrap().profiles();
    let one = profiles.find(|one| *one.kind() == nf)?;
    Some(one.status)
}

/// Told to operators since the last call, of UEs or functions whose name has this.
fn refused(world: &mut TestNetwork, who: &str) -> Vec<String> {
    let refused = world.core.take_refused().into_iter();
    let of_who = refused.filter(|one| one.who.contains(who));
    of_who.map(|one| one.to_string()).collect()
}

#[test]
fn functions_register_at_the_start_with_what_they_serve() {
    let world = world(&[]);
    let all = [
        Nf::Amf,
        Nf::Ausf,
        Nf::Udm,
        Nf::Udr,
        Nf::Smf,
        Nf::Nssf,
        Nf::Pcf,
    ];
    let mut kinds: Vec<Nf> = world
        .core
        .nrf()
        .unwrap()
        .profiles()
        .filter_map(|one| one.kind().nf())
        .collect();
    kinds.sort();
    assert_eq!(kinds, all);
    for one in world.core.nrf().unwrap().profiles() {
        assert_eq!(one.status, NfStatus::Registered);
        assert_eq!(one.plmns(), [world::plmn()]);
    }
    let mut profiles = world.core.nrf().unwrap().profiles();
    let smf = profiles.find(|one| *one.kind() == Nf::Smf).unwrap();
    assert_eq!(smf.parts().len(), 1);
    assert_eq!(smf.parts()[0].served.slices(), [slice(1), slice(2)]);
    assert_eq!(smf.parts()[0].served.dnns(), [dnn("internet"), dnn("lab")]);
    assert_eq!(smf.parts()[0].served.areas(), []);
    let amf = NfQuery::new(requester(), Nf::Amf, Some(slice(1)), None, Some(tai()));
    let mut profiles = world.core.nrf().unwrap().profiles();
    let known = profiles.find(|one| *one.kind() == Nf::Amf).unwrap();
    assert!(known.parts()[0].served.serves(&amf) && known.parts()[0].served.is_in(&amf));
    assert_eq!(known.parts()[0].served.areas(), [tai()]);
}

#[test]
fn a_second_session_of_the_same_kind_asks_the_nrf_nothing() {
    let mut world = world(&[1, 2]);
    establish(&mut world, 0, 5, &named("internet"));
    world.assert_said(ESTABLISHMENT);
    world.call_flow.0.clear();
    establish(&mut world, 1, 5, &named("internet"));
    let expected = ESTABLISHMENT
        .split_inclusive('\n')
        .filter(|line| !line.contains("NRF"));
    world.assert_said(&expected.collect::<String>());
    let counters = world.amf().counters();
    assert_eq!((counters.smfs_by_nrf, counters.smfs_by_cache), (1, 1));
    // Of another data network it is.
    establish(&mut world, 1, 6, &named("lab"));
    assert_eq!(world.amf().counters().smfs_by_nrf, 2);
    assert_eq!(world.core.smf().unwrap().sessions(), 3);
    // What was found does not count for ever.
    world.now.instant = world.now.instant.plus_ms(60_000);
    establish(&mut world, 0, 7, &named("internet"));
    assert_eq!(world.amf().counters().smfs_by_nrf, 3);
}

#[test]
fn an_smf_that_misses_its_heart_beats_is_suspended_and_not_discovered_until_it_is_back() {
    let mut world = beating();
    pass(&mut world, 40);
    assert_eq!(status(&world, Nf::Smf), Some(NfStatus::Registered));
    assert!(world.core.nrf().unwrap().counters().missed.is_empty());
    world.core.cut_off(&[Nf::Smf]);
    pass(&mut world, 40);
    assert_eq!(status(&world, Nf::Smf), Some(NfStatus::Suspended));
    assert_eq!(status(&world, Nf::Amf), Some(NfStatus::Registered));
    assert_eq!(world.core.nrf().unwrap().counters().suspended, 1);
    assert!(world.core.nrf().unwrap().counters().missed[&Nf::Smf] >= 2);
    let told = refused(&mut world, "SMF");
    assert!(told[0].contains("it is suspended"), "{told:?}");
    establish(&mut world, 0, 5, &named("internet"));
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
    let told = refused(&mut world, "imsi");
    assert!(told[0].contains("missed its heart-beats"), "{told:?}");
    assert_eq!(world.amf().counters().no_smf, 1);
    // It is reached again.
    world.core.cut_off(&[]);
    pass(&mut world, 20);
    assert_eq!(status(&world, Nf::Smf), Some(NfStatus::Registered));
    establish(&mut world, 0, 5, &named("internet"));
    assert!(world.ue(0).sessions().get(5).is_some());
}

#[test]
fn an_smf_that_stays_away_is_forgotten_and_registers_anew_when_it_is_back() {
    let mut world = beating();
    world.core.cut_off(&[Nf::Smf]);
    pass(&mut world, 120);
    assert_eq!(status(&world, Nf::Smf), None);
    assert_eq!(world.core.nrf().unwrap().counters().forgotten, 1);
    establish(&mut world, 0, 5, &named("internet"));
    let told = refused(&mut world, "imsi");
    assert!(told[0].contains("no SMF is registered"), "{told:?}");
    world.core.cut_off(&[]);
    pass(&mut world, 20);
    assert_eq!(status(&world, Nf::Smf), Some(NfStatus::Registered));
    assert_eq!(world.core.nrf().unwrap().counters().unknown, 1);
    establish(&mut world, 0, 5, &named("internet"));
    assert!(world.ue(0).sessions().get(5).is_some());
}

#[test]
fn while_the_nrf_is_silent_the_last_answer_counts_and_else_the_default_smf() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 1, &named("internet"));
    world.core.cut_off(&[Nf::Nrf]);
    // What it has answered is still valid.
    establish(&mut world, 0, 2, &named("internet"));
    assert_eq!(world.amf().counters().smfs_by_cache, 1);
    world.now.instant = world.now.instant.plus_ms(60_000);
    establish(&mut world, 0, 3, &named("internet"));
    assert!(world.ue(0).sessions().get(3).is_none());
    while world.ue(0).sessions().get(3).is_none() {
        assert!(world.wait());
    }
    assert_eq!(world.amf().counters().smfs_by_old_answer, 1);
    // It is not asked again at once.
    establish(&mut world, 0, 4, &named("lab"));
    assert_eq!(world.amf().counters().smfs_by_default, 1);
    assert!(world.ue(0).sessions().get(4).is_some());
    // The SMF says itself what it does not serve.
    establish(&mut world, 0, 5, &named("nowhere"));
    assert_refused(&world, None, Some(SessionCause::UNKNOWN_DNN));
    // It is asked again after a while.
    world.core.cut_off(&[]);
    world.now.instant = world.now.instant.plus_ms(10_000);
    establish(&mut world, 0, 6, &named("lab"));
    assert_eq!(world.amf().counters().smfs_by_nrf, 2);
}

#[test]
fn without_a_default_smf_there_is_none_while_the_nrf_is_silent() {
    let mut config = world::config();
    config.default_smf = false;
    let mut world = world_of(config, &[1]);
    world.core.cut_off(&[Nf::Nrf]);
    establish(&mut world, 0, 5, &named("internet"));
    assert!(world.wait());
    let cause = Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN;
    assert_refused(&world, Some(cause), None);
    let told = refused(&mut world, "imsi");
    assert!(told[0].contains("nrf.default_smf"), "{told:?}");
}

#[test]
fn an_smf_that_did_not_answer_is_looked_for_anew() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 1, &named("internet"));
    world.core.cut_off(&[Nf::Smf]);
    establish(&mut world, 0, 2, &named("internet"));
    assert!(world.wait());
    assert!(world.ue(0).sessions().get(2).is_none());
    let cause = Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN;
    assert_refused(&world, Some(cause), None);
    world.core.cut_off(&[]);
    establish(&mut world, 0, 3, &named("internet"));
    assert!(world.ue(0).sessions().get(3).is_some());
    let counters = world.amf().counters();
    assert_eq!((counters.smfs_by_nrf, counters.smfs_by_cache), (2, 1));
}

#[test]
fn a_new_data_network_works_at_once_after_a_reload() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &named("nowhere"));
    assert_refused(&world, Some(Cause::DNN_NOT_SUPPORTED), None);
    let told = refused(&mut world, "imsi");
    let why = "no SMF serves the data network nowhere in the slice 1";
    assert!(told[0].contains(why), "{told:?}");
    let mut config = smf_config();
    config.networks.push(NetworkConfig {
        instance: "internet".to_owned(),
        pools: vec![Pool::Ipv4([10, 45, 3, 0].into(), 24)],
        ..NetworkConfig::new(dnn("nowhere"))
    });
    world
        .core
        .sessions()
        .reconfigure(world.now, config)
        .unwrap();
    let query = NfQuery::new(
        requester(),
        Nf::Smf,
        Some(slice(1)),
        Some(dnn("nowhere")),
        Some(tai()),
    );
    let mut profiles = world.core.nrf().unwrap().profiles();
    assert!(profiles.any(|one| one.parts().iter().any(|part| part.served.serves(&query))));
    drop(profiles);
    establish(&mut world, 0, 5, &named("nowhere"));
    assert!(world.ue(0).sessions().get(5).is_some());
}

/// TS 33.518 4.2.2.2.1 with the profiles of a core: each function is discovered by those that use it, from slices and
/// PLMNs of the core, and by nobody else.
#[test]
fn functions_are_discovered_by_those_that_use_them_alone() {
    let world = world(&[]);
    let mut nrf = Nrf::default();
    for one in world.core.nrf().unwrap().profiles() {
        let kind = one.kind().nf().unwrap();
        let types: Vec<Nf> = one.allowed().types.iter().filter_map(NfType::nf).collect();
        let allowed = Allowed::new(&types, &one.allowed().slices, &one.allowed().plmns);
        let served = one.parts()[0].served;
        let profile = NfProfile::new(one.instance(), kind, one.plmns(), served)
            .with_allowed(allowed.unwrap());
        assert!(!matches!(
            answer(&mut nrf, &world, RegisterNf { profile }),
            Message::Failure(_)
        ));
    }
    let (own, home) = (Some(slice(1)), Some(world::plmn()));
    let other = sluice_ids::Plmn::new("208", "93");
    let forbidden = Message::from(Problem::DiscoveryForbidden);
    let mut ask = |requester, target| {
        let query = NfQuery::new(requester, target, None, None, None);
        let answer = answer(&mut nrf, &world, DiscoverNfs { query });
        match answer {
            Message::NfsDiscovered(answer) => {
                assert_eq!(answer.found.all().len(), 1);
                true
            }
            refused => {
                assert_eq!(refused, forbidden);
                assert!(refused.to_string().contains("403 Forbidden"), "{refused}");
                false
            }
        }
    };
    for (target, users) in [
        (Nf::Udr, &[Nf::Udm, Nf::Pcf][..]),
        (Nf::Ausf, &[Nf::Amf, Nf::Udm]),
        // The UDR notifies the UDM, and the UDM the SMF.
        (Nf::Udm, &[Nf::Amf, Nf::Smf, Nf::Ausf, Nf::Udr]),
        (Nf::Nssf, &[Nf::Amf, Nf::Nssf]),
        (Nf::Smf, &[Nf::Amf, Nf::Smf, Nf::Pcf, Nf::Udm]),
        (Nf::Pcf, &[Nf::Amf, Nf::Smf, Nf::Pcf]),
        (Nf::Amf, &[Nf::Amf, Nf::Smf, Nf::Udm, Nf::Pcf, Nf::Nssf]),
    ] {
        for kind in Nf::ALL {
            let is_user = users.contains(&kind);
            let is_let = ask(Requester::new(kind, own, home), target);
            assert_eq!(is_let, is_user, "{kind} looks for {target}");
            assert!(!ask(Requester::new(kind, Some(slice(9)), home), target));
            assert!(!ask(Requester::new(kind, own, other), target));
        }
    }
}

#[test]
fn functions_that_go_deregister() {
    let mut world = world(&[1]);
    world.core.mobility().end(world.now);
    world.core.sessions().end(world.now);
    world.run();
    assert_eq!(status(&world, Nf::Amf), None);
    assert_eq!(status(&world, Nf::Smf), None);
    assert_eq!(status(&world, Nf::Udm), Some(NfStatus::Registered));
    assert_eq!(world.core.nrf().unwrap().counters().deregistrations, 2);
}
