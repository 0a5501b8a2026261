//! UEs and gNBs of a host's AMF, as operators want them: deregistered, kept away, told of what is served.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use sluice_amf::Amf;
use sluice_core_host::{self as host, Host};
use sluice_ids::Supi;
use sluice_n2::Overload;
use sluice_sbi::context_store::Stored;
use sluice_sbi::{AssociationId, Effect, Followed, Nf, Now};

use crate::Apart;

/// Access and mobility management of a host, as far as it has it.
pub struct Mobility<'a, F>(pub(crate) &'a mut Host<F>);

impl<'a, F: host::Functions + AsMut<Apart>> From<&'a mut Host<F>> for Mobility<'a, F> {
    fn from(host: &'a mut Host<F>) -> Self {
        Self(host)
    }
}

impl<F: host::Functions + AsMut<Apart>> Mobility<'_, F> {
    /// An association has come up with this address.
    pub fn association_up(&mut self, association: AssociationId, address: IpAddr) {
        if let Some(amf) = self.amf() {
            amf.association_up(association, address);
        }
    }

    /// Has messages of these UEs kept as octets, NAS without its protection.
    pub fn follow_ues(&mut self, followed: Followed) {
        if let Some(amf) = self.amf() {
            amf.follow(followed);
        }
    }

    /// Deregisters a UE for the operator (TS 23.502, 4.2.2.3.3); it may be told to register again at
    /// once. False if it is not registered.
    pub fn deregister(&mut self, now: Now, supi: &Supi, registers_again: bool) -> bool {
        let begun = self.do_with(now, |amf, effects| {
            amf.deregister(now, supi, registers_again, effects)
        });
        begun.unwrap_or(false)
    }

    /// The AMF goes on with another configuration; gNBs are told.
    ///
    /// # Errors
    /// See [`Amf::reconfigure`].
    pub fn reconfigure(
        &mut self,
        now: Now,
        config: sluice_amf::Config,
    ) -> Result<(), &'static str> {
        let done = self.do_with(now, |amf, effects| amf.reconfigure(now, config, effects));
        done.unwrap_or(Ok(()))
    }

    /// An operator has gNBs keep UEs away, or not any more.
    pub fn overload(&mut self, now: Now, overload: Option<Overload>) {
        self.do_with(now, |amf, effects| amf.overload(now, overload, effects));
    }

    /// There is too much to do, and gNBs keep UEs away, or not any more; what operators want counts more.
    pub fn feel_load(&mut self, now: Now, overload: Option<Overload>) {
        self.do_with(now, |amf, effects| amf.feel_load(now, overload, effects));
    }

    /// How many gNBs are set up.
    pub fn gnbs(&mut self) -> usize {
        self.amf().map_or(0, |amf| amf.gnbs().len())
    }

    /// Tells all gNBs what is served; how many there are.
    pub fn update_gnbs(&mut self, now: Now) -> usize {
        let told = self.do_with(now, |amf, effects| amf.update_gnbs(now, effects));
        told.unwrap_or_default()
    }

    /// gNBs are told that the AMF is about to go.
    pub fn end(&mut self, now: Now) {
        self.0.leave(Nf::Amf);
        self.do_with(now, |amf, effects| amf.end(now, effects));
    }

    /// Sessions that the AMF knows, by the SMF's numbers, and whether a gNB has them.
    pub fn known_sessions(&mut self) -> BTreeMap<u64, bool> {
        let known = self.amf().map(|amf| amf.known_sessions());
        let known = known.iter().flatten();
        known.map(|one| (one.context, one.is_up)).collect()
    }

    /// The AMF forgets sessions that the SMF does not know; their UEs learn it by the status of their sessions.
    pub fn forget_sessions(&mut self, now: Now, unknown: &[u64]) {
        let unknown: BTreeSet<u64> = unknown.iter().copied().collect();
        self.do_with(now, |amf, effects| {
            let known = amf.known_sessions();
            for one in known.iter().filter(|one| unknown.contains(&one.context)) {
                amf.forget_session(now, one, effects);
            }
        });
    }

    /// Subscribers whose UEs are registered.
    pub fn subscribers(&mut self) -> Vec<Supi> {
        let all = self.amf().map(|amf| amf.subscribers());
        all.into_iter().flatten().collect()
    }

    pub(crate) fn take_up(&mut self, now: Now, starts: u16, stored: &Stored) -> usize {
        let all = || stored.iter().map(|(key, value)| (&**key, &**value));
        let ues = self.amf().map(|amf| amf.resume(now, starts, all()));
        self.forget_ues(stored);
        ues.unwrap_or_default()
    }

    /// UEs that the AMF does not go on with: nobody else would delete what is stored of them, and an AMF that has
    /// their names again some day would go on with counts of NAS that were used since.
    fn forget_ues(&mut self, stored: &Stored) {
        let is_known = |amf: &Amf, digits: &[u8]| {
            let supi = str::from_utf8(digits).ok().and_then(Supi::from_imsi);
            supi.is_some_and(|supi| amf.ue(&supi).is_some())
        };
        for key in stored.keys() {
            let mut forms = [&b"amf/ue/"[..], b"amf/radio/"].into_iter();
            let Some(digits) = forms.find_map(|form| key.strip_prefix(form)) else {
                continue;
            };
            if self.amf().is_some_and(|amf| !is_known(amf, digits)) {
                self.0.contexts.change(key, None);
            }
        }
    }

    fn amf(&mut self) -> Option<&mut Amf> {
        self.0.functions.as_mut().amf.as_mut()
    }

    fn do_with<T>(
        &mut self,
        now: Now,
        act: impl FnOnce(&mut Amf, &mut Vec<Effect>) -> T,
    ) -> Option<T> {
        let mut effects = Vec::new();
        let done = act(self.amf()?, &mut effects);
        self.0.follow(now, Nf::Amf, effects);
        Some(done)
    }
}
