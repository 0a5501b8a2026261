//! Functions of a core and its NRF: all register at the start with what they serve, tell by heart-beats that
//! they are there, and tell what they serve when that changes.

use std::collections::BTreeMap;

use sluice_ids::{Guami, Plmn, Snssai};
use sluice_nrf::Registration;
use sluice_sbi::{
    Allowed, CallId, Instance, Instant, Key, Message, Nf, NfInstance, NfProfile, Now, Place,
    RequestId, Served,
};

/// A registrar waits for one answer of each function, and tells them apart by their places.
const CALL: CallId = CallId(Key {
    slot: 0,
    generation: 0,
});

/// Registrations of the functions of a core. What they ask the NRF has a place of its own ([`Place::registrar`]).
#[derive(Debug, Default)]
pub(crate) struct Registrar {
    by_nf: BTreeMap<Nf, Registration>,
    /// When the first of them has something to say.
    due: Instant,
}

impl Registrar {
    /// When the first of them has something to say, once they have begun to.
    pub fn next_deadline(&self) -> Instant {
        if self.by_nf.is_empty() {
            Instant::NEVER
        } else {
            self.due
        }
    }

    /// Whether one of them has something to say, or all are to begin.
    pub fn is_due(&self, now: Now) -> bool {
        self.due <= now.instant
    }

    /// Whether functions have begun to register.
    pub fn has_begun(&self) -> bool {
        !self.by_nf.is_empty()
    }

    /// Functions register that serve these parts.
    pub fn begin(
        &mut self,
        home: &Home,
        own: Instance,
        instances: &Instances,
        served: Vec<(Nf, Vec<Served>)>,
    ) {
        let all = served.into_iter().map(|(nf, parts)| {
            let (profile, others) = home.profile(nf, own, instances, parts);
            (nf, Registration::new(profile, others))
        });
        self.by_nf = all.collect();
        self.update_due();
    }

    /// Functions register anew, so that they hear of the NRF's new configuration.
    pub fn begin_again(&mut self) {
        self.by_nf.clear();
        self.update_due();
    }

    /// Functions serve these parts: of what has changed the NRF is told.
    pub fn update(
        &mut self,
        home: &Home,
        own: Instance,
        instances: &Instances,
        served: Vec<(Nf, Vec<Served>)>,
    ) {
        for (nf, parts) in served {
            if let Some(one) = self.by_nf.get_mut(&nf) {
                let (profile, others) = home.profile(nf, own, instances, parts);
                one.change(profile, others);
            }
        }
        self.update_due();
    }

    /// Messages that are due by now, at these loads in percent.
    pub fn say(&mut self, now: Now, load: impl Fn(Nf) -> u8) -> Vec<(RequestId, Message)> {
        let mut said = Vec::new();
        for (nf, one) in &mut self.by_nf {
            let message = one.say(now, load(*nf));
            let id = RequestId {
                from: Place::registrar(*nf),
                call: CALL,
            };
            said.extend(message.map(|message| (id, message)));
        }
        self.update_due();
        said
    }

    /// The NRF's answer to one of them.
    pub fn heard(&mut self, nf: Nf, message: Message) {
        if let Some(one) = self.by_nf.get_mut(&nf) {
            one.heard(message);
        }
        self.update_due();
    }

    /// A function goes.
    pub fn leave(&mut self, nf: Nf) {
        if let Some(one) = self.by_nf.get_mut(&nf) {
            one.leave();
            self.update_due();
        }
    }

    fn update_due(&mut self) {
        let due = self.by_nf.values().map(Registration::due).min();
        self.due = due.unwrap_or(Instant(0));
    }
}

/// Identities of functions (NfInstanceId: TS 29.571, 5.3.2), UUIDs of version 4 that they keep from start to start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instances(BTreeMap<Place, NfInstance>);

impl Instances {
    /// Identity of a function, if it was given one.
    pub fn of(&self, place: Place) -> Option<NfInstance> {
        self.0.get(&place).copied()
    }

