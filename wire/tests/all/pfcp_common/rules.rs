//! Rules with every IE.

use std::net::{Ipv4Addr, Ipv6Addr};

use sluice_wire::ids::*;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::value::*;

pub const UE_V4: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
pub const PEER_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const PEER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
pub const VOLUME: Volume = Volume {
    total: Some(3000),
    uplink: Some(1000),
    downlink: Some(2000),
};
pub const FLOW: &[u8] = b"permit out ip from 198.51.100.0/24 to assigned";

pub fn teid() -> Teid {
    Teid::new(0x0a0b_0c0d).unwrap()
}

pub fn qfi() -> Qfi {
    Qfi::new(9).unwrap()
}

pub fn both_versions() -> FTeid {
    FTeid::Assigned {
        teid: teid(),
        ipv4: Some(PEER_V4),
        ipv6: Some(PEER_V6),
    }
}

fn sdf_filter() -> SdfFilter<'static> {
    SdfFilter {
        flow_description: Some(FLOW),
        tos_traffic_class: Some([0xb8, 0xfc]),
        security_parameter_index: Some(0x0102_0304),
        flow_label: Some(0x0a_bcde),
        sdf_filter_id: Some(5),
    }
}

fn ue_ipv6() -> UeIpAddress {
    UeIpAddress {
        ipv6_prefix_delegation_bits: Some(8),
        ..UeIpAddress::v6(PEER_V6, false)
    }
}

pub fn pdi() -> Pdi<'static> {
    Pdi {
        source_interface: SourceInterface::ACCESS,
        local_f_teid: Some(both_versions()),
        network_instance: Some(Name(b"\x08internet")),
        ue_ip_address: [UeIpAddress::v4(UE_V4, false), ue_ipv6()]
            .into_iter()
            .collect(),
        traffic_endpoint_id: [7].into_iter().collect(),
        sdf_filter: [SdfFilter::flow(FLOW), sdf_filter()].into_iter().collect(),
        application_id: Some(Text(b"video")),
        ethernet_pdu_session_information: Some(&[1]),
        ethernet_packet_filter: [&[0, 138, 0, 4, 0, 0, 0, 1][..]].into_iter().collect(),
        qfi: [qfi(), Qfi::new(5).unwrap()].into_iter().collect(),
        framed_route: [Text(b"203.0.113.0/24 0.0.0.0 1")].into_iter().collect(),
        framed_routing: Some(1),
        framed_ipv6_route: [Text(b"2001:db8:1::/48 :: 1")].into_iter().collect(),
        source_interface_type: Some(InterfaceType::N3_3GPP_ACCESS),
    }
}

pub fn create_pdr() -> CreatePdr<'static> {
    CreatePdr {
        pdr_id: PdrId(1),
        precedence: Precedence(255),
        pdi: pdi(),
        outer_header_removal: Some(OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IP,
            gtpu_extension_header_deletion: Some(1),
        }),
        far_id: Some(FarId(2)),
        urr_id: [UrrId(3), UrrId(4)].into_iter().collect(),
        qer_id: [QerId(5), QerId(6)].into_iter().collect(),
        activate_predefined_rules: [Text(b"rule-a")].into_iter().collect(),
        activation_time: Some(NtpTime(0xe000_0000)),
        deactivation_time: Some(NtpTime(0xe000_0100)),
        mar_id: Some(7),
        packet_replication_and_detection_carry_on_information: Some(&[8]),
        ue_ip_address_pool_identity: [UeIpAddressPoolIdentity(b"pool-a")].into_iter().collect(),
    }
}

pub fn update_pdr() -> UpdatePdr<'static> {
    UpdatePdr {
        pdr_id: PdrId(1),
        outer_header_removal: Some(Edit::Set(OuterHeaderRemoval::GTPU_UDP_IP)),
        precedence: Some(Precedence(100)),
        pdi: Some(pdi()),
        far_id: Some(Edit::Set(FarId(2))),
        urr_id: [Edit::Set(UrrId(3))].into_iter().collect(),
        qer_id: [Edit::Set(QerId(5))].into_iter().collect(),
        activate_predefined_rules: [Text(b"rule-b")].into_iter().collect(),
        deactivate_predefined_rules: [Text(b"rule-a")].into_iter().collect(),
        activation_time: Some(Edit::Set(NtpTime(0xe000_0000))),
        deactivation_time: Some(Edit::Set(NtpTime(0xe000_0100))),
    }
}

