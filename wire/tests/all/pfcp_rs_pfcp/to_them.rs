//! We write, rs-pfcp reads.

use rs_pfcp::ie::Ie;
use rs_pfcp::ie::create_far::CreateFar as TheirFar;
use rs_pfcp::ie::create_pdr::CreatePdr as TheirPdr;
use rs_pfcp::ie::create_qer::CreateQer as TheirQer;
use rs_pfcp::ie::create_urr::CreateUrr as TheirUrr;
use rs_pfcp::ie::fseid::Fseid;
use rs_pfcp::ie::gate_status::GateStatusValue;
use rs_pfcp::ie::node_id::NodeId as TheirNode;
use rs_pfcp::ie::recovery_time_stamp::RecoveryTimeStamp;
use rs_pfcp::ie::reporting_triggers::ReportingTriggers as TheirTriggers;
use rs_pfcp::ie::source_interface::SourceInterfaceValue;
use rs_pfcp::ie::up_function_features::UPFunctionFeatures;
use rs_pfcp::ie::update_far::UpdateFar as TheirUpdate;
use rs_pfcp::ie::usage_report::UsageReport as TheirReport;
use rs_pfcp::ie::usage_report_trigger::UsageReportTrigger as TheirTrigger;
use rs_pfcp::message::Message as _;
use rs_pfcp::message::association_setup_response::AssociationSetupResponse as TheirSetup;
use rs_pfcp::message::heartbeat_response::HeartbeatResponse as TheirHeartbeat;
use rs_pfcp::message::session_deletion_response::SessionDeletionResponse as TheirDeletion;
use rs_pfcp::message::session_establishment_request::SessionEstablishmentRequest as TheirRequest;
use rs_pfcp::message::session_modification_request::SessionModificationRequest as TheirChange;
use rs_pfcp::message::session_report_request::SessionReportRequest as TheirSessionReport;
use sluice_wire::ids::*;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Full, Header, MessageType, SequenceNumber, Writer, write_message};

use super::{FLOW, GNB, SMF, UE};

fn written(
    message_type: MessageType,
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
) -> Vec<u8> {
    let sequence = SequenceNumber::wrapping(77);
    let header = match message_type.is_session_related() {
        true => Header::session(message_type, Seid(5), sequence),
        false => Header::node(message_type, sequence),
    };
    let mut buffer = vec![0; 4096];
    let length = write_message(&mut buffer, &header, body).unwrap();
    buffer.truncate(length);
    buffer
}

fn teid() -> Teid {
    Teid::new(0x0102_0304).unwrap()
}

fn pdrs() -> [CreatePdr<'static>; 2] {
    let uplink = Pdi {
        source_interface: SourceInterface::ACCESS,
        local_f_teid: Some(FTeid::v4(teid(), GNB)),
        network_instance: Some(Name(b"internet")),
        qfi: [Qfi::new(9).unwrap()].into_iter().collect(),
        ..Pdi::default()
    };
    let downlink = Pdi {
        source_interface: SourceInterface::CORE,
        ue_ip_address: [UeIpAddress::v4(UE, true)].into_iter().collect(),
        sdf_filter: [SdfFilter::flow(FLOW.as_bytes())].into_iter().collect(),
        ..Pdi::default()
    };
    [
        CreatePdr {
            pdr_id: PdrId(1),
            precedence: Precedence(255),
            pdi: uplink,
            outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IP),
            far_id: Some(FarId(1)),
            urr_id: [UrrId(4)].into_iter().collect(),
            qer_id: [QerId(5)].into_iter().collect(),
            ..CreatePdr::default()
        },
        CreatePdr {
            pdr_id: PdrId(2),
            pdi: downlink,
            far_id: Some(FarId(2)),
            ..CreatePdr::default()
        },
    ]
}

fn far() -> CreateFar<'static> {
    CreateFar {
        far_id: FarId(2),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface::ACCESS,
            outer_header_creation: Some(OuterHeaderCreation::gtpu_v4(teid(), GNB)),
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    }
}

fn establishment() -> Vec<u8> {
    let gate_status = GateStatus {
        uplink: Gate::Open,
        downlink: Gate::Closed,
    };
    let request = SessionEstablishmentRequest {
        node_id: NodeId::V4(SMF),
        cp_f_seid: FSeid::v4(Seid(0x1122), SMF),
        create_pdr: pdrs().into_iter().collect(),
        create_far: [
            far(),
            CreateFar {
                far_id: FarId(1),
                ..far()
            },
        ]
        .into_iter()
        .collect(),
        create_qer: [CreateQer {
            qer_id: QerId(5),
            gate_status,
            maximum_bitrate: Some(BitRate {
                uplink_kbps: 1000,
                downlink_kbps: 2000,
            }),
            guaranteed_bitrate: Some(BitRate {
                uplink_kbps: 1 << 35,
                downlink_kbps: 7,
            }),
            qos_flow_identifier: Qfi::new(9),
            ..CreateQer::default()
        }]
        .into_iter()
        .collect(),
        create_urr: [CreateUrr {
            urr_id: UrrId(4),
            measurement_method: MeasurementMethod::VOLUM,
            reporting_triggers: ReportingTriggers::VOLTH | ReportingTriggers::QUVTI,
            volume_threshold: Some(Volume {
                total: Some(9),
                uplink: None,
                downlink: Some(8),
            }),
            ..CreateUrr::default()
        }]
        .into_iter()
        .collect(),
        ..SessionEstablishmentRequest::default()
    };
    written(MessageType::SESSION_ESTABLISHMENT_REQUEST, |out| {
        request.emit(out)
    })
}

