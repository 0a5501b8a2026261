//! A UPF that neither chooses tunnels (no FTUP) nor gives UE addresses (no UEIP): the SMF does both, and packets pass.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use sluice_host::tool;
use sluice_n1::{SessionCause, SessionType};
use sluice_smf::{InstanceCoding, NetworkConfig, Pool, Smf, UpfConfig};
use sluice_wire::pfcp::Header;
use sluice_wire::pfcp::group::CreatePdr;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::{FTeid, InterfaceType};

use crate::contexts::{Memory, core_of, gnb_comes_back, kill_before};
use crate::harness::*;
use crate::kit::{self, frames};
use crate::two_gnbs::Two;
use crate::world::{self, TestNetwork, dnn};

/// The first prefix that UEs get of the pool in [`smf_config`].
const PREFIX: u128 = 0x2001_0db8_0045_0001 << 64;

fn plain_world(numbers: &[u32]) -> TestNetwork {
    plain_world_of(smf_config(), numbers)
}

fn plain_world_of(config: sluice_smf::Config, numbers: &[u32]) -> TestNetwork {
    let core = world::core(world::config(), true).with_smf(Smf::new(config).unwrap());
    begin_at(RealUpf::plain(), core, numbers)
}

/// How many UE addresses and TEIDs sessions have of the SMF.
fn leases(world: &TestNetwork) -> (usize, usize) {
    world.core.smf().unwrap().leases()
}

fn uplink(world: &TestNetwork, phone: usize, session: u8) -> u32 {
    radio(world, phone, session).unwrap().request.uplink.teid
}

/// Packets pass both ways, of IPv4 and of IPv6.
#[track_caller]
fn assert_flows(world: &mut TestNetwork, phone: usize, session: u8, prefix: u128) {
    assert!(goes_up(world, phone, session), "{}", world.call_flow);
    let ue = address(world, phone, session);
    let there = radio(world, phone, session).unwrap();
    assert_eq!(goes_down(world, ue), Some(there.downlink.teid));
    let told = world.ue(phone).sessions().get(session).unwrap().address;
    let identifier = u64::from_be_bytes(told.interface_identifier.unwrap());
    let ue = Ipv6Addr::from_bits(prefix | u128::from(identifier));
    let up = frames::packet_v6(ue, kit::SERVER_V6, 100, 7);
    assert!(sends_up(world, &there, 1, &up), "{}", world.call_flow);
    let down = frames::packet_v6(kit::SERVER_V6, ue, 100, 7);
    let sent = sends_down(world, &down);
    assert_eq!(sent, Some((there.downlink.teid, Some(1))));
}

#[test]
fn packets_pass_at_a_upf_that_chooses_neither_tunnels_nor_addresses() {
    let mut world = plain_world(&[1, 2]);
    for phone in 0..2 {
        establish(&mut world, phone, 5, &wanted(SessionType::Ipv4v6));
    }
    let addresses = [0, 1].map(|phone| address(&world, phone, 5));
    assert_eq!(addresses, [2, 3].map(|last| Ipv4Addr::new(10, 45, 0, last)));
    let teids = [0, 1].map(|phone| uplink(&world, phone, 5));
    assert_ne!(teids[0], teids[1]);
    assert_eq!(leases(&world), (4, 2));
    for (phone, prefix) in [(0, PREFIX), (1, PREFIX + (1 << 64))] {
        assert_flows(&mut world, phone, 5, prefix);
    }
    // Idle and back, by itself and by paging.
    go_idle(&mut world, 0);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_flows(&mut world, 0, 5, PREFIX);
    go_idle(&mut world, 0);
    goes_down(&mut world, addresses[0]);
    assert_eq!(world.pages.len(), 1);
    assert_flows(&mut world, 0, 5, PREFIX);
    assert_eq!(
        (address(&world, 0, 5), uplink(&world, 0, 5)),
        (addresses[0], teids[0])
    );
    // In another data network at the same UPF.
    let lab = sluice_ue::WantedSession {
        dnn: Some(dnn("lab")),
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 6, &lab);
    assert_eq!(address(&world, 0, 6), Ipv4Addr::new(10, 45, 2, 2));
    assert!(goes_up(&mut world, 0, 6));
    for (phone, session) in [(0, 5), (0, 6), (1, 5)] {
        let nas = world.ue_mut(phone).release(session);
        world.say(phone, nas);
    }
    assert_no_session(&mut world);
    assert_eq!(leases(&world), (0, 0));
    // What has just been another's is not given again at once.
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4v6));
    assert_eq!(address(&world, 0, 5), Ipv4Addr::new(10, 45, 0, 4));
    assert!(!teids.contains(&uplink(&world, 0, 5)));
}

