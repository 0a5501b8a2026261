//! A UE goes from one AMF to another, and brings its context along (TS 23.502, 4.2.2.2.2; TS 33.501, 6.9.3).

use sluice_n1::RegistrationKind;
use sluice_sbi::{
    Container, Done, Message, Nf, NotifyDeregistration, Problem, Removal, TransferReason,
    TransferUeContext, UpdateRegistration,
};
use sluice_security::{Integrity, Kamf, NasCount, next_kamf};
use sluice_testbed::between::{Two, other_amf};

use crate::world::{TestNetwork, config, supi, ue};

/// A phone that was registered at the old AMF, and is in the area of the new one.
fn two(new: sluice_amf::Config) -> Two {
    let mut old = TestNetwork::new(&[1]);
    old.register(0);
    old.assert_registered(0);
    let mut two = Two::new(old, new);
    two.was_authenticated(supi(1));
    two.moves(0, ue(3));
    two
}

/// The phone registers at the new AMF; names of what it was sent.
fn comes(two: &mut Two, kind: RegistrationKind) -> Vec<&'static str> {
    let before = two.new.ue(0).received().len();
    let nas = two.new.ue_mut(0).register(kind);
    two.new.connect(0, nas);
    two.carry();
    two.new.ue(0).received()[before..].to_vec()
}

/// How a transfer ended, as the old AMF was told: registered there, and sessions that it releases.
fn told(two: &Two) -> Vec<(bool, u16)> {
    let updates = two.said.iter().filter_map(|(message, _)| match message {
        Message::UpdateRegistration(update) => Some((update.is_transferred, update.released.get())),
        _ => None,
    });
    updates.collect()
}

#[test]
fn a_phone_is_neither_asked_nor_authenticated() {
    for kind in [
        RegistrationKind::Mobility,
        RegistrationKind::Periodic,
        RegistrationKind::Initial,
    ] {
        let mut two = two(other_amf());
        let received = comes(&mut two, kind);
        assert_eq!(received, ["Registration Accept"], "{}", two.new.call_flow);
        two.new.assert_registered(0);
        assert_eq!(told(&two), [(true, 0)]);
        let guti = two.new.ue(0).guti().expect("a name");
        assert_eq!(guti.guami, other_amf().guami);
        // The old one has it no more, and has said nothing to UDM.
        two.old.settle();
        assert_eq!(two.old.amf().registered(), 0);
        let sizes = two.old.amf().sizes();
        let left: Vec<_> = sizes.iter().filter(|(_, size)| *size > 0).collect();
        assert!(left.is_empty(), "{left:?}");
        let flow = two.old.call_flow.to_string();
        assert!(!flow.contains("Nudm_UECM_Deregistration"), "{flow}");
        assert!(two.old.core.stored().all(|key| !key.starts_with(b"amf/")));
        // Both ends have the keys, and the gNB those that follow from them.
        let nas = two.new.ue_mut(0).request_service().expect("a name");
        two.new.connect(0, nas);
        assert_eq!(two.new.ue(0).services(), 1, "{}", two.new.call_flow);
        let counters = two.new.amf().counters();
        assert_eq!((counters.refusals, counters.wrong_macs), (0, 0));
    }
}

#[test]
fn other_algorithms_come_into_use_by_the_same_keys() {
    let mut new = other_amf();
    new.preference.integrity = vec![Integrity::Nia1];
    let mut two = two(new);
    let received = comes(&mut two, RegistrationKind::Mobility);
    let expected = ["Security Mode Command", "Registration Accept"];
    assert_eq!(received, expected, "{}", two.new.call_flow);
    two.new.assert_registered(0);
    assert_eq!(told(&two), [(true, 0)]);
    let nas = two.new.ue_mut(0).request_service().expect("a name");
    two.new.connect(0, nas);
    assert_eq!(two.new.ue(0).services(), 1, "{}", two.new.call_flow);
}

/// The old AMF is one of others that derives K'AMF, which the phone derives when it is told so.
#[test]
fn keys_that_were_derived_come_into_use() {
    let mut two = two(other_amf());
    two.change = |answer| {
        if let Message::UeContext(context) = answer {
            let mut keys = *context.keys.get().expect("keys");
            let count = NasCount::new(keys.uplink.get()).expect("24 bits");
            keys.kamf = *next_kamf(&Kamf::new(keys.kamf), count).octets();
            keys.is_derived = true;
            context.keys = Some(keys).into();
        }
        true
    };
    let received = comes(&mut two, RegistrationKind::Mobility);
    let expected = ["Security Mode Command", "Registration Accept"];
    assert_eq!(received, expected, "{}", two.new.call_flow);
    two.new.assert_registered(0);
    let nas = two.new.ue_mut(0).request_service().expect("a name");
    two.new.connect(0, nas);
    assert_eq!(two.new.ue(0).services(), 1, "{}", two.new.call_flow);
}

