//! A core, gNBs and UEs, and a clock that only moves when it is told to.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sluice_amf::{Amf, Config};
use sluice_ids::{Snssai, Tai};
use sluice_n1::RegistrationKind;
use sluice_n2::{NgSetupRequest, Paging, RanUeId};
use sluice_sbi::{AssociationId, CallFlow, Instant, Now};
use sluice_udr::{DataNetwork, Subscriber};
use sluice_ue::{FromGnb, Gnb, Ue, UeState};
use sluice_wiring::{Core, ToRan};

use crate::apart;
use crate::core::{amf, functions, setup_of, subscriber_of};
pub use crate::core::{
    credentials, dnn, home_key_a, home_key_b, k, opc, plmn, sequence, slice, supi, tai, ue,
};

/// Seconds since 1970 at the beginning.
pub const BEGIN_S: u64 = 1_790_000_000;
const SUBSCRIBERS: u32 = 3;

pub fn setup(tai: Tai, slices: &[Snssai]) -> NgSetupRequest {
    setup_of(1, tai, slices)
}

pub fn config() -> Config {
    amf(&[slice(1), slice(2)])
}

/// Data networks of each subscriber.
pub fn networks() -> Vec<DataNetwork> {
    subscriber().networks
}

/// Subscription of each test subscriber.
pub fn subscriber() -> Subscriber {
    let mut subscriber = subscriber_of(slice(1), &["internet", "lab", "nowhere"]);
    subscriber
        .slices
        // As Nssai lists them, the default ones first (TS 29.503, 6.1.6.2.2).
        .extend([(slice(3), true), (slice(2), false)]);
    let second = subscriber_of(slice(2), &["internet"]).networks;
    subscriber.networks.splice(2..2, second);
    subscriber
}

pub fn core(config: Config, null_scheme: bool) -> Core {
    core_of_start(config, null_scheme, 0)
}

/// A core whose random numbers differ with each start.
pub fn core_of_start(config: Config, null_scheme: bool, start: u16) -> Core {
    let mut seed = u64::from(start) << 32;
    functions(config, null_scheme, (SUBSCRIBERS, &subscriber()), || {
        seed += 1;
        Box::new(sequence(seed))
    })
}

/// A UE and where it is connected.
pub struct TestUe {
    pub ue: Ue,
    pub at: Option<RanUeId>,
}

pub struct TestNetwork {
    pub core: Core,
    pub now: Now,
    pub gnb: Gnb,
    pub ues: Vec<TestUe>,
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
    /// Paging messages that the gNB received.
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
    fn as_any(&mut self) -> &mut dyn Any;
}

/// N4 address of the UPF.
pub const N4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 8)), 8805);

pub const GNB: AssociationId = AssociationId(7);

impl TestNetwork {
    /// With UEs of these numbers; the gNB is set up.
    pub fn new(numbers: &[u32]) -> Self {
        let mut world = Self::of(core(config(), true), numbers);
        world.set_up();
        world
    }

    pub fn of(core: Core, numbers: &[u32]) -> Self {
        let phone = |number: &u32| TestUe {
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
            ues: numbers.iter().map(phone).collect(),
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
        let s_tmsi = self.ues[phone].ue.guti().map(sluice_ids::Guti::s_tmsi);
        let (ran, octets) = self.gnb.connect(nas, s_tmsi);
        self.ues[phone].at = Some(ran);
        self.tell_amf(&octets);
        self.run();
    }

    pub fn register(&mut self, phone: usize) {
        let nas = self.ues[phone].ue.register(RegistrationKind::Initial);
        self.connect(phone, nas);
    }

    /// A message of a connected UE.
    pub fn say(&mut self, phone: usize, nas: Vec<u8>) {
        let at = self.ues[phone].at.expect("connected");
        let octets = self.gnb.uplink(at, nas).expect("known to the AMF");
        self.tell_amf(&octets);
        self.run();
    }

    /// Messages go back and forth until there are none.
    pub fn run(&mut self) {
        for _ in 0..1000 {
            while self.carry_n4() {}
            let messages = self.core.take_to_ran();
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
        let is_it = |phone: &TestUe| {
            let name = phone.ue.guti().map(sluice_ids::Guti::s_tmsi);
            phone.at.is_none() && name == Some(page.s_tmsi)
        };
        let phone = self.ues.iter().position(is_it);
        let s_tmsi = page.s_tmsi;
        self.pages.push(page);
        let Some(phone) = phone.filter(|_| self.answers_pages) else {
            return;
        };
        if let Some(nas) = self.ues[phone].ue.answer_page() {
            let (ran, octets) = self.gnb.connect(nas, Some(s_tmsi));
            self.ues[phone].at = Some(ran);
            self.tell_amf(&octets);
        }
    }

    /// Whether there was a message for the UPF.
    fn carry_n4(&mut self) -> bool {
        let said = apart::exchange(&mut self.core, self.now);
        self.call_flow.0.extend(said.0);
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
                let Some(phone) = self.ues.iter_mut().find(|one| one.at == Some(ran)) else {
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
                for phone in self.ues.iter_mut().filter(|one| one.at == Some(ran)) {
                    phone.at = None;
                }
            }
        }
    }

    /// The clock goes to the next deadline of a procedure; false if there is none. Idle UEs are
    /// watched for much longer.
    pub fn wait(&mut self) -> bool {
        let is_soon = apart::next_deadline(&self.core).ms_since(self.now.instant) <= 60_000;
        is_soon && self.wait_long()
    }

    /// The clock goes to the next deadline; false if there is none.
    pub fn wait_long(&mut self) -> bool {
        let deadline = apart::next_deadline(&self.core);
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

    /// The AMF, which is the core's own here.
    pub fn amf(&self) -> &Amf {
        self.core.amf().expect("its own AMF")
    }

    /// Asserts the call flow, as far as all wirings have the same.
    #[track_caller]
    pub fn assert_said(&self, expected: &str) {
        apart::assert_call_flow(&self.call_flow, expected);
    }

    /// Waits until nothing is under way.
    pub fn settle(&mut self) {
        for _ in 0..100 {
            if !self.wait() {
                assert!(self.amf().procedures().is_empty());
                return;
            }
        }
        panic!(
            "something is under way for ever: {:?}",
            self.amf().procedures()
        );
    }

    pub fn ue(&self, phone: usize) -> &Ue {
        &self.ues[phone].ue
    }

    pub fn ue_mut(&mut self, phone: usize) -> &mut Ue {
        &mut self.ues[phone].ue
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
        assert!(self.amf().registered() > 0);
        let supi = self.ue(phone).supi().expect("digits");
        assert!(
            self.core
                .udr()
                .is_some_and(|udr| udr.amf_of(&supi).is_some()),
            "UDM was told"
        );
    }
}
