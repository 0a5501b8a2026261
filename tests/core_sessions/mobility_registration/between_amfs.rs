//! Sessions of a UE that goes to another AMF (TS 23.502, 4.2.2.2.2): the AMF of before releases them, and the UE hears that it has
//! none.

use sluice_n1::{RegistrationKind, SessionType};
use sluice_sbi::{
    Container, Message, Nf, RegistrationUpdated, TransferReason, TransferUeContext,
    UpdateRegistration,
};
use sluice_testbed::between::{Two, other_amf};

use crate::harness::*;
use crate::world::{supi, ue};

/// A phone with two sessions, which it has had at the old AMF.
fn two() -> Two {
    let mut old = world(&[1]);
    establish(&mut old, 0, 5, &wanted(SessionType::Ipv4));
    establish(&mut old, 0, 7, &wanted(SessionType::Ipv6));
    go_idle(&mut old, 0);
    let mut two = Two::new(old, other_amf());
    two.was_authenticated(supi(1));
    two.moves(0, ue(3));
    assert_ne!(two.new.ue(0).sessions().status(), 0);
    two
}

/// The phone registers at the new one, and the old one has none of its sessions; those that the new one was told of.
fn comes(two: &mut Two, kind: RegistrationKind) -> Vec<u8> {
    let nas = two.new.ue_mut(0).register(kind);
    two.new.connect(0, nas);
    two.carry();
    two.new.assert_registered(0);
    settle_upf(&mut two.old);
    assert_no_session(&mut two.old);
    assert_eq!(two.old.amf().registered(), 0);
    let udr = two.old.core.udr().unwrap();
    assert!(udr.smf_of(&supi(1), 5).is_none() && udr.smf_of(&supi(1), 7).is_none());
    let context = two.said.iter().find_map(|(_, answer)| match answer {
        Some(Message::UeContext(context)) => Some(*context),
        _ => None,
    });
    let context = context.unwrap();
    let all = context.sessions.all().iter();
    all.map(|one| one.session).collect()
}

#[test]
fn sessions_of_a_phone_that_goes_to_another_amf_are_released_where_they_were() {
    let mut two = two();
    assert_eq!(comes(&mut two, RegistrationKind::Mobility), [5, 7]);
    let accept = two.new.ue(0).accept().unwrap();
    assert_eq!(accept.session_status, Some(0));
    assert_eq!(two.new.ue(0).sessions().status(), 0);
}

#[test]
fn a_phone_that_begins_anew_at_another_amf_leaves_its_sessions_behind() {
    assert_eq!(comes(&mut two(), RegistrationKind::Initial), [0; 0]);
}

/// An AMF of others may take sessions over: their SMF hears nothing of the AMF of before.
#[test]
fn sessions_that_another_amf_takes_over_stay() {
    let mut two = two();
    let name = two.new.ue(0).guti().unwrap().into();
    let nas = two.new.ue_mut(0).register(RegistrationKind::Mobility);
    let ask = TransferUeContext {
        ue: name,
        reason: TransferReason::Mobility,
        nas: Container::new(&nas).unwrap(),
    };
    let answer = two.at_old.ask(&mut two.old, Nf::Amf, ask);
    assert!(matches!(answer, Some(Message::UeContext(_))));
    let update = UpdateRegistration {
        ue: name,
        is_transferred: true,
        released: (1 << 7).into(),
    };
    let done = RegistrationUpdated { is_complete: true };
    let answer = two.at_old.ask(&mut two.old, Nf::Amf, update);
    assert_eq!(answer, Some(done.into()));
    settle_upf(&mut two.old);
    assert_eq!(two.old.amf().registered(), 0);
    let udr = two.old.core.udr().unwrap();
    assert!(udr.smf_of(&supi(1), 5).is_some() && udr.smf_of(&supi(1), 7).is_none());
    assert_eq!(two.old.core.smf().unwrap().sessions(), 1);
}
