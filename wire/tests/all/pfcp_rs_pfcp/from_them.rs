//! rs-pfcp writes, we read.

use std::time::{Duration, UNIX_EPOCH};

use rs_pfcp::ie::application_id::ApplicationId;
use rs_pfcp::ie::application_ids_pfds::ApplicationIdsPfds as TheirApplication;
use rs_pfcp::ie::apply_action::ApplyAction as TheirAction;
use rs_pfcp::ie::create_far::CreateFar as TheirFar;
use rs_pfcp::ie::create_pdr::CreatePdrBuilder;
use rs_pfcp::ie::create_qer::CreateQerBuilder;
use rs_pfcp::ie::create_urr::CreateUrrBuilder;
use rs_pfcp::ie::destination_interface::{DestinationInterface as TheirDestination, Interface};
use rs_pfcp::ie::f_teid::FteidBuilder;
use rs_pfcp::ie::forwarding_parameters::ForwardingParameters as TheirParameters;
use rs_pfcp::ie::gate_status::{GateStatus as TheirGates, GateStatusValue};
use rs_pfcp::ie::measurement_method::MeasurementMethod as TheirMethod;
use rs_pfcp::ie::network_instance::NetworkInstance;
use rs_pfcp::ie::outer_header_creation::OuterHeaderCreation as TheirHeader;
use rs_pfcp::ie::outer_header_removal::OuterHeaderRemoval as TheirRemoval;
use rs_pfcp::ie::pdi::PdiBuilder;
use rs_pfcp::ie::pfd_contents::PfdContents as TheirContents;
use rs_pfcp::ie::pfd_context::PfdContext as TheirPfd;
use rs_pfcp::ie::reporting_triggers::ReportingTriggers as TheirTriggers;
use rs_pfcp::ie::sdf_filter::SdfFilter as TheirFilter;
use rs_pfcp::ie::source_interface::{SourceInterface as TheirSource, SourceInterfaceValue};
use rs_pfcp::ie::ue_ip_address::UeIpAddress as TheirUe;
use rs_pfcp::ie::up_function_features::UPFunctionFeatures;
use rs_pfcp::ie::update_far::UpdateFarBuilder;
use rs_pfcp::ie::update_forwarding_parameters::UpdateForwardingParameters as TheirUpdate;
use rs_pfcp::ie::usage_report::UsageReportBuilder;
use rs_pfcp::ie::usage_report_sdr::UsageReportSdr;
use rs_pfcp::ie::{Ie, IeType, far_id, pdr_id, precedence, qer_id, qfi, ur_seqn, urr_id};
use rs_pfcp::message::Message;
use rs_pfcp::message::association_setup_request::AssociationSetupRequestBuilder;
use rs_pfcp::message::association_setup_response::AssociationSetupResponseBuilder;
use rs_pfcp::message::heartbeat_request::HeartbeatRequestBuilder;
use rs_pfcp::message::pfd_management_request::PfdManagementRequestBuilder;
use rs_pfcp::message::session_deletion_response::SessionDeletionResponseBuilder;
use rs_pfcp::message::session_establishment_request::SessionEstablishmentRequestBuilder;
use rs_pfcp::message::session_modification_request::SessionModificationRequestBuilder;
use rs_pfcp::message::session_report_request::SessionReportRequestBuilder;
use sluice_wire::ids::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Header, MessageType};

use super::{FLOW, GNB, SMF, UE};

fn open(datagram: &[u8], message_type: MessageType, seid: Option<Seid>) -> &[u8] {
    let (header, body) = Header::parse(datagram).unwrap();
    assert_eq!(header.message_type, message_type);
    assert_eq!(header.sequence.get(), 77);
    assert_eq!(header.seid, seid);
    body
}

fn uplink_pdr() -> rs_pfcp::ie::create_pdr::CreatePdr {
    let pdi = PdiBuilder::new(TheirSource::new(SourceInterfaceValue::Access))
        .f_teid(
            FteidBuilder::new()
                .choose_ipv4()
                .choose_id(3)
                .build()
                .unwrap(),
        )
        .network_instance(NetworkInstance::new("internet"))
        .qfi(qfi::Qfi::of(9))
        .build()
        .unwrap();
    CreatePdrBuilder::new(pdr_id::PdrId::new(1))
        .precedence(precedence::Precedence::new(255))
        .pdi(pdi)
        .outer_header_removal(TheirRemoval::new(6))
        .far_id(far_id::FarId::new(1))
        .urr_id(urr_id::UrrId::new(4))
        .qer_id(qer_id::QerId::new(5))
        .build()
        .unwrap()
}