const URL: RedirectInformation<'static> = RedirectInformation {
    address_type: RedirectAddressType::URL,
    server_address: b"http://portal.example",
    other_server_address: None,
    port: None,
};
const ENRICHMENT: HeaderEnrichment<'static> = HeaderEnrichment {
    header_type: 0,
    name: b"x-slice",
    value: b"one",
};
const POLICY: ForwardingPolicy<'static> = ForwardingPolicy {
    identifier: b"policy-a",
};

pub fn forwarding_parameters() -> ForwardingParameters<'static> {
    ForwardingParameters {
        destination_interface: DestinationInterface::ACCESS,
        network_instance: Some(Name(b"\x02n3")),
        redirect_information: Some(URL),
        outer_header_creation: Some(OuterHeaderCreation::gtpu_v4(teid(), PEER_V4)),
        transport_level_marking: Some(TransportLevelMarking::dscp(46)),
        forwarding_policy: Some(POLICY),
        header_enrichment: [ENRICHMENT].into_iter().collect(),
        linked_traffic_endpoint_id: Some(8),
        proxying: Some(&[1]),
        destination_interface_type: Some(InterfaceType::N9),
        data_network_access_identifier: Some(b"edge"),
    }
}

fn duplicating_parameters() -> DuplicatingParameters<'static> {
    DuplicatingParameters {
        destination_interface: DestinationInterface::LI_FUNCTION,
        outer_header_creation: Some(OuterHeaderCreation::gtpu_v6(teid(), PEER_V6)),
        transport_level_marking: Some(TransportLevelMarking::dscp(8)),
        forwarding_policy: Some(POLICY),
    }
}

pub fn create_far() -> CreateFar<'static> {
    CreateFar {
        far_id: FarId(2),
        apply_action: ApplyAction::FORW | ApplyAction::DUPL,
        forwarding_parameters: Some(forwarding_parameters()),
        duplicating_parameters: [duplicating_parameters()].into_iter().collect(),
        bar_id: Some(BarId(1)),
        redundant_transmission_forwarding_parameters: Some(&[]),
    }
}

pub fn buffering_far() -> CreateFar<'static> {
    let apply_action = (ApplyAction::BUFF | ApplyAction::NOCP).in_one_octet();
    CreateFar {
        far_id: FarId(3),
        apply_action,
        ..CreateFar::default()
    }
}

pub fn update_far() -> UpdateFar<'static> {
    UpdateFar {
        far_id: FarId(2),
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface::CORE),
            network_instance: Some(Edit::Set(Name(b"\x02n6"))),
            redirect_information: Some(Edit::Set(URL)),
            outer_header_creation: Some(Edit::Set(OuterHeaderCreation {
                description: OuterHeaderDescription::UDP_IPV4,
                ipv4: Some(PEER_V4),
                port: Some(4000),
                ..OuterHeaderCreation::default()
            })),
            transport_level_marking: Some(Edit::Set(TransportLevelMarking::dscp(10))),
            forwarding_policy: Some(Edit::Set(POLICY)),
            header_enrichment: [Edit::Set(ENRICHMENT)].into_iter().collect(),
            pfcpsmreq_flags: Some(SessionModificationRequestFlags::SNDEM),
            linked_traffic_endpoint_id: Some(Edit::Set(9)),
            destination_interface_type: Some(InterfaceType::N6),
            data_network_access_identifier: Some(b"edge"),
        }),
        forwarding_parameters: None,
        update_duplicating_parameters: [Edit::Set(UpdateDuplicatingParameters {
            destination_interface: Some(DestinationInterface::LI_FUNCTION),
            outer_header_creation: Some(Edit::Set(OuterHeaderCreation::gtpu_v4(teid(), PEER_V4))),
            transport_level_marking: Some(Edit::Set(TransportLevelMarking::dscp(0))),
            forwarding_policy: Some(Edit::Set(POLICY)),
        })]
        .into_iter()
        .collect(),
        bar_id: Some(Edit::Set(BarId(1))),
    }
}

