//! Session Modification and Deletion Requests (TS 29.244, 7.5.4 and 7.5.6).

use sluice_wire::ids::{FarId, QerId};
use sluice_wire::pfcp::group::{
    QueryUrr, RemoveFar, RemovePdr, RemoveQer, UpdateForwardingParameters, UpdatePdr, UpdateUrr,
};
use sluice_wire::pfcp::value::{ApplyAction, Edit, SessionModificationRequestFlags};
use sluice_wire::pfcp::{Full, IeType, Writer};

use super::context::{Direction, EncodeContext, put};
use super::establishment::write_urrs;
use super::flow::write_flow;
use super::rules::total;
use crate::dialect::profile::{FirstGnb, Idle, PathSwitch, Repeats};
use crate::{Flow, Tunnel};

/// Contents of one Session Modification Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionChange {
    /// The gNB's tunnel becomes known: downlink packets flow.
    Connect {
        /// The gNB's tunnel.
        gnb: Tunnel,
        /// SNDEM is sent though there is no old tunnel in use.
        end_marker: bool,
    },
    /// Another gNB's tunnel.
    SwitchPath {
        /// The new gNB's tunnel.
        gnb: Tunnel,
    },
    /// Downlink packets are buffered and the SMF is told.
    Buffer,
    /// Downlink packets are dropped.
    Drop,
    /// All rules but the URRs go.
    RemoveRules,
    /// The uplink rules come again, with new numbers.
    MakeUplink,
    /// The rules of the dedicated flow are made.
    AddFlow,
    /// The usage of all URRs is asked for.
    Query,
    /// Grant of further octets, both directions together.
    Grant(u64),
}

/// Writes the IEs of a Session Modification Request; `gnb` is the tunnel in use.
pub(crate) fn write_step(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    gnb: Option<Tunnel>,
    step: SessionChange,
) -> Result<(), Full> {
    if scene.profile.cp_f_seid.in_modification {
        put(w, IeType::F_SEID, &scene.cp_f_seid())?;
    }
    match step {
        SessionChange::Connect { gnb, end_marker } => write_connect(w, scene, gnb, end_marker),
        SessionChange::SwitchPath { gnb } => write_path_switch(w, scene, gnb),
        SessionChange::Buffer => write_buffer(w, scene, gnb),
        SessionChange::Drop => write_update_fars(w, scene, ApplyAction::DROP, None),
        SessionChange::RemoveRules => write_removal(w, scene, gnb.is_some()),
        SessionChange::MakeUplink => write_uplink(w, scene),
        SessionChange::AddFlow => write_flow(w, scene),
        SessionChange::Grant(octets) => {
            let grant = |urr_id| UpdateUrr {
                urr_id,
                volume_quota: Some(Edit::Set(total(octets))),
                ..UpdateUrr::default()
            };
            let mut urrs = scene.urr_styles();
            urrs.try_for_each(|(urr_id, _)| put(w, IeType::UPDATE_URR, &grant(urr_id)))
        }
        SessionChange::Query => {
            let urrs = scene.urr_styles().map(|(urr_id, _)| urr_id);
            let mut urrs = urrs.chain(scene.own_flow_urr_ids());
            urrs.try_for_each(|urr_id| put(w, IeType::QUERY_URR, &QueryUrr { urr_id }))
        }
    }
}

/// Writes the IEs of a Session Deletion Request.
pub(crate) fn write_deletion(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    match scene.profile.cp_f_seid.in_deletion {
        true => put(w, IeType::F_SEID, &scene.cp_f_seid()),
        false => Ok(()),
    }
}

fn write_connect(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    gnb: Tunnel,
    end_marker: bool,
) -> Result<(), Full> {
    match scene.profile.change.first_gnb {
        FirstGnb::CreateRules => return write_downlink(w, scene, gnb),
        FirstGnb::UpdateFarAndPdr => {
            let qers = scene.qers_of(Direction::Downlink);
            write_update_pdr(w, scene, Direction::Downlink, qers.into_iter())?;
        }
        FirstGnb::UpdateFarAndPdrs => write_update_pdrs(w, scene)?,
        FirstGnb::UpdateFar => {}
    }
    let parameters = scene.with_flags(scene.new_parameters(Some(gnb)), end_marker);
    write_update_fars(w, scene, ApplyAction::FORW, Some(&parameters))
}

fn write_path_switch(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    gnb: Tunnel,
) -> Result<(), Full> {
    let end_marker = match scene.profile.change.path_switch {
        PathSwitch::EndMarker => true,
        PathSwitch::UpdatePdrToo => {
            write_update_pdr(w, scene, Direction::Downlink, std::iter::empty())?;
            false
        }
    };
    let parameters = scene.with_flags(scene.new_parameters(Some(gnb)), end_marker);
    write_update_fars(w, scene, ApplyAction::FORW, Some(&parameters))
}

fn write_buffer(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    gnb: Option<Tunnel>,
) -> Result<(), Full> {
    let repeats = match scene.profile.change.idle {
        Idle::Buffer { repeats, .. } => repeats,
        Idle::Remove => Repeats::Nothing,
    };
    let parameters = match repeats {
        Repeats::Nothing => None,
        Repeats::WithoutTunnel => Some(scene.with_flags(scene.new_parameters(None), false)),
        Repeats::Everything => Some(scene.with_flags(scene.new_parameters(gnb), false)),
    };
    let action = ApplyAction::BUFF | ApplyAction::NOCP;
    write_update_fars(w, scene, action, parameters.as_ref())
}

