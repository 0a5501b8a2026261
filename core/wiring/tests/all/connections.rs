//! gNBs: setup, reset, release, and names of connections.

use sluice_ids::{Plmn, Tac, Tai};
use sluice_n1::RegistrationKind;
use sluice_n2::{AmfUeId, Cause, FromRan, NgReset, RanUeId, UplinkNasTransport};
use sluice_sbi::AssociationId;
use sluice_ue::Gnb;

use crate::world::{GNB, TestNetwork, config, core, setup, slice, tai};

fn refused(setup: sluice_n2::NgSetupRequest, at: Tai) -> (Option<Cause>, String) {
    let mut world = TestNetwork::of(core(config(), true), &[1]);
    world.gnb = Gnb::new(setup, at);
    world.set_up();
    assert_eq!(
        world.gnb.response().is_some(),
        world.gnb.refused().is_none()
    );
    (world.gnb.refused(), world.call_flow.to_string())
}

#[test]
fn a_gnb_that_serves_nothing_of_ours_is_told_so() {
    let elsewhere = Tai {
        plmn: Plmn::new("999", "70").expect("digits"),
        tac: Tac([0, 0, 1]),
    };
    let (cause, call_flow) = refused(setup(elsewhere, &[slice(1)]), elsewhere);
    assert_eq!(cause, Some(Cause::UNKNOWN_PLMN));
    // What was offered and what is expected.
    assert!(
        call_flow.contains("999-70") && call_flow.contains("001-01"),
        "{call_flow}"
    );
    let other_area = Tai {
        tac: Tac([0, 0, 2]),
        ..tai()
    };
    let (cause, call_flow) = refused(setup(other_area, &[slice(1)]), other_area);
    assert_eq!(cause, Some(Cause::UNKNOWN_PLMN));
    assert!(
        call_flow.contains("000002") && call_flow.contains("000001"),
        "{call_flow}"
    );
    let (cause, _) = refused(setup(tai(), &[slice(7)]), tai());
    assert_eq!(cause, Some(Cause::SLICE_NOT_SUPPORTED));
    let (cause, _) = refused(setup(tai(), &[slice(7), slice(2)]), tai());
    assert_eq!(cause, None);
}

#[test]
fn nothing_comes_before_ng_setup() {
    let mut world = TestNetwork::of(core(config(), true), &[1]);
    world.register(0);
    assert_eq!(world.gnb.indications(), [Cause::NOT_COMPATIBLE_WITH_STATE]);
    assert_eq!(world.amf().connected(), 0);
}

#[test]
fn a_reset_and_a_repeated_setup_make_phones_idle_not_deregistered() {
    for repeat in [false, true] {
        let mut world = TestNetwork::new(&[1, 2]);
        for phone in 0..2 {
            world.ue_mut(phone).follow_on = true;
            world.register(phone);
        }
        assert_eq!(world.amf().connected(), 2);
        let octets = if repeat {
            world.gnb.setup()
        } else {
            world.gnb.reset()
        };
        world.tell_amf(&octets);
        world.run();
        assert_eq!((world.amf().connected(), world.amf().registered()), (0, 2));
        // They come back by their names.
        let nas = world.ue_mut(1).register(RegistrationKind::Mobility);
        world.call_flow.0.clear();
        world.connect(1, nas);
        world.assert_registered(1);
        assert!(
            !world.call_flow.to_string().contains("Authentication"),
            "{}",
            world.call_flow
        );
    }
}

#[test]
fn a_reset_of_some_leaves_the_others() {
    let mut world = TestNetwork::new(&[1, 2]);
    for phone in 0..2 {
        world.ue_mut(phone).follow_on = true;
        world.register(phone);
    }
    let amf = world.gnb.amf_id(world.ues[0].at.expect("connected"));
    let connections = Some(vec![sluice_n2::Connection { amf, ran: None }]);
    let reset = FromRan::NgReset(NgReset {
        cause: Cause::UNSPECIFIED,
        connections,
    })
    .encode();
    world.tell_amf(&reset);
    world.run();
    assert_eq!((world.amf().connected(), world.amf().registered()), (1, 2));
}

#[test]
fn a_gnb_may_ask_for_a_release() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let at = world.ues[0].at.expect("connected");
    let ask = world.gnb.ask_release(at).expect("known");
    world.tell_amf(&ask);
    world.run();
    assert_eq!(world.ues[0].at, None);
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
    assert!(!world.wait());
}

#[test]
fn a_gnb_that_does_not_release_is_not_waited_for() {
    let mut world = TestNetwork::new(&[1]);
    world.gnb.no_releases = true;
    world.register(0);
    world.assert_registered(0);
    assert_eq!(world.amf().procedures(), ["release"]);
    world.settle();
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
}

#[test]
fn a_phone_whose_context_cannot_be_set_up_is_registered_and_idle() {
    let mut world = TestNetwork::new(&[1]);
    world.gnb.no_contexts = true;
    world.register(0);
    world.settle();
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
    assert_eq!(world.amf().counters().registrations, 0);
}

