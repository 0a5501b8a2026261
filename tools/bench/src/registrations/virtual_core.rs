//! A core in this process and the UEs that register with it, whose own work is not counted.

use std::collections::BTreeMap;
use std::time::Duration;

use sluice_amf::{Bounds, Config};
use sluice_core_runtime::system;
use sluice_host::clock;
use sluice_n1::RegistrationKind;
use sluice_n2::RanUeId;
use sluice_sbi::{AssociationId, Instant, Now};
use sluice_testbed::core::Parts;
use sluice_testbed::network::BEGIN_S;
use sluice_testbed::{apart, core as testbed};
use sluice_ue::{FromGnb, Gnb, Ue, UeState};
use sluice_wiring::Core;

use crate::Failure;

/// The only gNB's association.
const GNB: AssociationId = AssociationId(1);
/// Messages that a registration has at most, each way.
const TURNS: usize = 32;

/// How UEs tell who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// SUCI of the null scheme.
    Null,
    /// 5G-GUTI, with keys that the AMF has.
    Guti,
    ProfileA,
}

impl Identity {
    pub const ALL: [Self; 3] = [Self::Null, Self::Guti, Self::ProfileA];

    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Guti => "guti",
            Self::ProfileA => "profile_a",
        }
    }

    /// Registrations per CPU-second that the core is to do.
    pub fn goal(self) -> f64 {
        match self {
            Self::Null | Self::Guti => 2_000.0,
            Self::ProfileA => 1_000.0,
        }
    }
}

/// Network functions with so many subscribers.
pub fn core(subscribers: u32) -> Core {
    core_with(subscribers, Bounds::default())
}

/// The same with bounds of UEs that have not proved who they are.
pub fn core_with(subscribers: u32, unauthenticated: Bounds) -> Core {
    let parts = parts(subscribers, unauthenticated);
    apart::with(parts.core, parts.home, parts.ausf, parts.udm)
}

/// Those functions before they are put together.
pub fn parts(subscribers: u32, unauthenticated: Bounds) -> Parts {
    let config = Config {
        unauthenticated,
        ..testbed::amf(&[testbed::slice(1)])
    };
    let subscriber = testbed::subscriber_of(testbed::slice(1), &[]);
    Parts::new(config, true, (subscribers, &subscriber), || {
        Box::new(system::random)
    })
}

/// A gNB of this identity that the core serves.
pub fn gnb(id: u32) -> Gnb {
    testbed::gnb(id, &[testbed::slice(1)])
}

/// A subscriber's UE.
pub fn ue(number: u32, identity: Identity) -> Ue {
    let mut sim = testbed::sim(number);
    if identity == Identity::ProfileA {
        sim.conceal_with(1, testbed::home_key_a().public());
    }
    let mut ue = Ue::new(sim, testbed::plmn()).expect("capabilities");
    system::random(&mut ue.random);
    ue
}

/// Cost of a batch of registrations for the core.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// CPU of the core's thread.
    pub cpu: Duration,
    /// NGAP messages of the gNB that the core took.
    pub messages: usize,
    /// The core's time for all messages of each registration.
    pub service_ns: Vec<u64>,
}

/// Messages of gNB and AMF.
pub type Transcript = (Vec<Vec<u8>>, Vec<Vec<u8>>);

/// Clocks of a core, and its way to other hosts.
pub struct Around {
    /// Time after this one.
    pub now: fn(Now) -> Now,
    /// CPU of the core and its other hosts until now.
    pub cpu_ns: fn() -> u64,
    /// Carries all that core and other hosts have for each other.
    pub carry: Carry,
}

type Carry = Box<dyn FnMut(&mut Core, Now) -> Result<(), Failure>>;

impl Around {
    /// A clock that moves by hand, and other hosts of the testbed on the same thread.
    fn in_virtual_time() -> Self {
        Self {
            now: |now| now,
            cpu_ns: clock::thread_cpu_ns,
            carry: Box::new(|core, now| {
                apart::exchange(core, now);
                Ok(())
            }),
        }
    }
}

/// A core and a gNB, in virtual time unless it has other clocks.
pub struct VirtualCore {
    around: Around,
    core: Core,
    gnb: Gnb,
    now: Now,
    transcript: Option<Transcript>,
}

impl VirtualCore {
    /// The gNB is set up.
    pub fn new(subscribers: u32) -> Result<Self, Failure> {
        Self::of(core(subscribers), Around::in_virtual_time())
    }

    /// The same with a core that is there.
    pub fn of(core: Core, around: Around) -> Result<Self, Failure> {
        let begin = Now {
            instant: Instant(0),
            unix_s: BEGIN_S,
        };
        let mut core = Self {
            core,
            gnb: gnb(1),
            now: (around.now)(begin),
            around,
            transcript: None,
        };
        let setup = core.gnb.setup();
        core.core.n2(core.now, GNB, 0, &setup);
        for message in core.core.take_to_ran() {
            core.gnb.receive(&message.octets);
        }
        match core.gnb.response() {
            Some(_) => Ok(core),
            None => Err("the AMF has refused NG Setup".to_owned()),
        }
    }

