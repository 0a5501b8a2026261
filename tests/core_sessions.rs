//! PDU sessions of the core against the whole UPF, with packets, in virtual time: emulated UEs and
//! gNBs on one side, the session machine and the packet path of the UPF on the other.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod kit;

#[path = "../core/wiring/tests/all/world.rs"]
#[allow(dead_code, reason = "its own tests use the rest")]
mod world;

use std::any::Any;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use kit::frames;
use kit::upf::{Around, INTERNET, Upf};
use sluice_control::core::Time;
use sluice_core_smf::{NetworkConfig, Smf, UpfConfig};
use sluice_n1::{Cause, RegistrationKind, SessionCause, SessionType, options};
use sluice_n2::RanUeId;
use sluice_n4::Instant;
use sluice_sbi::Now;
use sluice_session::{AllocationPool, PoolAddresses};
use sluice_smf::Tunnel;
use sluice_ue::{RadioSession, WantedSession};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::pfcp::value::NtpTime;
use world::{BEGIN_S, World, dnn, slice, supi};

const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 20);

/// The UPF of the kit as the core's peer.
struct RealUpf {
    upf: Upf,
    around: Around,
    now_ns: u64,
}

impl RealUpf {
    fn new() -> Self {
        let upf = Upf::start(1, |config| {
            let pool = |addresses| AllocationPool {
                instance: INTERNET,
                addresses,
                identity: None,
                rest_s: 0,
            };
            config.allocation = vec![
                pool(PoolAddresses::Ipv4 {
                    base: Ipv4Addr::new(10, 45, 0, 0),
                    prefix_len: 24,
                }),
                pool(PoolAddresses::Ipv6 {
                    base: "2001:db8:45::".parse().unwrap(),
                    prefix_len: 56,
                }),
            ];
        });
        let around = Around {
            sent: VecDeque::new(),
            pool: upf.pool.clone(),
        };
        Self {
            upf,
            around,
            now_ns: 1_000_000_000,
        }
    }

    fn time(&self) -> Time {
        Time {
            now: Instant(self.now_ns),
            wall: NtpTime(0xe000_1000 + (self.now_ns / 1_000_000_000) as u32),
        }
    }

    /// Rounds until nothing happens any more; what it sends by N4 meanwhile.
    fn settle(&mut self) -> Vec<Vec<u8>> {
        for _ in 0..1_000 {
            self.now_ns += 1_000;
            self.upf.net.advance_to(self.now_ns);
            let time = self.time();
            let mut work = 0;
            for worker in &mut self.upf.workers {
                work += worker.turn(self.now_ns);
            }
            work += self.upf.core.turn(time, &mut self.around);
            if work == 0 && self.upf.core.up.under_way() == 0 {
                let sent = self.around.sent.drain(..);
                return sent.map(|(_, octets)| octets).collect();
            }
        }
        panic!("the UPF does not come to rest");
    }
}

