//! The rules of a session, each as the dialect wants it.

use arrayvec::ArrayVec;
use sluice_wire::ids::{Precedence, QerId, Qfi, Teid, UrrId};
use sluice_wire::pfcp::group::{
    CreateFar, CreatePdr, CreateQer, CreateUrr, ForwardingParameters, Pdi,
    UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, BitRate, DestinationInterface, Edit, FTeid, OuterHeaderCreation, SdfFilter,
    Seconds, SourceInterface, UeIpAddress,
};

use super::scene::{Direction, Scene};
use crate::dialect::profile::{BeforeGnb, QerStyle, UrrStyle};
use crate::{Tunnel, UplinkTeid};

/// Precedence of Open5GS's channels between UE and CP function.
const CHANNEL_PRECEDENCE: Precedence = Precedence(255);
/// What the UE sends to the CP function: router solicitations.
const ROUTER_SOLICITATION: &[u8] = b"permit out 58 from ff02::2/128 to assigned";

/// QERs or their numbers: two at most.
pub(super) type Pair<T> = ArrayVec<T, 2>;

impl<'a> Scene<'a> {
    pub(super) fn pdr(&self, direction: Direction) -> CreatePdr<'a> {
        let uplink = direction == Direction::Uplink;
        CreatePdr {
            pdr_id: self.pdr_id(direction),
            precedence: self.precedence(),
            pdi: self.pdi(direction),
            outer_header_removal: uplink.then_some(self.profile.pdr.outer_header_removal),
            far_id: Some(self.far_id(direction)),
            urr_id: self.urr_ids(direction).collect(),
            qer_id: self.qers_of(direction).into_iter().collect(),
            ..CreatePdr::default()
        }
    }

    pub(super) fn precedence(&self) -> Precedence {
        Precedence(self.profile.pdr.precedence.0 + self.generation)
    }

    pub(super) fn pdi(&self, direction: Direction) -> Pdi<'a> {
        let style = &self.profile.pdr;
        let flow = style
            .flow_description
            .map(|text| SdfFilter::flow(text.as_bytes()));
        let mut pdi = Pdi {
            network_instance: Some(self.source_name(direction)),
            sdf_filter: flow.into_iter().collect(),
            ..Pdi::default()
        };
        let destination = match direction {
            Direction::Uplink => {
                pdi.source_interface = SourceInterface::ACCESS;
                pdi.local_f_teid = Some(self.uplink_f_teid(self.profile.f_teid.choose_id));
                pdi.qfi.extend(style.uplink_qfi.then_some(self.plan.qfi));
                pdi.source_interface_type = style.uplink_type;
                false
            }
            Direction::Downlink => {
                pdi.source_interface = SourceInterface::CORE;
                pdi.source_interface_type = style.downlink_type;
                style.destination_flag
            }
        };
        pdi.ue_ip_address
            .push(UeIpAddress::v4(self.plan.ue_ipv4, destination));
        pdi
    }

    fn uplink_f_teid(&self, choose_id: Option<u8>) -> FTeid {
        match self.plan.uplink {
            UplinkTeid::ChosenByCp(Tunnel { teid, ipv4 }) => FTeid::v4(teid, ipv4),
            UplinkTeid::ChosenByUp => {
                let ipv6 = self.profile.f_teid.choose_ipv6;
                FTeid::Choose {
                    ipv4: true,
                    ipv6,
                    choose_id,
                }
            }
        }
    }

    pub(super) fn far(&self, direction: Direction) -> CreateFar<'a> {
        let mut far = CreateFar {
            far_id: self.far_id(direction),
            ..CreateFar::default()
        };
        let gnb = self.plan.gnb;
        let (action, forwards) = match (direction, gnb, self.profile.far.before_gnb) {
            (Direction::Uplink, ..) | (_, Some(_), _) | (_, _, BeforeGnb::ForwardWithoutTunnel) => {
                (ApplyAction::FORW, true)
            }
            (_, None, BeforeGnb::Buffer) => (ApplyAction::BUFF | ApplyAction::NOCP, false),
            (_, None, BeforeGnb::Drop | BeforeGnb::Absent) => (ApplyAction::DROP, false),
        };
        far.apply_action = self.action(action);
        if forwards {
            far.forwarding_parameters = Some(self.parameters(direction, gnb));
        }
        if action.contains(ApplyAction::BUFF) {
            far.bar_id = self.profile.bar;
        }
        far
    }

    pub(super) fn parameters(
        &self,
        direction: Direction,
        gnb: Option<Tunnel>,
    ) -> ForwardingParameters<'a> {
        let style = &self.profile.far;
        let name = Some(self.destination_name(direction));
        match direction {
            Direction::Uplink => ForwardingParameters {
                destination_interface: style.uplink_destination,
                network_instance: name,
                destination_interface_type: style.uplink_type,
                ..ForwardingParameters::default()
            },
            Direction::Downlink => ForwardingParameters {
                destination_interface: DestinationInterface::ACCESS,
                network_instance: name.filter(|_| gnb.is_some()),
                outer_header_creation: gnb.map(outer_header),
                destination_interface_type: style.downlink_type,
                ..ForwardingParameters::default()
            },
        }
    }

    /// The downlink's parameters in an Update FAR.
    pub(super) fn new_parameters(&self, gnb: Option<Tunnel>) -> UpdateForwardingParameters<'a> {
        let name = self.destination_name(Direction::Downlink);
        UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface::ACCESS),
            network_instance: self
                .profile
                .change
                .network_instance
                .then_some(Edit::Set(name)),
            outer_header_creation: gnb.map(outer_header).map(Edit::Set),
            destination_interface_type: self.profile.far.downlink_type,
            ..UpdateForwardingParameters::default()
        }
    }

    pub(super) fn action(&self, action: ApplyAction) -> ApplyAction {
        if self.profile.far.two_octet_action {
            action
        } else {
            action.in_one_octet()
        }
    }

    /// The QERs of the session; those of one direction where they differ.
    pub(super) fn qers(&self, direction: Option<Direction>) -> Pair<CreateQer<'a>> {
        let [first, second] = self.qer_ids();
        let (ambr, qfi, flow_mbr) = (self.plan.ambr, Some(self.plan.qfi), self.plan.flow_mbr);
        match self.profile.qer {
            QerStyle::SessionAndFlow {
                session_qfi_0,
                correlated,
                ..
            } => {
                let mut session = self.qer(first, ambr, Qfi::new(0).filter(|_| session_qfi_0));
                // One number for all sessions of a UE; here each UE has one session.
                session.qer_correlation_id = correlated.then_some(self.plan.ue_ipv4.to_bits());
                [session, self.qer(second, flow_mbr, qfi)].into()
            }
            QerStyle::Merged { flow_apart } => {
                let flow = flow_mbr.filter(|_| flow_apart);
                let flow = flow.map(|mbr| self.qer(second, Some(mbr), qfi));
                std::iter::once(self.qer(first, ambr, qfi))
                    .chain(flow)
                    .collect()
            }
            QerStyle::PerDirection => {
                let rate = flow_mbr.or(ambr);
                let uplink = rate.map(|rate| BitRate {
                    downlink_kbps: 0,
                    ..rate
                });
                let downlink = rate.map(|rate| BitRate {
                    uplink_kbps: 0,
                    ..rate
                });
                let is = |one| direction.is_none_or(|wanted| wanted == one);
                let uplink = is(Direction::Uplink).then(|| self.qer(first, uplink, qfi));
                let downlink = is(Direction::Downlink).then(|| self.qer(second, downlink, qfi));
                uplink.into_iter().chain(downlink).collect()
            }
        }
    }

    fn qer(&self, qer_id: QerId, mbr: Option<BitRate>, qfi: Option<Qfi>) -> CreateQer<'a> {
        CreateQer {
            qer_id,
            gate_status: self.plan.gates,
            maximum_bitrate: mbr,
            qos_flow_identifier: qfi,
            ..CreateQer::default()
        }
    }

    /// The QERs that the PDR of a direction names, in its order.
    pub(super) fn qers_of(&self, direction: Direction) -> Pair<QerId> {
        let [first, second] = self.qer_ids();
        match (self.profile.qer, direction) {
            (
                QerStyle::SessionAndFlow {
                    flow_first: true, ..
                },
                _,
            ) => [second, first].into(),
            (QerStyle::SessionAndFlow { .. }, _) => [first, second].into(),
            (QerStyle::Merged { flow_apart }, _) => {
                let flow = self.plan.flow_mbr.filter(|_| flow_apart).map(|_| second);
                flow.into_iter().chain([first]).collect()
            }
            (QerStyle::PerDirection, Direction::Uplink) => [first].into_iter().collect(),
            (QerStyle::PerDirection, Direction::Downlink) => [second].into_iter().collect(),
        }
    }

    /// The URRs of the session with their numbers; none if it is not measured.
    pub(super) fn urr_styles(&self) -> impl Iterator<Item = (UrrId, &'static UrrStyle)> {
        let styles = if self.plan.measured {
            self.profile.urr
        } else {
            &[]
        };
        let scene = *self;
        styles
            .iter()
            .enumerate()
            .map(move |(index, style)| (scene.urr_id(index), style))
    }

    pub(super) fn urr_ids(&self, direction: Direction) -> impl Iterator<Item = UrrId> {
        let counts = move |style: &UrrStyle| match direction {
            Direction::Uplink => style.of_uplink,
            Direction::Downlink => style.of_downlink,
        };
        self.urr_styles()
            .filter(move |(_, style)| counts(style))
            .map(|(id, _)| id)
    }

    /// Open5GS's pair of PDRs between UE and CP function: CP to UE, UE to CP.
    pub(super) fn channel_pdrs(&self) -> [CreatePdr<'a>; 2] {
        let [to_ue, to_cp] = self.channel_pdr_ids();
        let removal = Some(self.profile.pdr.outer_header_removal);
        let from_cp = CreatePdr {
            pdr_id: to_ue,
            precedence: CHANNEL_PRECEDENCE,
            pdi: Pdi {
                source_interface: SourceInterface::CP_FUNCTION,
                local_f_teid: Some(self.channel_f_teid()),
                ..Pdi::default()
            },
            outer_header_removal: removal,
            far_id: Some(self.far_id(Direction::Downlink)),
            ..CreatePdr::default()
        };
        let from_ue = CreatePdr {
            pdr_id: to_cp,
            precedence: CHANNEL_PRECEDENCE,
            pdi: Pdi {
                source_interface: SourceInterface::ACCESS,
                local_f_teid: Some(self.uplink_f_teid(self.profile.f_teid.choose_id)),
                network_instance: Some(self.source_name(Direction::Uplink)),
                sdf_filter: std::iter::once(SdfFilter::flow(ROUTER_SOLICITATION)).collect(),
                source_interface_type: self.profile.pdr.uplink_type,
                ..Pdi::default()
            },
            outer_header_removal: removal,
            far_id: Some(self.channel_far_id()),
            ..CreatePdr::default()
        };
        [from_cp, from_ue]
    }

    /// Where the CP function's own packets for the UE arrive: an endpoint of its own.
    fn channel_f_teid(&self) -> FTeid {
        match (self.uplink_f_teid(None), self.plan.uplink) {
            (FTeid::Assigned { .. }, UplinkTeid::ChosenByCp(tunnel)) => {
                // Another TEID than that of the UE; 0 cannot come out of it.
                let teid = Teid::new(tunnel.teid.get() ^ 0x8000_0000).unwrap_or(tunnel.teid);
                FTeid::v4(teid, tunnel.ipv4)
            }
            (choose, _) => choose,
        }
    }

    /// Sends the UE's router solicitations to the CP function.
    pub(super) fn channel_far(&self) -> CreateFar<'a> {
        let teid = Teid::new(self.cp_seid.0 as u32);
        let header = teid.map(|teid| OuterHeaderCreation::gtpu_v4(teid, self.cp.ipv4));
        CreateFar {
            far_id: self.channel_far_id(),
            apply_action: self.action(ApplyAction::FORW),
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: DestinationInterface::CP_FUNCTION,
                outer_header_creation: header,
                ..ForwardingParameters::default()
            }),
            ..CreateFar::default()
        }
    }
}

/// One URR.
pub(super) fn urr(urr_id: UrrId, style: &UrrStyle) -> CreateUrr<'static> {
    CreateUrr {
        urr_id,
        measurement_method: style.method,
        reporting_triggers: style.triggers,
        measurement_period: style.period_s.map(Seconds),
        volume_threshold: style.volume_threshold,
        time_threshold: style.time_threshold_s.map(Seconds),
        measurement_information: style.information,
        ..CreateUrr::default()
    }
}

fn outer_header(gnb: Tunnel) -> OuterHeaderCreation {
    OuterHeaderCreation::gtpu_v4(gnb.teid, gnb.ipv4)
}
