//! Create, Update and Remove PDR (TS 29.244, 7.5.2.2, 7.5.4.2, 7.5.4.6).

use crate::network::{Network, Side, TunnelEndpoint};
use crate::session::ground::Denied;
use crate::session::names::PlainName;
use crate::session::refusal::{self, Refusal, RuleId};
use crate::session::rules::{IdList, Key, LocalTunnel, Pdr, UeAddress};
use crate::session::sdf;
use crate::session::work::{Chosen, Work, side};
use core::net::Ipv4Addr;
use sluice_wire::ids::{PdrId, QerId, UrrId};
use sluice_wire::pfcp::group::{CreatePdr, Pdi, RemovePdr, UpdatePdr};
use sluice_wire::pfcp::value::{
    Edit, FTeid, OuterHeaderRemoval, OuterHeaderRemovalDescription, UeIpAddress,
};
use sluice_wire::pfcp::{Cause, IeType};

impl<N: Network> Work<'_, N> {
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
            ue: None,
            qfis: 0,
            filter: crate::session::rules::Filter::All,
            removes_outer: removal(rule, ie.outer_header_removal.as_ref())?,
            far,
            qers: ie.qer_id.iter().map(|id| id.0).collect(),
            urrs: ie.urr_id.iter().map(|id| id.0).collect(),
        };
        self.read_pdi(rule, &ie.pdi, &mut pdr, None)?;
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_PDR));
        self.draft.pdrs.try_push(pdr).map_err(|_| full)
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
        if let Some(edit) = &ie.outer_header_removal {
            pdr.removes_outer = removal(rule, edit.value())?;
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
        if let Some(place) = self.draft.pdrs.get_mut(at) {
            *place = pdr;
        }
        Ok(())
    }

    /// A PDR that goes.
    pub fn remove_pdr(&mut self, ie: &RemovePdr) -> Result<(), Refusal> {
        let at = self.pdr_at(ie.pdr_id)?;
        self.draft.pdrs.swap_remove(at);
        Ok(())
    }

    fn pdr_at(&self, id: PdrId) -> Result<usize, Refusal> {
        let at = self.draft.pdrs.iter().position(|p| p.id == id);
        at.ok_or(Refusal::identity(refusal::pdr(id)))
    }

    /// The PDI replaces the former one as a whole.
    fn read_pdi(
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

    fn local_tunnel(
        &mut self,
        rule: RuleId,
        f_teid: &FTeid,
        pdr: &Pdr,
        name: Option<&PlainName>,
        old: Option<&Pdr>,
    ) -> Result<LocalTunnel, Refusal> {
        match *f_teid {
            FTeid::Choose {
                ipv4, choose_id, ..
            } => {
                // An update may refer to the F-TEID that was given, not ask for another.
                if let Some(tunnel) = old.and_then(|o| o.tunnel) {
                    return Ok(tunnel);
                }
                if !ipv4 {
                    return Err(Refusal::rule(rule, IeType::F_TEID));
                }
                let here = self.tunnel_endpoint(rule, pdr.source, name)?;
                self.choose(rule, pdr.id, here, choose_id)
            }
            FTeid::Assigned { teid, ipv4, .. } => {
                let address = ipv4.ok_or(Refusal::rule(rule, IeType::F_TEID))?;
                // Refused by name where there are no tunnels at all.
                self.tunnel_endpoint(rule, pdr.source, name)?;
                let here = self.tunnel_endpoint_at(pdr.source, name, address);
                let here = here.ok_or(Refusal::rule(rule, IeType::F_TEID))?;
                self.assigned(rule, here, teid.get())
            }
        }
    }

    /// An address of the interface that the PDI's Source Interface and Network Instance mean: by
    /// another one the packets of the F-TEID would not come.
    fn tunnel_endpoint_at(
        &self,
        side: Side,
        name: Option<&PlainName>,
        address: Ipv4Addr,
    ) -> Option<TunnelEndpoint> {
        let name = name.map(|n| n.as_str());
        let own = self.net.tunnel_endpoint(side, name).is_some();
        let side = match side {
            Side::Control if !own => Side::Access,
            side => side,
        };
        self.net.tunnel_endpoint_at(side, name, address)
    }

    fn tunnel_endpoint(
        &self,
        rule: RuleId,
        side: Side,
        name: Option<&PlainName>,
    ) -> Result<TunnelEndpoint, Refusal> {
        let name = name.map(|n| n.as_str());
        let own = self.net.tunnel_endpoint(side, name);
        // Open5GS sets up N4-u for every session, also where nothing is configured for it: then
        // it ends at the N3 address.
        let shared = || match side {
            Side::Control => self.net.tunnel_endpoint(Side::Access, name),
            _ => None,
        };
        own.or_else(shared)
            .ok_or(Refusal::rule(rule, IeType::NETWORK_INSTANCE))
    }

    /// CHOOSE (TS 29.244, 5.5.3): the same CHOOSE ID gives the same F-TEID.
    fn choose(
        &mut self,
        rule: RuleId,
        pdr: PdrId,
        here: TunnelEndpoint,
        choose_id: Option<u8>,
    ) -> Result<LocalTunnel, Refusal> {
        let full = Refusal::full(Some(rule), Some(IeType::F_TEID));
        let known = self.chosen.iter().find(|c| Some(c.id) == choose_id);
        let tunnel = match known.map(|c| c.tunnel) {
            Some(tunnel) if tunnel.local == here.local => tunnel,
            Some(_) => return Err(Refusal::rule(rule, IeType::F_TEID)),
            None => {
                let (teid, endpoint) = self
                    .ground
                    .new_teid(self.shard, here.local, self.now_s, self.claims)
                    .map_err(|_| full)?;
                self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
                let tunnel = LocalTunnel {
                    teid,
                    address: here.address,
                    local: here.local,
                };
                if let Some(id) = choose_id {
                    self.chosen
                        .try_push(Chosen { id, tunnel })
                        .map_err(|_| full)?;
                }
                tunnel
            }
        };
        self.created.try_push((pdr, tunnel)).map_err(|_| full)?;
        Ok(tunnel)
    }

    /// An F-TEID with a value: one that the session has already, one of ours that comes back
    /// (RESTI), or one of the CP function's choice.
    fn assigned(
        &mut self,
        rule: RuleId,
        here: TunnelEndpoint,
        teid: u32,
    ) -> Result<LocalTunnel, Refusal> {
        let tunnel = LocalTunnel {
            teid,
            address: here.address,
            local: here.local,
        };
        let key = Key::Tunnel {
            local: here.local,
            teid,
        };
        if self.draft.endpoint(key).is_some() {
            return Ok(tunnel);
        }
        if !self.policy.accept_cp_fteid && !self.policy.restores {
            let refused = Refusal::rule(rule, IeType::F_TEID);
            return Err(refused.with(Cause::INVALID_F_TEID_ALLOCATION_OPTION));
        }
        let endpoint = self
            .ground
            .named_teid(self.shard, here.local, teid, self.now_s, self.claims)
            .map_err(|denied| denial(rule, IeType::F_TEID, denied))?;
        self.remarks.chosen_by_cp |= !self.policy.restores;
        let full = Refusal::full(Some(rule), Some(IeType::F_TEID));
        self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
        Ok(tunnel)
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
        let instance = self
            .net
            .ue_instance(pdr.source, name.map(|n| n.as_str()))
            .ok_or(Refusal::rule(rule, IeType::NETWORK_INSTANCE))?
            .0;
        let key = Key::Ue {
            instance,
            address: u32::from(address),
        };
        if self.draft.endpoint(key).is_none() {
            let endpoint = self
                .ground
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

fn denial(rule: RuleId, ie: IeType, denied: Denied) -> Refusal {
    match denied {
        Denied::InUse | Denied::OtherShard => Refusal::rule(rule, ie),
        Denied::Exhausted => Refusal::full(Some(rule), Some(ie)),
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

/// Outer Header Removal: only GTP-U/UDP/IP over IPv4 is there to be removed.
fn removal(rule: RuleId, ie: Option<&OuterHeaderRemoval>) -> Result<bool, Refusal> {
    type Description = OuterHeaderRemovalDescription;
    match ie.map(|r| r.description) {
        None => Ok(false),
        Some(Description::GTPU_UDP_IPV4 | Description::GTPU_UDP_IP) => Ok(true),
        Some(_) => Err(Refusal::rule(rule, IeType::OUTER_HEADER_REMOVAL)),
    }
}

/// A list that is there replaces the former one; one IE of null length empties it (5.6.3).
fn apply_ids<T, const N: usize>(list: &mut IdList<N>, edits: &[Edit<T>], id: fn(&T) -> u32) {
    if !edits.is_empty() {
        *list = edits.iter().filter_map(Edit::value).map(id).collect();
    }
}

fn refuse_unsupported(rule: RuleId, ie: &CreatePdr<'_>) -> Result<(), Refusal> {
    refuse_predefined(rule, !ie.activate_predefined_rules.is_empty())?;
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

fn refuse_unsupported_update(rule: RuleId, ie: &UpdatePdr<'_>) -> Result<(), Refusal> {
    let named =
        !ie.activate_predefined_rules.is_empty() || !ie.deactivate_predefined_rules.is_empty();
    refuse_predefined(rule, named)?;
    let sets = |edit: &Option<Edit<_>>| matches!(edit, Some(Edit::Set(_)));
    first_present(
        rule,
        &[
            (sets(&ie.activation_time), IeType::ACTIVATION_TIME),
            (sets(&ie.deactivation_time), IeType::DEACTIVATION_TIME),
        ],
    )
}

fn refuse_predefined(rule: RuleId, named: bool) -> Result<(), Refusal> {
    if named {
        let refused = Refusal::rule(rule, IeType::ACTIVATE_PREDEFINED_RULES);
        return Err(refused.with(Cause::UNKNOWN_PREDEFINED_RULE));
    }
    Ok(())
}

fn refuse_unsupported_pdi(rule: RuleId, pdi: &Pdi<'_>) -> Result<(), Refusal> {
    first_present(
        rule,
        &[
            (
                !pdi.traffic_endpoint_id.is_empty(),
                IeType::TRAFFIC_ENDPOINT_ID,
            ),
            (pdi.application_id.is_some(), IeType::APPLICATION_ID),
            (
                pdi.ethernet_pdu_session_information.is_some(),
                IeType::ETHERNET_PDU_SESSION_INFORMATION,
            ),
            (
                !pdi.ethernet_packet_filter.is_empty(),
                IeType::ETHERNET_PACKET_FILTER,
            ),
            (!pdi.framed_route.is_empty(), IeType::FRAMED_ROUTE),
            (!pdi.framed_ipv6_route.is_empty(), IeType::FRAMED_IPV6_ROUTE),
        ],
    )
}

/// Refuses the first IE that is there.
pub(super) fn first_present(rule: RuleId, ies: &[(bool, IeType)]) -> Result<(), Refusal> {
    match ies.iter().find(|(present, _)| *present) {
        Some((_, ie)) => Err(Refusal::rule(rule, *ie)),
        None => Ok(()),
    }
}
