//! Admission of the PDI: source interface, F-TEID, UE address, QFI, SDF filters or application.

use super::unsupported::refuse_unsupported_pdi;
use crate::admission::{Admission, side};
use crate::network::{Network, Side};
use crate::refusal::{Refusal, RuleId};
use crate::rules::Pdr;
use sluice_wire::pfcp::group::Pdi;
use sluice_wire::pfcp::value::FTeid;
use sluice_wire::pfcp::{Cause, IeType};

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
