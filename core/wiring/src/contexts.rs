//! Contexts of UEs and sessions that outlive the process: stored together before what follows from them
//! leaves, and taken up by the next core.

use std::collections::BTreeSet;

use sluice_ids::Supi;
use sluice_sbi::Now;
use sluice_sbi::context_store::{Contexts, Reader, Stored, Writer};

use crate::{Core, StoreState};

/// Key of the start of the core.
const START: &[u8] = b"core/start";

/// Version of its form.
const VERSION: u8 = 1;

/// The start of a core, and those that it goes on from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Seconds since 1970 when the first of them began: for UPFs it is the same SMF ever since.
    pub begun_unix_s: u64,
    /// How many there were, with this one.
    pub starts: u16,
}

impl Start {
    /// The start after those that are stored; the first if there is none.
    pub fn after(stored: &Stored, unix_s: u64) -> Self {
        let before = stored.get(START).and_then(|octets| {
            let r = &mut Reader::new(VERSION, octets)?;
            let before = (r.u64()?, r.u16()?);
            r.end().map(|()| before)
        });
        match before {
            Some((begun_unix_s, starts)) => Self {
                begun_unix_s,
                starts: starts.wrapping_add(1),
            },
            None => Self {
                begun_unix_s: unix_s,
                starts: 1,
            },
        }
    }

    fn octets(self) -> Vec<u8> {
        let mut w = Writer::new(VERSION);
        w.u64(self.begun_unix_s);
        w.u16(self.starts);
        w.finish()
    }
}

/// Contexts that a core goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resumed {
    /// Registered UEs.
    pub ues: usize,
    /// PDU sessions.
    pub sessions: usize,
}

impl Core {
    /// Has contexts stored there from now on, and goes on with those that are stored. Once, before
    /// anything else. The SMF must have been told of [`Start::begun_unix_s`].
    pub fn resume(
        &mut self,
        now: Now,
        start: Start,
        stored: &Stored,
        contexts: Box<dyn Contexts>,
    ) -> Resumed {
        self.host.contexts.use_store(contexts);
        self.host.contexts.change(START, Some(&start.octets()));
        let all = || stored.iter().map(|(key, value)| (&**key, &**value));
        let starts = start.starts;
        if let Some(pcf) = &mut self.host.functions.apart.pcf {
            pcf.resume(starts, all());
        }
        let ues = self.host.functions.amf.resume(now, starts, all());
        self.forget_ues(stored);
        let mut effects = Vec::new();
        if let Some(smf) = &mut self.host.functions.apart.smf {
            smf.resume(now, starts, all(), &mut effects);
        }
        self.follow(now, sluice_sbi::Nf::Smf, effects);
        self.reconcile(now);
        let guami = self.host.functions.amf.guami();
        for supi in self.host.functions.amf.subscribers() {
            self.host.functions.udr.resume_amf(&supi, guami);
            // One that was removed meanwhile.
            if self.host.functions.udr.amf_of(&supi).is_none() {
                self.deregister(now, &supi, false);
            }
        }
        let sessions = self
            .host
            .functions
            .apart
            .smf
            .as_ref()
            .map_or(0, sluice_smf::Smf::sessions);
        Resumed { ues, sessions }
    }

    /// UEs that the AMF does not go on with: nobody else would delete what is stored of them, and an AMF that has
    /// their names again some day would go on with counts of NAS that were used since.
    fn forget_ues(&mut self, stored: &Stored) {
        for key in stored.keys() {
            let mut forms = [&b"amf/ue/"[..], b"amf/radio/"].into_iter();
            let Some(digits) = forms.find_map(|form| key.strip_prefix(form)) else {
                continue;
            };
            let supi = str::from_utf8(digits).ok().and_then(Supi::from_imsi);
            if supi.is_none_or(|supi| self.host.functions.amf.ue(&supi).is_none()) {
                self.host.contexts.change(key, None);
            }
        }
    }

    /// AMF, SMF and PCF know the same sessions: what one of them does not know is over.
    fn reconcile(&mut self, now: Now) {
        let known = self.host.functions.amf.known_sessions();
        let by_context = known.iter().map(|one| (one.context, one.is_up)).collect();
        let mut effects = Vec::new();
        let unknown: BTreeSet<u64> = match &mut self.host.functions.apart.smf {
            Some(smf) => smf
                .reconcile(now, &by_context, &mut effects)
                .into_iter()
                .collect(),
            None => by_context.into_keys().collect(),
        };
        self.follow(now, sluice_sbi::Nf::Smf, effects);
        let mut effects = Vec::new();
        for one in known.iter().filter(|one| unknown.contains(&one.context)) {
            self.host
                .functions
                .amf
                .forget_session(now, one, &mut effects);
        }
        self.follow(now, sluice_sbi::Nf::Amf, effects);
        let mut effects = Vec::new();
        let smf = self.host.functions.apart.smf.as_ref();
        if let Some(pcf) = &mut self.host.functions.apart.pcf {
            let is_known = |number| smf.is_some_and(|smf| smf.knows(number));
            pcf.reconcile(is_known, &mut effects);
        }
        self.follow(now, sluice_sbi::Nf::Pcf, effects);
    }

    /// Does what the store of contexts has to do by time; at least twice a second.
    pub fn tend_contexts(&mut self) {
        self.host.contexts.tend();
    }

    /// How often contexts could not be stored, and why the last time.
    pub fn contexts_failed(&self) -> (u64, Option<&str>) {
        self.host.contexts.failed_times()
    }

    /// How it is with the store of contexts; none if there is none.
    pub fn contexts_state(&self) -> Option<StoreState> {
        self.host.contexts.state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_goes_on_from_the_one_before() {
        let first = Start::after(&Stored::new(), 1_000);
        assert_eq!((first.begun_unix_s, first.starts), (1_000, 1));
        let stored = Stored::from([(START.to_vec(), first.octets())]);
        let second = Start::after(&stored, 2_000);
        assert_eq!((second.begun_unix_s, second.starts), (1_000, 2));
        // What cannot be read was never there.
        let cut = Stored::from([(START.to_vec(), first.octets()[1..].to_vec())]);
        assert_eq!(Start::after(&cut, 3_000).begun_unix_s, 3_000);
    }
}
