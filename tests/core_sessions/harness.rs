//! The core with the whole UPF of the kit on N4: registered UEs, and packets at either end.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sluice_control::core::Time;
use sluice_n1::options::Settings;
use sluice_n1::{Cause, SessionCause, SessionType};
use sluice_n2::RanUeId;
use sluice_n4::Instant;
use sluice_pcf::Pcf;
use sluice_session::{AllocationPool, PoolAddresses};
use sluice_smf::{NetworkConfig, Pool, Smf, UpfConfig};
use sluice_smf_emulator::Tunnel;
use sluice_ue::{RadioSession, WantedSession};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::pfcp::value::NtpTime;
use sluice_wiring::Core;

use crate::kit::judged::Judged;
use crate::kit::upf::{Around, INTERNET, Upf};
use crate::kit::{self, frames};
use crate::world::{self, BEGIN_S, TestNetwork, dnn, slice};

pub const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 20);

/// What becomes of a request of the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is refused.
    Refused,
    /// It is refused for want of room (TS 29.244, 8.2.1).
    NoRoom,
    /// It is lost.
    Lost,
    /// It is served, and the answer is kept back.
    Late,
    /// It is still on its way.
    Held,
}

/// Message types (TS 29.244, 7.3).
pub const ESTABLISHMENT: u8 = 50;
pub const MODIFICATION: u8 = 52;
pub const DELETION: u8 = 54;

/// The UPF of the kit as the core's peer.
pub struct RealUpf {
    pub upf: Upf,
    /// What becomes of all requests of a type.
    pub all: Option<(u8, Fate)>,
    /// What becomes of the next ones of a type, after so many that are served.
    pub next: Option<(u8, usize, Fate)>,
    /// Answers that are kept back.
    pub kept: Vec<Vec<u8>>,
    /// Requests that are still on their way.
    pub held: Vec<Vec<u8>>,
    around: Around,
    /// Its Recovery Time Stamp.
    started: u32,
    /// Whether it chooses tunnels and gives addresses (FTUP, UEIP).
    chooses: bool,
    now_ns: u64,
    judged: Option<Judged>,
}

impl RealUpf {
    /// With `SLUICE_UPF=plain` the core chooses for it.
    pub fn new() -> Self {
        let is_plain = std::env::var("SLUICE_UPF").is_ok_and(|kind| kind == "plain");
        Self::started(0xe000_0000, !is_plain)
    }

    /// One that has neither FTUP nor UEIP.
    pub fn plain() -> Self {
        Self::started(0xe000_0000, false)
    }

    /// It is restarted: all sessions are gone.
    pub fn restart(&mut self) {
        let started = self.started + 0x100;
        *self = Self {
            now_ns: self.now_ns,
            ..Self::started(started, self.chooses)
        };
    }

    /// It is told to stop: what it sends then.
    pub fn stop(&mut self) -> Vec<Vec<u8>> {
        let Time { now, wall } = self.time();
        let (up, net, mut sink) = self.upf.core.up_with_sink(&mut self.around);
        up.begin_release(now, wall, 60, net, &mut sink);
        self.settle()
    }