impl world::Upf for RealUpf {
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        let from = SocketAddr::from((SMF, 8805));
        let time = self.time();
        self.upf.core.datagram(time, from, octets, &mut self.around);
        self.settle()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn smf_config() -> sluice_core_smf::Config {
    let internet = NetworkConfig {
        servers_ipv4: vec![Ipv4Addr::new(198, 51, 100, 53)],
        servers_ipv6: vec!["2001:db8::53".parse().unwrap()],
        charging_octets: Some(1_000),
        ..NetworkConfig::new(dnn("internet"))
    };
    let lab = NetworkConfig {
        instance: "internet".to_owned(),
        families: [true, false],
        ..NetworkConfig::new(dnn("lab"))
    };
    sluice_core_smf::Config {
        n4: IpAddr::V4(SMF),
        started_unix_s: BEGIN_S,
        upfs: vec![UpfConfig {
            n4: world::N4,
            access: None,
            networks: Vec::new(),
            slices: Vec::new(),
        }],
        networks: vec![internet, lab],
    }
}

/// A world with sessions; its UEs are registered and connected.
fn world(numbers: &[u32]) -> World {
    let core = world::core(world::config(), true);
    let core = core.with_smf(Smf::new(smf_config()).unwrap());
    let mut world = World::of(core, numbers);
    world.upf = Some(Box::new(RealUpf::new()));
    world.set_up();
    world.core.time(world.now);
    world.run();
    for phone in 0..numbers.len() {
        world.ue_mut(phone).requested_nssai = Some(vec![slice(1), slice(2)]);
        world.ue_mut(phone).follow_on = true;
        world.register(phone);
    }
    world.ladder.0.clear();
    world
}

fn upf(world: &mut World) -> &mut RealUpf {
    world
        .upf
        .as_mut()
        .unwrap()
        .as_any()
        .downcast_mut()
        .unwrap()
}

fn wanted(session_type: SessionType) -> WantedSession {
    WantedSession {
        session_type: Some(session_type),
        ..WantedSession::default()
    }
}

fn establish(world: &mut World, phone: usize, session: u8, wanted: &WantedSession) {
    let nas = world.ue_mut(phone).establish(session, wanted);
    world.say(phone, nas);
}

fn at(world: &World, phone: usize) -> RanUeId {
    world.phones[phone].at.unwrap()
}

fn radio(world: &World, phone: usize, session: u8) -> Option<RadioSession> {
    world.gnb.session(at(world, phone), session)
}

/// What the UPF sends by itself reaches the core.
fn settle_upf(world: &mut World) {
    for octets in upf(world).settle() {
        let now = Now { ..world.now };
        world.core.n4(now, world::N4, &octets);
    }
    world.run();
}

/// A packet of the UE reaches the data network.
fn goes_up(world: &mut World, phone: usize, session: u8) -> bool {
    let Some(radio) = radio(world, phone, session) else {
        return false;
    };
    let address = world.ue(phone).sessions().get(session).unwrap().address;
    let inner = frames::packet(address.ipv4.unwrap(), kit::SERVER, 100, 7);
    let uplink = Tunnel {
        teid: Teid::new(radio.request.uplink.teid).unwrap(),
        ipv4: radio.request.uplink.ipv4.unwrap(),
    };
    let frame = frames::from_gnb(1, uplink, Qfi::new(1).unwrap(), &inner);
    let upf = upf(world);
    upf.upf.n3.inject(&frame);
    settle_upf(world);
    let left = self::upf(world).upf.n6.take_output();
    left.iter()
        .any(|(_, frame)| frames::is_one_hop_on(&inner, &frames::read_n6(frame)))
}

/// The tunnel by which a packet from the data network leaves for the UE, if it does.
fn goes_down(world: &mut World, address: Ipv4Addr) -> Option<u32> {
    let inner = frames::packet(kit::SERVER, address, 100, 9);
    upf(world).upf.n6.inject(&frames::from_network(&inner));
    settle_upf(world);
    let left = upf(world).upf.n3.take_output();
    let read = left.iter().map(|(_, frame)| frames::read_n3(frame));
    read.into_iter().find_map(|frame| match frame {
        frames::N3Frame::Data { to, .. } => Some(to.teid.get()),
        _ => None,
    })
}

/// The UE is idle, by its gNB's wish.
fn go_idle(world: &mut World, phone: usize) {
    let ask = world.gnb.ask_release(at(world, phone)).unwrap();
    world.tell_amf(&ask);
    world.run();
    assert_eq!(world.phones[phone].at, None);
}

fn come_back(world: &mut World, phone: usize) {
    let nas = world.ue_mut(phone).request_service().unwrap();
    world.connect(phone, nas);
}

fn address(world: &World, phone: usize, session: u8) -> Ipv4Addr {
    let accept = world.ue(phone).sessions().get(session).unwrap();
    accept.address.ipv4.unwrap()
}

/// Neither SMF nor UPF has a session.
#[track_caller]
fn assert_no_session(world: &mut World) {
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert_eq!(upf(world).upf.core.up.session_count(), 0);
    assert!(world.core.smf().unwrap().procedures().is_empty());
}

#[track_caller]
fn assert_refused(world: &World, cause: Option<Cause>, session_cause: Option<SessionCause>) {
    let refused = world.ue(0).sessions().refused().last();
    let causes = refused.map(|(_, mm, sm)| (*mm, *sm));
    assert_eq!(causes, Some((cause, session_cause)), "{}", world.ladder);
}

/// TS 23.502, 4.3.2.2.1, with the steps of its figure.
const ESTABLISHMENT: &str = "\
1     UE   -> AMF   UL NAS Transport
2     AMF  -> UDM   Nudm_SDM_Get Request (SMF selection)
2     UDM  -> UDR   Nudr_DM_Query Request (SMF selection)
2     UDR  -> UDM   Nudm_SDM_Get Response (SMF selection)
2     UDM  -> AMF   Nudm_SDM_Get Response (SMF selection)
3     AMF  -> SMF   Nsmf_PDUSession_CreateSMContext Request
4     SMF  -> UDM   Nudm_SDM_Get Request (session management)
4     UDM  -> UDR   Nudr_DM_Query Request (session management)
4     UDR  -> UDM   Nudm_SDM_Get Response (session management)
4     UDM  -> SMF   Nudm_SDM_Get Response (session management)
10    SMF  -> UPF   N4 Session Establishment Request
3     SMF  -> AMF   Nsmf_PDUSession_CreateSMContext Response
10    UPF  -> SMF   N4 Session Establishment Response
11    SMF  -> UE    PDU Session Establishment Accept
11    SMF  -> AMF   Namf_Communication_N1N2MessageTransfer Request
12    AMF  -> gNB   PDU Session Resource Setup Request
11    AMF  -> SMF   Response
14    gNB  -> AMF   PDU Session Resource Setup Response
15    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
16    SMF  -> UPF   N4 Session Modification Request
16    UPF  -> SMF   N4 Session Modification Response
15    SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
";

#[test]
fn a_phone_gets_a_session_and_its_packets_flow() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(world.ladder.to_string(), ESTABLISHMENT);
    let accept = world.ue(0).sessions().get(5).unwrap().clone();
    assert_eq!((accept.session_type, accept.cause), (SessionType::Ipv4, None));
    assert_eq!((accept.ssc_mode, accept.qfi, accept.five_qi), (1, 1, 9));
    let ambr = (accept.ambr.down_bps, accept.ambr.up_bps);
    assert_eq!(ambr, (200_000_000, 100_000_000));
    assert_eq!((accept.slice, accept.dnn), (slice(1), b"\x08internet".to_vec()));
    let told = options::read(&accept.options.unwrap());
    let servers = vec![Ipv4Addr::new(198, 51, 100, 53)];
    assert_eq!(told, (servers, vec!["2001:db8::53".parse().unwrap()], Some(1_400)));
    // The gNB's part.
    let gnb = radio(&world, 0, 5).unwrap();
    assert_eq!(gnb.request.ambr_bps, ambr);
    assert_eq!((gnb.request.qfi, gnb.request.five_qi, gnb.request.priority), (1, 9, 8));
    assert_eq!(gnb.request.uplink.ipv4, Some(kit::N3));
    // Packets, both ways.
    assert!(goes_up(&mut world, 0, 5));
    let ue = address(&world, 0, 5);
    assert_eq!(goes_down(&mut world, ue), Some(gnb.downlink.teid));
    assert_eq!(world.core.smf().unwrap().counters().established, 1);
    assert_eq!(world.core.amf().counters().unexpected, 0);
}

