use sluice_ids::{AmfId, Guami, Plmn, Supi};
use sluice_sbi::{
    AmfStored, CallId, ContextData, Key, NfInstance, Place, RegisterAmf, RequestId,
    SdmSubscription, SubscribeSdm,
};

use super::*;

/// Every octet is 7.
struct Sevens;

impl Random for Sevens {
    fn fill(&mut self, octets: &mut [u8]) {
        octets.fill(7);
    }
}

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

fn id(nf: Nf) -> RequestId {
    RequestId {
        from: Place::from(nf),
        call: CallId(Key {
            slot: 1,
            generation: 0,
        }),
    }
}

fn udm() -> Udm {
    Udm::new(Config::default(), Box::new(Sevens))
}

/// Asks the UDM, and answers what it asks the repository, or nothing; what it does then.
fn ask(message: impl Into<Message>, repository: Option<Message>) -> Vec<Effect> {
    let (mut udm, mut effects) = (udm(), Vec::new());
    let (id, message) = (id(Nf::Amf), Slot::from(message.into()));
    let request = Input::Request { id, message };
    udm.handle(Now::default(), request, &mut effects);
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::Call { to, call, .. } if *to == Place::any(Nf::Udr) => Some(*call),
        _ => None,
    });
    let call = asked.expect("the repository is asked");
    effects.clear();
    match repository {
        Some(answer) => {
            let message = Slot::from(answer);
            udm.handle(Now::default(), Input::Reply { call, message }, &mut effects);
        }
        None => {
            let late = Now {
                instant: udm.next_deadline(),
                ..Now::default()
            };
            udm.handle(late, Input::Time, &mut effects);
        }
    }
    effects
}

/// Functions that hear of a change of a subscriber that these have, or have subscribed to.
fn told(
    change: DataChange,
    [has_amf, tells_amf, has_smf, tells_smf]: [bool; 4],
) -> Vec<&'static str> {
    let known = ContextData {
        has_amf,
        sessions: if has_smf { 1 << 5 } else { 0 }.into(),
        tells_amf,
        tells_smf,
        guami: Guami {
            plmn: Plmn::new("001", "01").expect("digits"),
            amf: AmfId::from_octets([2, 0, 0x40]),
        },
        subscriptions: u8::from(tells_amf) + u8::from(tells_smf),
    };
    let notice = NotifyDataChange {
        supi: supi(),
        change,
    };
    let effects = ask(notice, Some(known.into()));
    let message = |effect: &Effect| match effect {
        Effect::Call { message, .. } => Some(message.name()),
        _ => None,
    };
    effects.iter().filter_map(message).collect()
}

#[test]
fn a_withdrawn_subscriber_is_told_to_who_is_registered_and_changes_to_who_has_subscribed() {
    const DEREGISTERED: &str = "Nudm_UECM_DeregistrationNotification Request";
    const ACCESS: &str = "Nudm_SDM_Notification Request (access and mobility)";
    const SESSIONS: &str = "Nudm_SDM_Notification Request (session management)";
    let registered = [true, false, true, false];
    let subscribed = [false, true, false, true];
    use DataChange::{Access, SessionRates, Withdrawn};
    assert_eq!(told(Withdrawn, registered), [DEREGISTERED, SESSIONS]);
    assert_eq!(told(Access, subscribed), [ACCESS]);
    assert_eq!(told(SessionRates, subscribed), [SESSIONS]);
    assert!(told(Withdrawn, subscribed).is_empty());
    assert!(told(Access, registered).is_empty());
    assert!(told(SessionRates, registered).is_empty());
}

/// TS 23.502, 4.2.2.2.2, step 14d.
#[test]
fn the_amf_of_before_hears_that_another_one_has_the_ue() {
    let guami = |amf| Guami {
        plmn: Plmn::new("001", "01").expect("digits"),
        amf: AmfId::from_octets([2, 0, amf]),
    };
    let told = |is_initial, had_amf, before| {
        let register = RegisterAmf {
            supi: supi(),
            guami: guami(1),
            network: guami(1).plmn.serving_network_name(),
            is_initial,
        };
        let stored = AmfStored {
            had_amf,
            before: guami(before),
        };
        let effects = ask(register, Some(stored.into()));
        assert!(
            matches!(effects.last(), Some(Effect::Answer { message, .. })
            if **message == Done::ALL.into())
        );
        effects.iter().find_map(|effect| match effect {
            Effect::Call { message, .. } => Some(**message),
            _ => None,
        })
    };
    for (is_initial, removal) in [
        (true, Removal::InitialRegistration),
        (false, Removal::AreaChange),
    ] {
        let expected = NotifyDeregistration {
            supi: supi(),
            removal,
            amf: guami(2),
        };
        assert_eq!(told(is_initial, true, 2), Some(expected.into()));
        assert_eq!(told(is_initial, true, 1), None);
        assert_eq!(told(is_initial, false, 0), None);
    }
}

#[test]
fn a_subscription_is_answered_when_it_is_stored_and_only_then() {
    let subscription = SdmSubscription::access_and_mobility(supi(), NfInstance::of([1; 16]));
    let subscribe = SubscribeSdm { subscription };
    let answer = |repository| match &ask(subscribe, repository)[..] {
        [.., Effect::Answer { message, .. }] => **message,
        other => panic!("no answer: {other:?}"),
    };
    match answer(Some(Done::ALL.into())) {
        Message::SdmSubscribed(told) => assert_eq!(told.id.get(), subscription.id()),
        other => panic!("{other}"),
    }
    let refused = Message::from(Problem::UserNotFound);
    assert!(answer(Some(refused)) == refused);
    assert!(answer(None) == Problem::Timeout.into());
}
