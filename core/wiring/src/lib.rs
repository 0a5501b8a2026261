//! A core: which functions it has, what the world tells them, and what operators want of them.
#![forbid(unsafe_code)]

pub mod contexts;
mod flows;
mod functions;
mod mobility;
mod registry;
mod repository;
mod sessions;

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

pub use flows::Flows;
pub use functions::Apart;
pub use mobility::Mobility;
pub use registry::Registry;
pub use repository::Repository;
pub use sessions::Sessions;
use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_bus::Transport;
use sluice_core_host::{self as host, Host};
pub use sluice_core_host::{
    Counters, Home, Instances, JournalWriter, LINES, REFUSALS, Reached, Record, Rejected, SEEN,
    StoreState, Storing, ToRan, ToUpf,
};
use sluice_ids::{Guami, Snssai};
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_sbi::context_store::Stored;
use sluice_sbi::{
    AssociationId, CallFlow, Followed, Input, Instant, Nf, Now, Place, Refused, TracedMessage,
};
use sluice_security::suci::HomeKey;
use sluice_smf::Smf;
use sluice_udm::Udm;
use sluice_udr::Udr;

/// The functions of a core, on one thread, and those of other hosts that it reaches.
pub struct Core {
    host: Host<Apart>,
    /// Name of its AMF, wherever that is.
    guami: Guami,
    /// Settings of another host's UDM.
    udm_settings: sluice_udm::Config,
    has_new_udm_settings: bool,
    followed: Followed,
    /// Functions that other hosts have.
    others: BTreeSet<Nf>,
    /// Contexts of the repository that wait for its AMF.
    repository: Stored,
}

/// Slices that an AMF serves, as its NSSF knows them.
pub fn slices_of(plmns: &[sluice_n2::PlmnSlices]) -> sluice_nssf::Config {
    let plmns = plmns.iter().map(|one| (one.plmn, one.slices.clone()));
    sluice_nssf::Config {
        plmns: plmns.collect(),
    }
}

/// Part that profiles of all functions of a core have in common, as its AMF serves it.
pub fn home_of(guami: Guami, plmns: &[sluice_n2::PlmnSlices]) -> Home {
    let slices: BTreeSet<Snssai> = plmns.iter().flat_map(|one| one.slices.clone()).collect();
    Home {
        guami,
        plmns: plmns.iter().map(|one| one.plmn).collect(),
        slices: slices.into_iter().collect(),
    }
}

impl Core {
    /// Of its functions, with slice selection; AUSF and UDM are other hosts' until it has them.
    pub fn new(amf: Amf, udr: Udr) -> Self {
        let (guami, home) = (amf.guami(), home_of(amf.guami(), &amf.plmns()));
        let apart = Apart {
            nssf: Some(Nssf::new(slices_of(&amf.plmns()))),
            amf: Some(amf),
            nrf: Some(Nrf::default()),
            udr: Some(udr),
            ..Apart::default()
        };
        let host = Host::new(apart, home);
        Self {
            host,
            guami,
            udm_settings: sluice_udm::Config::default(),
            has_new_udm_settings: false,
            followed: Followed::Nobody,
            others: BTreeSet::new(),
            repository: Stored::new(),
        }
    }

    /// The same with an authentication server.
    #[must_use]
    pub fn with_ausf(mut self, ausf: Ausf) -> Self {
        self.host.functions.ausf = Some(ausf);
        self
    }

    /// The same with unified data management.
    #[must_use]
    pub fn with_udm(mut self, udm: Udm) -> Self {
        self.host.functions.udm = Some(udm);
        self
    }

    /// The same with PDU sessions.
    #[must_use]
    pub fn with_smf(mut self, smf: Smf) -> Self {
        self.host.functions.smf = Some(smf);
        self
    }

    /// The same with policies: sessions may have further QoS flows.
    #[must_use]
    pub fn with_pcf(mut self, pcf: Pcf) -> Self {
        self.host.functions.pcf = Some(pcf);
        self
    }

    /// The same without functions that are another host's.
    #[must_use]
    pub fn without(mut self, functions: &[Nf]) -> Self {
        self.others.extend(functions);
        let apart = &mut self.host.functions;
        for nf in functions {
            match nf {
                Nf::Amf => apart.amf = None,
                Nf::Ausf => apart.ausf = None,
                Nf::Udm => apart.udm = None,
                Nf::Nrf => apart.nrf = None,
                Nf::Nssf => apart.nssf = None,
                Nf::Smf => apart.smf = None,
                Nf::Pcf => apart.pcf = None,
                Nf::Udr => apart.udr = None,
            }
        }
        self
    }

