//! Updates of FARs alone, the most common modification: a UE goes idle, comes back, moves to
//! another gNB. Entries, blocks and buckets stay where they are, and only entries whose packets take a
//! changed FAR are rendered.

use crate::admission::Admission;
use crate::network::Network;
use crate::refusal::Refusal;
use crate::rules::{Endpoint, Far, Pdr, Rules};
use sluice_wire::ids::FarId;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::ie::Body;

/// What changes a session beside Update FAR.
const OTHER_RULES: [IeType; 15] = [
    IeType::FQ_CSID,
    IeType::UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST,
    IeType::CREATE_BAR,
    IeType::REMOVE_BAR,
    IeType::UPDATE_PDR,
    IeType::UPDATE_QER,
    IeType::UPDATE_URR,
    IeType::CREATE_PDR,
    IeType::CREATE_FAR,
    IeType::CREATE_QER,
    IeType::CREATE_URR,
    IeType::REMOVE_PDR,
    IeType::REMOVE_FAR,
    IeType::REMOVE_QER,
    IeType::REMOVE_URR,
];

/// True if a message changes no rules but FARs.
pub fn are_all(body: &Body<'_>) -> bool {
    !body.may_have_any(&OTHER_RULES)
}

/// Two states of a session between which only FARs were updated.
#[derive(Clone, Copy)]
pub struct FarUpdate<'r> {
    /// Before.
    pub old: &'r Rules,
    /// After.
    pub new: &'r Rules,
}

impl FarUpdate<'_> {
    /// True if every packet keeps its direction. A FAR can take it away
    /// ([`Rules::is_uplink`]), and with it the QERs' other rates, and blocks and buckets.
    pub fn keep_directions(&self) -> bool {
        let same = |pdr: &Pdr| self.old.is_uplink(pdr) == self.new.is_uplink(pdr);
        self.new.pdrs.iter().all(same)
    }

    /// True if all rules stay where they stand: one that makes an outer header leaves no room in its entry
    /// for the number of a block ([`Form::LinkRules`](super::Form::LinkRules)).
    pub fn keep_places(&self) -> bool {
        let makes_tunnel =
            |rules: &Rules, far: &Far| rules.far(far.id).is_some_and(|far| far.tunnel().is_some());
        let same = |far: &Far| makes_tunnel(self.old, far) == makes_tunnel(self.new, far);
        let has_link_rules = self.new.pdrs.iter().any(|pdr| pdr.filter.is_link);
        !has_link_rules || self.new.fars.iter().all(same)
    }

    /// True if the FAR was changed. Updates leave FARs in their places.
    pub fn differ(&self, id: FarId) -> bool {
        self.old.far(id) != self.new.far(id)
    }

    /// True if packets of an endpoint take a FAR that was changed.
    pub fn differ_behind(&self, endpoint: &Endpoint) -> bool {
        let behind = |pdr: &&Pdr| pdr.key() == Some(endpoint.key);
        let mut pdrs = self.new.pdrs.iter().filter(behind);
        pdrs.any(|pdr| self.differ(pdr.far))
    }
}

impl<N: Network> Admission<'_, N> {
    /// [Resolves](Self::resolve) the FARs that are not as they were installed.
    pub fn resolve_fars(&mut self, installed: &Rules) -> Result<(), Refusal> {
        let ways = FarUpdate {
            old: installed,
            new: self.draft,
        };
        for pdr in self.draft.pdrs.iter().filter(|p| ways.differ(p.far)) {
            self.check_entry(pdr)?;
        }
        self.check_bars()?;
        for at in 0..self.draft.fars.len() {
            if self.draft.fars.get(at) != installed.fars.get(at) {
                self.resolve_far(at)?;
            }
        }
        #[cfg(all(test, debug_assertions))]
        self.assert_whole();
        Ok(())
    }

    /// Resolving all rules would change nothing more.
    #[cfg(all(test, debug_assertions))]
    fn assert_whole(&mut self) {
        let short = self.draft.clone();
        self.resolve()
            .expect("the short way found nothing to refuse");
        self.place().expect("everything has its place");
        assert_eq!(*self.draft, short);
    }
}