/// TS 23.502, 4.3.4.2.
const RELEASE: &str = "\
      UE   -> AMF   UL NAS Transport
1     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
2     SMF  -> UPF   N4 Session Deletion Request
2     UPF  -> SMF   N4 Session Deletion Response
3     SMF  -> UE    PDU Session Release Command #36 (regular deactivation)
1     SMF  -> AMF   Nsmf_PDUSession_UpdateSMContext Response
4     AMF  -> gNB   PDU Session Resource Release Command
6     gNB  -> AMF   PDU Session Resource Release Response
7     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
      UE   -> AMF   UL NAS Transport
1     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request
11    SMF  -> AMF   Nsmf_PDUSession_SMContextStatusNotify Request
";

#[test]
fn a_phone_releases_its_session() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
    world.ladder.0.clear();
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    let ladder = world.ladder.to_string();
    for line in RELEASE.lines() {
        assert!(ladder.contains(line), "{line} of {ladder}");
    }
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_eq!(radio(&world, 0, 5), None);
    assert_no_session(&mut world);
    // What it used, at the end.
    let records = world.core.take_records();
    let last = records.last().unwrap();
    assert!(last.is_last);
    assert_eq!((last.supi, last.session), (supi(1), 5));
    assert_eq!((last.usage.uplink_octets, last.usage.downlink_octets), (100, 0));
    // Its address is free again.
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn usage_is_recorded_by_volume() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for _ in 0..12 {
        assert!(goes_up(&mut world, 0, 5));
    }
    let records = world.core.take_records();
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(records[0].usage.uplink_octets >= 1_000 && !records[0].is_last);
}

