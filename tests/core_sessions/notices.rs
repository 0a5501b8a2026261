//! What gNBs say when nobody has asked (TS 38.413, 8.2.4 and 8.8): flows and sessions that they take away, and what
//! they tell each other by way of the AMF.

use sluice_n1::SessionType;

use crate::flows::{VOICE_PORT, voice};
use crate::harness::*;
use crate::modification::{flows, mark_down, plain, start};
use crate::two_gnbs::Two;
use crate::world::TestNetwork;

/// TS 23.502, 4.3.3.2, from step 1e on.
const TAKEN_AWAY: &str = "\
1     gNB  -> AMF   PDU Session Resource Notify
2     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
2     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
1a    SMF  -> PCF   Npcf_SMPolicyControl_Update Request
3     SMF  -> UE    PDU Session Modification Command
";

fn says(world: &mut TestNetwork, octets: Option<Vec<u8>>) {
    world.tell_amf(&octets.unwrap());
    world.run();
}

#[test]
fn flows_that_a_gnb_takes_away_are_taken_from_the_ue() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
    world.call_flow.0.clear();
    let ran = world.ues[0].at.unwrap();
    let notify = world.gnb.take_flows_away(ran, 5, &[2]);
    says(&mut world, notify);
    let call_flow = world.call_flow.to_string();
    for line in TAKEN_AWAY.lines() {
        assert!(call_flow.contains(line), "{line} is not in\n{call_flow}");
    }
    assert_eq!(flows(&world), (0, 0, 0));
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(1));
    let refused = world.core.take_refused();
    let is_told = refused.iter().any(|one| one.why.contains("released"));
    assert!(is_told, "{refused:?}");
    // The flow may be wanted again.
    start(&mut world, voice(64_000)).unwrap();
    assert_eq!(mark_down(&mut world, VOICE_PORT), Some(2));
}

#[test]
fn a_session_that_a_gnb_takes_away_has_a_user_plane_again_when_there_is_a_packet() {
    let mut world = plain();
    let ran = world.ues[0].at.unwrap();
    let notify = world.gnb.take_session_away(ran, 5);
    says(&mut world, notify);
    assert!(radio(&world, 0, 5).is_none());
    assert!(world.ue(0).sessions().get(5).is_some());
    world.call_flow.0.clear();
    // The UE is connected: nobody pages it.
    assert_eq!(mark_down(&mut world, 80), Some(1));
    let call_flow = world.call_flow.to_string();
    let is_set_up = call_flow.contains("PDU Session Resource Setup Request");
    assert!(is_set_up && !call_flow.contains("Paging"), "{call_flow}");
    world.call_flow.0.clear();
    assert_eq!(mark_down(&mut world, 80), Some(1));
    assert_eq!(world.call_flow.to_string(), "");
}

#[test]
fn a_session_without_its_default_flow_has_no_user_plane() {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    let ran = world.ues[0].at.unwrap();
    let notify = world.gnb.take_flows_away(ran, 5, &[1]);
    says(&mut world, notify);
    assert!(radio(&world, 0, 5).is_none());
    assert!(world.ue(0).sessions().get(5).is_some());
    world.call_flow.0.clear();
    assert_eq!(mark_down(&mut world, 80), Some(1));
    let call_flow = world.call_flow.to_string();
    let is_set_up = call_flow.contains("PDU Session Resource Setup Request");
    assert!(is_set_up, "{call_flow}");
}

#[test]
fn notices_of_what_is_not_there_change_nothing() {
    let mut world = plain();
    let ran = world.ues[0].at.unwrap();
    let of_no_flow = world.gnb.take_flows_away(ran, 5, &[9, 63]);
    says(&mut world, of_no_flow);
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    let of_none = world.gnb.take_session_away(ran, 6);
    says(&mut world, of_none.clone());
    says(&mut world, of_none);
    assert_eq!(mark_down(&mut world, 80), Some(1));
    assert!(world.core.smf().unwrap().procedures().is_empty());
}

#[test]
fn what_a_gnb_tells_another_is_passed_on() {
    let mut two = Two::new(&[]);
    let asked = two.world.gnb.ask_for_xn(&two.other);
    two.world.tell_amf(&asked);
    two.run();
    let transfers = two.other.take_transfers();
    assert_eq!(transfers.len(), 1);
    assert!(
        asked
            .windows(transfers[0].len())
            .any(|part| part == transfers[0])
    );
    // Of a gNB that is not here nothing comes of it.
    let before = two.world.amf().counters().unexpected;
    let mut setup = crate::world::setup(crate::world::tai(), &[]);
    setup.gnb.id = 77;
    let stranger = sluice_ue::Gnb::new(setup, crate::world::tai());
    let asked = two.world.gnb.ask_for_xn(&stranger);
    two.world.tell_amf(&asked);
    two.run();
    assert!(two.world.gnb.take_transfers().is_empty() && two.other.take_transfers().is_empty());
    assert_eq!(two.world.amf().counters().unexpected, before + 1);
}

/// It has no keys, and says so on the connection that it has: who was registered there is idle.
#[test]
fn a_ue_that_begins_anew_where_it_is_leaves_its_sessions_without_user_plane() {
    let mut world = plain();
    world.ue_mut(0).forget_keys();
    let nas = world
        .ue_mut(0)
        .register(sluice_n1::RegistrationKind::Initial);
    let ran = world.ues[0].at.take().unwrap();
    // It hears nothing of what follows.
    let octets = world.gnb.uplink(ran, nas);
    says(&mut world, octets);
    world.call_flow.0.clear();
    start(&mut world, voice(64_000)).unwrap();
    // It is called, once, and told nothing.
    let call_flow = world.call_flow.to_string();
    assert!(!call_flow.contains("Modification Command"), "{call_flow}");
    assert!(world.core.smf().unwrap().procedures().is_empty());
}
