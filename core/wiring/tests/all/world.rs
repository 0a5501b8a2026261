//! A core, gNBs and UEs, and a clock that only moves when it is told to.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use sluice_amf::{Amf, Config};
use sluice_ausf::Ausf;
use sluice_ids::{AmfId, Dnn, Guami, Plmn, Snssai, Supi, Tac, Tai};
use sluice_n1::RegistrationKind;
use sluice_n2::{NgSetupRequest, Paging, PlmnSlices, RanUeId, SupportedArea};
use sluice_sbi::{AssociationId, CallFlow, Instant, Now};
use sluice_security::suci::HomeKey;
use sluice_security::{Credentials, K, Opc, Sqn};
use sluice_udm::Udm;
use sluice_udr::{DataNetwork, Subscriber, Udr};
use sluice_ue::{FromGnb, Gnb, Sim, Ue, UeState};
use sluice_wiring::{Core, ToRan};

/// Seconds since 1970 at the beginning.
pub const BEGIN_S: u64 = 1_790_000_000;

pub fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("digits")
}

pub fn tai() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    }
}

pub fn slice(sst: u8) -> Snssai {
    Snssai::new(sst, None)
}

pub fn k() -> K {
    K::new([0x46; 16])
}

pub fn opc() -> Opc {
    Opc::new([0xcd; 16])
}

/// What the SIMs have.
pub fn credentials() -> Credentials {
    Credentials::milenage(k(), opc())
}

pub fn setup(tai: Tai, slices: &[Snssai]) -> NgSetupRequest {
    let plmns = vec![PlmnSlices {
        plmn: tai.plmn,
        slices: slices.to_vec(),
    }];
    NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: tai.plmn,
            id: 1,
            bits: 24,
        },
        name: Some("gnb-1".to_owned()),
        areas: vec![SupportedArea {
            tac: tai.tac,
            plmns,
        }],
        retains_ues: false,
    }
}

/// A sequence that looks random and is the same in each run.
pub fn sequence(mut state: u64) -> impl FnMut(&mut [u8]) {
    move |octets: &mut [u8]| {
        for octet in octets {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *octet = (mixed >> 40) as u8;
        }
    }
}

pub fn home_key_a() -> HomeKey {
    HomeKey::profile_a([0x77; 32])
}

pub fn home_key_b() -> HomeKey {
    HomeKey::profile_b([0x11; 32]).expect("a scalar")
}

pub fn config() -> Config {
    let guami = Guami {
        plmn: plmn(),
        amf: AmfId::new(1, 1, 1).expect("small"),
    };
    let plmns = vec![PlmnSlices {
        plmn: plmn(),
        slices: vec![slice(1), slice(2)],
    }];
    Config::new(guami, plmns, vec![tai()])
}

pub fn dnn(name: &str) -> Dnn {
    Dnn::new(name).expect("a name")
}

/// Data networks of each subscriber.
pub fn networks() -> Vec<DataNetwork> {
    let ambr_bps = (200_000_000, 100_000_000);
    vec![
        DataNetwork::new(slice(1), dnn("internet"), ambr_bps),
        DataNetwork::new(slice(1), dnn("lab"), ambr_bps),
        DataNetwork::new(slice(2), dnn("internet"), ambr_bps),
        DataNetwork::new(slice(1), dnn("nowhere"), ambr_bps),
    ]
}

/// What each of them may do.
pub fn subscriber() -> Subscriber {
    Subscriber {
        credentials: credentials(),
        sqn: Sqn::default(),
        ambr_bps: (1_000_000_000, 500_000_000),
        slices: vec![(slice(1), true), (slice(2), false), (slice(3), true)],
        networks: networks(),
    }
}

pub fn core(config: Config, null_scheme: bool) -> Core {
    core_of_start(config, null_scheme, 0)
}

/// What is random is otherwise with each start.
pub fn core_of_start(config: Config, null_scheme: bool, start: u16) -> Core {
    let first = u64::from(start) << 32;
    let amf = Amf::new(config, Box::new(sequence(first + 1))).expect("a sound configuration");
    let home_keys = BTreeMap::from([(1, home_key_a()), (2, home_key_b())]);
    let udm_config = sluice_udm::Config {
        home_keys,
        null_scheme,
    };
    let udm = Udm::new(udm_config, Box::new(sequence(first + 2)));
    let mut udr = Udr::default();
    for number in 1..=3 {
        assert!(udr.insert(supi(number), subscriber()));
    }
    Core::new(amf, Ausf::default(), udm, udr)
}