    /// Reaches these functions of other hosts by `transport`.
    pub fn connect(&mut self, transport: Box<dyn Transport>, functions: &[Nf]) {
        self.host.connect(transport, functions);
    }

    /// Calls go to these instances of other hosts only where there is no other from now on.
    pub fn drain(&mut self, draining: BTreeSet<Place>) {
        self.host.drain(draining);
    }

    /// Whether there are ways to other hosts.
    pub fn is_connected(&self) -> bool {
        self.host.is_connected()
    }

    /// Takes what has come from other hosts, and all that follows from it.
    pub fn receive(&mut self, now: Now) {
        self.host.receive(now);
    }

    /// Sends what is for other hosts.
    pub fn send(&mut self, now: Now) {
        self.host.send(now);
    }

    /// Announces that the core is about to sleep. False if something came meanwhile: then it does not sleep.
    pub fn may_sleep(&mut self) -> bool {
        self.host.may_sleep()
    }

    /// Functions of other hosts that are reached now or not any more, since the last call. An NRF that is there again
    /// knows of nobody: functions register anew.
    pub fn take_reached(&mut self, now: Now) -> Vec<Reached> {
        self.host.take_reached(now)
    }

    /// Counts of what went to other hosts, and came from them.
    pub fn remote_counters(&self) -> Counters {
        self.host.remote_counters()
    }

    /// Messages from and to these functions are lost from now on, for tests.
    pub fn cut_off(&mut self, functions: &[Nf]) {
        self.host.faults.cut_off(functions);
    }

    /// Messages on these ways are lost from now on, and those on all others are not, for tests.
    pub fn lose(&mut self, ways: &[(Nf, Nf)]) {
        self.host.faults.lose(ways);
    }

    /// Has functions tell their NRF that they are there, and how long what it finds may be taken to be so.
    /// Without this they are registered for good, which is for clocks that jump from one deadline to the next.
    #[must_use]
    pub fn with_nrf(mut self, config: sluice_nrf::Config) -> Self {
        self.host.functions.nrf = Some(Nrf::new(config));
        self
    }

    /// The NRF goes on with another configuration; functions register anew, so that they hear of it.
    pub fn reconfigure_nrf(&mut self, now: Now, config: sluice_nrf::Config) {
        if let Some(nrf) = &mut self.host.functions.nrf
            && config != nrf.config()
        {
            nrf.reconfigure(config);
            self.host.register_again(now);
        }
    }

    /// The NRF, for operators; none if it is another host's.
    pub fn nrf(&self) -> Option<&Nrf> {
        self.host.functions.nrf.as_ref()
    }

    /// Functions register anew with an NRF that is another host's, and has another configuration.
    pub fn register_again(&mut self, now: Now) {
        self.host.register_again(now);
    }

    fn is_apart(&self, nf: Nf) -> bool {
        self.others.contains(&nf)
    }

    /// Takes other keys of the home network from now on.
    pub fn set_home_keys(&mut self, keys: BTreeMap<u8, HomeKey>) {
        match &mut self.host.functions.udm {
            Some(udm) => udm.set_home_keys(keys),
            None => {
                self.udm_settings.home_keys = keys;
                self.has_new_udm_settings = true;
            }
        }
    }

    /// A message of a UPF.
    pub fn n4(&mut self, now: Now, from: SocketAddr, octets: &[u8]) {
        self.host.turn(now, Nf::Smf, Input::N4 { from, octets });
    }

    /// A message of a gNB.
    pub fn n2(&mut self, now: Now, association: AssociationId, stream: u16, octets: &[u8]) {
        self.host.turn(
            now,
            Nf::Amf,
            Input::N2 {
                association,
                stream,
                octets,
            },
        );
    }

    /// A gNB is gone.
    pub fn association_lost(&mut self, now: Now, association: AssociationId) {
        self.host
            .turn(now, Nf::Amf, Input::AssociationLost(association));
    }

    /// Deadlines may have come.
    pub fn time(&mut self, now: Now) {
        self.host.time(now);
    }

    /// When [`Core::time`] or [`Core::send`] is due at the latest.
    pub fn next_deadline(&self) -> Instant {
        self.host.next_deadline()
    }

    /// Has `writer` called with what was committed, once for all that happens at a time.
    pub fn write_journal_with(&mut self, writer: JournalWriter) {
        self.host.write_journal_with(writer);
    }