#[test]
fn the_network_releases_a_session() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.ladder.0.clear();
    let now = world.now;
    assert!(world.core.release_session(now, &supi(1), 5));
    world.run();
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_eq!(radio(&world, 0, 5), None);
    let ladder = world.ladder.to_string();
    let at = |text: &str| ladder.find(text).unwrap_or_else(|| panic!("{text} of {ladder}"));
    assert!(at("N4 Session Deletion Request") < at("PDU Session Release Command"));
    assert!(at("PDU Session Release Command") < at("SMContextStatusNotify"));
    assert_no_session(&mut world);
    assert!(!world.core.release_session(now, &supi(1), 5));
}

#[test]
fn a_release_command_that_is_not_answered_is_sent_five_times() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.ue_mut(0).sessions_mut().no_complete = true;
    world.ladder.0.clear();
    let begin = world.now;
    assert!(world.core.release_session(begin, &supi(1), 5));
    world.run();
    for _ in 0..100 {
        if world.core.smf().unwrap().sessions() == 0 {
            break;
        }
        assert!(world.wait());
    }
    // T3592: 16 s.
    assert_eq!(world.now.instant.ms_since(begin.instant), 5 * 16_000);
    let ladder = world.ladder.to_string();
    assert_eq!(ladder.matches("PDU Session Release Command").count(), 5, "{ladder}");
    assert_no_session(&mut world);
}

#[test]
fn downlink_packets_wait_for_an_idle_phone_and_it_comes_back_with_data() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let (ue, before) = (address(&world, 0, 5), radio(&world, 0, 5).unwrap());
    world.ladder.0.clear();
    go_idle(&mut world, 0);
    // TS 23.502, 4.2.6.
    let ladder = world.ladder.to_string();
    for line in [
        "5     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request",
        "6     SMF  -> UPF   N4 Session Modification Request",
    ] {
        assert!(ladder.contains(line), "{ladder}");
    }
    assert_eq!(goes_down(&mut world, ue), None);
    assert_eq!(world.core.smf().unwrap().counters().downlink_data_reports, 1);
    // TS 23.502, 4.2.3.2.
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    world.ladder.0.clear();
    come_back(&mut world, 0);
    let ladder = world.ladder.to_string();
    for line in [
        "4     AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request",
        "12    AMF  -> gNB   Initial Context Setup Request",
        "15    AMF  -> SMF   Nsmf_PDUSession_UpdateSMContext Request",
        "16    SMF  -> UPF   N4 Session Modification Request",
    ] {
        assert!(ladder.contains(line), "{ladder}");
    }
    assert!(!ladder.contains("PDU Session Resource Setup Request"), "{ladder}");
    let after = radio(&world, 0, 5).unwrap();
    assert_eq!(after.request.uplink, before.request.uplink);
    // What has waited comes by the new tunnel.
    settle_upf(&mut world);
    let waited = upf(&mut world).upf.n3.take_output();
    assert!(waited.iter().any(|(_, frame)| matches!(
        frames::read_n3(frame),
        frames::N3Frame::Data { to, .. } if to.teid.get() == after.downlink.teid
    )));
    assert!(goes_up(&mut world, 0, 5));
    assert_eq!(goes_down(&mut world, ue), Some(after.downlink.teid));
}

#[test]
fn a_phone_without_data_comes_back_without_user_plane() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    come_back(&mut world, 0);
    assert_eq!(radio(&world, 0, 5), None);
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
    // It has data now, and the gNB has its context.
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    world.ladder.0.clear();
    let nas = world.ue_mut(0).request_service().unwrap();
    world.say(0, nas);
    let ladder = world.ladder.to_string();
    assert!(ladder.contains("PDU Session Resource Setup Request"), "{ladder}");
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_registration_that_names_data_brings_user_planes_up() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    // It has forgotten one, and has data for the other.
    world.ue_mut(0).sessions_mut().forget(6);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    assert_eq!(world.ue(0).accept().unwrap().session_status, Some(1 << 5));
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert!(goes_up(&mut world, 0, 5));
    // An initial one begins without sessions.
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.connect(0, nas);
    assert_no_session(&mut world);
}

