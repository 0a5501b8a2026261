//! Requests written and responses read by another implementation of PFCP (rs-pfcp).

use super::bench::*;
use core::net::IpAddr;
use rs_pfcp::ie::apply_action::ApplyAction;
use rs_pfcp::ie::cause::CauseValue;
use rs_pfcp::ie::create_far::CreateFarBuilder;
use rs_pfcp::ie::create_pdr::CreatePdrBuilder;
use rs_pfcp::ie::create_urr::CreateUrrBuilder;
use rs_pfcp::ie::destination_interface::{DestinationInterface, Interface};
use rs_pfcp::ie::f_teid::FteidBuilder;
use rs_pfcp::ie::far_id::FarId;
use rs_pfcp::ie::forwarding_parameters::ForwardingParameters;
use rs_pfcp::ie::measurement_method::MeasurementMethod;
use rs_pfcp::ie::outer_header_creation::OuterHeaderCreation;
use rs_pfcp::ie::outer_header_removal::OuterHeaderRemoval;
use rs_pfcp::ie::pdi::PdiBuilder;
use rs_pfcp::ie::pdr_id::PdrId;
use rs_pfcp::ie::precedence::Precedence;
use rs_pfcp::ie::reporting_triggers::ReportingTriggers;
use rs_pfcp::ie::source_interface::{SourceInterface, SourceInterfaceValue};
use rs_pfcp::ie::ue_ip_address::UeIpAddress;
use rs_pfcp::ie::update_far::UpdateFar;
use rs_pfcp::ie::urr_id::UrrId;
use rs_pfcp::message::Message;
use rs_pfcp::message::session_deletion_request::SessionDeletionRequestBuilder;
use rs_pfcp::message::session_deletion_response::SessionDeletionResponse;
use rs_pfcp::message::session_establishment_request::SessionEstablishmentRequestBuilder;
use rs_pfcp::message::session_establishment_response::SessionEstablishmentResponse;
use rs_pfcp::message::session_modification_request::SessionModificationRequestBuilder;
use rs_pfcp::message::session_modification_response::SessionModificationResponse;

fn establishment_bytes() -> Vec<u8> {
    let f_teid = FteidBuilder::new().choose_ipv4().build().unwrap();
    let up = PdiBuilder::new(SourceInterface::new(SourceInterfaceValue::Access))
        .f_teid(f_teid)
        .build()
        .unwrap();
    let down = PdiBuilder::new(SourceInterface::new(SourceInterfaceValue::Core))
        .ue_ip_address(UeIpAddress::new(Some(UE), None))
        .build()
        .unwrap();
    let up = CreatePdrBuilder::new(PdrId::new(1))
        .precedence(Precedence::new(100))
        .pdi(up)
        .outer_header_removal(OuterHeaderRemoval::new(0))
        .far_id(FarId::new(1))
        .urr_id(UrrId::new(1))
        .build()
        .unwrap();
    let down = CreatePdrBuilder::new(PdrId::new(2))
        .precedence(Precedence::new(100))
        .pdi(down)
        .far_id(FarId::new(2))
        .urr_id(UrrId::new(1))
        .build()
        .unwrap();
    let access = ForwardingParameters::new(DestinationInterface::new(Interface::Access))
        .with_outer_header_creation(OuterHeaderCreation::gtpu_ipv4(0x77u32, GNB));
    let fars = [
        CreateFarBuilder::uplink_to_core(FarId::new(1))
            .build()
            .unwrap(),
        CreateFarBuilder::new(FarId::new(2))
            .apply_action(ApplyAction::new(2))
            .forwarding_parameters(access)
            .build()
            .unwrap(),
    ];
    let urr = CreateUrrBuilder::new(UrrId::new(1))
        .measurement_method(MeasurementMethod::new(false, true, false))
        .reporting_triggers(ReportingTriggers::default())
        .build()
        .unwrap();
    SessionEstablishmentRequestBuilder::new(0u64, 901u32)
        .node_id(IpAddr::V4(CP))
        .fseid(0x4711u64, IpAddr::V4(CP))
        .create_pdrs(vec![up.to_ie(), down.to_ie()])
        .create_fars(fars.iter().map(|f| f.to_ie()).collect())
        .create_urrs(vec![urr.to_ie()])
        .marshal()
        .unwrap()
}

#[test]
fn another_implementation_establishes_modifies_and_deletes_a_session() {
    let mut bench = Bench::new();
    let response = bench.ask_bytes(CP, &establishment_bytes()).unwrap();
    let response = SessionEstablishmentResponse::unmarshal(&response).unwrap();
    assert_eq!(response.cause().unwrap().value, CauseValue::RequestAccepted);
    let created: Vec<_> = response.created_pdrs_typed().map(Result::unwrap).collect();
    assert_eq!((created.len(), created[0].pdr_id.value), (1, 1));
    let seid = response.fseid().unwrap().seid;
    let idle = UpdateFar::new(FarId::new(2), Some(ApplyAction::new(12)), None, None, None);
    let request = SessionModificationRequestBuilder::new(seid, 902u32)
        .update_fars(vec![idle.to_ie()])
        .marshal();
    let response = bench.ask_bytes(CP, &request).unwrap();
    let response = SessionModificationResponse::unmarshal(&response).unwrap();
    assert_eq!(response.cause.payload, [1]);
    let request = SessionDeletionRequestBuilder::new(seid, 903u32)
        .build()
        .marshal();
    let response = bench.ask_bytes(CP, &request).unwrap();
    let response = SessionDeletionResponse::unmarshal(&response).unwrap();
    assert_eq!(response.cause.payload, [1]);
    assert_eq!(response.usage_reports.len(), 1);
    bench.assert_vacant();
}
