//! What changes while gNBs and UEs are there: configuration of either side, overload, keys.

use sluice_ids::{Plmn, Tac, Tai};
use sluice_n1::{Cause, Downlink, RegistrationKind, RejectedIn};
use sluice_n2::{
    AmfConfigurationUpdateFailure, Cause as N2Cause, Connection, ErrorIndication, FromRan,
    Overload, OverloadAction, PlmnSlices, RanConfigurationUpdate,
};
use sluice_ue::{Gnb, Sim, Ue, UeState};

use crate::world::{TestNetwork, config, core, k, opc, plmn, setup, slice, tai};

fn elsewhere() -> Tai {
    Tai {
        tac: Tac([0, 0, 2]),
        ..tai()
    }
}

#[test]
fn a_gnb_may_serve_other_slices_and_areas_from_now_on() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    assert_eq!(
        world.ue(0).accept().expect("accepted").allowed_nssai,
        [slice(1)]
    );
    // Slice 1 is there no more; the phone that is connected stays.
    let update = world.gnb.update(setup(tai(), &[slice(2)]).areas);
    world.tell_amf(&update);
    world.run();
    assert_eq!(world.gnb.refused(), None);
    assert_eq!(world.amf().connected(), 1);
    world.ue_mut(1).requested_nssai = Some(vec![slice(1), slice(2)]);
    world.register(1);
    let accept = world.ue(1).accept().expect("accepted");
    assert_eq!(
        (&accept.allowed_nssai[..], &accept.rejected_nssai[..]),
        (&[slice(2)][..], &[(slice(1), RejectedIn::Area)][..])
    );
    // A new name alone changes nothing.
    let (name, areas) = (Some("gnb-one".to_owned()), None);
    world.tell_amf(
        &FromRan::RanConfigurationUpdate(RanConfigurationUpdate { name, areas }).encode(),
    );
    world.run();
    assert_eq!(world.gnb.refused(), None);
}

#[test]
fn an_update_to_what_is_not_served_is_refused_and_changes_nothing() {
    let mut world = TestNetwork::new(&[1]);
    let foreign = Tai {
        plmn: Plmn::new("999", "70").expect("digits"),
        ..tai()
    };
    for (areas, cause) in [
        (setup(elsewhere(), &[slice(1)]).areas, N2Cause::UNKNOWN_PLMN),
        (setup(foreign, &[slice(1)]).areas, N2Cause::UNKNOWN_PLMN),
        (
            setup(tai(), &[slice(7)]).areas,
            N2Cause::SLICE_NOT_SUPPORTED,
        ),
    ] {
        let update = world.gnb.update(areas);
        world.tell_amf(&update);
        world.run();
        assert_eq!(world.gnb.refused(), Some(cause));
    }
    world.register(0);
    world.assert_registered(0);
}

#[test]
fn gnbs_are_told_of_other_slices_by_an_update_and_phones_are_served_by_it() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let mut other = config();
    other.plmns[0].slices = vec![slice(2)];
    world.core.reconfigure_amf(world.now, other).expect("sound");
    world.run();
    let told = world.gnb.response().expect("told");
    assert_eq!(told.plmns[0].slices, [slice(2)]);
    let call_flow = world.call_flow.to_string();
    for line in [
        "AMF Configuration Update\n",
        "AMF Configuration Update Acknowledge\n",
    ] {
        assert!(call_flow.contains(line), "{call_flow}");
    }
    // The phone that is connected is to register again, which it does when it is idle; it stays registered.
    let told = world.ue(0).told.clone().expect("told");
    assert!(told.register && told.acknowledge, "{told:?}");
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
    assert!(
        call_flow.contains("2b    UE   -> AMF   Configuration Update Complete"),
        "{call_flow}"
    );
    world.ue_mut(1).requested_nssai = Some(vec![slice(1), slice(2)]);
    world.register(1);
    let accept = world.ue(1).accept().expect("accepted");
    assert_eq!(accept.allowed_nssai, [slice(2)]);
    // The same again is nothing new; what makes no sense is refused, and changes nothing.
    let mut same = config();
    same.plmns[0].slices = vec![slice(2)];
    world.call_flow.0.clear();
    world.core.reconfigure_amf(world.now, same).expect("sound");
    world.run();
    assert_eq!(world.call_flow.to_string(), "");
    let mut wrong = config();
    wrong.plmns.clear();
    assert!(world.core.reconfigure_amf(world.now, wrong).is_err());
    let mut another = config();
    another.guami.plmn = Plmn::new("999", "70").expect("digits");
    assert!(world.core.reconfigure_amf(world.now, another).is_err());
    let refused = FromRan::AmfConfigurationUpdateFailure(AmfConfigurationUpdateFailure {
        cause: N2Cause::UNSPECIFIED,
    });
    world.tell_amf(&refused.encode());
    world.run();
    assert_eq!(world.amf().counters().refused_updates, 1);
}

