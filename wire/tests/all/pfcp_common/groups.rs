//! Groups besides the rules, with every IE.

use std::net::Ipv4Addr;

use super::rules::*;
use sluice_wire::ids::*;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::value::*;

pub fn create_bar() -> CreateBar<'static> {
    CreateBar {
        bar_id: BarId(1),
        downlink_data_notification_delay: Some(NotificationDelay(4)),
        suggested_buffering_packets_count: Some(100),
        mt_edt_control_information: Some(&[1]),
    }
}

pub fn update_bar() -> UpdateBar<'static> {
    UpdateBar {
        bar_id: BarId(1),
        downlink_data_notification_delay: Some(NotificationDelay(5)),
        suggested_buffering_packets_count: Some(101),
        mt_edt_control_information: Some(&[0]),
    }
}

pub fn update_bar_in_report_response() -> UpdateBarInSessionReportResponse {
    UpdateBarInSessionReportResponse {
        bar_id: BarId(1),
        downlink_data_notification_delay: Some(NotificationDelay(6)),
        dl_buffering_duration: Some(Timer::at_least_s(90)),
        dl_buffering_suggested_packet_count: Some(DlBufferingSuggestedPacketCount(300)),
        suggested_buffering_packets_count: Some(102),
    }
}

pub fn create_traffic_endpoint() -> CreateTrafficEndpoint<'static> {
    CreateTrafficEndpoint {
        traffic_endpoint_id: 7,
        local_f_teid: Some(FTeid::Choose {
            ipv4: true,
            ipv6: true,
            choose_id: Some(1),
        }),
        network_instance: Some(Name(b"\x02n3")),
        ue_ip_address: [UeIpAddress {
            choose_ipv4: true,
            ..UeIpAddress::default()
        }]
        .into_iter()
        .collect(),
        ethernet_pdu_session_information: Some(&[1]),
        framed_route: [Text(b"203.0.113.0/24")].into_iter().collect(),
        framed_routing: Some(0),
        framed_ipv6_route: [Text(b"2001:db8:1::/48")].into_iter().collect(),
        qfi: [qfi()].into_iter().collect(),
        source_interface_type: Some(InterfaceType::N3_3GPP_ACCESS),
    }
}

pub fn update_traffic_endpoint() -> UpdateTrafficEndpoint<'static> {
    UpdateTrafficEndpoint {
        traffic_endpoint_id: 7,
        local_f_teid: Some(both_versions()),
        network_instance: Some(Name(b"\x02n9")),
        ue_ip_address: [UeIpAddress::v4(UE_V4, true)].into_iter().collect(),
        framed_route: [Text(b"203.0.113.0/24")].into_iter().collect(),
        framed_routing: Some(0),
        framed_ipv6_route: [Text(b"2001:db8:1::/48")].into_iter().collect(),
        qfi: [qfi()].into_iter().collect(),
        source_interface_type: Some(InterfaceType::N9),
    }
}

pub fn created_traffic_endpoint() -> CreatedTrafficEndpoint {
    CreatedTrafficEndpoint {
        traffic_endpoint_id: 7,
        local_f_teid: [both_versions()].into_iter().collect(),
        ue_ip_address: [UeIpAddress::v4(UE_V4, false)].into_iter().collect(),
    }
}

pub fn created_pdr() -> CreatedPdr {
    CreatedPdr {
        pdr_id: PdrId(1),
        local_f_teid: [both_versions()].into_iter().collect(),
        ue_ip_address: [UeIpAddress::v4(UE_V4, false)].into_iter().collect(),
    }
}

pub fn updated_pdr() -> UpdatedPdr {
    UpdatedPdr {
        pdr_id: PdrId(1),
        local_f_teid: created_pdr().local_f_teid,
        ..Default::default()
    }
}

