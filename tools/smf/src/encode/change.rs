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

impl EncodeContext<'_> {
    /// Writes the IEs of a Session Modification Request; `gnb` is the tunnel in use.
    pub(crate) fn write_step(
        &self,
        w: &mut Writer<'_>,
        gnb: Option<Tunnel>,
        step: SessionChange,
    ) -> Result<(), Full> {
        if self.profile.cp_f_seid.in_modification {
            put(w, IeType::F_SEID, &self.cp_f_seid())?;
        }
        match step {
            SessionChange::Connect { gnb, end_marker } => self.write_connect(w, gnb, end_marker),
            SessionChange::SwitchPath { gnb } => self.write_path_switch(w, gnb),
            SessionChange::Buffer => self.write_buffer(w, gnb),
            SessionChange::Drop => self.write_update_fars(w, ApplyAction::DROP, None),
            SessionChange::RemoveRules => self.write_removal(w, gnb.is_some()),
            SessionChange::MakeUplink => self.write_uplink(w),
            SessionChange::AddFlow => write_flow(w, self),
            SessionChange::Grant(octets) => {
                let grant = |urr_id| UpdateUrr {
                    urr_id,
                    volume_quota: Some(Edit::Set(total(octets))),
                    ..UpdateUrr::default()
                };
                let mut urrs = self.urr_styles();
                urrs.try_for_each(|(urr_id, _)| put(w, IeType::UPDATE_URR, &grant(urr_id)))
            }
            SessionChange::Query => {
                let urrs = self.urr_styles().map(|(urr_id, _)| urr_id);
                let mut urrs = urrs.chain(self.own_flow_urr_ids());
                urrs.try_for_each(|urr_id| put(w, IeType::QUERY_URR, &QueryUrr { urr_id }))
            }
        }
    }

    /// Writes the IEs of a Session Deletion Request.
    pub(crate) fn write_deletion(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        match self.profile.cp_f_seid.in_deletion {
            true => put(w, IeType::F_SEID, &self.cp_f_seid()),
            false => Ok(()),
        }
    }

    fn write_connect(&self, w: &mut Writer<'_>, gnb: Tunnel, end_marker: bool) -> Result<(), Full> {
        match self.profile.change.first_gnb {
            FirstGnb::CreateRules => return self.write_downlink(w, gnb),
            FirstGnb::UpdateFarAndPdr => {
                let qers = self.qers_of(Direction::Downlink);
                self.write_update_pdr(w, Direction::Downlink, qers.into_iter())?;
            }
            FirstGnb::UpdateFarAndPdrs => self.write_update_pdrs(w)?,
            FirstGnb::UpdateFar => {}
        }
        let parameters = self.with_flags(self.new_parameters(Some(gnb)), end_marker);
        self.write_update_fars(w, ApplyAction::FORW, Some(&parameters))
    }

    fn write_path_switch(&self, w: &mut Writer<'_>, gnb: Tunnel) -> Result<(), Full> {
        let end_marker = match self.profile.change.path_switch {
            PathSwitch::EndMarker => true,
            PathSwitch::UpdatePdrToo => {
                self.write_update_pdr(w, Direction::Downlink, std::iter::empty())?;
                false
            }
        };
        let parameters = self.with_flags(self.new_parameters(Some(gnb)), end_marker);
        self.write_update_fars(w, ApplyAction::FORW, Some(&parameters))
    }

    fn write_buffer(&self, w: &mut Writer<'_>, gnb: Option<Tunnel>) -> Result<(), Full> {
        let repeats = match self.profile.change.idle {
            Idle::Buffer { repeats, .. } => repeats,
            Idle::Remove => Repeats::Nothing,
        };
        let parameters = match repeats {
            Repeats::Nothing => None,
            Repeats::WithoutTunnel => Some(self.with_flags(self.new_parameters(None), false)),
            Repeats::Everything => Some(self.with_flags(self.new_parameters(gnb), false)),
        };
        let action = ApplyAction::BUFF | ApplyAction::NOCP;
        self.write_update_fars(w, action, parameters.as_ref())
    }

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

    /// Update FAR of the downlink, of the session and of its flow.
    fn write_update_fars(
        &self,
        w: &mut Writer<'_>,
        action: ApplyAction,
        parameters: Option<&UpdateForwardingParameters<'_>>,
    ) -> Result<(), Full> {
        let mut fars = self.downlink_fars().into_iter();
        fars.try_for_each(|(far_id, flow)| {
            let marked = parameters.map(|parameters| UpdateForwardingParameters {
                transport_level_marking: self.marking(flow).map(Edit::Set),
                ..parameters.clone()
            });
            self.write_update_far(w, far_id, action, marked.as_ref())
        })
    }

    fn write_update_far(
        &self,
        w: &mut Writer<'_>,
        far_id: FarId,
        action: ApplyAction,
        parameters: Option<&UpdateForwardingParameters<'_>>,
    ) -> Result<(), Full> {
        w.ie(IeType::UPDATE_FAR, |w| {
            put(w, IeType::FAR_ID, &far_id)?;
            put(w, IeType::APPLY_ACTION, &self.action(action))?;
            if let Some(parameters) = parameters {
                put(w, self.profile.change.parameters_ie, parameters)?;
            }
            match self.bar_id(action) {
                Some(bar_id) => put(w, IeType::BAR_ID, &bar_id),
                None => Ok(()),
            }
        })
    }

    fn write_update_pdrs(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        let directions = [Direction::Uplink, Direction::Downlink];
        for direction in directions {
            self.write_update_pdr(w, direction, self.qers_of(direction).into_iter())?;
        }
        let flow = self.plan.flow.as_ref().filter(|_| self.has_flow());
        let mut flows = flow
            .into_iter()
            .flat_map(|flow| directions.map(|one| (flow, one)));
        flows.try_for_each(|(flow, direction)| self.write_update_flow_pdr(w, direction, flow))
    }

    fn write_update_flow_pdr(
        &self,
        w: &mut Writer<'_>,
        direction: Direction,
        flow: &Flow,
    ) -> Result<(), Full> {
        let description = self.description(direction, flow);
        let pdr = UpdatePdr {
            pdr_id: self.flow_pdr_id(direction),
            outer_header_removal: self.removal_again(direction),
            precedence: Some(flow.precedence),
            pdi: Some(self.flow_pdi(direction, flow, &description)),
            far_id: Some(Edit::Set(self.flow_far_id(direction))),
            urr_id: self.flow_urr_ids(direction).map(Edit::Set).collect(),
            qer_id: self.flow_qers().into_iter().map(Edit::Set).collect(),
            ..UpdatePdr::default()
        };
        put(w, IeType::UPDATE_PDR, &pdr)
    }

    /// Update PDR of one direction, with what it was.
    fn write_update_pdr(
        &self,
        w: &mut Writer<'_>,
        direction: Direction,
        qers: impl Iterator<Item = QerId>,
    ) -> Result<(), Full> {
        let pdr = UpdatePdr {
            outer_header_removal: self.removal_again(direction),
            pdr_id: self.pdr_id(direction),
            precedence: Some(self.precedence()),
            pdi: Some(self.pdi(direction)),
            far_id: Some(Edit::Set(self.far_id(direction))),
            urr_id: self.urr_ids(direction).map(Edit::Set).collect(),
            qer_id: qers.map(Edit::Set).collect(),
            ..UpdatePdr::default()
        };
        put(w, IeType::UPDATE_PDR, &pdr)
    }

    /// The downlink rules, now that the gNB is known.
    fn write_downlink(&self, w: &mut Writer<'_>, gnb: Tunnel) -> Result<(), Full> {
        let direction = Direction::Downlink;
        put(w, IeType::CREATE_PDR, &self.pdr(direction))?;
        let mut far = self.far(direction);
        far.apply_action = self.action(ApplyAction::FORW);
        far.forwarding_parameters = Some(self.parameters(direction, Some(gnb), self.plan.qfi));
        put(w, IeType::CREATE_FAR, &far)?;
        let mut qers = self.qers(Some(direction)).into_iter();
        qers.try_for_each(|qer| put(w, IeType::CREATE_QER, &qer))
    }

    fn write_uplink(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        let direction = Direction::Uplink;
        put(w, IeType::CREATE_PDR, &self.pdr(direction))?;
        put(w, IeType::CREATE_FAR, &self.far(direction))?;
        write_urrs(w, self)?;
        let mut qers = self.qers(Some(direction)).into_iter();
        qers.try_for_each(|qer| put(w, IeType::CREATE_QER, &qer))
    }

    /// The downlink rules are there if the gNB was known.
    fn write_removal(&self, w: &mut Writer<'_>, connected: bool) -> Result<(), Full> {
        let directions: &[Direction] = match connected {
            true => &[Direction::Uplink, Direction::Downlink],
            false => &[Direction::Uplink],
        };
        for pdr_id in directions.iter().map(|direction| self.pdr_id(*direction)) {
            put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id })?;
        }
        for far_id in directions.iter().map(|direction| self.far_id(*direction)) {
            put(w, IeType::REMOVE_FAR, &RemoveFar { far_id })?;
        }
        let mut qers = directions
            .iter()
            .flat_map(|direction| self.qers_of(*direction));
        qers.try_for_each(|qer_id| put(w, IeType::REMOVE_QER, &RemoveQer { qer_id }))
    }
}