/// TS 23.502, 4.2.4.2: an idle one is told when it is connected next.
#[test]
fn idle_phones_learn_of_a_change_when_they_come_back_and_those_that_registered_since_do_not() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.register(0);
    world.register(1);
    let mut other = config();
    other.t3512_s = 600;
    other.network_name = Some(("Other".to_owned(), "O".to_owned()));
    world.core.reconfigure_amf(world.now, other).expect("sound");
    world.run();
    assert_eq!(world.ue(0).told, None, "nobody is paged for it");
    // One registers and has it all by that.
    let nas = world.ue_mut(1).register(RegistrationKind::Periodic);
    world.connect(1, nas);
    assert_eq!(world.ue(1).accept().expect("accepted").t3512_s, Some(600));
    assert!(!world.ue(1).told.clone().expect("names").register);
    // The other comes for data.
    let nas = world.ue_mut(0).request_service().expect("a name");
    world.connect(0, nas);
    assert!(world.ue(0).told.clone().expect("told").register);
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 2));
    world.ue_mut(0).told = None;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    assert_eq!(world.ue(0).accept().expect("accepted").t3512_s, Some(600));
    assert!(!world.wait(), "nothing is under way");
}

#[test]
fn overload_keeps_strangers_away_and_serves_who_is_known() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.register(0);
    let overload = Overload {
        action: OverloadAction::RejectSignalling,
        percent: Some(50),
    };
    world.core.mobility().overload(world.now, Some(overload));
    world.core.mobility().overload(world.now, Some(overload));
    world.run();
    assert_eq!(world.gnb.overload, Some(overload));
    let told = world
        .call_flow
        .to_string()
        .matches("Overload Start")
        .count();
    assert_eq!(told, 1, "the same again is nothing new");
    // One that comes all the same.
    world.register(1);
    let expected = Downlink::RegistrationReject(Cause::CONGESTION.into());
    assert_eq!(world.ue(1).refused(), Some(&expected));
    assert_eq!(world.amf().connected(), 0);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    let nas = world.ue_mut(0).request_service().expect("a name");
    world.connect(0, nas);
    assert_eq!(world.amf().connected(), 1);
    // A gnb that is set up meanwhile is told, too.
    world.gnb.overload = None;
    world.set_up();
    assert_eq!(world.gnb.overload, Some(overload));
    world.core.mobility().overload(world.now, None);
    world.run();
    assert_eq!(world.gnb.overload, None);
    world.register(1);
    world.assert_registered(1);
}

/// TS 33.501, 6.9.4.2; TS 38.413, 8.3.4.
#[test]
fn a_phone_that_is_authenticated_while_connected_has_a_new_key_at_its_gnb() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let at = world.ues[0].at.expect("connected");
    let before = world.gnb.context(at).expect("a context").key.clone();
    world.ue_mut(0).forget_keys();
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.call_flow.0.clear();
    world.say(0, nas);
    world.assert_registered(0);
    assert_eq!(world.ues[0].at, Some(at), "on the same connection");
    let call_flow = world.call_flow.to_string();
    for line in [
        "21    AMF  -> gNB   UE Context Modification Request",
        "22    gNB  -> AMF   UE Context Modification Response",
    ] {
        assert!(call_flow.contains(line), "{call_flow}");
    }
    let after = world.gnb.context(at).expect("a context").key.clone();
    assert_ne!(before, after);
    assert_eq!(Some(&after), world.ue(0).kgnb().as_ref());
    assert_eq!(world.amf().registered(), 1);
    assert!(!world.wait(), "nothing is under way");
    // Without new keys there is nothing to be changed.
    let nas = world.ue_mut(0).register(RegistrationKind::Periodic);
    world.call_flow.0.clear();
    world.say(0, nas);
    let call_flow = world.call_flow.to_string();
    assert!(!call_flow.contains("Modification"), "{call_flow}");
}