const RATE: BitRate = BitRate {
    uplink_kbps: 100_000,
    downlink_kbps: BitRate::MAX_KBPS,
};

/// Packet Rate Status (8.2.139) without any status. With one, tshark 4.0.17 reads the Validity Time
/// of eight octets as a number of four and calls the packet malformed.
const PACKET_RATE_STATUS: &[u8] = &[0];

pub fn create_qer() -> CreateQer<'static> {
    CreateQer {
        qer_id: QerId(5),
        qer_correlation_id: Some(77),
        gate_status: GateStatus {
            uplink: Gate::Closed,
            downlink: Gate::Open,
        },
        maximum_bitrate: Some(RATE),
        guaranteed_bitrate: Some(RATE),
        packet_rate: Some(&[1, 0, 0, 9]),
        packet_rate_status: Some(PACKET_RATE_STATUS),
        dl_flow_level_marking: Some(&[1, 0xb8, 0xfc]),
        qos_flow_identifier: Some(qfi()),
        reflective_qos: Some(Rqi::RQI),
        paging_policy_indicator: PagingPolicyIndicator::new(3),
        averaging_window: Some(Milliseconds(2000)),
        qer_control_indications: Some(QerControlIndications::RCSR),
        qer_indications: Some(QerIndications::IQFIS),
    }
}

pub fn update_qer() -> UpdateQer<'static> {
    UpdateQer {
        qer_id: QerId(5),
        qer_correlation_id: Some(Edit::Set(78)),
        gate_status: Some(GateStatus::CLOSED),
        maximum_bitrate: Some(Edit::Set(RATE)),
        guaranteed_bitrate: Some(Edit::Set(RATE)),
        packet_rate: Some(&[2, 0, 0, 9]),
        dl_flow_level_marking: Some(&[1, 0xb8, 0xfc]),
        qos_flow_identifier: Some(Edit::Set(qfi())),
        reflective_qos: Some(Edit::Set(Rqi::NONE)),
        paging_policy_indicator: PagingPolicyIndicator::new(4).map(Edit::Set),
        averaging_window: Some(Edit::Set(Milliseconds(1000))),
        qer_control_indications: Some(QerControlIndications::RCSR),
        qer_indications: Some(QerIndications::IQFIS),
    }
}

const DROPPED: DroppedDlTrafficThreshold = DroppedDlTrafficThreshold {
    downlink_packets: Some(10),
    downlink_octets: Some(10_000),
};

pub fn create_urr() -> CreateUrr<'static> {
    CreateUrr {
        urr_id: UrrId(3),
        measurement_method: MeasurementMethod::VOLUM | MeasurementMethod::DURAT,
        reporting_triggers: ReportingTriggers::PERIO
            | ReportingTriggers::VOLQU
            | ReportingTriggers::UPINT,
        measurement_period: Some(Seconds(60)),
        volume_threshold: Some(VOLUME),
        volume_quota: Some(VOLUME),
        event_threshold: Some(5),
        event_quota: Some(6),
        time_threshold: Some(Seconds(30)),
        time_quota: Some(Seconds(40)),
        quota_holding_time: Some(Seconds(50)),
        dropped_dl_traffic_threshold: Some(DROPPED),
        quota_validity_time: Some(Seconds(3600)),
        monitoring_time: Some(NtpTime(0xe000_0000)),
        subsequent_volume_threshold: Some(VOLUME),
        subsequent_time_threshold: Some(Seconds(31)),
        subsequent_volume_quota: Some(VOLUME),
        subsequent_time_quota: Some(Seconds(41)),
        subsequent_event_threshold: Some(7),
        subsequent_event_quota: Some(8),
        inactivity_detection_time: Some(Seconds(9)),
        linked_urr_id: [UrrId(4)].into_iter().collect(),
        measurement_information: Some(MeasurementInformation::MNOP | MeasurementInformation::MBQE),
        time_quota_mechanism: Some(&[0, 0, 0, 0, 60]),
        aggregated_urrs: [AGGREGATED].into_iter().collect(),
        far_id_for_quota_action: Some(FarId(3)),
        ethernet_inactivity_timer: Some(Seconds(300)),
        additional_monitoring_time: [ADDITIONAL_MONITORING_TIME].into_iter().collect(),
        number_of_reports: Some(3),
        exempted_application_id_for_quota_action: [Text(b"dns")].into_iter().collect(),
        exempted_sdf_filter_for_quota_action: [SdfFilter::flow(FLOW)].into_iter().collect(),
        user_plane_inactivity_timer: Some(Seconds(20)),
    }
}