    fn started(started: u32, chooses: bool) -> Self {
        let upf = Upf::start_at(NtpTime(started), 1, |config| {
            config.choose_fteid = chooses;
            if !chooses {
                return;
            }
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
            all: None,
            next: None,
            kept: Vec::new(),
            held: Vec::new(),
            around,
            started,
            chooses,
            now_ns: 1_000_000_000,
            judged: None,
        }
    }

    /// Its clock shows this; what it sends by itself.
    pub fn at(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
        self.now_ns = self.now_ns.max(now_ns);
        self.settle()
    }

    /// From now on, for tshark.
    pub fn judge(&mut self) {
        self.judged = Some(Judged::begin(&self.upf.n3));
    }

    /// tshark has nothing to complain of.
    pub fn end_judging(&mut self) {
        self.upf.n3.untap().unwrap();
        self.judged.take().unwrap().end();
    }

    fn fate(&mut self, kind: u8) -> Option<Fate> {
        let all = self.all.filter(|(one, _)| *one == kind);
        match &mut self.next {
            Some((one, before, fate)) if *one == kind => match before.checked_sub(1) {
                Some(left) => {
                    *before = left;
                    None
                }
                None => {
                    let fate = *fate;
                    self.next = None;
                    Some(fate)
                }
            },
            _ => all.map(|(_, fate)| fate),
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

/// The response to a session's request with this cause.
fn refusal(request: &[u8], cause: u8) -> Vec<u8> {
    let (kind, sequence) = (request[1] + 1, &request[12..15]);
    let head = [0x21, kind, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0];
    [&head[..], sequence, &[0], &[0, 19, 0, 1, cause]].concat()
}

impl world::Upf for RealUpf {
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        let from = SocketAddr::from((SMF, 8805));
        if let Some(judged) = &mut self.judged {
            judged.message(from, world::N4, octets);
        }
        let fate = self.fate(octets[1]);
        match fate {
            Some(Fate::Lost) => return Vec::new(),
            Some(Fate::Held) => {
                self.held.push(octets.to_vec());
                return Vec::new();
            }
            Some(Fate::Refused) => return vec![refusal(octets, 64)],
            Some(Fate::NoRoom) => return vec![refusal(octets, 75)],
            Some(Fate::Late) | None => {}
        }
        let time = self.time();
        self.upf.core.datagram(time, from, octets, &mut self.around);
        let sent = self.settle();
        if fate == Some(Fate::Late) {
            self.kept.extend(sent);
            return Vec::new();
        }
        if let Some(judged) = &mut self.judged {
            sent.iter()
                .for_each(|one| judged.message(world::N4, from, one));
        }
        sent
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// What UEs are told in `internet`.
pub fn settings() -> Settings {
    Settings {
        servers_ipv4: vec![Ipv4Addr::new(198, 51, 100, 53)],
        servers_ipv6: vec!["2001:db8::53".parse().unwrap()],
        p_cscfs_ipv4: vec![Ipv4Addr::new(198, 51, 100, 60)],
        p_cscfs_ipv6: vec!["2001:db8::60".parse().unwrap()],
        mtu_octets: Some(1_400),
    }
}

pub fn smf_config() -> sluice_smf::Config {
    let internet = NetworkConfig {
        pools: vec![
            Pool::Ipv4([10, 45, 0, 0].into(), 24),
            Pool::Ipv6("2001:db8:45::".parse().unwrap(), 56),
        ],
        settings: settings(),
        charging_octets: Some(1_000),
        ..NetworkConfig::new(dnn("internet"))
    };
    let lab = NetworkConfig {
        instance: "internet".to_owned(),
        families: [true, false],
        pools: vec![Pool::Ipv4([10, 45, 2, 0].into(), 24)],
        ..NetworkConfig::new(dnn("lab"))
    };
    // For a UPF that does not choose.
    let upf = UpfConfig {
        n3_addresses: (Some(kit::N3), None),
        ..UpfConfig::new(world::N4)
    };
    sluice_smf::Config {
        n4: IpAddr::V4(SMF),
        started_unix_s: BEGIN_S,
        upfs: vec![upf],
        networks: vec![internet, lab],
        upf_return_ms: sluice_smf::UPF_RETURN_MS,
        back_off_s: sluice_smf::BACK_OFF_S,
    }
}

/// A world with sessions; its UEs are registered and connected.
pub fn world(numbers: &[u32]) -> TestNetwork {
    world_of(world::config(), numbers)
}

/// The same, with an AMF of this configuration.
pub fn world_of(config: sluice_amf::Config, numbers: &[u32]) -> TestNetwork {
    let core = world::core(config, true);
    let core = core.with_smf(Smf::new(smf_config()).unwrap());
    let core = core.with_pcf(Pcf::new(sluice_pcf::Config::default()).unwrap());
    begin(core, numbers)
}

/// The same of a core that the test has made.
pub fn begin(core: Core, numbers: &[u32]) -> TestNetwork {
    begin_at(RealUpf::new(), core, numbers)
}

/// The same with this UPF.
pub fn begin_at(upf: RealUpf, core: Core, numbers: &[u32]) -> TestNetwork {
    let mut world = TestNetwork::of(core, numbers);
    world.upf = Some(Box::new(upf));
    world.set_up();
    world.core.time(world.now);
    world.run();
    for phone in 0..numbers.len() {
        world.ue_mut(phone).requested_nssai = Some(vec![slice(1), slice(2)]);
        world.ue_mut(phone).follow_on = true;
        world.register(phone);
    }
    world.call_flow.0.clear();
    world
}

pub fn upf(world: &mut TestNetwork) -> &mut RealUpf {
    world.upf.as_mut().unwrap().as_any().downcast_mut().unwrap()
}

pub fn wanted(session_type: SessionType) -> WantedSession {
    WantedSession {
        session_type: Some(session_type),
        ..WantedSession::default()
    }
}

pub fn establish(world: &mut TestNetwork, phone: usize, session: u8, wanted: &WantedSession) {
    let nas = world.ue_mut(phone).establish(session, wanted);
    world.say(phone, nas);
}

pub fn at(world: &TestNetwork, phone: usize) -> RanUeId {
    world.ues[phone].at.unwrap()
}

pub fn radio(world: &TestNetwork, phone: usize, session: u8) -> Option<RadioSession> {
    world.gnb.session(at(world, phone), session)
}

/// What the UPF sends by itself reaches the core.
pub fn settle_upf(world: &mut TestNetwork) {
    for octets in upf(world).settle() {
        world.core.n4(world.now, world::N4, &octets);
    }
    world.run();
}

/// A packet of the UE reaches the data network.
pub fn goes_up(world: &mut TestNetwork, phone: usize, session: u8) -> bool {
    let Some(radio) = radio(world, phone, session) else {
        return false;
    };
    let address = world.ue(phone).sessions().get(session).unwrap().address;
    let inner = frames::packet(address.ipv4.unwrap(), kit::SERVER, 100, 7);
    sends_up(world, &radio, 1, &inner)
}

/// A packet of a UE that its gNB sends in a flow reaches the data network.
pub fn sends_up(world: &mut TestNetwork, radio: &RadioSession, qfi: u8, inner: &[u8]) -> bool {
    let uplink = radio.request.uplink;
    let uplink = Tunnel::v4(Teid::new(uplink.teid).unwrap(), uplink.ipv4.unwrap());
    let frame = frames::from_gnb(1, uplink, Qfi::new(qfi).unwrap(), inner);
    let upf = upf(world);
    upf.upf.n3.inject(&frame);
    settle_upf(world);
    let left = self::upf(world).upf.n6.take_output();
    left.iter()
        .any(|(_, frame)| frames::is_one_hop_on(inner, &frames::read_n6(frame)))
}

/// The tunnel by which a packet from the data network leaves for the UE, if it does.
pub fn goes_down(world: &mut TestNetwork, address: Ipv4Addr) -> Option<u32> {
    let inner = frames::packet(kit::SERVER, address, 100, 9);
    sends_down(world, &inner).map(|(teid, _)| teid)
}

/// The tunnel and the flow in which a packet from the data network leaves, if it does.
pub fn sends_down(world: &mut TestNetwork, inner: &[u8]) -> Option<(u32, Option<u8>)> {
    upf(world).upf.n6.inject(&frames::from_network(inner));
    settle_upf(world);
    let left = upf(world).upf.n3.take_output();
    let read = left.iter().map(|(_, frame)| frames::read_n3(frame));
    read.into_iter().find_map(|frame| match frame {
        frames::N3Frame::Data { to, qfi, .. } => Some((to.teid.get(), qfi)),
        _ => None,
    })
}

/// The UE is idle, by its gNB's wish.
pub fn go_idle(world: &mut TestNetwork, phone: usize) {
    let ask = world.gnb.ask_release(at(world, phone)).unwrap();
    world.tell_amf(&ask);
    world.run();
    assert_eq!(world.ues[phone].at, None);
}

pub fn come_back(world: &mut TestNetwork, phone: usize) {
    let nas = world.ue_mut(phone).request_service().unwrap();
    world.connect(phone, nas);
}

pub fn address(world: &TestNetwork, phone: usize, session: u8) -> Ipv4Addr {
    let accept = world.ue(phone).sessions().get(session).unwrap();
    accept.address.ipv4.unwrap()
}

/// Neither SMF nor UPF has a session.
#[track_caller]
pub fn assert_no_session(world: &mut TestNetwork) {
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert_eq!(upf(world).upf.core.up.session_count(), 0);
    assert!(world.core.smf().unwrap().procedures().is_empty());
}

#[track_caller]
pub fn assert_refused(
    world: &TestNetwork,
    cause: Option<Cause>,
    session_cause: Option<SessionCause>,
) {
    let refused = world.ue(0).sessions().refused().last();
    let causes = refused.map(|(_, mm, sm)| (*mm, *sm));
    assert_eq!(causes, Some((cause, session_cause)), "{}", world.call_flow);
}

/// The clock goes on for so long.
pub fn pass(world: &mut TestNetwork, seconds: u64) {
    let end = world.now.instant.plus_ms(seconds * 1_000);
    while world.core.next_deadline() <= end {
        assert!(world.wait_long());
    }
}

/// How many procedures of a function have ended with this cause, as operators count them.
#[track_caller]
pub fn assert_ended(world: &TestNetwork, (nf, procedure): (&str, &str), cause: &str, count: u64) {
    let tally = match nf {
        "AMF" => world.amf().tally(),
        _ => world.core.smf().unwrap().tally(),
    };
    let its = tally.ends().filter(|(end, _)| end.procedure == procedure);
    let its: Vec<_> = its
        .map(|(end, times)| (end.cause.as_str(), times.count))
        .collect();
    let with_cause = its.iter().filter(|(one, _)| *one == cause);
    let sum: u64 = with_cause.map(|(_, count)| count).sum();
    assert_eq!(sum, count, "{nf} {procedure} {cause}: {its:?}");
}

/// A step's name, and how it is reached.
pub type State<W> = (&'static str, fn() -> W);

/// Each state meets each input and ends well; how many pairs that were.
pub fn each_meets_each<W, I: Copy + Debug>(
    states: &[State<W>],
    inputs: &[I],
    comes: fn(&mut W, I),
    ends_well: fn(&mut W, &str),
) -> usize {
    let pairs = states
        .iter()
        .flat_map(|state| inputs.iter().map(move |input| (state, *input)));
    let meet = |((step, state), input): (&State<W>, I)| {
        let mut world = state();
        comes(&mut world, input);
        ends_well(&mut world, &format!("{input:?} at step {step:?}"));
    };
    pairs.map(meet).count()
}