    pub fn registered(&self) -> usize {
        self.core.amf().expect("its own AMF").registered()
    }

    /// Messages of a UE's registration.
    pub fn transcript(&mut self, ue: Ue) -> Result<Transcript, Failure> {
        self.transcript = Some(Transcript::default());
        self.register(&mut [ue], false)?;
        Ok(self.transcript.take().unwrap_or_default())
    }

    /// Registers UEs together, message by message, until all are idle again. `each` has the time of
    /// each message taken, too.
    pub fn register(&mut self, ues: &mut [Ue], each: bool) -> Result<Cost, Failure> {
        self.now.instant = Instant(self.now.instant.0 + 1_000_000_000);
        self.now.unix_s += 1;
        let mut cost = Cost {
            service_ns: vec![0; if each { ues.len() } else { 0 }],
            ..Cost::default()
        };
        let mut by_ran: BTreeMap<RanUeId, usize> = BTreeMap::new();
        let mut messages = Vec::with_capacity(ues.len());
        for (at, ue) in ues.iter_mut().enumerate() {
            let nas = ue.register(RegistrationKind::Initial);
            let s_tmsi = ue.guti().map(|guti| guti.s_tmsi());
            let (ran, octets) = self.gnb.connect(nas, s_tmsi);
            by_ran.insert(ran, at);
            messages.push((at, octets));
        }
        for _ in 0..TURNS {
            if messages.is_empty() {
                break;
            }
            cost.messages += messages.len();
            let before = (self.around.cpu_ns)();
            let answers = self.take(&messages, each.then_some(&mut cost.service_ns))?;
            cost.cpu += Duration::from_nanos((self.around.cpu_ns)() - before);
            if let Some((up, down)) = &mut self.transcript {
                up.extend(messages.iter().map(|(_, octets)| octets.clone()));
                down.extend(answers.iter().cloned());
            }
            messages.clear();
            for octets in answers {
                self.answer(&octets, ues, &by_ran, &mut messages);
            }
        }
        let registered = |ue: &&Ue| ue.state() == UeState::Registered && ue.guti().is_some();
        match ues.iter().find(|ue| !registered(ue)) {
            None => Ok(cost),
            Some(ue) => Err(format!("a UE did not register: {:?}", ue.received())),
        }
    }

    /// The core takes messages; what it sends.
    fn take(
        &mut self,
        messages: &[(usize, Vec<u8>)],
        mut service_ns: Option<&mut Vec<u64>>,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        self.now = (self.around.now)(self.now);
        if self.core.next_deadline() <= self.now.instant {
            self.core.time(self.now);
        }
        let mut answers = Vec::with_capacity(messages.len());
        for (at, octets) in messages {
            let before = service_ns.as_ref().map(|_| clock::monotonic_ns());
            self.core.n2(self.now, GNB, 1, octets);
            answers.extend(self.core.take_to_ran().into_iter().map(|one| one.octets));
            if let (Some(service_ns), Some(before)) = (&mut service_ns, before)
                && let Some(sum) = service_ns.get_mut(*at)
            {
                *sum += clock::monotonic_ns() - before;
            }
        }
        (self.around.carry)(&mut self.core, self.now)?;
        answers.extend(self.core.take_to_ran().into_iter().map(|one| one.octets));
        Ok(answers)
    }

    fn answer(
        &mut self,
        octets: &[u8],
        ues: &mut [Ue],
        by_ran: &BTreeMap<RanUeId, usize>,
        messages: &mut Vec<(usize, Vec<u8>)>,
    ) {
        let (about, done) = self.gnb.receive_about(octets);
        let at = about.and_then(|ran| by_ran.get(&ran)).copied().unwrap_or(0);
        for one in done {
            match one {
                FromGnb::ToAmf(octets) => messages.push((at, octets)),
                FromGnb::ToUe(ran, nas) => {
                    let said = ues.get_mut(at).map(|ue| ue.receive(&nas));
                    let said = said.into_iter().flatten();
                    let up = said.filter_map(|nas| self.gnb.uplink(ran, nas));
                    messages.extend(up.map(|octets| (at, octets)));
                }
                FromGnb::Released(_) => {}
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn ues_of_each_kind_register_and_their_cost_is_counted() {
        let mut core = VirtualCore::new(8).unwrap();
        for identity in [Identity::Null, Identity::ProfileA] {
            let first = if identity == Identity::Null { 1 } else { 5 };
            let ues = (first..first + 4).map(|number| ue(number, identity));
            let mut ues: Vec<_> = ues.collect();
            let cost = core.register(&mut ues, true).unwrap();
            // Request, authentication, security mode, context, complete, release.
            assert!(cost.messages >= 6 * ues.len(), "{cost:?}");
            assert!(cost.service_ns.iter().all(|ns| *ns > 0) && !cost.cpu.is_zero());
            // By the names that they have now.
            let again = core.register(&mut ues, false).unwrap();
            assert!(again.messages <= cost.messages && again.service_ns.is_empty());
        }
        assert_eq!(core.registered(), 8);
    }
}