pub fn supi(number: u32) -> Supi {
    Supi::from_msin(plmn(), &format!("{number:010}")).expect("digits")
}

pub fn ue(number: u32) -> Ue {
    let sim = Sim::new(plmn(), &format!("{number:010}"), &k(), &opc());
    Ue::new(sim, plmn()).expect("capabilities")
}

/// A UE and where it is connected.
pub struct Phone {
    pub ue: Ue,
    pub at: Option<RanUeId>,
}

pub struct World {
    pub core: Core,
    pub now: Now,
    pub gnb: Gnb,
    pub phones: Vec<Phone>,
    /// All octets, in either direction.
    pub transcript: Vec<Vec<u8>>,
    pub call_flow: CallFlow,
    /// Each message to a UE with a true answer here is lost.
    pub lose: fn(&[u8]) -> bool,
    /// Messages of the gNB that get lost.
    pub lose_n2: fn(&[u8]) -> bool,
    /// The association of the gNB.
    pub at: AssociationId,
    /// Messages for gNBs that are not played.
    pub elsewhere: Vec<ToRan>,
    /// UEs that hear their names come back.
    pub answers_pages: bool,
    /// What the gNB was to call.
    pub pages: Vec<Paging>,
    /// The other end of N4, if there is one.
    pub upf: Option<Box<dyn Upf>>,
    /// Messages to UPFs that are not there are lost.
    pub has_strays: bool,
}

/// A UPF: octets in, octets out.
pub trait Upf {
    /// Takes a message, and gives those that it sends.
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>>;
    /// The test looks at what it is.
    #[allow(dead_code, reason = "tests with a whole UPF use it")]
    fn as_any(&mut self) -> &mut dyn std::any::Any;
}

/// Where the UPF is.
pub const N4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 8)), 8805);

pub const GNB: AssociationId = AssociationId(7);

impl World {
    /// With UEs of these numbers; the gNB is set up.
    pub fn new(numbers: &[u32]) -> Self {
        let mut world = Self::of(core(config(), true), numbers);
        world.set_up();
        world
    }

    pub fn of(core: Core, numbers: &[u32]) -> Self {
        let phone = |number: &u32| Phone {
            ue: ue(*number),
            at: None,
        };
        Self {
            core,
            now: Now {
                instant: Instant(0),
                unix_s: BEGIN_S,
            },
            gnb: Gnb::new(setup(tai(), &[slice(1), slice(2)]), tai()),
            phones: numbers.iter().map(phone).collect(),
            transcript: Vec::new(),
            call_flow: CallFlow::default(),
            lose: |_| false,
            lose_n2: |_| false,
            at: GNB,
            elsewhere: Vec::new(),
            answers_pages: true,
            pages: Vec::new(),
            upf: None,
            has_strays: false,
        }
    }

    pub fn set_up(&mut self) {
        let setup = self.gnb.setup();
        self.tell_amf(&setup);
        self.run();
    }

    pub fn tell_amf(&mut self, octets: &[u8]) {
        self.transcript.push(octets.to_vec());
        self.core.n2(self.now, self.at, 0, octets);
    }

    /// A UE comes with a message of its own.
    pub fn connect(&mut self, phone: usize, nas: Vec<u8>) {
        let s_tmsi = self.phones[phone].ue.guti().map(sluice_ids::Guti::s_tmsi);
        let (ran, octets) = self.gnb.connect(nas, s_tmsi);
        self.phones[phone].at = Some(ran);
        self.tell_amf(&octets);
        self.run();
    }

    pub fn register(&mut self, phone: usize) {
        let nas = self.phones[phone].ue.register(RegistrationKind::Initial);
        self.connect(phone, nas);
    }

    /// A message of a connected UE.
    pub fn say(&mut self, phone: usize, nas: Vec<u8>) {
        let at = self.phones[phone].at.expect("connected");
        let octets = self.gnb.uplink(at, nas).expect("known to the AMF");
        self.tell_amf(&octets);
        self.run();
    }

