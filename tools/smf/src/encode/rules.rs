//! PDRs, FARs and URRs of a session, each as the dialect wants it.

use sluice_wire::ids::{BarId, FarId, Precedence, Qfi, UrrId};
use sluice_wire::pfcp::group::{
    CreateFar, CreatePdr, ForwardingParameters, Pdi, UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, DestinationInterface, DroppedDlTrafficThreshold, Edit, FTeid, OuterHeaderRemoval,
    OuterHeaderRemovalDescription, ReportingTriggers, SdfFilter, Seconds, SourceInterface, Text,
    TransportLevelMarking, Volume,
};
use sluice_wire::pfcp::{Full, IeType, Writer};

use super::context::{Direction, EncodeContext, put, put_some};
use crate::dialect::profile::{BeforeGnb, UrrStyle};
use crate::{SessionPlan, Tunnel, UplinkTeid};

impl<'a> EncodeContext<'a> {
    pub(super) fn pdr(&self, direction: Direction) -> CreatePdr<'a> {
        let uplink = direction == Direction::Uplink;
        CreatePdr {
            pdr_id: self.pdr_id(direction),
            precedence: self.precedence(),
            pdi: self.pdi(direction),
            outer_header_removal: uplink.then(|| self.outer_header_removal()),
            far_id: Some(self.far_id(direction)),
            urr_id: self.urr_ids(direction).collect(),
            qer_id: self.qers_of(direction).into_iter().collect(),
            ..CreatePdr::default()
        }
    }

    /// As the dialect says it, and of an IPv6 tunnel that it is one.
    fn outer_header_removal(&self) -> OuterHeaderRemoval {
        let is_ipv6 = match self.plan.uplink {
            UplinkTeid::ChosenByUp => false,
            UplinkTeid::ChosenByUpAtIpv6 => true,
            UplinkTeid::ChosenByCp(tunnel) => tunnel.address.is_ipv6(),
        };
        let of_dialect = self.profile.pdr.outer_header_removal;
        let description = match of_dialect.description {
            OuterHeaderRemovalDescription::GTPU_UDP_IPV4 if is_ipv6 => {
                OuterHeaderRemovalDescription::GTPU_UDP_IPV6
            }
            as_it_is => as_it_is,
        };
        OuterHeaderRemoval {
            description,
            ..of_dialect
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
            application_id: self
                .plan
                .application
                .as_ref()
                .map(|name| Text(name.as_bytes())),
            ..Pdi::default()
        };
        if pdi.application_id.is_none() {
            pdi.sdf_filter.extend(flow);
        }
        let destination = match direction {
            Direction::Uplink => {
                pdi.source_interface = SourceInterface::ACCESS;
                pdi.local_f_teid = Some(self.uplink_f_teid(self.profile.f_teid.choose_id));
                let named = style.uplink_qfi && self.plan.container;
                pdi.qfi.extend(named.then_some(self.plan.qfi));
                pdi.source_interface_type = style.uplink_type;
                style.uplink_ue_address.then_some(false)
            }
            Direction::Downlink => {
                pdi.source_interface = SourceInterface::CORE;
                pdi.source_interface_type = style.downlink_type;
                for route in &self.plan.framed_routes {
                    let list = match route.contains(':') {
                        true => &mut pdi.framed_ipv6_route,
                        false => &mut pdi.framed_route,
                    };
                    list.push(Text(route.as_bytes()));
                }
                Some(style.destination_flag)
            }
        };
        let with = (style.interface_identifier, self.plan.ipv6_prefix_bits);
        let ue = destination.map(|is| self.plan.ue.element(is, with.0, with.1));
        pdi.ue_ip_address.extend(ue);
        pdi
    }

    pub(super) fn uplink_f_teid(&self, choose_id: Option<u8>) -> FTeid {
        match self.plan.uplink {
            UplinkTeid::ChosenByCp(tunnel) => tunnel.f_teid(),
            UplinkTeid::ChosenByUpAtIpv6 => FTeid::Choose {
                ipv4: false,
                ipv6: true,
                choose_id,
            },
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

    /// The FAR of a direction of the session's default flow.
    pub(super) fn far(&self, direction: Direction) -> CreateFar<'a> {
        self.far_of(direction, self.far_id(direction), self.plan.qfi)
    }

    pub(super) fn far_of(&self, direction: Direction, far_id: FarId, flow: Qfi) -> CreateFar<'a> {
        let mut far = CreateFar {
            far_id,
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
            far.forwarding_parameters = Some(self.parameters(direction, gnb, flow));
        }
        far.bar_id = self.bar_id(action);
        far
    }

    pub(super) fn parameters(
        &self,
        direction: Direction,
        gnb: Option<Tunnel>,
        flow: Qfi,
    ) -> ForwardingParameters<'a> {
        let style = &self.profile.far;
        let transport_level_marking = self.marking(flow);
        let name = Some(self.destination_name(direction));
        match direction {
            Direction::Uplink => ForwardingParameters {
                destination_interface: style.uplink_destination,
                network_instance: name,
                destination_interface_type: style.uplink_type,
                transport_level_marking,
                ..ForwardingParameters::default()
            },
            Direction::Downlink => ForwardingParameters {
                destination_interface: DestinationInterface::ACCESS,
                network_instance: name.filter(|_| gnb.is_some()),
                outer_header_creation: gnb.map(Tunnel::outer_header),
                destination_interface_type: style.downlink_type,
                transport_level_marking,
                ..ForwardingParameters::default()
            },
        }
    }

    /// The marking of a flow's outer headers, if the dialect has one.
    pub(super) fn marking(&self, flow: Qfi) -> Option<TransportLevelMarking> {
        let dscp = self.profile.far.dscp_of(flow);
        dscp.map(TransportLevelMarking::dscp)
    }

    /// The downlink's parameters in an Update FAR, but for the flow's marking.
    pub(super) fn new_parameters(&self, gnb: Option<Tunnel>) -> UpdateForwardingParameters<'a> {
        let name = self.destination_name(Direction::Downlink);
        UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface::ACCESS),
            network_instance: self
                .profile
                .change
                .network_instance
                .then_some(Edit::Set(name)),
            outer_header_creation: gnb.map(Tunnel::outer_header).map(Edit::Set),
            destination_interface_type: self.profile.far.downlink_type,
            ..UpdateForwardingParameters::default()
        }
    }

    /// The BAR that a FAR with this action names.
    pub(super) fn bar_id(&self, action: ApplyAction) -> Option<BarId> {
        let bar = self.profile.bar.as_ref();
        let bar = bar.filter(|bar| bar.named_by_far && action.contains(ApplyAction::BUFF));
        bar.map(|bar| bar.bar_id)
    }

    pub(super) fn action(&self, action: ApplyAction) -> ApplyAction {
        if self.profile.far.two_octet_action {
            action
        } else {
            action.in_one_octet()
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
}

/// Writes one URR, with what the plan asks of those of the session.
pub(super) fn write_urr(
    w: &mut Writer<'_>,
    urr_id: UrrId,
    style: &UrrStyle,
    plan: Option<&SessionPlan>,
) -> Result<(), Full> {
    let quota_octets = plan.and_then(|plan| plan.quota_octets);
    let lost_packets = plan.and_then(|plan| plan.lost_packets);
    let threshold = plan.and_then(|plan| plan.threshold_octets);
    let period_s = plan.and_then(|plan| plan.report_period_s);
    let asked = [
        (quota_octets.is_some(), ReportingTriggers::VOLQU),
        (threshold.is_some(), ReportingTriggers::VOLTH),
        (period_s.is_some(), ReportingTriggers::PERIO),
        (lost_packets.is_some(), ReportingTriggers::DROTH),
    ];
    let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
    let told = asked.fold(style.triggers, |all, (_, trigger)| all | trigger);
    let lost = lost_packets.map(|packets| DroppedDlTrafficThreshold {
        downlink_packets: Some(packets),
        downlink_octets: None,
    });
    let [t5, t6, t7, _] = told.0.to_le_bytes();
    let triggers: &[u8] = if style.two_octet_triggers {
        &[t5, t6]
    } else {
        &[t5, t6, t7]
    };
    w.ie(IeType::CREATE_URR, |w| {
        put(w, IeType::URR_ID, &urr_id)?;
        put(w, IeType::MEASUREMENT_METHOD, &style.method)?;
        put(w, IeType::REPORTING_TRIGGERS, &triggers)?;
        let period = period_s.or(style.period_s).map(Seconds);
        put_some(w, IeType::MEASUREMENT_PERIOD, &period)?;
        let threshold = threshold.map(total).or(style.volume_threshold);
        put_some(w, IeType::VOLUME_THRESHOLD, &threshold)?;
        put_some(w, IeType::VOLUME_QUOTA, &quota_octets.map(total))?;
        put_some(w, IeType::DROPPED_DL_TRAFFIC_THRESHOLD, &lost)?;
        put_some(
            w,
            IeType::TIME_THRESHOLD,
            &style.time_threshold_s.map(Seconds),
        )?;
        put_some(w, IeType::MEASUREMENT_INFORMATION, &style.information)
    })
}

/// Octets of both directions together.
pub(super) fn total(octets: u64) -> Volume {
    Volume {
        total: Some(octets),
        ..Volume::default()
    }
}
