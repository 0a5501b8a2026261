//! Functions of a core and its NRF: all register at the start with what they serve, tell by heart-beats that
//! they are there, and tell what they serve when that changes.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ids::{Dnn, Guami, Plmn, Snssai, Tai};
use sluice_nrf::{Nrf, Registration};
use sluice_sbi::{
    AREAS, Allowed, CallId, DNNS, Instant, Key, Message, Nf, NfInstance, NfProfile, Now, RequestId,
    SLICES, Served,
};
use sluice_smf::Smf;

use crate::{Core, Queued};

/// Calls about registrations: no slab gives this key.
const CALL: CallId = CallId(Key {
    slot: u32::MAX,
    generation: u16::MAX,
});

/// Whether it is a call about a registration.
pub(crate) fn is_of_registration(call: CallId) -> bool {
    call == CALL
}

/// Registrations of functions.
#[derive(Debug, Default)]
pub(crate) struct Registrations {
    by_nf: BTreeMap<Nf, Registration>,
    /// When the first of them has something to say.
    due: Instant,
    /// Functions that nobody reaches.
    cut_off: BTreeSet<Nf>,
    /// Ways, from one function to another, on which messages are lost.
    lost: BTreeSet<(Nf, Nf)>,
}

impl Registrations {
    /// When the first of them has something to say, once they have begun to.
    pub fn next_deadline(&self) -> Instant {
        match self.by_nf.is_empty() {
            true => Instant::NEVER,
            false => self.due,
        }
    }

    /// Whether messages from one to another are lost.
    pub fn are_apart(&self, from: Nf, to: Nf) -> bool {
        let is_cut_off = self.cut_off.contains(&from) || self.cut_off.contains(&to);
        is_cut_off || self.lost.contains(&(from, to))
    }

    fn update_due(&mut self) {
        let due = self.by_nf.values().map(Registration::due).min();
        self.due = due.unwrap_or(Instant(0));
    }

    /// The NRF's answer to one of them.
    pub fn heard(&mut self, nf: Nf, message: Message) {
        if let Some(one) = self.by_nf.get_mut(&nf) {
            one.heard(message);
        }
        self.update_due();
    }
}

/// A name that a function has in all runs of its core: of the GUAMI, and what it is.
fn instance(guami: &Guami, nf: Nf) -> NfInstance {
    let mut octets = *b"sluice\0\0\0\0\0\0\0\0\0\0";
    octets[9..12].copy_from_slice(&guami.plmn.octets());
    octets[12..15].copy_from_slice(&guami.amf.octets());
    octets[15] = nf as u8;
    NfInstance::of(octets)
}

/// Types that use the services of a function (TS 23.501, 6.2 and 7.2), and so may discover it; for an NRF all.
fn consumers(nf: Nf) -> &'static [Nf] {
    match nf {
        Nf::Amf => &[Nf::Amf, Nf::Smf, Nf::Udm, Nf::Pcf, Nf::Nssf],
        Nf::Ausf => &[Nf::Amf, Nf::Udm],
        Nf::Udm => &[Nf::Amf, Nf::Smf, Nf::Ausf],
        Nf::Udr => &[Nf::Udm, Nf::Pcf],
        Nf::Smf => &[Nf::Amf, Nf::Smf, Nf::Pcf],
        Nf::Nssf => &[Nf::Amf, Nf::Nssf],
        Nf::Pcf => &[Nf::Amf, Nf::Smf, Nf::Pcf],
        Nf::Nrf => &[],
    }
}

/// Lists that are too long for one part of a profile, as several: each of the first with each of the others.
fn parts(slices: &[Snssai], dnns: &[Dnn], areas: &[Tai]) -> Vec<Served> {
    fn pieces<T>(all: &[T], most: usize) -> Vec<&[T]> {
        match all.is_empty() {
            true => vec![all],
            false => all.chunks(most).collect(),
        }
    }
    let mut parts = Vec::new();
    for slices in pieces(slices, SLICES) {
        for dnns in pieces(dnns, DNNS) {
            let of_areas = pieces(areas, AREAS).into_iter();
            parts.extend(of_areas.map(|areas| Served::new(slices, dnns, areas)));
        }
    }
    parts
}

impl Core {
    /// Has functions tell their NRF that they are there, and how long what it finds may be taken to be so.
    /// Without this they are registered for good, which is for clocks that jump from one deadline to the next.
    #[must_use]
    pub fn with_nrf(mut self, config: sluice_nrf::Config) -> Self {
        self.nrf = Nrf::new(config);
        self
    }

    /// The NRF goes on with another configuration; functions register anew, so that they hear of it.
    pub fn reconfigure_nrf(&mut self, now: Now, config: sluice_nrf::Config) {
        if config != self.nrf.config() {
            self.nrf.reconfigure(config);
            self.registrations.by_nf.clear();
            self.registrations.update_due();
            self.go_on(now);
        }
    }

    /// The NRF, for operators.
    pub fn nrf(&self) -> &Nrf {
        &self.nrf
    }

    /// Messages from and to these functions are lost from now on, as when their hosts were not reached: a
    /// fault for tests.
    pub fn cut_off(&mut self, functions: &[Nf]) {
        self.registrations.cut_off = functions.iter().copied().collect();
    }

    /// Messages on these ways, each from one function to another, are lost from now on, and those on all others are
    /// not: a fault for tests.
    pub fn lose(&mut self, ways: &[(Nf, Nf)]) {
        self.registrations.lost = ways.iter().copied().collect();
    }