#[test]
fn an_establishment_is_understood() {
    let request = TheirRequest::unmarshal(&establishment()).unwrap();
    assert_eq!(request.sequence(), 77.into());
    assert_eq!(request.seid(), Some(5.into()));
    let node = TheirNode::unmarshal(&request.node_id.payload).unwrap();
    assert_eq!(node, TheirNode::new_ipv4(SMF));
    let f_seid = Fseid::unmarshal(&request.fseid.payload).unwrap();
    assert_eq!((f_seid.seid.0, f_seid.ipv4_address), (0x1122, Some(SMF)));

    let pdr = |ie: &Ie| TheirPdr::unmarshal(&ie.payload).unwrap();
    let (uplink, downlink) = (pdr(&request.create_pdrs[0]), pdr(&request.create_pdrs[1]));
    assert_eq!((uplink.pdr_id.value, uplink.precedence.value), (1, 255));
    assert_eq!(
        uplink.pdi.source_interface.value,
        SourceInterfaceValue::Access
    );
    let f_teid = uplink.pdi.f_teid.unwrap();
    assert_eq!(
        (f_teid.teid.0, f_teid.ipv4_address),
        (0x0102_0304, Some(GNB))
    );
    assert_eq!(uplink.pdi.network_instance.unwrap().instance, "internet");
    assert_eq!(uplink.pdi.qfis[0].value(), 9);
    assert_eq!(uplink.outer_header_removal.unwrap().description, 6);
    assert_eq!(uplink.far_id.unwrap().value, 1);
    assert_eq!((uplink.urr_ids[0].id, uplink.qer_ids[0].value), (4, 5));
    let ue = &downlink.pdi.ue_ip_addresses[0];
    assert_eq!((ue.ipv4_address, ue.source_destination), (Some(UE), true));
    assert_eq!(downlink.pdi.sdf_filters[0].flow_description, FLOW);
}

#[test]
fn the_other_rules_of_an_establishment_are_understood() {
    let request = TheirRequest::unmarshal(&establishment()).unwrap();
    let far = TheirFar::unmarshal(&request.create_fars[0].payload).unwrap();
    assert_eq!(
        (far.far_id.value, far.apply_action.octets()),
        (2, &[2, 0][..])
    );
    let header = far
        .forwarding_parameters
        .unwrap()
        .outer_header_creation
        .unwrap();
    assert!(header.description.gtpu_udp_ipv4);
    assert_eq!(header.teid.map(|teid| teid.0), Some(0x0102_0304));
    assert_eq!(header.ipv4_address, Some(GNB));
    let qer = TheirQer::unmarshal(&request.create_qers[0].payload).unwrap();
    let gates = qer.gate_status.unwrap();
    assert_eq!(gates.uplink_gate, GateStatusValue::Open);
    assert_eq!(gates.downlink_gate, GateStatusValue::Closed);
    let (mbr, gbr) = (qer.mbr.unwrap(), qer.gbr.unwrap());
    assert_eq!((mbr.uplink, mbr.downlink), (1000, 2000));
    assert_eq!((gbr.uplink, gbr.downlink), (1 << 35, 7));
    let urr = TheirUrr::unmarshal(&request.create_urrs[0].payload).unwrap();
    assert!(urr.measurement_method.volume && !urr.measurement_method.duration);
    assert!(urr.reporting_triggers.contains(TheirTriggers::VOLTH));
    assert!(urr.reporting_triggers.contains(TheirTriggers::QUVTI));
    let volume = urr.volume_threshold.unwrap();
    assert_eq!(
        (volume.total_volume, volume.downlink_volume),
        (Some(9), Some(8))
    );
}