pub fn usage_report() -> UsageReport<'static> {
    UsageReport {
        urr_id: UrrId(3),
        ur_seqn: 12,
        usage_report_trigger: UsageReportTrigger::VOLTH | UsageReportTrigger::TERMR,
        start_time: Some(NtpTime(0xe000_0000)),
        end_time: Some(NtpTime(0xe000_0010)),
        volume_measurement: Some(VolumeMeasurement {
            total: Some(300),
            uplink: Some(100),
            downlink: Some(200),
            total_packets: Some(3),
            uplink_packets: Some(1),
            downlink_packets: Some(2),
        }),
        duration_measurement: Some(Seconds(16)),
        time_of_first_packet: Some(NtpTime(0xe000_0001)),
        time_of_last_packet: Some(NtpTime(0xe000_000f)),
        usage_information: Some(UsageInformation::UBE),
        ..UsageReport::default()
    }
}

pub fn queried_usage_report() -> UsageReport<'static> {
    UsageReport {
        query_urr_reference: Some(99),
        ..usage_report()
    }
}

/// The IEs that only a Session Report Request carries.
pub fn reported_usage_report() -> UsageReport<'static> {
    UsageReport {
        // Application ID (8.2.6).
        application_detection_information: Some(ApplicationDetectionInformation {
            application_id: Text(b"video"),
            application_instance_id: Some(b"1"),
            flow_information: Some(FlowInformation {
                direction: FlowDirection::BIDIRECTIONAL,
                flow_description: b"permit out 17 from any 443 to assigned",
            }),
        }),
        ue_ip_address: Some(UeIpAddress::v4(UE_V4, false)),
        network_instance: Some(Name(b"\x08internet")),
        event_time_stamp: [NtpTime(0xe000_0002)].into_iter().collect(),
        // MAC Addresses Detected (8.2.103): none.
        ethernet_traffic_information: Some(&[0, 144, 0, 1, 0]),
        ..queried_usage_report()
    }
}

pub fn downlink_data_report() -> DownlinkDataReport {
    DownlinkDataReport {
        pdr_id: [PdrId(1), PdrId(2)].into_iter().collect(),
        downlink_data_service_information: [DownlinkDataServiceInformation {
            paging_policy_indication: Some(46),
            qfi: Some(qfi()),
        }]
        .into_iter()
        .collect(),
        dl_data_packets_size: Some(1500),
        data_status: Some(DataStatus::BUFF),
    }
}

pub fn error_indication_report() -> ErrorIndicationReport {
    ErrorIndicationReport {
        remote_f_teid: [both_versions()].into_iter().collect(),
    }
}

pub fn remote_peer() -> RemoteGtpuPeer<'static> {
    RemoteGtpuPeer {
        ipv4: Some(PEER_V4),
        ipv6: None,
        destination_interface: Some(DestinationInterface::ACCESS),
        network_instance: Some(Name(b"\x02n3")),
    }
}

pub fn partial_failure() -> PartialFailureInformation<'static> {
    PartialFailureInformation {
        failed_rule_id: FailedRuleId::Far(FarId(2)),
        failure_cause: sluice_wire::pfcp::Cause::RULE_CREATION_MODIFICATION_FAILURE,
        offending_ie_information: [&[0, 84, 0, 0][..]].into_iter().collect(),
    }
}

pub fn pool() -> UeIpAddressPoolInformation<'static> {
    UeIpAddressPoolInformation {
        ue_ip_address_pool_identity: [UeIpAddressPoolIdentity(b"pool-a")].into_iter().collect(),
        network_instance: Some(Name(b"\x08internet")),
        s_nssai: [SNssai {
            sst: 1,
            sd: Some(0x01_0203),
        }]
        .into_iter()
        .collect(),
        ip_version: Some(IpVersion::V4 | IpVersion::V6),
    }
}

pub fn ip_resource() -> UserPlaneIpResourceInformation<'static> {
    UserPlaneIpResourceInformation {
        teid_range_bits: 2,
        teid_range: 1,
        ipv4: Some(PEER_V4),
        ipv6: Some(PEER_V6),
        network_instance: Some(Name(b"\x02n3")),
        source_interface: Some(SourceInterface::ACCESS),
    }
}

pub fn smf_address() -> AlternativeSmfIpAddress {
    let ipv4 = Some(Ipv4Addr::new(192, 0, 2, 9));
    AlternativeSmfIpAddress {
        ipv4,
        ipv6: Some(PEER_V6),
        preferred: true,
    }
}