    /// What registrations have to say by now is said.
    pub(crate) fn speak_of_registrations(&mut self, now: Now) {
        if self.registrations.due > now.instant {
            return;
        }
        if self.registrations.by_nf.is_empty() {
            let all = self.profiles().into_iter();
            let all = all.map(|(nf, profile, parts)| (nf, Registration::new(profile, parts)));
            self.registrations.by_nf = all.collect();
        }
        let (amf, smf) = (self.amf.load(), self.smf.as_ref().map_or(0, Smf::load));
        let mut said = Vec::new();
        for (nf, one) in &mut self.registrations.by_nf {
            let load = match nf {
                Nf::Amf => amf,
                Nf::Smf => smf,
                _ => 0,
            };
            let message = one.say(now, load);
            said.extend(message.map(|message| (*nf, message)));
        }
        for (from, message) in said {
            if !self.registrations.are_apart(from, Nf::Nrf) {
                let id = RequestId { from, call: CALL };
                self.queue
                    .push_back((Nf::Nrf, Queued::Request(id, message)));
            }
        }
        self.registrations.update_due();
    }

    /// Functions serve something else: the NRF is told.
    pub(crate) fn update_registrations(&mut self) {
        for (nf, profile, parts) in self.profiles() {
            if let Some(one) = self.registrations.by_nf.get_mut(&nf) {
                one.change(profile, parts);
            }
        }
        self.registrations.update_due();
    }

    /// A function goes.
    pub(crate) fn deregister_nf(&mut self, nf: Nf) {
        if let Some(one) = self.registrations.by_nf.get_mut(&nf) {
            one.leave();
            self.registrations.update_due();
        }
    }

    /// Profiles of all functions, with the parts for which a message has no room.
    fn profiles(&self) -> Vec<(Nf, NfProfile, Vec<Served>)> {
        let guami = self.amf.guami();
        let plmns = self.amf.plmns();
        let served: BTreeSet<Snssai> = plmns.iter().flat_map(|one| one.slices.clone()).collect();
        let slices: Vec<Snssai> = served.into_iter().collect();
        let plmns: Vec<Plmn> = plmns.iter().map(|one| one.plmn).collect();
        let mut allowed_plmns = plmns.clone();
        if !allowed_plmns.contains(&guami.plmn) {
            allowed_plmns.push(guami.plmn);
        }
        let of = |nf, mut parts: Vec<Served>| {
            let others = parts.split_off(parts.len().min(1));
            let first = parts
                .first()
                .copied()
                .unwrap_or_else(|| Served::new(&[], &[], &[]));
            let profile = NfProfile::new(instance(&guami, nf), nf, &plmns, first);
            // Consumers of this core's own slices and PLMNs; of whichever where a list has no room for all.
            let allowed = Allowed::new(consumers(nf), &slices, &allowed_plmns)
                .or_else(|| Allowed::new(consumers(nf), &[], &allowed_plmns))
                .or_else(|| Allowed::new(consumers(nf), &[], &[]));
            let profile = allowed.map_or(profile, |allowed| profile.with_allowed(allowed));
            (nf, profile, others)
        };
        let mut all = vec![
            of(Nf::Amf, parts(&slices, &[], &self.amf.areas())),
            of(Nf::Nssf, parts(&slices, &[], &[])),
        ];
        all.extend([Nf::Ausf, Nf::Udm, Nf::Udr].map(|nf| of(nf, Vec::new())));
        if let Some(smf) = &self.smf {
            let mut served: Vec<Served> = Vec::new();
            for (own, dnns, areas) in smf.served() {
                let slices = if own.is_empty() { &slices } else { &own };
                for part in parts(slices, &dnns, &areas) {
                    if !served.contains(&part) {
                        served.push(part);
                    }
                }
            }
            // No UPF leads to any of its data networks: it serves one without a name, which is none.
            if served.is_empty() {
                served.push(Served::new(&slices, &[Dnn::NONE], &[]));
            }
            all.push(of(Nf::Smf, served));
        }
        if self.pcf.is_some() {
            all.push(of(Nf::Pcf, parts(&slices, &[], &[])));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_too_long_are_told_in_parts_that_are_whole_together() {
        let slices: Vec<Snssai> = (0..17).map(|sst| Snssai::new(sst, None)).collect();
        let dnns: Vec<Dnn> = (0..9).filter_map(|n| Dnn::new(&format!("n{n}"))).collect();
        assert_eq!(dnns.len(), 9);
        let parts = parts(&slices, &dnns, &[]);
        assert_eq!(parts.len(), 4);
        for slice in &slices {
            for dnn in &dnns {
                let amf = sluice_sbi::Requester::new(Nf::Amf, None, None);
                let query = sluice_sbi::NfQuery::new(amf, Nf::Smf, Some(*slice), Some(*dnn), None);
                assert_eq!(parts.iter().filter(|part| part.serves(&query)).count(), 1);
            }
        }
    }

    #[test]
    fn each_function_of_a_core_has_an_instance_of_its_own() -> Result<(), &'static str> {
        let plmn = Plmn::new("001", "01").ok_or("digits")?;
        let amf = sluice_ids::AmfId::new(1, 1, 1).ok_or("small")?;
        let guami = Guami { plmn, amf };
        let amf = instance(&guami, Nf::Amf);
        assert_eq!(amf.to_string(), "736c7569-6365-8000-8000-f11001004101");
        assert_ne!(amf, instance(&guami, Nf::Smf));
        Ok(())
    }
}