fn downlink_pdr() -> rs_pfcp::ie::create_pdr::CreatePdr {
    let mut ue = TheirUe::new(Some(UE), None);
    ue.source_destination = true;
    let pdi = PdiBuilder::new(TheirSource::new(SourceInterfaceValue::Core))
        .ue_ip_address(ue)
        .sdf_filter(TheirFilter::new(FLOW))
        .build()
        .unwrap();
    CreatePdrBuilder::new(pdr_id::PdrId::new(2))
        .precedence(precedence::Precedence::new(100))
        .pdi(pdi)
        .far_id(far_id::FarId::new(2))
        .build()
        .unwrap()
}

fn fars() -> [TheirFar; 2] {
    let to = |interface| TheirParameters::new(TheirDestination::new(interface));
    let downlink = to(Interface::Access)
        .with_outer_header_creation(TheirHeader::gtpu_ipv4(0x0102_0304, GNB))
        .with_network_instance(NetworkInstance::new("n3"));
    [
        TheirFar::new(far_id::FarId::new(1), TheirAction::new(2))
            .with_forwarding_parameters(to(Interface::Core)),
        TheirFar::new(far_id::FarId::new(2), TheirAction::new(2))
            .with_forwarding_parameters(downlink),
    ]
}

fn establishment() -> Vec<u8> {
    let qer = CreateQerBuilder::new(qer_id::QerId::new(5))
        .gate_status(TheirGates::new(
            GateStatusValue::Closed,
            GateStatusValue::Open,
        ))
        .rate_limit(1000, 2000)
        .qfi(qfi::Qfi::of(9))
        .build()
        .unwrap();
    let urr = CreateUrrBuilder::new(urr_id::UrrId::new(4))
        .measurement_method(TheirMethod::new(true, true, false))
        .reporting_triggers(TheirTriggers::new().with_volume_threshold(true))
        .volume_threshold_uplink_downlink(3000, 4000)
        .time_threshold_seconds(60)
        .build()
        .unwrap();
    let [uplink, downlink] = fars();
    SessionEstablishmentRequestBuilder::new(0u64, 77u32)
        .node_id(SMF)
        .fseid(0x1122u64, SMF)
        .add_pdr(uplink_pdr())
        .add_pdr(downlink_pdr())
        .add_far(uplink)
        .add_far(downlink)
        .add_qer(qer)
        .add_urr(urr)
        .marshal()
        .unwrap()
}

#[test]
fn an_establishment_is_read() {
    let datagram = establishment();
    let body = open(
        &datagram,
        MessageType::SESSION_ESTABLISHMENT_REQUEST,
        Some(Seid(0)),
    );
    let request = SessionEstablishmentRequest::parse(body).unwrap();
    assert_eq!(request.node_id, NodeId::V4(SMF));
    assert_eq!(request.cp_f_seid, FSeid::v4(Seid(0x1122), SMF));

    let [uplink, downlink] = &request.create_pdr[..] else {
        panic!("two PDRs")
    };
    assert_eq!(
        (uplink.pdr_id, uplink.precedence),
        (PdrId(1), Precedence(255))
    );
    assert_eq!(uplink.pdi.source_interface, SourceInterface::ACCESS);
    let choose = FTeid::Choose {
        ipv4: true,
        ipv6: false,
        choose_id: Some(3),
    };
    assert_eq!(uplink.pdi.local_f_teid, Some(choose));
    assert_eq!(uplink.pdi.network_instance, Some(Name(b"internet")));
    assert_eq!(uplink.pdi.qfi[..], [Qfi::new(9).unwrap()]);
    assert_eq!(
        uplink.outer_header_removal,
        Some(OuterHeaderRemoval::GTPU_UDP_IP)
    );
    assert_eq!(uplink.far_id, Some(FarId(1)));
    assert_eq!(
        (&uplink.urr_id[..], &uplink.qer_id[..]),
        (&[UrrId(4)][..], &[QerId(5)][..])
    );
    assert_eq!(downlink.pdi.source_interface, SourceInterface::CORE);
    assert_eq!(downlink.pdi.ue_ip_address[..], [UeIpAddress::v4(UE, true)]);
    assert_eq!(
        downlink.pdi.sdf_filter[..],
        [SdfFilter::flow(FLOW.as_bytes())]
    );

    let [uplink, downlink] = &request.create_far[..] else {
        panic!("two FARs")
    };
    assert_eq!(uplink.apply_action, ApplyAction::FORW.in_one_octet());
    let parameters = uplink.forwarding_parameters.as_ref().unwrap();
    assert_eq!(parameters.destination_interface, DestinationInterface::CORE);
    let parameters = downlink.forwarding_parameters.as_ref().unwrap();
    let header = OuterHeaderCreation::gtpu_v4(Teid::new(0x0102_0304).unwrap(), GNB);
    assert_eq!(parameters.outer_header_creation, Some(header));
    assert_eq!(parameters.network_instance, Some(Name(b"n3")));
}