    /// How much is being stored.
    pub fn being_stored(&self) -> usize {
        self.host.being_stored()
    }

    /// Messages for gNBs since the last call; contexts that they follow from are stored before.
    pub fn take_to_ran(&mut self) -> Vec<ToRan> {
        self.host.take_to_ran()
    }

    /// Messages for UPFs since the last call; contexts that they follow from are stored before.
    pub fn take_to_upf(&mut self) -> Vec<ToUpf> {
        self.host.take_to_upf()
    }

    /// Functions that may be another host's, as far as this one has them, for operators.
    pub fn apart(&self) -> &Apart {
        &self.host.functions
    }

    /// Session management, for operators; none of a core without sessions.
    pub fn smf(&self) -> Option<&Smf> {
        self.host.functions.smf.as_ref()
    }

    /// Sessions, as operators want them.
    pub fn sessions(&mut self) -> Sessions<'_, impl host::Functions + AsMut<Apart>> {
        Sessions::from(&mut self.host)
    }

    /// NRF, as those ask it that have no messages but documents.
    pub fn registry(&mut self) -> Registry<'_, Apart> {
        (&mut self.host).into()
    }

    /// Subscribers, as operators and their database want them.
    pub fn repository(&mut self) -> Repository<'_, Apart> {
        Repository::from(&mut self.host)
    }

    /// UEs and gNBs, as operators want them.
    pub fn mobility(&mut self) -> Mobility<'_, impl host::Functions + AsMut<Apart>> {
        Mobility::from(&mut self.host)
    }

    /// The AMF goes on with another configuration, of which gNBs are told, the NSSF with its slices, and profiles of all
    /// functions with what they have in common.
    ///
    /// # Errors
    /// See [`Amf::reconfigure`].
    pub fn reconfigure_amf(
        &mut self,
        now: Now,
        config: sluice_amf::Config,
    ) -> Result<(), &'static str> {
        let Apart { amf, nssf, .. } = &mut self.host.functions;
        if let Some(amf) = amf {
            amf.may_reconfigure(&config)?;
        }
        if let Some(nssf) = nssf {
            nssf.reconfigure(slices_of(&config.plmns));
        }
        self.host
            .update_registrations(home_of(config.guami, &config.plmns));
        self.mobility().reconfigure(now, config)
    }

    /// Whether UEs may show who they are unconcealed, from now on.
    pub fn allow_null_scheme(&mut self, is_allowed: bool) {
        match &mut self.host.functions.udm {
            Some(udm) => udm.allow_null_scheme(is_allowed),
            None => {
                self.udm_settings.null_scheme = is_allowed;
                self.has_new_udm_settings = true;
            }
        }
    }

    /// Settings of another host's UDM.
    pub fn udm_settings(&self) -> &sluice_udm::Config {
        &self.udm_settings
    }

    /// Whether that has changed since the last call.
    pub fn has_new_udm_settings(&mut self) -> bool {
        std::mem::take(&mut self.has_new_udm_settings)
    }

    /// Call flow since the last call.
    pub fn take_call_flow(&mut self) -> CallFlow {
        self.host.log.take_call_flow()
    }

    /// Refusals since the last call, oldest first.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        self.host.log.take_refused()
    }

    /// Challenges of this core's own AUSF that wait for their answers.
    pub fn authentications(&self) -> usize {
        self.host.functions.ausf.as_ref().map_or(0, Ausf::pending)
    }

    /// Has messages of these UEs kept as octets, NAS without its protection.
    pub fn follow_ues(&mut self, followed: Followed) {
        self.followed = followed;
        self.mobility().follow_ues(followed);
        self.sessions().follow_ues(followed);
    }

    /// UEs whose messages are kept.
    pub fn followed(&self) -> Followed {
        self.followed
    }

    /// Messages since the last call, in their order.
    pub fn take_traced_messages(&mut self) -> Vec<TracedMessage> {
        self.host.log.take_traced_messages()
    }

    /// The AMF, for operators; none if it is another host's.
    pub fn amf(&self) -> Option<&Amf> {
        self.host.functions.amf.as_ref()
    }

    /// The repository, for operators; none if it is another host's.
    pub fn udr(&self) -> Option<&Udr> {
        self.host.functions.udr.as_ref()
    }

    /// The same, to be filled.
    pub fn udr_mut(&mut self) -> Option<&mut Udr> {
        self.host.functions.udr.as_mut()
    }

    /// Keys of what is stored.
    pub fn stored(&self) -> impl Iterator<Item = &[u8]> {
        self.host.stored()
    }
}
