//! Create, Update and Remove PDR (TS 29.244, 7.5.2.2, 7.5.4.2, 7.5.4.6): the PDI in order, and the IEs of PDRs that
//! are refused.

mod behind;
mod f_teid;
mod filters;
mod predefined;
pub mod ue;

use crate::admission::{Admission, side};
use crate::admit::first_present;
use crate::network::{Network, Side, TunnelAddresses};
use crate::refusal;
use crate::refusal::{Refusal, RuleId};
use crate::resources::Denied;
use crate::rules::{Filter, IdList, LocalTunnel, Pdr};
use sluice_wire::ids::{PdrId, QerId, UrrId};
use sluice_wire::pfcp::group::{CreatePdr, Pdi, RemovePdr, UpdatePdr};
use sluice_wire::pfcp::value::{Edit, FTeid, OuterHeaderRemoval, OuterHeaderRemovalDescription};
use sluice_wire::pfcp::{Cause, IeType};

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

pub(super) fn refuse_unsupported(rule: RuleId, ie: &CreatePdr<'_>) -> Result<(), Refusal> {
    first_present(
        rule,
        &[
            (ie.mar_id.is_some(), IeType::MAR_ID),
            (ie.activation_time.is_some(), IeType::ACTIVATION_TIME),
            (ie.deactivation_time.is_some(), IeType::DEACTIVATION_TIME),
            (
                ie.packet_replication_and_detection_carry_on_information
                    .is_some(),
                IeType::PACKET_REPLICATION_AND_DETECTION_CARRY_ON_INFORMATION,
            ),
        ],
    )
}

pub(super) fn refuse_unsupported_update(rule: RuleId, ie: &UpdatePdr<'_>) -> Result<(), Refusal> {
    let sets = |edit: &Option<Edit<_>>| matches!(edit, Some(Edit::Set(_)));
    first_present(
        rule,
        &[
            (sets(&ie.activation_time), IeType::ACTIVATION_TIME),
            (sets(&ie.deactivation_time), IeType::DEACTIVATION_TIME),
        ],
    )
}

pub(super) fn refuse_unsupported_pdi(rule: RuleId, pdi: &Pdi<'_>) -> Result<(), Refusal> {
    first_present(
        rule,
        &[
            (
                !pdi.traffic_endpoint_id.is_empty(),
                IeType::TRAFFIC_ENDPOINT_ID,
            ),
            (
                pdi.ethernet_pdu_session_information.is_some(),
                IeType::ETHERNET_PDU_SESSION_INFORMATION,
            ),
            (
                !pdi.ethernet_packet_filter.is_empty(),
                IeType::ETHERNET_PACKET_FILTER,
            ),
        ],
    )
}

impl<N: Network> Admission<'_, N> {
    /// The PDI replaces the former one as a whole.
    pub(super) fn read_pdi(
        &mut self,
        rule: RuleId,
        pdi: &Pdi<'_>,
        pdr: &mut Pdr,
        old: Option<&Pdr>,
    ) -> Result<(), Refusal> {
        refuse_unsupported_pdi(rule, pdi)?;
        pdr.source = source(rule, pdi)?;
        pdr.qfis = pdi.qfi.iter().fold(0, |bits, q| bits | 1 << q.get());
        if let Some(old) = old {
            self.drop_filters(rule, old.filter)?;
        }
        pdr.filter = match &pdi.application_id {
            Some(id) => self.application(rule, id, &pdi.sdf_filter, pdr.is_from_access())?,
            None => self.filter(rule, &pdi.sdf_filter, pdr.is_from_access())?,
        };
        let behind = self.framed_routes(rule, pdi)?;
        // Some SMFs leave out of an update what tells where packets enter. A PDI without it
        // matches nothing, so the former one is meant.
        if let Some(old) = old
            && pdi.local_f_teid.is_none()
            && pdi.ue_ip_address.is_empty()
        {
            return self.same_entry(rule, pdr, old);
        }
        let name = self.name(rule, pdi.network_instance)?;
        pdr.tunnel = match &pdi.local_f_teid {
            None => None,
            Some(f_teid) => Some(self.local_tunnel(rule, f_teid, pdr, name.as_ref(), old)?),
        };
        pdr.choose_id = match pdi.local_f_teid {
            Some(FTeid::Choose { choose_id, .. }) => choose_id,
            // What was given for a CHOOSE ID may come back with its value.
            _ => old
                .filter(|old| old.tunnel == pdr.tunnel)
                .and_then(|old| old.choose_id),
        };
        if pdr.is_from_access() && pdr.tunnel.is_none() {
            return Err(Refusal::rule(rule, IeType::F_TEID));
        }
        let told = (&pdi.ue_ip_address[..], old.is_none());
        pdr.ue = self.ue(rule, told, pdr, name.as_ref())?;
        if let Some(ue) = &mut pdr.ue
            && !ue.families.is_none()
        {
            ue.families = ue.families.or(behind);
        }
        pdr.instance = self.keep_name(rule, name.as_ref())?;
        Ok(())
    }

    fn same_entry(&self, rule: RuleId, pdr: &Pdr, old: &Pdr) -> Result<(), Refusal> {
        if pdr.source != old.source {
            return Err(Refusal::rule(rule, IeType::SOURCE_INTERFACE));
        }
        Ok(())
    }
}

fn source(rule: RuleId, pdi: &Pdi<'_>) -> Result<Side, Refusal> {
    let value = pdi.source_interface.0;
    side(value).ok_or_else(|| {
        let refused = Refusal::rule(rule, IeType::SOURCE_INTERFACE);
        // 4 is 5G VN internal, which is a feature (GCOM); above that nothing is defined.
        match value {
            4 => refused,
            _ => refused.with(Cause::MANDATORY_IE_INCORRECT),
        }
    })
}
