//! Subscribers of a host's UDR, as operators and their database want them: provisioned, withdrawn, told of.

use sluice_core_host::{self as host, Host, JournalWriter, Rejected};
use sluice_ids::{Guami, Supi};
use sluice_sbi::context_store::Stored;
use sluice_sbi::{DataChange, Nf, Now};
use sluice_udr::{Provision, Provisioned, Udr};

use crate::Apart;

/// Repository of a host, as far as it has it.
pub struct Repository<'a, F>(pub(crate) &'a mut Host<F>);

impl<'a, F: host::Functions + AsMut<Apart>> From<&'a mut Host<F>> for Repository<'a, F> {
    fn from(host: &'a mut Host<F>) -> Self {
        Self(host)
    }
}

impl<F: host::Functions + AsMut<Apart>> Repository<'_, F> {
    /// A subscriber may do this from now on. Its UE, if that is something else than before, is told: deregistered if it
    /// is barred, else to register again, or its sessions have other rates. None if another host has the repository.
    pub fn provision(&mut self, now: Now, supi: Supi, provision: Provision) -> Option<Provisioned> {
        let is_barred = provision.is_barred;
        let provisioned = self.udr()?.provision(supi, provision);
        match provisioned {
            Provisioned::Changed if is_barred => self.changed(now, &supi, DataChange::Withdrawn),
            Provisioned::Changed => self.changed(now, &supi, DataChange::Access),
            Provisioned::SessionRates => self.changed(now, &supi, DataChange::SessionRates),
            Provisioned::New | Provisioned::Same | Provisioned::Full => {}
        }
        Some(provisioned)
    }

    /// A subscriber is none any more: its UE is deregistered, if it is registered.
    pub fn withdraw(&mut self, now: Now, supi: &Supi) {
        if self.udr().is_some_and(|udr| udr.remove(supi)) {
            self.changed(now, supi, DataChange::Withdrawn);
        }
    }

    /// Tells that what is stored of a subscriber is otherwise: the UDM is told, and tells the AMF or the SMF. A UE of a subscriber
    /// that was removed is deregistered, one whose subscription changed is to register again.
    pub fn changed(&mut self, now: Now, supi: &Supi, change: DataChange) {
        let mut effects = Vec::new();
        if let Some(udr) = self.udr() {
            udr.notify(now, *supi, change, &mut effects);
        }
        self.0.follow(now, Nf::Udr, effects);
    }

    /// All subscribers.
    pub fn subscribers(&mut self) -> Vec<Supi> {
        let all = self.udr().map(|udr| udr.supis().collect());
        all.unwrap_or_default()
    }

    /// Whether other cores may use sequence numbers of the same subscribers.
    pub fn shares_sequence_numbers(&mut self) -> bool {
        self.udr().is_some_and(|udr| udr.shares_sequence_numbers())
    }

    /// Has `writer` called with what was committed, once for all that happens at a time.
    pub fn write_journal_with(&mut self, writer: JournalWriter) {
        self.0.write_journal_with(writer);
    }

    /// Commits that were being stored by this number are, but for these. Nothing happens when it was waited for too
    /// long.
    pub fn stored_for_good(&mut self, now: Now, number: u64, rejected: &Rejected) {
        self.0.stored_for_good(now, number, rejected);
    }

    /// How often the store was waited for too long.
    pub fn stored_late(&self) -> u64 {
        self.0.stored_late()
    }

    /// The repository goes on with which AMF and SMFs have the UEs of these subscribers, which the AMF of this name has,
    /// and what these have subscribed to, of `stored`. Gives subscribers that were removed or barred meanwhile.
    pub fn resume(&mut self, guami: Guami, subscribers: &[Supi], stored: &Stored) -> Vec<Supi> {
        let Some(udr) = self.udr() else {
            return Vec::new();
        };
        let mut removed = Vec::new();
        for supi in subscribers {
            udr.resume_amf(supi, guami);
            if !udr.may_register(supi) {
                removed.push(*supi);
            }
        }
        let all = stored.iter().map(|(key, value)| (&**key, &**value));
        for key in udr.resume_contexts(all) {
            self.0.contexts.change(&key, None);
        }
        removed
    }

    fn udr(&mut self) -> Option<&mut Udr> {
        self.0.functions.as_mut().udr.as_mut()
    }
}
