//! Context data of UEs: who has their sessions, how long that is known, and what a later repository knows of it.

use sluice_sbi::{
    DeleteSdm, DeleteSmf, NfInstance, QueryContextData, QuerySdm, QuerySmf, SdmSubscription,
    SmfRegistration, StoreSdm, StoreSmf, StoredSdm, StoredSmf,
};

use super::*;

fn smf_of(session: u8) -> StoreSmf {
    let registration = SmfRegistration {
        supi: supi(),
        session,
        smf: NfInstance::of([session; 16]),
        slice: Snssai::new(1, None),
        dnn: Dnn::new("internet").expect("a name"),
        plmn: sluice_ids::Plmn::new("001", "01").expect("digits"),
    };
    StoreSmf { registration }
}

fn sessions(udr: &mut Udr) -> u16 {
    match answer(&ask(udr, QueryContextData { supi: supi() })) {
        Message::ContextData(told) => told.sessions.get(),
        other => panic!("{other}"),
    }
}

fn amf(udr: &mut Udr, registered: bool) -> Vec<Effect> {
    let plmn = sluice_ids::Plmn::new("001", "01").expect("digits");
    let amf = sluice_ids::AmfId::new(1, 1, 1).expect("small");
    ask(udr, proof(supi(), plmn, true));
    let update = StoreAmf {
        supi: supi(),
        guami: Guami { plmn, amf },
        registered,
        network: plmn.serving_network_name(),
    };
    ask(udr, update)
}

fn commits(effects: &[Effect]) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let commit = |effect: &Effect| match effect {
        Effect::Commit { key, value, .. } => Some((key.clone(), value.clone())),
        _ => None,
    };
    effects.iter().filter_map(commit).collect()
}

#[test]
fn smfs_have_sessions_for_as_long_as_they_say_and_an_amf_has_the_ue() {
    let mut udr = udr();
    let refused = ask(&mut udr, smf_of(5));
    assert_eq!(answer(&refused), Problem::ContextNotFound.into());
    amf(&mut udr, true);
    for one in [smf_of(5), smf_of(7), smf_of(5)] {
        assert_eq!(commits(&ask(&mut udr, one)).len(), 1);
    }
    assert_eq!(sessions(&mut udr), 1 << 5 | 1 << 7);
    let known = udr.smf_of(&supi(), 7).expect("registered");
    assert_eq!(known, &smf_of(7).registration);
    let delete = DeleteSmf {
        supi: supi(),
        session: 7,
    };
    // Once more is no harm.
    for _ in 0..2 {
        let gone = commits(&ask(&mut udr, delete));
        assert_eq!(
            gone,
            [(b"udr/smf/001010000000001/7".to_vec(), None)],
            "stored no more"
        );
    }
    assert_eq!(sessions(&mut udr), 1 << 5);
    // What is left of an SMF that has ended goes with the UE, and comes not after it.
    let gone = commits(&amf(&mut udr, false));
    assert_eq!(gone[0], (b"udr/smf/001010000000001/5".to_vec(), None));
    assert_eq!(sessions(&mut udr), 0);
    let late = ask(&mut udr, smf_of(5));
    assert_eq!(answer(&late), Problem::ContextNotFound.into());
    udr.remove(&supi());
    let unknown = ask(&mut udr, smf_of(5));
    assert_eq!(answer(&unknown), Problem::UserNotFound.into());
    assert!(udr.sizes().iter().all(|(_, number)| *number == 0));
}

#[test]
fn a_later_repository_goes_on_with_smfs_of_ues_that_are_there() {
    let mut before = udr();
    amf(&mut before, true);
    let mut stored = commits(&ask(&mut before, smf_of(5)));
    stored.push((b"udr/smf/001010000000001/6".to_vec(), Some(vec![1, 2])));
    let all = || {
        let whole = stored.iter();
        whole.map(|(key, value)| (&key[..], value.as_deref().unwrap_or_default()))
    };
    let mut later = udr();
    amf(&mut later, true);
    assert_eq!(later.resume_contexts(all()), [stored[1].0.clone()]);
    assert_eq!(sessions(&mut later), 1 << 5);
    // Nobody has the UE any more.
    let mut alone = udr();
    assert_eq!(alone.resume_contexts(all()).len(), 2);
    assert_eq!(sessions(&mut alone), 0);
}

