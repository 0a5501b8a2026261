//! UEs of an AMF, of which the UDR of another program hears, and those whose subscribers were removed meanwhile.

use super::{Program, Programs};
use crate::parts::news::{Presence, imsis, supis};
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_sbi::Nf;
use sluice_wiring::Core;

impl Programs {
    /// AMF or UDR of a program has joined: the UDR goes on with the UEs that the AMF has.
    pub(super) fn ask_for_ues(&mut self, core: &mut Core) {
        self.presence = Presence {
            number: self.presence.number + 1,
            ..Presence::default()
        };
        if core.amf().is_some() {
            let ues = core.mobility().subscribers();
            self.have_ues(core, Some(imsis(&ues)));
        }
    }

    /// The AMF has these UEs, of which a UDR of another program hears.
    pub(super) fn have_ues(&mut self, core: &mut Core, ues: Option<Vec<String>>) {
        self.presence.ues = ues;
        if core.udr().is_some()
            && let Some(ues) = self.presence.ues.take()
        {
            let removed = core.resume_repository(&supis(&ues));
            self.have_removed(core, &removed);
        }
    }

    /// The UDR goes on with them, but for those of subscribers that were removed or barred.
    pub(super) fn have_removed(&mut self, core: &mut Core, removed: &[Supi]) {
        self.presence.ues = None;
        self.withdrawn = imsis(removed);
        self.let_withdrawn_go(core);
    }

    /// UEs of subscribers that were removed are deregistered, once the SMF is there that releases their sessions.
    pub(super) fn let_withdrawn_go(&mut self, core: &mut Core) {
        if self.withdrawn.is_empty() || !self.may_release() {
            return;
        }
        if core.amf().is_none() {
            return self.tell(core);
        }
        for supi in supis(&std::mem::take(&mut self.withdrawn)) {
            core.mobility().deregister(system::now(), &supi, false);
        }
    }

    /// Whether the AMF reaches the SMF, if there is one: both have compared their sessions, or are in one program.
    pub(super) fn may_release(&self) -> bool {
        let has = |one: &Program, nf| one.section.functions.iter().any(|at| at.value == nf);
        let mut all = self.programs.iter();
        let are_together = all.any(|one| has(one, Nf::Amf) && has(one, Nf::Smf));
        let have_compared =
            self.joined.contains(&Nf::Smf.into()) && self.comparison.unknown.is_some();
        !self.is_apart(Nf::Smf) || are_together || have_compared
    }
}
