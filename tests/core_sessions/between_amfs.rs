//! Sessions of a UE that goes to another AMF (TS 23.502, 4.2.2.2.2): the AMF of before releases them, and the UE hears that it has
//! none.

use sluice_n1::{RegistrationKind, SessionType};
use sluice_sbi::Message;
use sluice_testbed::between::{Two, other_amf};

use crate::harness::*;
use crate::world::{supi, ue};

#[test]
fn sessions_of_a_phone_that_goes_to_another_amf_are_released_where_they_were() {
    let mut old = world(&[1]);
    establish(&mut old, 0, 5, &wanted(SessionType::Ipv4));
    establish(&mut old, 0, 7, &wanted(SessionType::Ipv6));
    go_idle(&mut old, 0);
    let mut two = Two::new(old, other_amf());
    two.was_authenticated(supi(1));
    two.moves(0, ue(3));
    assert_ne!(two.new.ue(0).sessions().status(), 0);
    let nas = two.new.ue_mut(0).register(RegistrationKind::Mobility);
    two.new.connect(0, nas);
    two.carry();
    two.new.assert_registered(0);
    let accept = two.new.ue(0).accept().unwrap();
    assert_eq!(accept.session_status, Some(0));
    assert_eq!(two.new.ue(0).sessions().status(), 0);
    // Both are told, with what their SMF calls them.
    let context = two.said.iter().find_map(|(_, answer)| match answer {
        Some(Message::UeContext(context)) => Some(*context),
        _ => None,
    });
    let context = context.unwrap();
    let told: Vec<u8> = context
        .sessions
        .all()
        .iter()
        .map(|one| one.session)
        .collect();
    assert_eq!(told, [5, 7]);
    assert!(
        context
            .sessions
            .all()
            .iter()
            .all(|one| one.context.get() > 0)
    );
    settle_upf(&mut two.old);
    assert_no_session(&mut two.old);
    assert_eq!(two.old.amf().registered(), 0);
    let udr = two.old.core.udr().unwrap();
    assert!(udr.smf_of(&supi(1), 5).is_none() && udr.smf_of(&supi(1), 7).is_none());
}
