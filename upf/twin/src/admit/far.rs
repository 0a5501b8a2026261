//! Create and Update FAR (TS 29.244, 7.5.2.3, 7.5.4.3).

use super::{Draft, Refused, known, new, no_interface, no_rule, no_to};
use crate::config::{Side, TwinConfig};
use crate::rules::{Far, Forwarding, Remote};
use sluice_wire::pfcp::group::{
    CreateFar, ForwardingParameters, UpdateFar, UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, OuterHeaderCreation, OuterHeaderDescription, SessionModificationRequestFlags,
    TransportLevelMarking,
};
use sluice_wire::pfcp::{Cause, IeType};
use std::net::IpAddr;

/// An End Marker that is due: the old tunnel and the way to it.
#[derive(Clone, PartialEq, Debug)]
pub struct EndMarker {
    pub side: Side,
    pub instance: Option<String>,
    pub to: Remote,
    /// As that of the FAR's packets was.
    pub marking: (u8, u8),
}

impl Draft<'_, '_> {
    pub(super) fn create_far(&mut self, ie: &CreateFar<'_>) -> Result<(), Refused> {
        let (forwards, drops) = forwards(ie.apply_action)?;
        let buffers = !forwards && !drops;
        let config = self.config;
        let read = ie.forwarding_parameters.as_ref();
        let forwarding = match read.map(|ie| parameters(config, ie)) {
            Some(Err(refused)) if !drops => return Err(refused),
            read => read.and_then(Result::ok),
        };
        let far = Far {
            forwards,
            drops,
            buffers,
            notifies: buffers && ie.apply_action.flags() & ApplyAction::NOCP.flags() != 0,
            bar: ie.bar_id.map(|bar| bar.0),
            told: Vec::new(),
            forwarding,
        };
        new("FAR", ie.far_id.0, self.rules.fars.insert(ie.far_id.0, far))
    }

    pub(super) fn update_far(&mut self, ie: &UpdateFar<'_>) -> Result<(), Refused> {
        let far = self.rules.fars.get_mut(&ie.far_id.0);
        let far = known("FAR", ie.far_id.0, far)?;
        let old = far.clone();
        let reached = (self.before.pdrs.values()).any(|p| self.before.reaches(p, ie.far_id.0));
        if let Some(apply) = ie.apply_action {
            (far.forwards, far.drops) = forwards(apply)?;
            far.buffers = !far.forwards && !far.drops;
            far.notifies = far.buffers && apply.flags() & ApplyAction::NOCP.flags() != 0;
        }
        if let Some(edit) = &ie.bar_id {
            far.bar = edit.value().map(|bar| bar.0);
        }
        // Whatever it changes: what comes now is told of anew (5.2.3.1).
        far.told.clear();
        // SD-Core's SMF sends them as Forwarding Parameters.
        let parameters = ie.update_forwarding_parameters.as_ref();
        if let Some(parameters) = parameters.or(ie.forwarding_parameters.as_ref()) {
            let updated = match updated(self.config, old.forwarding.as_ref(), parameters) {
                Err(refused) if !far.drops => return Err(refused),
                read => read.ok(),
            };
            if let Some(updated) = &updated
                && let Some(marker) = end_marker(&old, updated, parameters)
                && reached
                && !old.drops
            {
                self.end_markers.push(marker);
            }
            far.forwarding = updated;
        }
        // One that is created could not be read without (7.5.2.3).
        match far.forwards && far.forwarding.is_none() {
            true => {
                let ie = IeType::UPDATE_FORWARDING_PARAMETERS;
                no_to(Cause::CONDITIONAL_IE_MISSING, ie, "a FAR forwards nowhere")
            }
            false => Ok(()),
        }
    }
}

fn parameters(config: &TwinConfig, ie: &ForwardingParameters<'_>) -> Result<Forwarding, Refused> {
    let mut forwarding = Forwarding {
        side: side(ie.destination_interface.0)?,
        instance: ie.network_instance.map(|n| n.to_string()),
        tunnel: None,
        marking: ie.transport_level_marking.as_ref().map_or((0, 0), octets),
    };
    if let Some(ohc) = &ie.outer_header_creation {
        forwarding.tunnel = Some(remote(config, &forwarding, ohc)?);
    }
    Ok(forwarding)
}

fn octets(ie: &TransportLevelMarking) -> (u8, u8) {
    (ie.tos_traffic_class, ie.mask)
}