#[test]
fn a_handover_keeps_the_address_and_the_tunnel_and_its_forwarding_has_one_of_its_own() {
    let mut two = Two::of(plain_world(&[1]), &[5]);
    let before = (address(&two.world, 0, 5), uplink(&two.world, 0, 5));
    two.assert_flows(5);
    two.by_xn();
    two.assert_flows(5);
    two.goes = false;
    two.ask_n2(false);
    let ran = two.going.unwrap();
    let into = two.world.gnb.forwards_to(ran, 5).unwrap();
    assert_eq!(into.ipv4, Some(kit::N3));
    assert_ne!(into.teid, before.1);
    assert_eq!(leases(&two.world), (1, 2));
    two.arrive();
    two.settle();
    two.assert_flows(5);
    assert_eq!(leases(&two.world), (1, 1));
    assert_eq!(
        (address(&two.world, 0, 5), uplink(&two.world, 0, 5)),
        before
    );
    // The tunnel of the next handover is another one, and goes with the session.
    two.ask_n2(false);
    let ran = two.going.unwrap();
    let next = two.world.gnb.forwards_to(ran, 5).unwrap();
    assert_ne!(next.teid, into.teid);
    two.arrive();
    two.settle();
    let nas = two.world.ue_mut(0).release(5);
    two.world.say(0, nas);
    two.run();
    assert_no_session(&mut two.world);
    assert_eq!(leases(&two.world), (0, 0));
}

#[test]
fn a_restarted_upf_gets_what_the_smf_had_chosen() {
    let mut world = plain_world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4v6));
    let before = (address(&world, 0, 5), uplink(&world, 0, 5));
    upf(&mut world).restart();
    for _ in 0..100 {
        if world.core.smf().unwrap().counters().restored == 1 {
            break;
        }
        assert!(world.wait());
    }
    assert_flows(&mut world, 0, 5, PREFIX);
    assert_eq!((address(&world, 0, 5), uplink(&world, 0, 5)), before);
    assert_eq!(leases(&world), (2, 1));
}

/// A core at a plain UPF that stores its contexts.
fn stored(numbers: &[u32]) -> (TestNetwork, Memory) {
    let memory = Memory::default();
    let now = sluice_sbi::Now {
        unix_s: world::BEGIN_S,
        ..sluice_sbi::Now::default()
    };
    let core = core_of(&memory, now, &[], world::config(), smf_config());
    (begin_at(RealUpf::plain(), core, numbers), memory)
}

fn kill(world: &mut TestNetwork, memory: &Memory) {
    kill_before(world, |now| {
        core_of(memory, now, &[], world::config(), smf_config())
    });
}

