//! Create, Update and Remove FAR (TS 29.244, 7.5.2.3, 7.5.4.3, 7.5.4.7).

use super::first_present;
use crate::admission::{Admission, side};
use crate::network::{Network, Side, TunnelAddresses};
use crate::refusal::{self, Refusal, RuleId};
use crate::rules::{Action, Far, Forwarding, Indicated, RemoteTunnel};
use core::net::IpAddr;
use sluice_datapath::forward::marking::Marking;
use sluice_wire::ids::FarId;
use sluice_wire::pfcp::group::{
    CreateFar, ForwardingParameters, RemoveFar, UpdateFar, UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, DestinationInterface, Edit, OuterHeaderCreation, OuterHeaderDescription,
    SessionModificationRequestFlags, TransportLevelMarking,
};
use sluice_wire::pfcp::{Cause, IeType};

impl<N: Network> Admission<'_, N> {
    /// A new FAR.
    pub fn create_far(&mut self, ie: &CreateFar<'_>) -> Result<(), Refusal> {
        let rule = refusal::far(ie.far_id);
        if self.draft.far(ie.far_id).is_some() {
            return Err(Refusal::identity(rule));
        }
        let redundant = ie.redundant_transmission_forwarding_parameters.is_some();
        first_present(
            rule,
            &[
                (
                    !ie.duplicating_parameters.is_empty(),
                    IeType::DUPLICATING_PARAMETERS,
                ),
                (
                    redundant,
                    IeType::REDUNDANT_TRANSMISSION_FORWARDING_PARAMETERS,
                ),
            ],
        )?;
        let action = action(rule, ie.apply_action)?;
        let forwarding = match &ie.forwarding_parameters {
            None => None,
            // Where nothing is forwarded it does not matter where to.
            Some(parameters) if action == Action::Drop => self.forwarding(rule, parameters).ok(),
            Some(parameters) => Some(self.forwarding(rule, parameters)?),
        };
        let far = Far {
            id: ie.far_id,
            action,
            flags: ie.apply_action.flags(),
            bar: ie.bar_id,
            forwarding,
            peer: None,
            egress: None,
            indicated: Indicated::No,
            paged: 0,
            is_updated: true,
        };
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_FAR));
        self.draft.fars.try_push(far).map_err(|_| full)
    }

    /// A changed FAR.
    pub fn update_far(&mut self, ie: &UpdateFar<'_>) -> Result<(), Refusal> {
        let rule = refusal::far(ie.far_id);
        let at = self.far_at(ie.far_id)?;
        let duplicates = ie.update_duplicating_parameters.iter();
        let duplicates = duplicates.filter_map(Edit::value).count() > 0;
        first_present(rule, &[(duplicates, IeType::UPDATE_DUPLICATING_PARAMETERS)])?;
        let Some(old) = self.draft.fars.get(at).copied() else {
            return Err(Refusal::identity(rule));
        };
        let mut far = old;
        if let Some(apply) = ie.apply_action {
            (far.action, far.flags) = (action(rule, apply)?, apply.flags());
        }
        if let Some(edit) = &ie.bar_id {
            far.bar = edit.value().copied();
        }
        // Any update ends the episode in which a flow is told of once (5.2.3.1).
        (far.paged, far.is_updated) = (0, true);
        if let Some(parameters) = parameters(ie) {
            far.forwarding = match self.updated_forwarding(rule, parameters, old.forwarding) {
                Ok(updated) => Some(updated),
                // Where nothing is forwarded it does not matter where to.
                Err(_) if far.action == Action::Drop => None,
                Err(refused) => return Err(refused),
            };
        }
        if far.action == Action::Forward && far.forwarding.is_none() {
            let missing = Refusal::rule(rule, IeType::UPDATE_FORWARDING_PARAMETERS);
            return Err(missing.with(Cause::CONDITIONAL_IE_MISSING));
        }
        self.leave_tunnel(rule, &old, &mut far, ie)?;
        if let Some(place) = self.draft.fars.get_mut(at) {
            *place = far;
        }
        Ok(())
    }

    /// A FAR that goes.
    pub fn remove_far(&mut self, ie: &RemoveFar) -> Result<(), Refusal> {
        let at = self.far_at(ie.far_id)?;
        let far = self.draft.fars.swap_remove(at);
        match far.peer {
            Some(peer) => self.drop_peer(refusal::far(far.id), peer),
            None => Ok(()),
        }
    }

    fn far_at(&self, id: FarId) -> Result<usize, Refusal> {
        let at = self.draft.fars.iter().position(|f| f.id == id);
        at.ok_or(Refusal::identity(refusal::far(id)))
    }

    /// A FAR that changes its tunnel gives the old peer back and, if asked (SNDEM), marks the end.
    fn leave_tunnel(
        &mut self,
        rule: RuleId,
        old: &Far,
        far: &mut Far,
        ie: &UpdateFar<'_>,
    ) -> Result<(), Refusal> {
        if far.tunnel() != old.tunnel() || far.action != old.action {
            far.indicated = Indicated::No;
        }
        let flags = parameters(ie).and_then(|p| p.pfcpsmreq_flags);
        let flags = flags.unwrap_or_default();
        let wants_end = flags.contains(SessionModificationRequestFlags::SNDEM);
        let left = old.tunnel().filter(|t| far.tunnel() != Some(*t));
        if let (true, Some(tunnel), Some(peer)) = (wants_end, left, old.peer) {
            self.mark_end(rule, peer, tunnel.teid)?;
        }
        let station = |f: &Far| {
            f.forwarding
                .map(|f| (f.side, f.instance, f.tunnel.map(|t| t.address), f.marking))
        };
        if station(far) != station(old) {
            far.egress = None;
            if let Some(peer) = far.peer.take() {
                self.drop_peer(rule, peer)?;
            }
        }
        Ok(())
    }

    fn forwarding(
        &mut self,
        rule: RuleId,
        ie: &ForwardingParameters<'_>,
    ) -> Result<Forwarding, Refusal> {
        if ie.forwarding_policy.is_some() {
            return Err(unknown_policy(rule));
        }
        first_present(
            rule,
            &[
                (
                    ie.redirect_information.is_some(),
                    IeType::REDIRECT_INFORMATION,
                ),
                (!ie.header_enrichment.is_empty(), IeType::HEADER_ENRICHMENT),
                (
                    ie.linked_traffic_endpoint_id.is_some(),
                    IeType::TRAFFIC_ENDPOINT_ID,
                ),
                (ie.proxying.is_some(), IeType::PROXYING),
            ],
        )?;
        let side = destination(rule, ie.destination_interface)?;
        let name = self.name(rule, ie.network_instance)?;
        let ours = self.our_addresses(side, name.as_ref().map(|name| name.as_str()));
        let tunnel = ie.outer_header_creation.as_ref();
        let tunnel = tunnel
            .map(|ohc| remote_tunnel(rule, ohc, ours))
            .transpose()?;
        let instance = self.keep_name(rule, name.as_ref())?;
        Ok(Forwarding {
            side,
            instance,
            tunnel,
            marking: marking(ie.transport_level_marking.as_ref()),
        })
    }

    fn updated_forwarding(
        &mut self,
        rule: RuleId,
        ie: &UpdateForwardingParameters<'_>,
        old: Option<Forwarding>,
    ) -> Result<Forwarding, Refusal> {
        refuse_unsupported_update(rule, ie)?;
        let side = match ie.destination_interface {
            Some(interface) => destination(rule, interface)?,
            None => {
                let missing = Refusal::rule(rule, IeType::DESTINATION_INTERFACE);
                let missing = missing.with(Cause::CONDITIONAL_IE_MISSING);
                old.map(|f| f.side).ok_or(missing)?
            }
        };
        let mut instance = old.map(|f| f.instance).unwrap_or_default();
        if let Some(edit) = &ie.network_instance {
            let name = self.name(rule, edit.value().copied())?;
            instance = self.keep_name(rule, name.as_ref())?;
        }
        let mut tunnel = old.and_then(|f| f.tunnel);
        if let Some(edit) = &ie.outer_header_creation {
            let ours = self.our_addresses(side, self.shared.names.get(instance));
            let value = edit.value();
            tunnel = value
                .map(|ohc| remote_tunnel(rule, ohc, ours))
                .transpose()?;
        }
        let former = old.map(|f| f.marking).unwrap_or_default();
        let edit = ie.transport_level_marking.as_ref();
        Ok(Forwarding {
            side,
            instance,
            tunnel,
            marking: edit.map_or(former, |edit| marking(edit.value())),
        })
    }
}

