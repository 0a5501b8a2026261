//! Admission of the PDI: source interface, F-TEID, UE address, QFI.

use super::denial;
use super::unsupported::refuse_unsupported_pdi;
use crate::admission::{Admission, side};
use crate::names::PlainName;
use crate::network::{Network, Side};
use crate::refusal::{Refusal, RuleId};
use crate::rules::{Key, Pdr, UeAddress};
use crate::sdf;
use core::net::Ipv4Addr;
use sluice_wire::pfcp::group::Pdi;
use sluice_wire::pfcp::value::{FTeid, UeIpAddress};
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
        pdr.filter =
            sdf::any(&pdi.sdf_filter).map_err(|_| Refusal::rule(rule, IeType::SDF_FILTER))?;
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
        let address = ue_address(rule, &pdi.ue_ip_address)?;
        pdr.ue = match address {
            None => None,
            Some(address) => Some(self.ue(rule, address, pdr, name.as_ref())?),
        };
        if pdr.key().is_none() {
            return Err(Refusal::rule(rule, IeType::PDI));
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

    fn ue(
        &mut self,
        rule: RuleId,
        address: Ipv4Addr,
        pdr: &Pdr,
        name: Option<&PlainName>,
    ) -> Result<UeAddress, Refusal> {
        // A session has one UE address: all of it lies in that address's shard.
        let other = self.draft.pdrs.iter().filter(|p| p.id != pdr.id);
        let mut others = other.filter_map(|p| p.ue);
        if others.any(|ue| ue.address != address) {
            return Err(Refusal::rule(rule, IeType::UE_IP_ADDRESS));
        }
        if pdr.tunnel.is_some() {
            // Packets enter by TEID; the address is only compared.
            return Ok(UeAddress {
                address,
                instance: 0,
            });
        }
        let name = name.map(|n| n.as_str());
        let mut sides = pdr.source.plain();
        let instance = sides
            .find_map(|side| self.net.ue_instance(side, name))
            .ok_or(Refusal::rule(rule, IeType::NETWORK_INSTANCE))?
            .0;
        let key = Key::Ue {
            instance,
            address: u32::from(address),
        };
        if self.draft.endpoint(key).is_none() {
            let endpoint = self
                .resources
                .ue_line(
                    self.shard,
                    instance,
                    u32::from(address),
                    self.now_s,
                    self.claims,
                )
                .map_err(|denied| denial(rule, IeType::UE_IP_ADDRESS, denied))?;
            let full = Refusal::full(Some(rule), Some(IeType::UE_IP_ADDRESS));
            self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
        }
        Ok(UeAddress { address, instance })
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

/// The one IPv4 address of a PDI. Direction is told by the Source Interface; the S/D flag is not
/// looked at, since some SMFs leave it 0 in both.
fn ue_address(rule: RuleId, list: &[UeIpAddress]) -> Result<Option<Ipv4Addr>, Refusal> {
    let refused = Refusal::rule(rule, IeType::UE_IP_ADDRESS);
    let [ue] = list else {
        return if list.is_empty() {
            Ok(None)
        } else {
            Err(refused)
        };
    };
    if ue.choose_ipv4 || ue.choose_ipv6 || ue.ipv6.is_some() {
        return Err(refused);
    }
    let address = ue.ipv4.ok_or(refused)?;
    let usable = !address.is_unspecified() && !address.is_multicast() && !address.is_broadcast();
    if usable {
        Ok(Some(address))
    } else {
        Err(refused)
    }
}