#[test]
fn what_a_gnb_tells_of_a_radio_is_kept_for_the_next() {
    let mut world = TestNetwork::new(&[1]);
    world.gnb.radio_capability = Some(vec![1, 2, 3, 4]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world.gnb.radio_capability = None;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    let at = world.ues[0].at.expect("connected");
    let context = world.gnb.context(at).expect("a context");
    assert_eq!(context.radio_capability.as_deref(), Some(&[1, 2, 3, 4][..]));
}

/// TS 24.501, 5.5.1.3.4; TS 23.502, 4.2.2.2.2: whose radio may be another one is not called by the one before.
#[test]
fn a_radio_that_may_be_another_is_asked_for_anew() {
    for (kind, has_new_radio) in [
        (RegistrationKind::Mobility, true),
        (RegistrationKind::Initial, false),
    ] {
        let mut world = TestNetwork::new(&[1]);
        world.gnb.radio_capability = Some(vec![1, 2, 3, 4]);
        world.ue_mut(0).follow_on = true;
        world.register(0);
        world.gnb.radio_capability = None;
        world.ue_mut(0).has_new_radio = has_new_radio;
        let nas = world.ue_mut(0).register(kind);
        world.connect(0, nas);
        let at = world.ues[0].at.expect("connected");
        let context = world.gnb.context(at).expect("a context");
        assert_eq!(context.radio_capability, None, "{kind:?}");
    }
}

#[test]
fn names_of_connections_are_checked() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let at = world.ues[0].at.expect("connected");
    let amf = world.gnb.amf_id(at).expect("known");
    let message = |amf, ran| {
        let (ids, nas) = ((amf, ran), vec![0x7e, 0, 0x43]);
        FromRan::UplinkNasTransport(UplinkNasTransport {
            ids,
            nas,
            location: None,
        })
        .encode()
    };
    // The generation, the gNB's name, and another gNB.
    world.tell_amf(&message(AmfUeId(amf.0 + (1 << 24)), at));
    world.tell_amf(&message(amf, RanUeId(at.0 + 1)));
    world.run();
    let expected = [Cause::UNKNOWN_LOCAL_ID, Cause::INCONSISTENT_REMOTE_ID];
    assert_eq!(world.gnb.indications(), expected);
    let other = AssociationId(GNB.0 + 1);
    let mut second = setup(tai(), &[slice(1)]);
    second.gnb.id = 2;
    let second = Gnb::new(second, tai()).setup();
    world.core.n2(world.now, other, 0, &second);
    world.core.take_to_ran();
    world.core.n2(world.now, other, 0, &message(amf, at));
    let answers = world.core.take_to_ran();
    assert_eq!((answers.len(), answers[0].association), (1, other));
    assert_eq!(world.amf().connected(), 1);
}

/// TS 23.502, 4.2.3.2.
const SERVICE_REQUEST: &str = "\
1     UE   -> AMF   Service Request
12    AMF  -> gNB   Initial Context Setup Request
12    AMF  -> UE    Service Accept
14    gNB  -> AMF   Initial Context Setup Response
";

#[test]
fn an_idle_phone_comes_back_by_service_request() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    for _ in 0..3 {
        assert_eq!(world.ues[0].at, None);
        world.call_flow.0.clear();
        let nas = world.ue_mut(0).request_service().expect("a name");
        world.connect(0, nas);
        assert_eq!(world.call_flow.to_string(), SERVICE_REQUEST);
        let at = world.ues[0].at.expect("connected");
        let context = world.gnb.context(at).expect("a context");
        assert_eq!(Some(&context.key), world.ue(0).kgnb().as_ref());
        assert_eq!((world.amf().connected(), world.amf().registered()), (1, 1));
        assert!(!world.wait(), "nothing is under way");
        let ask = world.gnb.ask_release(at).expect("known");
        world.tell_amf(&ask);
        world.run();
    }
}

#[test]
fn a_service_request_whose_mac_is_wrong_is_refused_and_changes_nothing() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    world.ue_mut(0).behaviour.wrong_mac = true;
    let nas = world.ue_mut(0).request_service().expect("a name");
    world.connect(0, nas);
    let expected = sluice_n1::Downlink::ServiceReject(sluice_n1::Cause::IDENTITY_UNKNOWN.into());
    assert_eq!(world.ue(0).refused(), Some(&expected));
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
    // It registers anew.
    world.ue_mut(0).behaviour.wrong_mac = false;
    world.register(0);
    world.assert_registered(0);
    assert_eq!(world.amf().registered(), 1);
}

#[test]
fn a_service_request_that_finds_no_radio_leaves_the_phone_idle() {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    world.gnb.no_contexts = true;
    let nas = world.ue_mut(0).request_service().expect("a name");
    world.connect(0, nas);
    world.settle();
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
}

/// A gNB that gives a name again has forgotten whom it called so.
#[test]
fn a_name_that_a_gnb_gives_again_is_another_phone() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    assert_eq!(world.ues[0].at.take(), Some(RanUeId(1)));
    world.gnb = Gnb::new(setup(tai(), &[slice(1)]), tai());
    world.register(1);
    world.assert_registered(1);
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 2));
}
