//! The core begins again with another configuration, or without what was stored: what it cannot go on with is left
//! neither at the UPF nor in the store.

use sluice_n1::SessionType;
use sluice_smf::Config;
use sluice_ue::WantedSession;

use crate::contexts::{core_of, gnb_comes_back, kill, kill_before, stored_world};
use crate::harness::*;
use crate::world::{self, dnn};

fn to_lab() -> WantedSession {
    WantedSession {
        dnn: Some(dnn("lab")),
        ..wanted(SessionType::Ipv4)
    }
}

/// `lab` is gone.
fn without_lab() -> Config {
    let mut config = smf_config();
    config.networks.retain(|one| one.dnn != dnn("lab"));
    config
}

#[test]
fn a_session_whose_data_network_is_gone_is_deleted_at_the_upf() {
    let (mut world, memory) = stored_world(&[1], &[]);
    establish(&mut world, 0, 6, &to_lab());
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 2);
    kill_before(&mut world, |now| {
        core_of(&memory, now, &[], world::config(), without_lab())
    });
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    let left = upf(&mut world).upf.core.up.session_count();
    assert_eq!(left, 1, "{}", world.call_flow);
    let is_of_smf = |key: &String| key.starts_with("smf/");
    let keys = memory.keys();
    assert_eq!(keys.iter().filter(|key| is_of_smf(key)).count(), 1);
    // The other one goes on, and the UE learns that this one is over.
    gnb_comes_back(&mut world);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
}

#[test]
fn a_session_whose_data_network_is_gone_is_deleted_at_a_upf_that_had_not_answered() {
    let (mut world, memory) = stored_world(&[1], &[]);
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
    establish(&mut world, 0, 6, &to_lab());
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 2);
    upf(&mut world).all = None;
    kill_before(&mut world, |now| {
        core_of(&memory, now, &[], world::config(), without_lab())
    });
    // It cannot be asked for again, so the UPF begins anew with the other one.
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    let left = upf(&mut world).upf.core.up.session_count();
    assert_eq!(left, 1, "{}", world.call_flow);
    gnb_comes_back(&mut world);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_core_of_which_nothing_is_stored_has_upfs_begin_anew() {
    let (mut world, memory) = stored_world(&[1], &[]);
    memory.clear();
    kill(&mut world, &memory, &[]);
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    let left = upf(&mut world).upf.core.up.session_count();
    assert_eq!(left, 0, "{}", world.call_flow);
}

#[test]
fn ues_that_another_amf_has_named_are_forgotten() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    kill_before(&mut world, |now| {
        let mut config = world::config();
        config.guami.amf = sluice_ids::AmfId::new(1, 1, 2).unwrap();
        core_of(&memory, now, &[], config, smf_config())
    });
    assert_eq!(world.amf().registered(), 0);
    let left = upf(&mut world).upf.core.up.session_count();
    assert_eq!(left, 0, "{}", world.call_flow);
    assert_eq!(memory.keys(), ["core/start"]);
}