/// Whether AMF and SMF are told of changes.
fn told(udr: &mut Udr) -> (bool, bool) {
    match answer(&ask(udr, QueryContextData { supi: supi() })) {
        Message::ContextData(told) => (told.tells_amf, told.tells_smf),
        other => panic!("{other}"),
    }
}

/// A UDM of another program asks for each registration and subscription that there is.
#[test]
fn context_data_are_told_one_by_one() {
    let mut udr = udr();
    amf(&mut udr, true);
    ask(&mut udr, smf_of(5));
    for subscription in subscriptions() {
        ask(&mut udr, StoreSdm { subscription });
    }
    let Message::ContextData(known) = answer(&ask(&mut udr, QueryContextData { supi: supi() }))
    else {
        panic!("no context data");
    };
    assert_eq!(Some(known.guami), udr.amf_of(&supi()));
    let mut told: Vec<SdmSubscription> = Vec::new();
    for number in 0..known.subscriptions {
        let query = QuerySdm {
            supi: supi(),
            number,
        };
        let Message::StoredSdm(StoredSdm { subscription }) = answer(&ask(&mut udr, query)) else {
            panic!("no subscription {number}");
        };
        told.push(subscription);
    }
    assert!(told.len() == 3 && subscriptions().iter().all(|one| told.contains(one)));
    let gone = QuerySdm {
        supi: supi(),
        number: known.subscriptions,
    };
    assert_eq!(
        answer(&ask(&mut udr, gone)),
        Problem::ContextNotFound.into()
    );
    let query = |session| QuerySmf {
        supi: supi(),
        session,
    };
    let registration = smf_of(5).registration;
    assert_eq!(
        answer(&ask(&mut udr, query(5))),
        StoredSmf { registration }.into()
    );
    assert_eq!(
        answer(&ask(&mut udr, query(6))),
        Problem::ContextNotFound.into()
    );
}

fn subscriptions() -> [SdmSubscription; 3] {
    let [amf, smf] = [1, 2].map(|number| NfInstance::of([number; 16]));
    let dnn = |name| Dnn::new(name).expect("a name");
    let of = |name| (Snssai::new(1, None), dnn(name));
    [
        SdmSubscription::access_and_mobility(supi(), amf),
        SdmSubscription::session_management(supi(), smf, of("internet")),
        SdmSubscription::session_management(supi(), smf, of("ims")),
    ]
}

#[test]
fn who_has_subscribed_is_told_until_it_has_unsubscribed_or_nobody_has_the_ue() {
    let mut udr = udr();
    let all = subscriptions();
    let store = |subscription| StoreSdm { subscription };
    let refused = ask(&mut udr, store(all[0]));
    assert_eq!(answer(&refused), Problem::ContextNotFound.into());
    amf(&mut udr, true);
    assert_eq!(told(&mut udr), (false, false));
    // One that comes twice is one.
    for one in [all[0], all[0], all[1], all[2]] {
        assert_eq!(commits(&ask(&mut udr, store(one))).len(), 1);
    }
    assert_eq!(udr.subscriptions_of(&supi()).count(), 3);
    assert_eq!(told(&mut udr), (true, true));
    let delete = |one: SdmSubscription| DeleteSdm {
        supi: one.supi,
        id: one.id().into(),
    };
    for one in [all[0], all[0], all[1]] {
        let gone = commits(&ask(&mut udr, delete(one)));
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].1, None);
    }
    assert_eq!(told(&mut udr), (false, true));
    assert_eq!(commits(&amf(&mut udr, false)).len(), 2, "and the AMF");
    assert_eq!(told(&mut udr), (false, false));
    let late = ask(&mut udr, store(all[1]));
    assert_eq!(answer(&late), Problem::ContextNotFound.into());
    assert!(udr.sizes().iter().all(|(_, number)| *number == 0));
}

#[test]
fn subscriptions_outlive_their_repository() {
    let mut before = udr();
    amf(&mut before, true);
    let mut stored = Vec::new();
    for subscription in subscriptions() {
        stored.extend(commits(&ask(&mut before, StoreSdm { subscription })));
    }
    // One of them under the name of another.
    let (key, _) = stored[2].clone();
    let other = stored[1].1.clone();
    stored[2].1 = other;
    let all = stored.iter();
    let all = all.map(|(key, value)| (&key[..], value.as_deref().unwrap_or_default()));
    let mut later = udr();
    amf(&mut later, true);
    assert_eq!(later.resume_contexts(all), [key]);
    assert_eq!(told(&mut later), (true, true));
    assert_eq!(later.subscriptions_of(&supi()).count(), 2);
}