#[test]
fn the_qer_and_urr_of_an_establishment_are_read() {
    let datagram = establishment();
    let body = open(
        &datagram,
        MessageType::SESSION_ESTABLISHMENT_REQUEST,
        Some(Seid(0)),
    );
    let request = SessionEstablishmentRequest::parse(body).unwrap();
    let qer = &request.create_qer[0];
    assert_eq!(qer.qer_id, QerId(5));
    let gates = GateStatus {
        uplink: Gate::Open,
        downlink: Gate::Closed,
    };
    assert_eq!(qer.gate_status, gates);
    let rate = BitRate {
        uplink_kbps: 1000,
        downlink_kbps: 2000,
    };
    assert_eq!(qer.maximum_bitrate, Some(rate));
    assert_eq!(qer.qos_flow_identifier, Qfi::new(9));
    let urr = &request.create_urr[0];
    assert_eq!(urr.urr_id, UrrId(4));
    assert_eq!(
        urr.measurement_method,
        MeasurementMethod::VOLUM | MeasurementMethod::DURAT
    );
    assert_eq!(urr.reporting_triggers, ReportingTriggers::VOLTH);
    let volume = Volume {
        total: None,
        uplink: Some(3000),
        downlink: Some(4000),
    };
    assert_eq!(urr.volume_threshold, Some(volume));
    assert_eq!(urr.time_threshold, Some(Seconds(60)));
}

/// Remove PDR is a group (7.5.4.6); rs-pfcp's own type puts the bare rule ID into it.
fn remove_pdr() -> Ie {
    Ie::new(IeType::RemovePdr, pdr_id::PdrId::new(3).to_ie().marshal())
}

#[test]
fn a_modification_is_read() {
    let update = UpdateFarBuilder::new(far_id::FarId::new(2))
        .apply_action(TheirAction::new(0x0c))
        .update_forwarding_parameters(
            TheirUpdate::new()
                .with_destination_interface(TheirDestination::new(Interface::Access))
                .with_outer_header_creation(TheirHeader::gtpu_ipv4(9, GNB)),
        )
        .build()
        .unwrap();
    let datagram = SessionModificationRequestBuilder::new(5u64, 77u32)
        .remove_pdrs(vec![remove_pdr()])
        .add_update_far(update)
        .marshal();
    let body = open(
        &datagram,
        MessageType::SESSION_MODIFICATION_REQUEST,
        Some(Seid(5)),
    );
    let request = SessionModificationRequest::parse(body).unwrap();
    assert_eq!(request.remove_pdr[0].pdr_id, PdrId(3));
    let far = &request.update_far[0];
    let action = (ApplyAction::BUFF | ApplyAction::NOCP).in_one_octet();
    assert_eq!((far.far_id, far.apply_action), (FarId(2), Some(action)));
    let parameters = far.update_forwarding_parameters.as_ref().unwrap();
    assert_eq!(
        parameters.destination_interface,
        Some(DestinationInterface::ACCESS)
    );
    let header = OuterHeaderCreation::gtpu_v4(Teid::new(9).unwrap(), GNB);
    assert_eq!(parameters.outer_header_creation, Some(Edit::Set(header)));
}