#[test]
fn a_phone_that_leaves_has_no_sessions() {
    for switch_off in [false, true] {
        let mut world = world(&[1]);
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
        world.ladder.0.clear();
        let nas = world.ue_mut(0).deregister(switch_off, true).unwrap();
        world.say(0, nas);
        let ladder = world.ladder.to_string();
        let release = "2     AMF  -> SMF   Nsmf_PDUSession_ReleaseSMContext Request";
        assert_eq!(ladder.matches(release).count(), 2, "{ladder}");
        assert_no_session(&mut world);
    }
}

#[test]
fn a_phone_that_is_not_heard_of_loses_its_sessions() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    for _ in 0..2_000 {
        if world.core.amf().registered() == 0 {
            break;
        }
        assert!(world.wait_long());
    }
    assert_eq!(world.core.amf().registered(), 0);
    assert_no_session(&mut world);
}

#[test]
fn a_lost_gnb_leaves_sessions_without_user_plane() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let reset = world.gnb.reset();
    world.tell_amf(&reset);
    world.run();
    let (is_up, _) = world.core.smf().unwrap().session(&supi(1), 5).unwrap();
    assert!(!is_up);
    world.phones[0].at = None;
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn sessions_are_of_the_type_that_is_asked_for_and_there() {
    let mut world = world(&[1]);
    for (session, kind) in [
        (1, SessionType::Ipv4),
        (2, SessionType::Ipv6),
        (3, SessionType::Ipv4v6),
    ] {
        establish(&mut world, 0, session, &wanted(kind));
        let accept = world.ue(0).sessions().get(session);
        let accept = accept.unwrap_or_else(|| panic!("{}", world.ladder));
        assert_eq!((accept.session_type, accept.cause), (kind, None));
        let told = (
            accept.address.ipv4.is_some(),
            accept.address.interface_identifier.is_some(),
        );
        let expected = (kind != SessionType::Ipv6, kind != SessionType::Ipv4);
        assert_eq!(told, expected);
    }
    // None is asked for: the default one. The lab has no IPv6.
    establish(&mut world, 0, 4, &WantedSession::default());
    let kind = world.ue(0).sessions().get(4).unwrap().session_type;
    assert_eq!(kind, SessionType::Ipv4v6);
    let lab = |kind| WantedSession {
        dnn: Some(dnn("lab")),
        ..wanted(kind)
    };
    establish(&mut world, 0, 5, &lab(SessionType::Ipv4v6));
    let accept = world.ue(0).sessions().get(5).unwrap();
    let cut = (accept.session_type, accept.cause);
    assert_eq!(cut, (SessionType::Ipv4, Some(SessionCause::IPV4_ONLY)));
    establish(&mut world, 0, 6, &lab(SessionType::Ipv6));
    assert_refused(&world, None, Some(SessionCause::IPV4_ONLY));
    establish(&mut world, 0, 6, &wanted(SessionType::Ethernet));
    assert_refused(&world, None, Some(SessionCause::UNKNOWN_SESSION_TYPE));
}

#[test]
fn several_phones_have_sessions_in_several_networks_and_slices() {
    let mut world = world(&[1, 2]);
    let mut addresses = Vec::new();
    for phone in 0..2 {
        let lab = WantedSession {
            dnn: Some(dnn("lab")),
            ..wanted(SessionType::Ipv4)
        };
        let other = WantedSession {
            slice: Some(slice(2)),
            ..wanted(SessionType::Ipv4)
        };
        establish(&mut world, phone, 1, &wanted(SessionType::Ipv4));
        establish(&mut world, phone, 2, &lab);
        establish(&mut world, phone, 15, &other);
        for session in [1, 2, 15] {
            assert!(goes_up(&mut world, phone, session), "{phone} {session}");
            addresses.push(address(&world, phone, session));
        }
        assert_eq!(world.ue(phone).sessions().get(15).unwrap().slice, slice(2));
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 6);
    let nas = world.ue_mut(0).release(2);
    world.say(0, nas);
    assert_eq!(world.core.smf().unwrap().sessions(), 5);
    assert!(goes_up(&mut world, 0, 1) && goes_up(&mut world, 1, 2));
}