/// Neither of a session, nor of one that the UPF has still, nor of one that was asked for when the core was killed.
#[test]
fn no_lease_is_given_twice_after_the_core_was_killed() {
    let (mut world, memory) = stored(&[1, 2, 3]);
    let mut seen = BTreeSet::new();
    let mut take = |world: &TestNetwork, phone, session| {
        let lease = (
            address(world, phone, session),
            uplink(world, phone, session),
        );
        assert!(seen.insert(lease.0.to_string()), "{lease:?}");
        assert!(seen.insert(lease.1.to_string()), "{lease:?}");
    };
    for phone in 0..2 {
        establish(&mut world, phone, 5, &wanted(SessionType::Ipv4v6));
        take(&world, phone, 5);
    }
    // The UPF has a session of which it does not say that it is deleted.
    upf(&mut world).all = Some((DELETION, Fate::Lost));
    let nas = world.ue_mut(1).deregister(false, true).unwrap();
    world.say(1, nas);
    for _ in 0..100 {
        if world.core.smf().unwrap().sessions() == 1 {
            break;
        }
        assert!(world.wait());
    }
    // And one of which it has not said that it is there.
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Lost));
    establish(&mut world, 2, 5, &wanted(SessionType::Ipv4v6));
    assert_eq!(leases(&world), (6, 3));
    upf(&mut world).all = Some((DELETION, Fate::Lost));
    kill(&mut world, &memory);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 3);
    gnb_comes_back(&mut world);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_flows(&mut world, 0, 5, PREFIX);
    for session in [6, 7, 8, 9] {
        establish(&mut world, 0, session, &wanted(SessionType::Ipv4v6));
        assert!(goes_up(&mut world, 0, session), "{}", world.call_flow);
        take(&world, 0, session);
    }
    // All of it comes back.
    upf(&mut world).all = None;
    pass(&mut world, 100);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    pass(&mut world, 100);
    assert_no_session(&mut world);
    assert_eq!(leases(&world), (0, 0));
    assert!(memory.keys().iter().all(|key| !key.starts_with("smf/")));
}

fn refusals(world: &mut TestNetwork) -> Vec<String> {
    let all = world.core.take_refused().into_iter();
    all.map(|one| format!("{}; {}", one.why, one.remedy))
        .collect()
}

#[test]
fn a_pool_that_is_used_up_refuses_by_name_until_an_address_has_rested() {
    let mut config = smf_config();
    config.networks[0].pools = vec![Pool::Ipv4([10, 45, 0, 9].into(), 32)];
    let mut world = plain_world_of(config, &[1]);
    // The data network has IPv6, and no pool of it.
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4v6));
    let accept = world.ue(0).sessions().get(5).unwrap();
    let cut = (accept.session_type, accept.cause);
    assert_eq!(cut, (SessionType::Ipv4, Some(SessionCause::IPV4_ONLY)));
    assert_eq!(address(&world, 0, 5), Ipv4Addr::new(10, 45, 0, 9));
    world.core.take_refused();
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    let told = refusals(&mut world);
    let is_it = |one: &String| {
        one.contains("the pools of internet have no IPv4 address left")
            && one.contains("add a prefix to the pools")
    };
    assert!(told.iter().any(is_it), "{told:?}");
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv6));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    let told = refusals(&mut world);
    let is_it = |one: &String| one.contains("internet has no pool of IPv6");
    assert!(told.iter().any(is_it), "{told:?}");
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    pass(&mut world, 60);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    pass(&mut world, 90);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(address(&world, 0, 5), Ipv4Addr::new(10, 45, 0, 9));
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_upf_whose_tunnels_nobody_names_serves_no_session_and_operators_are_told_why() {
    let mut config = smf_config();
    config.upfs = vec![UpfConfig::new(world::N4)];
    let mut world = plain_world_of(config, &[1]);
    let upfs = world.core.smf().unwrap().upfs();
    assert!(upfs[0].lacks.unwrap().contains("no FTUP"), "{upfs:?}");
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    let told = refusals(&mut world);
    assert!(
        told.iter()
            .any(|one| one.contains("n3 of upfs in core.yaml")),
        "{told:?}"
    );
    assert_eq!(leases(&world), (0, 0));
}