impl<N: Network> Admission<'_, N> {
    /// The addresses of ours from which packets of a FAR leave into tunnels, if there are any.
    fn our_addresses(&self, side: Side, instance: Option<&str>) -> Option<TunnelAddresses> {
        let side = self.net.tunnel_side(side, instance);
        let endpoint = self.net.tunnel_endpoint(side, instance);
        endpoint.map(|endpoint| endpoint.addresses)
    }
}

/// Transport Level Marking (5.4.4, 8.2.12): of outer headers, so that it does nothing where none is made.
fn marking(ie: Option<&TransportLevelMarking>) -> Marking {
    ie.map_or(Marking::default(), |ie| {
        Marking::new(ie.tos_traffic_class, ie.mask)
    })
}

/// Update Forwarding Parameters, or what SD-Core sends in their place.
fn parameters<'m, 'a>(ie: &'m UpdateFar<'a>) -> Option<&'m UpdateForwardingParameters<'a>> {
    let proper = ie.update_forwarding_parameters.as_ref();
    proper.or(ie.forwarding_parameters.as_ref())
}

fn refuse_unsupported_update(
    rule: RuleId,
    ie: &UpdateForwardingParameters<'_>,
) -> Result<(), Refusal> {
    if matches!(ie.forwarding_policy, Some(Edit::Set(_))) {
        return Err(unknown_policy(rule));
    }
    let enriches = ie.header_enrichment.iter().filter_map(Edit::value).count() > 0;
    first_present(
        rule,
        &[
            (
                matches!(ie.redirect_information, Some(Edit::Set(_))),
                IeType::REDIRECT_INFORMATION,
            ),
            (enriches, IeType::HEADER_ENRICHMENT),
            (
                matches!(ie.linked_traffic_endpoint_id, Some(Edit::Set(_))),
                IeType::TRAFFIC_ENDPOINT_ID,
            ),
        ],
    )
}