#[test]
fn what_cannot_be_is_refused_by_its_cause() {
    let mut world = world(&[1]);
    let named = |name| WantedSession {
        dnn: Some(dnn(name)),
        ..wanted(SessionType::Ipv4)
    };
    // Not subscribed: by the AMF. Subscribed, and not known to the SMF: by the SMF.
    establish(&mut world, 0, 5, &named("secret"));
    assert_refused(&world, Some(Cause::DNN_NOT_SUPPORTED), None);
    establish(&mut world, 0, 5, &named("nowhere"));
    assert_refused(&world, None, Some(SessionCause::UNKNOWN_DNN));
    let elsewhere = WantedSession {
        slice: Some(slice(3)),
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 5, &elsewhere);
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
    let moving = WantedSession {
        ssc_mode: Some(3),
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 5, &moving);
    assert_refused(&world, None, Some(SessionCause::SSC_MODE_NOT_SUPPORTED));
    // A session that is not there.
    let nas = world.ue_mut(0).release(7);
    world.say(0, nas);
    assert_refused(&world, Some(Cause::PAYLOAD_NOT_FORWARDED), None);
    assert_no_session(&mut world);
    // As many as there may be, and one more.
    for session in 1..=9 {
        establish(&mut world, 0, session, &wanted(SessionType::Ipv4));
    }
    assert_refused(&world, Some(Cause::MAXIMUM_SESSIONS), None);
    assert_eq!(world.core.smf().unwrap().sessions(), 8);
}

#[test]
fn without_a_upf_there_are_no_sessions() {
    let mut world = world(&[1]);
    world.core = world::core(world::config(), true).with_smf(Smf::new(smf_config()).unwrap());
    world.upf = None;
    world.phones[0].at = None;
    world.phones[0].ue = world::ue(1);
    world.ue_mut(0).follow_on = true;
    world.set_up();
    world.core.time(world.now);
    world.register(0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
}

#[test]
fn a_request_for_a_session_in_use_replaces_it() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.ladder.0.clear();
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ladder = world.ladder.to_string();
    let release = ladder.find("Nsmf_PDUSession_ReleaseSMContext Request");
    assert!(release < ladder.find("Nsmf_PDUSession_CreateSMContext Request"));
    assert!(release.is_some(), "{ladder}");
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_gnb_without_room_leaves_no_session() {
    let mut world = world(&[1]);
    world.gnb.no_sessions = true;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
    assert_no_session(&mut world);
    // One that the phone has already stays, without user plane.
    world.gnb.no_sessions = false;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    world.gnb.no_sessions = true;
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_eq!(world.ue(0).sessions().status(), 1 << 5);
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
}

#[test]
fn a_subscriber_may_have_an_address_of_its_own() {
    let mut world = world(&[]);
    let own = Ipv4Addr::new(10, 45, 1, 77);
    let mut networks = world::networks();
    networks[0].ipv4 = Some(own);
    let subscriber = sluice_udr::Subscriber {
        k: world::k(),
        opc: world::opc(),
        sqn: sluice_security::Sqn::default(),
        ambr_bps: (1_000_000, 1_000_000),
        slices: vec![(slice(1), true)],
        networks,
    };
    assert!(world.core.udr_mut().insert(supi(9), subscriber));
    world.phones.push(world::Phone {
        ue: world::ue(9),
        at: None,
    });
    world.ue_mut(0).follow_on = true;
    world.register(0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(address(&world, 0, 5), own);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn the_same_inputs_give_the_same_octets_with_sessions() {
    let history = || {
        let mut world = world(&[1, 2]);
        for phone in 0..2 {
            establish(&mut world, phone, 5, &wanted(SessionType::Ipv4v6));
            go_idle(&mut world, phone);
            world.ue_mut(phone).sessions_mut().set_data(1 << 5);
            come_back(&mut world, phone);
            let nas = world.ue_mut(phone).release(5);
            world.say(phone, nas);
        }
        world.transcript
    };
    let (first, second) = (history(), history());
    assert!(first.len() > 60);
    assert_eq!(first, second);
}