/// What the parameters that are there replace; a parameter of null length goes (5.6.3).
fn updated(
    config: &TwinConfig,
    old: Option<&Forwarding>,
    ie: &UpdateForwardingParameters<'_>,
) -> Result<Forwarding, Refused> {
    let mut now = match (old, ie.destination_interface) {
        (Some(old), _) => old.clone(),
        (None, Some(interface)) => Forwarding {
            side: side(interface.0)?,
            instance: None,
            tunnel: None,
            marking: (0, 0),
        },
        (None, None) => {
            let (missing, ie) = (Cause::CONDITIONAL_IE_MISSING, IeType::DESTINATION_INTERFACE);
            return no_to(
                missing,
                ie,
                "forwarding parameters without a destination interface",
            );
        }
    };
    if let Some(interface) = ie.destination_interface {
        now.side = side(interface.0)?;
    }
    if let Some(edit) = &ie.network_instance {
        now.instance = edit.value().map(|n| n.to_string());
    }
    if let Some(edit) = &ie.transport_level_marking {
        now.marking = edit.value().map_or((0, 0), octets);
    }
    if let Some(edit) = &ie.outer_header_creation {
        let value = edit.value();
        now.tunnel = value.map(|ohc| remote(config, &now, ohc)).transpose()?;
    }
    Ok(now)
}

/// SNDEM: an End Marker goes into the tunnel that is left (5.2.3.1). It marks the end of packets,
/// so there is none where no PDR led to.
fn end_marker(
    old: &Far,
    now: &Forwarding,
    ie: &UpdateForwardingParameters<'_>,
) -> Option<EndMarker> {
    let flags = ie.pfcpsmreq_flags?;
    let old = old.forwarding.as_ref()?;
    let to = old.tunnel.filter(|t| now.tunnel != Some(*t))?;
    let wanted = flags.contains(SessionModificationRequestFlags::SNDEM);
    wanted.then(|| EndMarker {
        side: old.side,
        instance: old.instance.clone(),
        to,
        marking: old.marking,
    })
}

/// Exactly one of DROP, FORW and BUFF (8.2.26), the last perhaps with NOCP: whether it forwards, and
/// whether it drops.
fn forwards(action: ApplyAction) -> Result<(bool, bool), Refused> {
    let drops = action == ApplyAction::DROP || action.flags() == ApplyAction::DROP.flags();
    let buffers = action.flags() & !ApplyAction::NOCP.flags() == ApplyAction::BUFF.flags();
    match action.flags() == ApplyAction::FORW.flags() {
        true => Ok((true, false)),
        false if drops || buffers => Ok((false, drops)),
        false => {
            let cause = match action.flags() {
                0 => Cause::MANDATORY_IE_INCORRECT,
                _ => Cause::RULE_CREATION_MODIFICATION_FAILURE,
            };
            let why = format!("Apply Action {:#x}", action.flags());
            no_to(cause, IeType::APPLY_ACTION, why)
        }
    }
}

fn side(value: u8) -> Result<Side, Refused> {
    match Side::from_value(value) {
        Some(side) => Ok(side),
        None => no_interface(IeType::DESTINATION_INTERFACE, &[4, 5], value),
    }
}

/// To a peer of a family that the tunnels of the FAR's side have an address of. Where the CP function names an
/// address of both, that of IPv4 is taken (8.2.56), if our end has one.
fn remote(
    config: &TwinConfig,
    to: &Forwarding,
    ohc: &OuterHeaderCreation,
) -> Result<Remote, Refused> {
    type Description = OuterHeaderDescription;
    let (four, six) = (Description::GTPU_UDP_IPV4, Description::GTPU_UDP_IPV6);
    let Some(teid) = ohc
        .teid
        .filter(|_| [four, six, four | six].contains(&ohc.description))
    else {
        return no_rule(
            IeType::OUTER_HEADER_CREATION,
            "only GTP-U outer headers are made",
        );
    };
    let end = config.tunnel_end(to.side, to.instance.as_deref());
    let has_ipv4 = end.is_none_or(|end| end.ipv4().is_some());
    let ipv4 = ohc.ipv4.map(IpAddr::V4).filter(|_| has_ipv4);
    let told = ipv4.or(ohc.ipv6.map(IpAddr::V6));
    match told.filter(|peer| end.is_none_or(|end| end.towards(*peer).is_some())) {
        Some(address) => Ok(Remote {
            address,
            teid: teid.get(),
        }),
        None => no_rule(
            IeType::OUTER_HEADER_CREATION,
            "our tunnels have no address of the peer's family",
        ),
    }
}