/// Without a context of use a phone is asked who it is, as any other.
#[test]
fn a_phone_whose_context_does_not_come_is_authenticated() {
    let lost = |answer: &mut Message| !matches!(answer, Message::UeContext(_));
    let of_other_keys = |answer: &mut Message| {
        if let Message::UeContext(context) = answer {
            let mut keys = *context.keys.get().expect("keys");
            keys.kamf[0] ^= 1;
            context.keys = Some(keys).into();
        }
        true
    };
    let of_no_keys = |answer: &mut Message| {
        if let Message::UeContext(context) = answer {
            context.keys = None.into();
        }
        true
    };
    let nothing: &[(bool, u16)] = &[];
    for (change, expected) in [
        (lost as fn(&mut Message) -> bool, nothing),
        (of_other_keys, &[(false, 0)]),
        (of_no_keys, &[(false, 0)]),
    ] {
        let mut two = two(other_amf());
        two.change = change;
        comes(&mut two, RegistrationKind::Mobility);
        for _ in 0..3 {
            two.new.wait();
            two.carry();
        }
        let received = two.new.ue(0).received();
        assert!(received.contains(&"Identity Request"), "{received:?}");
        assert!(received.contains(&"Authentication Request"), "{received:?}");
        two.new.assert_registered(0);
        assert_eq!(told(&two), expected);
        // Until UDM says otherwise.
        assert_eq!(two.old.amf().registered(), 1);
    }
}

/// TS 33.501, 6.9.3: whoever has not the keys gets no context, and the UE stays.
#[test]
fn a_message_with_a_wrong_mac_takes_nobody_away() {
    let mut two = two(other_amf());
    two.new.ue_mut(0).behaviour.wrong_mac = true;
    comes(&mut two, RegistrationKind::Mobility);
    let refused = Some(Problem::IntegrityCheckFailed.into());
    assert_eq!(two.said.first().map(|(_, answer)| *answer), Some(refused));
    assert!(told(&two).is_empty());
    assert_eq!(two.old.amf().registered(), 1);
    two.new.settle();
    two.new.assert_registered(0);
}

/// A phone that the new AMF does not register can go back: its old keys and name are good there.
#[test]
fn a_phone_that_is_not_registered_stays_where_it_was() {
    let mut new = other_amf();
    new.preference.integrity = vec![Integrity::Nia1];
    let mut two = two(new);
    two.new.ue_mut(0).behaviour.refuse_security_mode = true;
    comes(&mut two, RegistrationKind::Mobility);
    two.new.settle();
    two.carry();
    assert_eq!(told(&two), [(false, 0)], "{}", two.new.call_flow);
    assert_eq!(
        (two.old.amf().registered(), two.new.amf().registered()),
        (1, 0)
    );
    assert_eq!(two.old.amf().counters().aborts, 0);
}

fn ask_for(two: &Two, nas: &[u8]) -> TransferUeContext {
    TransferUeContext {
        ue: two.new.ue(0).guti().expect("a name").into(),
        reason: TransferReason::Mobility,
        nas: Container::new(nas).expect("short"),
    }
}

fn elsewhere() -> NotifyDeregistration {
    NotifyDeregistration {
        supi: supi(1),
        removal: Removal::AreaChange,
        amf: config().guami,
    }
}

/// 14d: UDM's notification alone does not say what becomes of the sessions; it does once nobody is waited for.
#[test]
fn a_context_that_was_handed_out_waits_for_its_new_amf() {
    for is_elsewhere in [true, false] {
        let mut two = two(other_amf());
        let nas = two.new.ue_mut(0).register(RegistrationKind::Mobility);
        let ask = ask_for(&two, &nas);
        let answer = two.at_old.ask(&mut two.old, Nf::Amf, ask);
        assert!(matches!(answer, Some(Message::UeContext(_))));
        // Again by another AMF, or the same: nothing has changed.
        assert!(two.at_old.ask(&mut two.old, Nf::Amf, ask) == answer);
        if is_elsewhere {
            let done = two.at_old.ask(&mut two.old, Nf::Amf, elsewhere());
            assert_eq!(done, Some(Done::ALL.into()));
        }
        assert_eq!(two.old.amf().registered(), 1);
        while two.old.wait() {}
        assert_eq!(two.old.amf().registered(), usize::from(!is_elsewhere));
    }
}

#[test]
fn an_amf_that_has_not_asked_takes_nobody_away() {
    let mut two = two(other_amf());
    let name = two.new.ue(0).guti().expect("a name");
    let update = UpdateRegistration {
        ue: name.into(),
        is_transferred: true,
        released: 0.into(),
    };
    let unknown = Some(Problem::ContextNotFound.into());
    assert_eq!(two.at_old.ask(&mut two.old, Nf::Amf, update), unknown);
    assert_eq!(two.old.amf().registered(), 1);
    // Nobody is called so.
    let mut nas = two.new.ue_mut(0).register(RegistrationKind::Mobility);
    let mut ask = ask_for(&two, &nas);
    let mut other = name;
    other.tmsi.0[0] ^= 1;
    ask.ue = other.into();
    assert_eq!(two.at_old.ask(&mut two.old, Nf::Amf, ask), unknown);
    // Octets that are no message, or another's.
    let failed = Some(Problem::IntegrityCheckFailed.into());
    for octets in [&[][..], &[0x7e], &[0x7e, 0, 0x41, 0]] {
        let ask = ask_for(&two, octets);
        assert_eq!(two.at_old.ask(&mut two.old, Nf::Amf, ask), failed);
    }
    nas.reverse();
    let ask = ask_for(&two, &nas);
    assert_eq!(two.at_old.ask(&mut two.old, Nf::Amf, ask), failed);
    // One that has authenticated the UE itself is told who has its sessions, and no keys.
    let ask = TransferUeContext {
        ue: supi(1).into(),
        reason: TransferReason::MobilityValidated,
        nas: Container::NONE,
    };
    match two.at_old.ask(&mut two.old, Nf::Amf, ask) {
        Some(Message::UeContext(context)) => {
            assert_eq!(context.supi, supi(1));
            assert!(context.keys.get().is_none());
        }
        other => panic!("{other:?}"),
    }
}
