//! Mobility registration update (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1.3): another area, other slices, from
//! idle and connected.

mod between_amfs;

use sluice_ids::{Tac, Tai};
use sluice_n1::{RegistrationKind, SessionType};

use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::{self, plmn, slice, tai};

fn next_area() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 2]),
    }
}

/// The other gNB is in another area of the AMF.
fn two_areas(sessions: &[u8]) -> Two {
    let mut config = world::config();
    config.areas.push(next_area());
    Two::with(world_of(config, &[1]), next_area(), sessions)
}

/// With the steps of the figure: no authentication, a user plane, and a new name.
const UPDATE: &str = "\
1     UE   -> AMF   Registration Request
14a   AMF  -> UDM   Nudm_UECM_Registration Request
14a   UDM  -> UDR   Nudr_DM_Update Request (AMF registration)
14a   UDR  -> UDM   Nudr_DM_Update Response (AMF registration)
14a   UDM  -> AMF   Response
14b   AMF  -> UDM   Nudm_SDM_Get Request (access and mobility)
14b   UDM  -> UDR   Nudr_DM_Query Request (access and mobility)
14b   UDR  -> UDM   Nudm_SDM_Get Response
14b   UDM  -> AMF   Nudm_SDM_Get Response
14b   AMF  -> NSSF  Nnssf_NSSelection_Get Request
14b   NSSF -> AMF   Nnssf_NSSelection_Get Response
17    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
17    SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
21    AMF  -> gNB   Initial Context Setup Request
21    AMF  -> UE    Registration Accept
22    gNB  -> AMF   Initial Context Setup Response
15    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
16    SMF  -> UPF   N4 Session Modification Request
22    UE   -> AMF   Registration Complete
16    UPF  -> SMF   N4 Session Modification Response
15    SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
";

#[test]
fn an_idle_phone_that_comes_to_another_area_registers_there_with_its_data() {
    let mut two = two_areas(&[5, 6]);
    let before = two.world.ue(0).guti();
    go_idle(&mut two.world, 0);
    two.turn();
    two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    // It has forgotten one of its sessions.
    two.world.ue_mut(0).sessions_mut().forget(6);
    two.world.call_flow.0.clear();
    let nas = two.world.ue_mut(0).register(RegistrationKind::Mobility);
    two.world.connect(0, nas);
    two.run();
    let call_flow = two.world.call_flow.to_string();
    for line in UPDATE.lines() {
        assert!(call_flow.contains(line), "{line} of {call_flow}");
    }
    assert!(!call_flow.contains("Authentication"), "{call_flow}");
    two.world.assert_registered(0);
    let accept = two.world.ue(0).accept().unwrap().clone();
    assert_eq!(accept.areas, [tai(), next_area()]);
    assert!(accept.guti.is_some() && accept.guti != before);
    assert!(accept.t3512_s.is_some());
    assert_eq!(accept.session_status, Some(0b10_0000));
    let reactivation = accept.reactivation.unwrap();
    assert!(reactivation.failed.is_empty(), "{reactivation:?}");
    two.assert_flows(5);
    assert_eq!(two.world.core.smf().unwrap().sessions(), 1);
}

#[test]
fn a_user_plane_that_cannot_be_is_told_in_the_result_of_the_reactivation() {
    let mut two = two_areas(&[5]);
    let now = two.world.now;
    go_idle(&mut two.world, 0);
    // The network has released it meanwhile, and the UE has not heard of it.
    assert!(two.world.core.sessions().release(now, &world::supi(1), 5));
    two.run();
    two.turn();
    two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    let nas = two.world.ue_mut(0).register(RegistrationKind::Mobility);
    two.world.connect(0, nas);
    let accept = two.world.ue(0).accept().unwrap();
    assert_eq!(accept.session_status, Some(0));
    let failed = &accept.reactivation.as_ref().unwrap().failed;
    assert_eq!(failed.iter().map(|(one, _)| *one).collect::<Vec<_>>(), [5]);
    assert_eq!(two.world.ue(0).sessions().status(), 0);
}

#[test]
fn a_connected_phone_that_wants_other_slices_has_them_and_keeps_its_session() {
    let mut two = two_areas(&[5]);
    let before = two.world.ue(0).guti();
    two.world.ue_mut(0).requested_nssai = Some(vec![slice(2)]);
    let nas = two.world.ue_mut(0).register(RegistrationKind::Mobility);
    two.world.say(0, nas);
    two.run();
    let accept = two.world.ue(0).accept().unwrap();
    assert_eq!(accept.allowed_nssai, [slice(2)]);
    assert!(accept.guti.is_some() && accept.guti != before);
    two.assert_flows(5);
    establish(&mut two.world, 0, 7, &wanted(SessionType::Ipv4));
    two.assert_flows(7);
}

/// TS 23.502, 4.9.1.2.2 and 4.9.1.3.3: after a handover to another area the UE registers there.
#[test]
fn a_phone_that_was_handed_over_to_another_area_registers_there() {
    for by_xn in [true, false] {
        let mut two = two_areas(&[5]);
        match by_xn {
            true => two.by_xn(),
            false => two.ask_n2(false),
        }
        let nas = two.world.ue_mut(0).register(RegistrationKind::Mobility);
        two.world.say(0, nas);
        two.settle();
        two.world.assert_registered(0);
        two.assert_flows(5);
        assert_eq!(two.world.amf().counters().unexpected, 0);
    }
}