#[test]
fn a_deletion_response_with_usage_is_read() {
    let report =
        UsageReportBuilder::stop_of_traffic_report(urr_id::UrrId::new(4), ur_seqn::UrSeqn::new(12))
            .with_volume_data(300, 100, 200)
            .with_duration(16)
            .with_monitoring_window(0xe000_0000, 0xe000_0010)
            .build()
            .unwrap();
    let datagram = SessionDeletionResponseBuilder::accepted(5u64, 77u32)
        .usage_report(UsageReportSdr::new(report).to_ie())
        .marshal();
    let body = open(
        &datagram,
        MessageType::SESSION_DELETION_RESPONSE,
        Some(Seid(5)),
    );
    let response = SessionDeletionResponse::parse(body).unwrap();
    assert_eq!(response.cause, Cause::REQUEST_ACCEPTED);
    let report = &response.usage_report[0];
    assert_eq!((report.urr_id, report.ur_seqn), (UrrId(4), 12));
    assert_eq!(report.usage_report_trigger, UsageReportTrigger::STOPT);
    let measured = report.volume_measurement.unwrap();
    assert_eq!(
        (measured.total, measured.uplink, measured.downlink),
        (Some(300), Some(100), Some(200))
    );
    assert_eq!(report.duration_measurement, Some(Seconds(16)));
    assert_eq!(report.start_time, Some(NtpTime(0xe000_0000)));
    assert_eq!(report.end_time, Some(NtpTime(0xe000_0010)));
}

#[test]
fn association_setup_is_read_both_ways() {
    let started = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let mut features = UPFunctionFeatures::new();
    features.insert(UPFunctionFeatures::FTUP);
    features.insert(UPFunctionFeatures::MNOP);
    let datagram = AssociationSetupRequestBuilder::new(77u32)
        .node_id_fqdn("smf.example")
        .recovery_time_stamp(started)
        .marshal();
    let body = open(&datagram, MessageType::ASSOCIATION_SETUP_REQUEST, None);
    let request = AssociationSetupRequest::parse(body).unwrap();
    assert_eq!(request.node_id, NodeId::Fqdn(Name(b"smf.example")));
    assert_eq!(
        request.recovery_time_stamp,
        NtpTime::from_unix_s(1_700_000_000)
    );

    let datagram = AssociationSetupResponseBuilder::new(77u32)
        .cause_accepted()
        .node_id(GNB)
        .recovery_time_stamp(started)
        .up_function_features(features.to_ie())
        .marshal();
    let body = open(&datagram, MessageType::ASSOCIATION_SETUP_RESPONSE, None);
    let response = AssociationSetupResponse::parse(body).unwrap();
    assert_eq!(response.cause, Cause::REQUEST_ACCEPTED);
    let features = UpFunctionFeatures::FTUP | UpFunctionFeatures::MNOP;
    assert_eq!(response.up_function_features, Some(features));
}

#[test]
fn heartbeats_and_reports_are_read() {
    let started = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let datagram = HeartbeatRequestBuilder::new(77u32)
        .recovery_time_stamp(started)
        .marshal();
    let body = open(&datagram, MessageType::HEARTBEAT_REQUEST, None);
    let request = HeartbeatRequest::parse(body).unwrap();
    assert_eq!(
        request.recovery_time_stamp,
        NtpTime::from_unix_s(1_700_000_000)
    );

    let report = rs_pfcp::ie::downlink_data_report::DownlinkDataReport::new(pdr_id::PdrId::new(2));
    let datagram = SessionReportRequestBuilder::new(6u64, 77u32)
        .report_type(rs_pfcp::ie::report_type::ReportType::downlink_data_report().to_ie())
        .downlink_data_report(report.to_ie())
        .marshal();
    let body = open(
        &datagram,
        MessageType::SESSION_REPORT_REQUEST,
        Some(Seid(6)),
    );
    let request = SessionReportRequest::parse(body).unwrap();
    assert_eq!(request.report_type, ReportType::DLDR);
    assert_eq!(request.downlink_data_report.unwrap().pdr_id[..], [PdrId(2)]);
}

#[test]
fn pfds_of_an_application() {
    let flow = TheirContents::flow_description(FLOW).unwrap();
    let url = TheirContents::flow_and_url(FLOW, "http://example.org/").unwrap();
    let pfd = TheirPfd::new(vec![flow, url]);
    let video = TheirApplication::new(ApplicationId::new("video"), pfd);
    let request = PfdManagementRequestBuilder::new(77).application_ids_pfds(video);
    let datagram = request.build().marshal();
    let body = open(&datagram, MessageType::PFD_MANAGEMENT_REQUEST, None);
    let request = PfdManagementRequest::parse(body).unwrap();
    let told = &request.application_ids_pfds[0];
    assert_eq!(told.application_id, Text(b"video"));
    let [flow, url] = &told.pfd_context[0].pfd_contents[..] else {
        panic!("{told:?}");
    };
    assert_eq!(*flow, PfdContents::flow(FLOW.as_bytes()));
    assert!(url.asks_for_names() && !flow.asks_for_names());
    assert_eq!(url.flow_description, Some(FLOW.as_bytes()));
}