/// The UPF refuses what it is given: nothing stays held.
#[test]
fn what_a_refused_session_had_is_given_back() {
    let mut world = plain_world(&[1]);
    upf(&mut world).next = Some((ESTABLISHMENT, 0, Fate::Refused));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4v6));
    assert_refused(&world, None, Some(SessionCause::NETWORK_FAILURE));
    assert_eq!(leases(&world), (0, 0));
    // What the UPF may have it is asked for again, and has until then.
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4v6));
    pass(&mut world, 9);
    assert_eq!(leases(&world), (2, 1));
    upf(&mut world).all = None;
    pass(&mut world, 60);
    assert_no_session(&mut world);
    assert_eq!(leases(&world), (0, 0));
}

/// Requests on their way to a UPF.
struct Heard {
    upf: Box<dyn world::Upf>,
    asked: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl world::Upf for Heard {
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        self.asked.borrow_mut().push(octets.to_vec());
        self.upf.take(octets)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self.upf.as_any()
    }
}

/// Other UPFs read the type of each interface, the QFI and the rate in the first QER of a PDR, labels.
#[test]
fn rules_are_written_as_other_upfs_read_them() {
    let mut config = smf_config();
    config.upfs[0].instance_coding = InstanceCoding::Labels;
    config.upfs[0].access = None;
    config.networks.truncate(1);
    config.networks[0] = NetworkConfig {
        charging_octets: None,
        ..config.networks[0].clone()
    };
    let mut world = plain_world_of(config, &[1]);
    let asked = Rc::new(RefCell::new(Vec::new()));
    let upf = world.upf.take().unwrap();
    world.upf = Some(Box::new(Heard {
        upf,
        asked: Rc::clone(&asked),
    }));
    let is_judged = tool::is_installed("tshark");
    if is_judged {
        self::upf(&mut world).judge();
    }
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4v6));
    assert_flows(&mut world, 0, 5, PREFIX);
    if is_judged {
        self::upf(&mut world).end_judging();
    }
    let asked = asked.borrow();
    let of_type = |kind: u8| asked.iter().find(|octets| octets[1] == kind).unwrap();
    let (_, body) = Header::parse(of_type(ESTABLISHMENT)).unwrap();
    let request = SessionEstablishmentRequest::parse(body).unwrap();
    let [up, down] = &request.create_pdr[..] else {
        panic!("{request:?}");
    };
    let at = (up.pdi.source_interface_type, down.pdi.source_interface_type);
    let n3 = Some(InterfaceType::N3_3GPP_ACCESS);
    assert_eq!(at, (n3, Some(InterfaceType::N6)));
    let is_ours = |pdr: &CreatePdr<'_>| {
        let f_teid = pdr.pdi.local_f_teid;
        let f_teid = f_teid.is_none_or(|f_teid| matches!(f_teid, FTeid::Assigned { .. }));
        let mut all = pdr.pdi.ue_ip_address.iter();
        f_teid && all.all(|ue| !(ue.choose_ipv4 || ue.choose_ipv6))
    };
    assert!(is_ours(up) && is_ours(down), "{request:?}");
    for pdr in [up, down] {
        let first = pdr.qer_id[0];
        let qer = request.create_qer.iter().find(|qer| qer.qer_id == first);
        let qer = qer.unwrap();
        assert!(qer.qos_flow_identifier.is_some() && qer.maximum_bitrate.is_some());
    }
    let to_network = request.create_far[0]
        .forwarding_parameters
        .as_ref()
        .unwrap();
    assert_eq!(
        to_network.destination_interface_type,
        Some(InterfaceType::N6)
    );
    let labels = b"\x08internet";
    assert_eq!(to_network.network_instance.unwrap().0, labels);
    assert_eq!(down.pdi.network_instance.unwrap().0, labels);
    let (_, body) = Header::parse(of_type(MODIFICATION)).unwrap();
    let change = SessionModificationRequest::parse(body).unwrap();
    let to_gnb = change.update_far[0].update_forwarding_parameters.as_ref();
    assert_eq!(to_gnb.unwrap().destination_interface_type, n3);
}