impl EncodeContext<'_> {
    fn with_flags<'a>(
        &self,
        parameters: UpdateForwardingParameters<'a>,
        end_marker: bool,
    ) -> UpdateForwardingParameters<'a> {
        let none = SessionModificationRequestFlags::NONE;
        let none = self.profile.change.flags_always.then_some(none);
        let flags = end_marker.then_some(SessionModificationRequestFlags::SNDEM);
        UpdateForwardingParameters {
            pfcpsmreq_flags: flags.or(none),
            ..parameters
        }
    }
}

/// Update FAR of the downlink, of the session and of its flow.
fn write_update_fars(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    action: ApplyAction,
    parameters: Option<&UpdateForwardingParameters<'_>>,
) -> Result<(), Full> {
    let mut fars = scene.downlink_fars().into_iter();
    fars.try_for_each(|(far_id, flow)| {
        let marked = parameters.map(|parameters| UpdateForwardingParameters {
            transport_level_marking: scene.marking(flow).map(Edit::Set),
            ..parameters.clone()
        });
        write_update_far(w, scene, far_id, action, marked.as_ref())
    })
}

fn write_update_far(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    far_id: FarId,
    action: ApplyAction,
    parameters: Option<&UpdateForwardingParameters<'_>>,
) -> Result<(), Full> {
    w.ie(IeType::UPDATE_FAR, |w| {
        put(w, IeType::FAR_ID, &far_id)?;
        put(w, IeType::APPLY_ACTION, &scene.action(action))?;
        if let Some(parameters) = parameters {
            put(w, scene.profile.change.parameters_ie, parameters)?;
        }
        match scene.bar_id(action) {
            Some(bar_id) => put(w, IeType::BAR_ID, &bar_id),
            None => Ok(()),
        }
    })
}

/// Update PDR of all PDRs, with what they were.
fn write_update_pdrs(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    let directions = [Direction::Uplink, Direction::Downlink];
    for direction in directions {
        write_update_pdr(w, scene, direction, scene.qers_of(direction).into_iter())?;
    }
    let flow = scene.plan.flow.as_ref().filter(|_| scene.has_flow());
    let mut flows = flow
        .into_iter()
        .flat_map(|flow| directions.map(|one| (flow, one)));
    flows.try_for_each(|(flow, direction)| write_update_flow_pdr(w, scene, direction, flow))
}

fn write_update_flow_pdr(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    direction: Direction,
    flow: &Flow,
) -> Result<(), Full> {
    let description = scene.description(direction, flow);
    let pdr = UpdatePdr {
        pdr_id: scene.flow_pdr_id(direction),
        outer_header_removal: scene.removal_again(direction),
        precedence: Some(flow.precedence),
        pdi: Some(scene.flow_pdi(direction, flow, &description)),
        far_id: Some(Edit::Set(scene.flow_far_id(direction))),
        urr_id: scene.flow_urr_ids(direction).map(Edit::Set).collect(),
        qer_id: scene.flow_qers().into_iter().map(Edit::Set).collect(),
        ..UpdatePdr::default()
    };
    put(w, IeType::UPDATE_PDR, &pdr)
}

/// Update PDR of one direction, with what it was.
fn write_update_pdr(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    direction: Direction,
    qers: impl Iterator<Item = QerId>,
) -> Result<(), Full> {
    let pdr = UpdatePdr {
        outer_header_removal: scene.removal_again(direction),
        pdr_id: scene.pdr_id(direction),
        precedence: Some(scene.precedence()),
        pdi: Some(scene.pdi(direction)),
        far_id: Some(Edit::Set(scene.far_id(direction))),
        urr_id: scene.urr_ids(direction).map(Edit::Set).collect(),
        qer_id: qers.map(Edit::Set).collect(),
        ..UpdatePdr::default()
    };
    put(w, IeType::UPDATE_PDR, &pdr)
}

/// The downlink rules, now that the gNB is known.
fn write_downlink(w: &mut Writer<'_>, scene: &EncodeContext<'_>, gnb: Tunnel) -> Result<(), Full> {
    let direction = Direction::Downlink;
    put(w, IeType::CREATE_PDR, &scene.pdr(direction))?;
    let mut far = scene.far(direction);
    far.apply_action = scene.action(ApplyAction::FORW);
    far.forwarding_parameters = Some(scene.parameters(direction, Some(gnb), scene.plan.qfi));
    put(w, IeType::CREATE_FAR, &far)?;
    let mut qers = scene.qers(Some(direction)).into_iter();
    qers.try_for_each(|qer| put(w, IeType::CREATE_QER, &qer))
}

fn write_uplink(w: &mut Writer<'_>, scene: &EncodeContext<'_>) -> Result<(), Full> {
    let direction = Direction::Uplink;
    put(w, IeType::CREATE_PDR, &scene.pdr(direction))?;
    put(w, IeType::CREATE_FAR, &scene.far(direction))?;
    write_urrs(w, scene)?;
    let mut qers = scene.qers(Some(direction)).into_iter();
    qers.try_for_each(|qer| put(w, IeType::CREATE_QER, &qer))
}

/// The downlink rules are there if the gNB was known.
fn write_removal(
    w: &mut Writer<'_>,
    scene: &EncodeContext<'_>,
    connected: bool,
) -> Result<(), Full> {
    let directions: &[Direction] = match connected {
        true => &[Direction::Uplink, Direction::Downlink],
        false => &[Direction::Uplink],
    };
    for pdr_id in directions.iter().map(|direction| scene.pdr_id(*direction)) {
        put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id })?;
    }
    for far_id in directions.iter().map(|direction| scene.far_id(*direction)) {
        put(w, IeType::REMOVE_FAR, &RemoveFar { far_id })?;
    }
    let mut qers = directions
        .iter()
        .flat_map(|direction| scene.qers_of(*direction));
    qers.try_for_each(|qer_id| put(w, IeType::REMOVE_QER, &RemoveQer { qer_id }))
}