#[test]
fn a_modification_is_understood() {
    let parameters = UpdateForwardingParameters {
        outer_header_creation: Some(Edit::Set(OuterHeaderCreation::gtpu_v4(teid(), GNB))),
        ..UpdateForwardingParameters::default()
    };
    let request = SessionModificationRequest {
        remove_pdr: [RemovePdr { pdr_id: PdrId(3) }].into_iter().collect(),
        update_far: [UpdateFar {
            far_id: FarId(2),
            apply_action: Some(ApplyAction::FORW),
            update_forwarding_parameters: Some(parameters),
            ..UpdateFar::default()
        }]
        .into_iter()
        .collect(),
        ..SessionModificationRequest::default()
    };
    let datagram = written(MessageType::SESSION_MODIFICATION_REQUEST, |out| {
        request.emit(out)
    });
    let request = TheirChange::unmarshal(&datagram).unwrap();
    assert_eq!(request.remove_pdrs.unwrap()[0].payload, [0, 56, 0, 2, 0, 3]);
    let far = TheirUpdate::unmarshal(&request.update_fars.unwrap()[0].payload).unwrap();
    assert_eq!(far.far_id.value, 2);
    let header = far
        .update_forwarding_parameters
        .unwrap()
        .outer_header_creation
        .unwrap();
    assert_eq!(header.ipv4_address, Some(GNB));
}

fn usage_report() -> UsageReport<'static> {
    UsageReport {
        urr_id: UrrId(4),
        ur_seqn: 12,
        usage_report_trigger: UsageReportTrigger::TERMR,
        volume_measurement: Some(VolumeMeasurement {
            uplink: Some(100),
            downlink_packets: Some(2),
            ..VolumeMeasurement::default()
        }),
        duration_measurement: Some(Seconds(16)),
        ..UsageReport::default()
    }
}

#[test]
fn a_deletion_response_with_usage_is_understood() {
    let response = SessionDeletionResponse {
        cause: Cause::REQUEST_ACCEPTED,
        usage_report: [usage_report()].into_iter().collect(),
        ..SessionDeletionResponse::default()
    };
    let datagram = written(MessageType::SESSION_DELETION_RESPONSE, |out| {
        response.emit(out)
    });
    let response = TheirDeletion::unmarshal(&datagram).unwrap();
    assert_eq!(response.cause.payload, [1]);
    let report = TheirReport::unmarshal(&response.usage_reports[0].payload).unwrap();
    assert_eq!(
        (report.urr_id.id, report.ur_seqn.sequence_number()),
        (4, 12)
    );
    assert!(report.usage_report_trigger.contains(TheirTrigger::TERMR));
    let measured = report.volume_measurement.unwrap();
    assert_eq!(
        (measured.uplink_volume, measured.downlink_packets),
        (Some(100), Some(2))
    );
    assert_eq!(report.duration_measurement.unwrap().duration_seconds, 16);
}

#[test]
fn association_setup_and_heartbeat_are_understood() {
    let response = AssociationSetupResponse {
        node_id: NodeId::Fqdn(Name(b"upf.example")),
        cause: Cause::REQUEST_ACCEPTED,
        recovery_time_stamp: NtpTime::from_unix_s(1_700_000_000),
        up_function_features: Some(UpFunctionFeatures::FTUP | UpFunctionFeatures::UPIDP),
        ..AssociationSetupResponse::default()
    };
    let datagram = written(MessageType::ASSOCIATION_SETUP_RESPONSE, |out| {
        response.emit(out)
    });
    let response = TheirSetup::unmarshal(&datagram).unwrap();
    let node = TheirNode::unmarshal(&response.node_id.payload).unwrap();
    // rs-pfcp takes a name as it comes; the TS codes it as DNS labels (8.2.38).
    assert_eq!(node, TheirNode::new_fqdn("\x03upf\x07example"));
    let features = response.up_function_features.unwrap();
    let features = UPFunctionFeatures::unmarshal(&features.payload).unwrap();
    assert!(features.contains(UPFunctionFeatures::FTUP));
    assert!(features.contains(UPFunctionFeatures::UPIDP));

    let stamp = NtpTime::from_unix_s(1_700_000_000);
    let heartbeat = HeartbeatResponse {
        recovery_time_stamp: stamp,
    };
    let datagram = written(MessageType::HEARTBEAT_RESPONSE, |out| heartbeat.emit(out));
    let heartbeat = TheirHeartbeat::unmarshal(&datagram).unwrap();
    let stamp = RecoveryTimeStamp::unmarshal(&heartbeat.recovery_time_stamp_ie().payload).unwrap();
    let since = stamp
        .timestamp
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(since.as_secs(), 1_700_000_000);
}

#[test]
fn a_usage_report_is_understood() {
    let request = SessionReportRequest {
        report_type: ReportType::USAR,
        usage_report: [usage_report()].into_iter().collect(),
        ..SessionReportRequest::default()
    };
    let datagram = written(MessageType::SESSION_REPORT_REQUEST, |out| request.emit(out));
    let request = TheirSessionReport::unmarshal(&datagram).unwrap();
    assert_eq!(request.report_type.unwrap().payload, [2]);
    let report = TheirReport::unmarshal(&request.usage_reports[0].payload).unwrap();
    assert_eq!(report.urr_id.id, 4);
}