/// TS 38.413, 8.7.5: a gNB that does not know a UE makes it idle; no indication is answered.
#[test]
fn an_error_indication_of_a_gnb_makes_its_phone_idle_and_is_not_answered() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    let ran = world.ues[0].at;
    let amf = world.gnb.amf_id(ran.expect("connected"));
    let said = world.transcript.len();
    let indicate = |world: &mut TestNetwork, connection| {
        let cause = N2Cause::UNKNOWN_LOCAL_ID;
        let indication = FromRan::ErrorIndication(ErrorIndication::new(connection, cause));
        world.tell_amf(&indication.encode());
        world.run();
    };
    let nobody = Connection {
        amf: None,
        ran: None,
    };
    let stranger = Connection {
        amf: amf.map(|id| sluice_n2::AmfUeId(id.0 + (1 << 24))),
        ran,
    };
    indicate(&mut world, nobody);
    indicate(&mut world, stranger);
    assert_eq!(world.amf().connected(), 1);
    indicate(&mut world, Connection { amf, ran });
    assert_eq!((world.amf().connected(), world.amf().registered()), (0, 1));
    assert_eq!(world.transcript.len(), said + 3, "nothing was answered");
}

/// TS 24.501, 5.6.1.5: #10, which tells it that it need not look for its name any more.
#[test]
fn a_phone_that_was_deregistered_without_a_word_is_told_so_when_it_comes_back() {
    for by_operator in [false, true] {
        let mut world = TestNetwork::new(&[1]);
        world.register(0);
        if by_operator {
            assert!(
                world
                    .core
                    .mobility()
                    .deregister(world.now, &crate::world::supi(1), false)
            );
            world.run();
        } else {
            assert!(world.wait_long());
        }
        assert_eq!(world.amf().registered(), 0);
        let nas = world.ue_mut(0).request_service().expect("a name");
        world.connect(0, nas);
        let expected = Downlink::ServiceReject(Cause::IMPLICITLY_DEREGISTERED.into());
        assert_eq!(world.ue(0).refused(), Some(&expected));
        assert_eq!(world.amf().connected(), 0);
        world.register(0);
        assert_eq!(world.ue(0).state(), UeState::Registered);
    }
}

/// TS 33.501, 6.1.1.4: keys are bound to the network that the UE has chosen.
#[test]
fn a_phone_in_another_plmn_of_the_core_is_authenticated_for_that_one() {
    let other = Tai {
        plmn: Plmn::new("999", "70").expect("digits"),
        ..tai()
    };
    let mut both = config();
    both.plmns.push(PlmnSlices {
        plmn: other.plmn,
        slices: vec![slice(1)],
    });
    both.areas.push(other);
    let mut world = TestNetwork::of(core(both, true), &[1, 2]);
    world.gnb = Gnb::new(setup(other, &[slice(1)]), other);
    world.set_up();
    let sim = Sim::new(plmn(), "0000000001", &k(), &opc());
    world.ues[0].ue = Ue::new(sim, other.plmn).expect("capabilities");
    world.register(0);
    world.assert_registered(0);
    // One that takes the cell for one of the first network has other keys.
    world.register(1);
    assert_ne!(world.ue(1).state(), UeState::Registered);
}

#[test]
fn a_gnb_with_many_areas_is_refused_in_few_words() {
    let mut world = TestNetwork::new(&[]);
    let areas = (0..256).map(|low| {
        setup(
            Tai {
                tac: Tac([9, 9, low as u8]),
                ..tai()
            },
            &[slice(1)],
        )
    });
    let areas = areas.flat_map(|one| one.areas).collect();
    let update = world.gnb.update(areas);
    world.tell_amf(&update);
    world.run();
    assert_eq!(world.gnb.refused(), Some(N2Cause::UNKNOWN_PLMN));
    let call_flow = world.call_flow.to_string();
    assert!(call_flow.contains("and 248 more"), "{call_flow}");
    assert!(
        call_flow.lines().all(|line| line.len() < 1_000),
        "{call_flow}"
    );
}
