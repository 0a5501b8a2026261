//! Registrations with a core that reaches AUSF, UDM and NSSF by HTTP/2, with certificates of both sides and access tokens.
//!
//! Both hosts share a thread, as those of the other wirings do; each has its server on a thread of its own. CPU of all of them
//! counts, but for UEs and gNB.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use sluice_amf::Bounds;
use sluice_bus_http2::{Directory, Guard, GuardCounters, Issuer, Services, SharedServices, Wallet};
use sluice_core_host::Host;
use sluice_core_runtime::system;
use sluice_host::clock;
use sluice_host::poll::{Poller, Ready};
use sluice_nssf::Nssf;
use sluice_sbi::{Nf, Place};
use sluice_testbed::core::Parts;
use sluice_wiring::{Apart, Core, slices_of};

use super::carried::program;
use super::keys::{self, Keys};
use super::{memory_of, told};
use crate::Failure;
use crate::registrations::{Around, parts};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Functions of the other host.
pub const APART: [Nf; 3] = [Nf::Ausf, Nf::Udm, Nf::Nssf];
/// Functions that those of each host ask, each with one that does.
const ASKED_OF_APART: [(Nf, Nf); 3] =
    [(Nf::Ausf, Nf::Amf), (Nf::Udm, Nf::Amf), (Nf::Nssf, Nf::Amf)];
const ASKED_OF_CORE: [(Nf, Nf); 3] = [(Nf::Nrf, Nf::Ausf), (Nf::Udr, Nf::Udm), (Nf::Amf, Nf::Udm)];

/// Services of both hosts, for what they have counted.
pub struct Both([SharedServices; 2]);

/// Counts of both hosts: requests that came, and tokens.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    pub requests: u64,
    /// Tokens that were verified, and requests whose token was known.
    pub verified: u64,
    pub known: u64,
}

impl Both {
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for services in &self.0 {
            services.with(|one| {
                let GuardCounters {
                    verified, known, ..
                } = one.token_counters().0;
                all.requests += one.counters().requests;
                all.verified += verified;
                all.known += known;
            });
        }
        all
    }
}

/// The other host of a core.
struct Elsewhere {
    host: Host<Apart>,
    /// Of the core, whose NRF they ask, too.
    own: SharedServices,
    poller: Poller,
}

/// A core with so many subscribers whose AUSF, UDM and NSSF are elsewhere, once each host reaches the other.
pub fn start(subscribers: u32, keys: &Keys) -> Result<(Core, Around, Both), Failure> {
    let Parts {
        mut core,
        home,
        ausf,
        udm,
    } = parts(subscribers, Bounds::default());
    let is_apart = |nf: &Nf| APART.contains(nf);
    let core_has: Vec<Nf> = Nf::ALL.into_iter().filter(|nf| !is_apart(nf)).collect();
    let (own, nrf) = services(&core_has, &ASKED_OF_APART, None, keys)?;
    let (others, _) = services(&APART, &ASKED_OF_CORE, Some(&nrf), keys)?;
    let identities = Nf::ALL.map(|nf| (Place::from(nf), keys::instance(nf)));
    core.identify_as(&identities);
    let plmns = core.amf().map(|amf| amf.plmns()).unwrap_or_default();
    let functions = Apart {
        ausf: Some(ausf),
        udm: Some(udm),
        nssf: Some(Nssf::new(slices_of(&plmns))),
        ..Apart::default()
    };
    let mut host = Host::new(functions, home);
    for (place, id) in identities {
        host.instances.insert(place, id);
    }
    host.connect(Box::new(others.clone()), &core_has);
    let mut core = core.without(&[Nf::Nssf]);
    core.connect(Box::new(own.clone()), &APART);
    core.registry().reached_at(&nrf);
    core.registry().give_tokens(Some(keys.signer()?), true);
    let poller = Poller::new().map_err(told)?;
    for (token, services) in [(0, &own), (1, &others)] {
        let added = services.with(|one| poller.add(one.as_fd(), token));
        added.map_err(told)?;
    }
    let both = Both([own.clone(), others]);
    let mut elsewhere = Elsewhere { host, own, poller };
    elsewhere.join(&mut core)?;
    let around = Around {
        now: |_| system::now(),
        cpu_ns: clock::process_cpu_ns,
        carry: Box::new(move |core, _| elsewhere.carry(core)),
    };
    Ok((core, around, both))
}

/// Services of a program with these functions that asks others, and its API root, which is the NRF's if there is none.
fn services(
    own: &[Nf],
    asked: &[(Nf, Nf)],
    nrf: Option<&str>,
    keys: &Keys,
) -> Result<(SharedServices, String), Failure> {
    let agent = own.first().map(Nf::to_string).unwrap_or_default();
    let (http, root) = program(&agent, Some(keys.tls()))?;
    let (wanted, now) = (asked.iter().copied().collect(), Instant::now());
    let directory = Directory::new(nrf.unwrap_or(&root), &wanted, now);
    let places = own.iter().copied().map(Place::from).collect();
    let services = Services::new(http, memory_of(root.clone()), directory, places);
    let mut services = services.map_err(told)?;
    services.set_own(
        Nf::ALL
            .map(|nf| (keys::instance(nf).to_string(), Place::from(nf)))
            .into(),
    );
    let mut guard = Guard::default();
    guard.require(keys.verifier()?, Issuer::Own, Vec::new());
    let services = services.with_tokens(guard, Some(Wallet::new(now)));
    Ok((services.into(), root))
}

impl Elsewhere {
    /// Waits until each host reaches the functions of the other.
    fn join(&mut self, core: &mut Core) -> Result<(), Failure> {
        let (mut reached, until) = (0, Instant::now() + PATIENCE);
        while reached < ASKED_OF_APART.len() + ASKED_OF_CORE.len() {
            if Instant::now() > until {
                return Err("the functions did not find each other".to_owned());
            }
            let now = system::now();
            core.time(now);
            self.host.time(now);
            self.turn(core)?;
            reached += core.take_reached(now).len() + self.host.take_reached(now).len();
        }
        self.carry(core)
    }

    /// Carries all that both hosts have for each other.
    fn carry(&mut self, core: &mut Core) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            self.turn(core)?;
            let [here, there] = [core.remote_counters(), self.host.remote_counters()];
            if here.sent == here.received && there.sent == there.received {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("a call is not answered: {here:?}, {there:?}"));
            }
        }
    }

    /// Both hosts take what came and send what they have; they wait if that is nothing.
    fn turn(&mut self, core: &mut Core) -> Result<(), Failure> {
        let now = system::now();
        core.send(now);
        self.host.send(now);
        // Both are told, also when one of them has something.
        if core.may_sleep() & self.host.may_sleep() {
            let mut ready = Ready::with_capacity(2);
            let soon = Some(Duration::from_millis(20));
            self.poller.wait(&mut ready, soon).map_err(told)?;
        }
        let now = system::now();
        core.receive(now);
        self.host.receive(now);
        self.serve_nrf(core);
        core.send(now);
        self.host.send(now);
        Ok(())
    }

    fn serve_nrf(&self, core: &mut Core) {
        let mut nrf = core.registry();
        while let Some(asked) = self.own.with(Services::take_nrf_request) {
            if let Some(response) = nrf.serve(system::now(), &asked.request) {
                self.own
                    .with(|services| services.answer(asked.exchange, response));
            }
        }
        for one in nrf.take_notifications() {
            self.own
                .with(|services| services.notify(&one.uri, one.request));
        }
    }
}