fn unknown_policy(rule: RuleId) -> Refusal {
    Refusal::rule(rule, IeType::FORWARDING_POLICY).with(Cause::INVALID_FORWARDING_POLICY)
}

/// One of DROP, FORW and BUFF must be set (8.2.26), the last with or without NOCP. All other
/// actions belong to features that are not advertised.
fn action(rule: RuleId, apply: ApplyAction) -> Result<Action, Refusal> {
    let refused = Refusal::rule(rule, IeType::APPLY_ACTION);
    let notify = ApplyAction::NOCP.flags();
    match apply.flags() {
        flags if flags == ApplyAction::DROP.flags() => Ok(Action::Drop),
        flags if flags == ApplyAction::FORW.flags() => Ok(Action::Forward),
        flags if flags & !notify == ApplyAction::BUFF.flags() => Ok(Action::Buffer),
        0 => Err(refused.with(Cause::MANDATORY_IE_INCORRECT)),
        _ => Err(refused),
    }
}

fn destination(rule: RuleId, interface: DestinationInterface) -> Result<Side, Refusal> {
    let refused = Refusal::rule(rule, IeType::DESTINATION_INTERFACE);
    match interface {
        DestinationInterface::LI_FUNCTION | DestinationInterface::FIVE_G_VN_INTERNAL => {
            Err(refused)
        }
        DestinationInterface(value) => {
            side(value).ok_or(refused.with(Cause::MANDATORY_IE_INCORRECT))
        }
    }
}

/// Outer Header Creation: GTP-U/UDP/IPv4 or GTP-U/UDP/IPv6 to a station. Of a station with both families the UP
/// function chooses the address (TS 29.244, 8.2.56): that of IPv4, unless our endpoint has none of it.
fn remote_tunnel(
    rule: RuleId,
    ohc: &OuterHeaderCreation,
    ours: Option<TunnelAddresses>,
) -> Result<RemoteTunnel, Refusal> {
    let refused = Refusal::rule(rule, IeType::OUTER_HEADER_CREATION);
    type Description = OuterHeaderDescription;
    let (over_ipv4, over_ipv6) = (Description::GTPU_UDP_IPV4, Description::GTPU_UDP_IPV6);
    let is_gtpu = [over_ipv4, over_ipv6, over_ipv4.union(over_ipv6)].contains(&ohc.description);
    let teid = ohc.teid.filter(|_| is_gtpu).ok_or(refused)?;
    let is_ipv6_alone = ours.is_some_and(|ours| ours.ipv4.is_none());
    let (ipv4, ipv6) = (ohc.ipv4.map(IpAddr::V4), ohc.ipv6.map(IpAddr::V6));
    let address = if is_ipv6_alone {
        ipv6.or(ipv4)
    } else {
        ipv4.or(ipv6)
    };
    let address = address.filter(|address| is_station(*address));
    let address = address.ok_or(refused)?;
    // Over a family that our endpoint does not have nothing leads there.
    if let Some(ours) = ours
        && !ours.all().any(|own| own.is_ipv4() == address.is_ipv4())
    {
        return Err(refused);
    }
    Ok(RemoteTunnel {
        teid: teid.get(),
        address,
    })
}

/// An address of one station, in whatever link: link-local ones of IPv6 do not say in which.
fn is_station(address: IpAddr) -> bool {
    let is_of_many = match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local() || address.is_loopback(),
    };
    !is_of_many && !address.is_unspecified() && !address.is_multicast()
}