    /// Messages go back and forth until there are none.
    pub fn run(&mut self) {
        for _ in 0..1000 {
            while self.carry_n4() {}
            let messages = self.core.take_to_ran();
            self.call_flow.0.extend(self.core.take_call_flow().0);
            if messages.is_empty() {
                return;
            }
            for message in messages {
                if message.association != self.at {
                    self.elsewhere.push(message);
                    continue;
                }
                self.transcript.push(message.octets.clone());
                for done in self.gnb.receive(&message.octets) {
                    self.carry_out(done);
                }
                for page in self.gnb.take_paged() {
                    self.page(page);
                }
            }
        }
        panic!("messages go round without end");
    }

    /// The UE that is called comes.
    fn page(&mut self, page: Paging) {
        let is_it = |phone: &Phone| {
            let name = phone.ue.guti().map(sluice_ids::Guti::s_tmsi);
            phone.at.is_none() && name == Some(page.s_tmsi)
        };
        let phone = self.phones.iter().position(is_it);
        let s_tmsi = page.s_tmsi;
        self.pages.push(page);
        let Some(phone) = phone.filter(|_| self.answers_pages) else {
            return;
        };
        if let Some(nas) = self.phones[phone].ue.answer_page() {
            let (ran, octets) = self.gnb.connect(nas, Some(s_tmsi));
            self.phones[phone].at = Some(ran);
            self.tell_amf(&octets);
        }
    }

    /// Whether there was a message for the UPF.
    fn carry_n4(&mut self) -> bool {
        let messages = self.core.take_to_upf();
        let is_any = !messages.is_empty();
        for message in messages {
            if self.has_strays && message.to != N4 {
                continue;
            }
            assert_eq!(message.to, N4);
            let answers = self.upf.as_mut().map(|upf| upf.take(&message.octets));
            for octets in answers.into_iter().flatten() {
                self.core.n4(self.now, N4, &octets);
            }
        }
        is_any
    }

    fn carry_out(&mut self, done: FromGnb) {
        match done {
            FromGnb::ToAmf(octets) if (self.lose_n2)(&octets) => {}
            FromGnb::ToAmf(octets) => self.tell_amf(&octets),
            FromGnb::ToUe(ran, nas) => {
                let Some(phone) = self.phones.iter_mut().find(|one| one.at == Some(ran)) else {
                    return;
                };
                if (self.lose)(&nas) {
                    return;
                }
                for answer in phone.ue.receive(&nas) {
                    let octets = self.gnb.uplink(ran, answer);
                    if let Some(octets) = octets.filter(|octets| !(self.lose_n2)(octets)) {
                        self.tell_amf(&octets);
                    }
                }
            }
            FromGnb::Released(ran) => {
                for phone in self.phones.iter_mut().filter(|one| one.at == Some(ran)) {
                    phone.at = None;
                }
            }
        }
    }

    /// The clock goes to the next deadline of a procedure; false if there is none. Idle UEs are
    /// watched for much longer.
    pub fn wait(&mut self) -> bool {
        let is_soon = self.core.next_deadline().ms_since(self.now.instant) <= 60_000;
        is_soon && self.wait_long()
    }

    /// The clock goes to the next deadline; false if there is none.
    pub fn wait_long(&mut self) -> bool {
        let deadline = self.core.next_deadline();
        if deadline == Instant::NEVER {
            return false;
        }
        let passed_ms = deadline.ms_since(self.now.instant);
        self.now = Now {
            instant: deadline,
            unix_s: self.now.unix_s + passed_ms / 1000,
        };
        self.core.time(self.now);
        self.run();
        true
    }

    /// Waits until nothing is under way.
    pub fn settle(&mut self) {
        for _ in 0..100 {
            if !self.wait() {
                assert!(self.core.amf().procedures().is_empty());
                return;
            }
        }
        panic!(
            "something is under way for ever: {:?}",
            self.core.amf().procedures()
        );
    }

    pub fn ue(&self, phone: usize) -> &Ue {
        &self.phones[phone].ue
    }

    pub fn ue_mut(&mut self, phone: usize) -> &mut Ue {
        &mut self.phones[phone].ue
    }

    /// The UE is registered at both ends.
    #[track_caller]
    pub fn assert_registered(&self, phone: usize) {
        assert_eq!(
            self.ue(phone).state(),
            UeState::Registered,
            "{:?}",
            self.ue(phone).received()
        );
        assert!(self.core.amf().registered() > 0);
        let supi = self.ue(phone).supi().expect("digits");
        assert!(self.core.udr().amf_of(&supi).is_some(), "UDM was told");
    }
}