    /// Gives a function an identity.
    pub fn insert(&mut self, place: Place, instance: NfInstance) {
        self.0.insert(place, instance);
    }

    /// Functions with their identities.
    pub fn iter(&self) -> impl Iterator<Item = (Place, NfInstance)> {
        self.0.iter().map(|(place, instance)| (*place, *instance))
    }
}

/// Identity of a function that was given none, as in tests, where all runs are alike: of the GUAMI, and what it is.
fn derived(guami: &Guami, place: Place) -> NfInstance {
    let mut octets = *b"sluice\0\0\0\0\0\0\0\0\0\0";
    octets[7] = place.instance();
    octets[9..12].copy_from_slice(&guami.plmn.octets());
    octets[12..15].copy_from_slice(&guami.amf.octets());
    octets[15] = place.nf as u8;
    NfInstance::of(octets)
}

/// Types that use the services of a function (TS 23.501, 6.2 and 7.2) or notify it, and so may discover it; for an NRF all.
fn consumers(nf: Nf) -> &'static [Nf] {
    match nf {
        Nf::Amf => &[Nf::Amf, Nf::Smf, Nf::Udm, Nf::Pcf, Nf::Nssf],
        Nf::Ausf => &[Nf::Amf, Nf::Udm],
        Nf::Udm => &[Nf::Amf, Nf::Smf, Nf::Ausf, Nf::Udr],
        Nf::Udr => &[Nf::Udm, Nf::Pcf],
        Nf::Smf => &[Nf::Amf, Nf::Smf, Nf::Pcf, Nf::Udm],
        Nf::Nssf => &[Nf::Amf, Nf::Nssf],
        Nf::Pcf => &[Nf::Amf, Nf::Smf, Nf::Pcf],
        Nf::Nrf => &[],
    }
}

/// Part that profiles of all functions of a core have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Home {
    /// Identity of the AMF.
    pub guami: Guami,
    /// Networks that are served.
    pub plmns: Vec<Plmn>,
    /// Slices of these.
    pub slices: Vec<Snssai>,
}

impl Home {
    /// Identity of a function.
    pub(crate) fn instance(&self, place: Place, instances: &Instances) -> NfInstance {
        let known = instances.of(place);
        known.unwrap_or_else(|| derived(&self.guami, place))
    }

    /// The profile of a function that serves these parts, and those for which a message has no room.
    fn profile(
        &self,
        nf: Nf,
        own: Instance,
        instances: &Instances,
        mut parts: Vec<Served>,
    ) -> (NfProfile, Vec<Served>) {
        let Self {
            guami,
            plmns,
            slices,
        } = self;
        let others = parts.split_off(parts.len().min(1));
        let first = parts
            .first()
            .copied()
            .unwrap_or_else(|| Served::new(&[], &[], &[]));
        let instance = self.instance(Place::from(nf).at(own.number), instances);
        let profile = NfProfile::new(instance, nf, plmns, first).with_choice(own);
        let mut allowed_plmns = plmns.clone();
        if !allowed_plmns.contains(&guami.plmn) {
            allowed_plmns.push(guami.plmn);
        }
        // Consumers of this core's own slices and PLMNs; of whichever where a list has no room for all.
        let allowed = Allowed::new(consumers(nf), slices, &allowed_plmns)
            .or_else(|| Allowed::new(consumers(nf), &[], &allowed_plmns))
            .or_else(|| Allowed::new(consumers(nf), &[], &[]));
        let profile = allowed.map_or(profile, |allowed| profile.with_allowed(allowed));
        (profile, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_of_a_core_has_an_instance_of_its_own() -> Result<(), &'static str> {
        let plmn = Plmn::new("001", "01").ok_or("digits")?;
        let amf = sluice_ids::AmfId::new(1, 1, 1).ok_or("small")?;
        let guami = Guami { plmn, amf };
        let amf = derived(&guami, Nf::Amf.into());
        assert_eq!(amf.to_string(), "736c7569-6365-8000-8000-f11001004101");
        assert_ne!(amf, derived(&guami, Nf::Smf.into()));
        Ok(())
    }
}