/// Aggregated URR ID and Multiplier (7.5.2.4).
const AGGREGATED: &[u8] = &[
    0, 120, 0, 4, 0, 0, 0, 4, 0, 119, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
];
/// Monitoring Time (7.5.2.4).
const ADDITIONAL_MONITORING_TIME: &[u8] = &[0, 33, 0, 4, 0xe0, 0, 0, 0];

pub fn update_urr() -> UpdateUrr<'static> {
    UpdateUrr {
        urr_id: UrrId(3),
        measurement_method: Some(MeasurementMethod::EVENT),
        reporting_triggers: Some(ReportingTriggers::EVETH),
        measurement_period: Some(Edit::Set(Seconds(60))),
        volume_threshold: Some(Edit::Set(VOLUME)),
        volume_quota: Some(Edit::Set(VOLUME)),
        time_threshold: Some(Edit::Set(Seconds(30))),
        time_quota: Some(Edit::Set(Seconds(40))),
        event_threshold: Some(Edit::Set(5)),
        event_quota: Some(Edit::Set(6)),
        quota_holding_time: Some(Edit::Set(Seconds(50))),
        dropped_dl_traffic_threshold: Some(Edit::Set(DROPPED)),
        quota_validity_time: Some(Edit::Set(Seconds(3600))),
        monitoring_time: Some(Edit::Set(NtpTime(0xe000_0000))),
        subsequent_volume_threshold: Some(Edit::Set(VOLUME)),
        subsequent_time_threshold: Some(Edit::Set(Seconds(31))),
        subsequent_volume_quota: Some(Edit::Set(VOLUME)),
        subsequent_time_quota: Some(Edit::Set(Seconds(41))),
        subsequent_event_threshold: Some(Edit::Set(7)),
        subsequent_event_quota: Some(Edit::Set(8)),
        inactivity_detection_time: Some(Edit::Set(Seconds(9))),
        linked_urr_id: [Edit::Set(UrrId(4))].into_iter().collect(),
        measurement_information: Some(Edit::Set(MeasurementInformation::INAM)),
        time_quota_mechanism: Some(&[0, 0, 0, 0, 60]),
        aggregated_urrs: [AGGREGATED].into_iter().collect(),
        far_id_for_quota_action: Some(Edit::Set(FarId(3))),
        ethernet_inactivity_timer: Some(Edit::Set(Seconds(300))),
        additional_monitoring_time: [ADDITIONAL_MONITORING_TIME].into_iter().collect(),
        number_of_reports: Some(Edit::Set(3)),
        exempted_application_id_for_quota_action: [Edit::Set(Text(b"dns"))].into_iter().collect(),
        exempted_sdf_filter_for_quota_action: [Edit::Set(SdfFilter::flow(FLOW))]
            .into_iter()
            .collect(),
        user_plane_inactivity_timer: Some(Edit::Set(Seconds(20))),
    }
}

/// What an Update IE says of parameters that are to go: IEs of null length (5.6.3).
pub fn removing_urr() -> UpdateUrr<'static> {
    UpdateUrr {
        urr_id: UrrId(4),
        volume_threshold: Some(Edit::Remove),
        monitoring_time: Some(Edit::Remove),
        linked_urr_id: [Edit::Remove].into_iter().collect(),
        ..UpdateUrr::default()
    }
}
