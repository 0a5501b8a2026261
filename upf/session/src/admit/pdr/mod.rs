//! Create, Update and Remove PDR (TS 29.244, 7.5.2.2, 7.5.4.2, 7.5.4.6).

mod application;
mod behind;
mod f_teid;
mod filters;
mod pdi;
mod predefined;
pub mod ue;
mod unsupported;

use crate::admission::Admission;
use crate::network::{Network, Side, TunnelAddresses};
use crate::refusal::{self, Refusal, RuleId};
use crate::resources::Denied;
use crate::rules::{Filter, IdList, LocalTunnel, Pdr};
use sluice_wire::ids::{PdrId, QerId, UrrId};
use sluice_wire::pfcp::group::{CreatePdr, RemovePdr, UpdatePdr};
use sluice_wire::pfcp::value::{Edit, OuterHeaderRemoval, OuterHeaderRemovalDescription};
use sluice_wire::pfcp::{Cause, IeType};
use unsupported::{refuse_unsupported, refuse_unsupported_update};

impl<N: Network> Admission<'_, N> {
    /// A new PDR.
    pub fn create_pdr(&mut self, ie: &CreatePdr<'_>) -> Result<(), Refusal> {
        let rule = refusal::pdr(ie.pdr_id);
        if self.draft.pdrs.iter().any(|p| p.id == ie.pdr_id) {
            return Err(Refusal::identity(rule));
        }
        refuse_unsupported(rule, ie)?;
        let far = ie.far_id.ok_or(Refusal {
            cause: Cause::CONDITIONAL_IE_MISSING,
            ..Refusal::rule(rule, IeType::FAR_ID)
        })?;
        let mut pdr = Pdr {
            id: ie.pdr_id,
            precedence: ie.precedence.0,
            source: Side::Access,
            instance: Default::default(),
            tunnel: None,
            choose_id: None,
            ue: None,
            qfis: 0,
            filter: Filter::ALL,
            removes_outer: ie.outer_header_removal.is_some(),
            far,
            qers: ie.qer_id.iter().map(|id| id.0).collect(),
            urrs: ie.urr_id.iter().map(|id| id.0).collect(),
        };
        let removal = Removal::read(rule, ie.outer_header_removal.as_ref())?;
        self.read_pdi(rule, &ie.pdi, &mut pdr, None)?;
        Self::refuse_qers_of_up_function(rule, &pdr)?;
        removal.check(rule, pdr.tunnel)?;
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_PDR));
        self.draft.pdrs.try_push(pdr).map_err(|_| full)?;
        self.activate(ie.pdr_id, &ie.activate_predefined_rules, &[])
    }

    /// A changed PDR.
    pub fn update_pdr(&mut self, ie: &UpdatePdr<'_>) -> Result<(), Refusal> {
        let rule = refusal::pdr(ie.pdr_id);
        let at = self.pdr_at(ie.pdr_id)?;
        refuse_unsupported_update(rule, ie)?;
        let Some(old) = self.draft.pdrs.get(at).copied() else {
            return Err(Refusal::identity(rule));
        };
        let mut pdr = old;
        if let Some(precedence) = ie.precedence {
            pdr.precedence = precedence.0;
        }
        let removal = ie.outer_header_removal.as_ref();
        let removal = removal.map(|edit| Removal::read(rule, edit.value()));
        let removal = removal.transpose()?;
        if let Some(removal) = removal {
            pdr.removes_outer = removal != Removal::None;
        }
        match &ie.far_id {
            None => {}
            Some(Edit::Set(far)) => pdr.far = *far,
            Some(Edit::Remove) => return Err(Refusal::rule(rule, IeType::FAR_ID)),
        }
        apply_ids(&mut pdr.qers, &ie.qer_id, |id: &QerId| id.0);
        apply_ids(&mut pdr.urrs, &ie.urr_id, |id: &UrrId| id.0);
        if let Some(pdi) = &ie.pdi {
            self.read_pdi(rule, pdi, &mut pdr, Some(&old))?;
        }
        Self::refuse_qers_of_up_function(rule, &pdr)?;
        removal.unwrap_or(Removal::None).check(rule, pdr.tunnel)?;
        if let Some(place) = self.draft.pdrs.get_mut(at) {
            *place = pdr;
        }
        let (on, off) = (
            &ie.activate_predefined_rules,
            &ie.deactivate_predefined_rules,
        );
        self.activate(ie.pdr_id, on, off)
    }

    /// A PDR that goes.
    pub fn remove_pdr(&mut self, ie: &RemovePdr) -> Result<(), Refusal> {
        self.remove_predefined(ie.pdr_id)?;
        let at = self.pdr_at(ie.pdr_id)?;
        let pdr = self.draft.pdrs.swap_remove(at);
        self.drop_filters(refusal::pdr(pdr.id), pdr.filter)
    }

    fn pdr_at(&self, id: PdrId) -> Result<usize, Refusal> {
        let at = self
            .draft
            .pdrs
            .iter()
            .position(|p| p.id == id && p.is_own());
        at.ok_or(Refusal::identity(refusal::pdr(id)))
    }
}

fn denial(rule: RuleId, ie: IeType, denied: Denied) -> Refusal {
    match denied {
        Denied::InUse | Denied::OtherShard => Refusal::rule(rule, ie),
        Denied::Exhausted => Refusal::full(Some(rule), Some(ie)),
    }
}

/// Outer Header Removal: GTP-U/UDP/IP, over which family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Removal {
    /// Nothing is removed.
    None,
    /// Over IPv4.
    Ipv4,
    /// Over IPv6.
    Ipv6,
    /// Over either.
    Either,
}

impl Removal {
    fn read(rule: RuleId, ie: Option<&OuterHeaderRemoval>) -> Result<Self, Refusal> {
        type Description = OuterHeaderRemovalDescription;
        match ie.map(|r| r.description) {
            None => Ok(Self::None),
            Some(Description::GTPU_UDP_IPV4) => Ok(Self::Ipv4),
            Some(Description::GTPU_UDP_IPV6) => Ok(Self::Ipv6),
            Some(Description::GTPU_UDP_IP) => Ok(Self::Either),
            Some(_) => Err(Refusal::rule(rule, IeType::OUTER_HEADER_REMOVAL)),
        }
    }

    /// A header over a family of which the F-TEID has no address cannot come, nor be removed. What comes has its
    /// header removed whichever family it is of.
    fn check(self, rule: RuleId, tunnel: Option<LocalTunnel>) -> Result<(), Refusal> {
        let comes = |addresses: TunnelAddresses| match self {
            Self::None | Self::Either => true,
            Self::Ipv4 => addresses.ipv4.is_some(),
            Self::Ipv6 => addresses.ipv6.is_some(),
        };
        if tunnel.is_none_or(|tunnel| comes(tunnel.addresses)) {
            Ok(())
        } else {
            Err(Refusal::rule(rule, IeType::OUTER_HEADER_REMOVAL))
        }
    }
}

/// A list that is there replaces the former one; one IE of null length empties it (5.6.3).
fn apply_ids<T, const N: usize>(list: &mut IdList<N>, edits: &[Edit<T>], id: fn(&T) -> u32) {
    if !edits.is_empty() {
        *list = edits.iter().filter_map(Edit::value).map(id).collect();
    }
}
