//! The node related messages.

use std::net::Ipv4Addr;

use super::encoded;
use super::groups::*;
use super::rules::PEER_V6;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

pub const NODE: NodeId<'static> = NodeId::V4(Ipv4Addr::new(192, 0, 2, 10));
pub const STARTED: NtpTime = NtpTime(0xe123_4567);
pub const FQDN: NodeId<'static> = NodeId::Fqdn(Name(b"\x03upf\x07example"));

pub fn messages() -> Vec<Vec<u8>> {
    let mut all = vec![
        encoded(&HeartbeatRequest {
            recovery_time_stamp: STARTED,
            source_ip_address: Some(&[2, 192, 0, 2, 1]),
        }),
        encoded(&HeartbeatResponse {
            recovery_time_stamp: STARTED,
        }),
        encoded(&VersionNotSupportedResponse::default()),
    ];
    all.extend(management());
    all.extend(association());
    all.extend(release());
    all.extend(reports());
    all
}

fn management() -> [Vec<u8>; 4] {
    let offending_ie = Some(OffendingIe(IeType::APPLICATION_IDS_PFDS));
    [
        encoded(&PfdManagementRequest {
            application_ids_pfds: applications(),
            node_id: Some(NODE),
        }),
        encoded(&PfdManagementResponse {
            cause: Cause::SERVICE_NOT_SUPPORTED,
            offending_ie,
            node_id: Some(NODE),
        }),
        encoded(&SessionSetDeletionRequest {
            node_id: NODE,
            fq_csid: [fq_csid()].into_iter().collect(),
        }),
        encoded(&SessionSetDeletionResponse {
            node_id: NODE,
            cause: Cause::MANDATORY_IE_INCORRECT,
            offending_ie: Some(OffendingIe(IeType::FQ_CSID)),
        }),
    ]
}

/// One application with two flows, and one whose flows are to go.
fn applications<const N: usize>() -> arrayvec::ArrayVec<ApplicationIdsPfds<'static>, N> {
    let contents = PfdContents {
        additional_flow_descriptions: Some(b"\0\x24permit out 6 from any 80 to assigned"),
        ..PfdContents::flow(b"permit out 17 from any 443 to assigned")
    };
    let context = PfdContext {
        pfd_contents: [contents].into_iter().collect(),
    };
    let video = ApplicationIdsPfds {
        application_id: Text(b"video"),
        pfd_context: [context].into_iter().collect(),
    };
    let gone = ApplicationIdsPfds {
        application_id: Text(b"gone"),
        ..ApplicationIdsPfds::default()
    };
    [video, gone].into_iter().collect()
}

/// FQ-CSID (8.2.43): an IPv4 node of type SMF (5) with one set.
pub fn fq_csid() -> FqCsid<'static> {
    let node = CsidNode::V4([192, 0, 2, 1].into());
    FqCsid::new(node, &[0, 7], Some(5)).expect("one set")
}

pub fn association_setup_request() -> AssociationSetupRequest<'static> {
    AssociationSetupRequest {
        node_id: NODE,
        recovery_time_stamp: STARTED,
        up_function_features: Some(UpFunctionFeatures::FTUP | UpFunctionFeatures::MNOP),
        cp_function_features: Some(CpFunctionFeatures::LOAD | CpFunctionFeatures::RPGUR),
        user_plane_ip_resource_information: [ip_resource()].into_iter().collect(),
        alternative_smf_ip_address: [smf_address()].into_iter().collect(),
        smf_set_id: Some(SmfSetId(Name(b"\x04set1\x07example"))),
        pfcp_session_retention_information: Some(SessionRetentionInformation {
            cp_pfcp_entity_ip_address: [CpPfcpEntityIpAddress {
                ipv4: None,
                ipv6: Some(PEER_V6),
            }]
            .into_iter()
            .collect(),
        }),
        ue_ip_address_pool_information: [pool()].into_iter().collect(),
        gtpu_path_qos_control_information: Default::default(),
        nf_instance_id: Some(&[7; 16]),
        pfcpasreq_flags: Some(AssociationSetupRequestFlags::UUPSI),
    }
}

pub fn association_setup_response() -> AssociationSetupResponse<'static> {
    AssociationSetupResponse {
        node_id: FQDN,
        cause: Cause::REQUEST_ACCEPTED,
        recovery_time_stamp: STARTED,
        up_function_features: Some(UpFunctionFeatures::FTUP | UpFunctionFeatures::UPIDP),
        cp_function_features: Some(CpFunctionFeatures::OVRL),
        user_plane_ip_resource_information: [ip_resource()].into_iter().collect(),
        alternative_smf_ip_address: [smf_address()].into_iter().collect(),
        smf_set_id: Some(SmfSetId(Name(b"\x04set1"))),
        pfcpasrsp_flags: Some(AssociationSetupResponseFlags::PSREI),
        ue_ip_address_pool_information: [pool()].into_iter().collect(),
        nf_instance_id: Some(&[7; 16]),
    }
}

fn association() -> [Vec<u8>; 4] {
    [
        encoded(&association_setup_request()),
        encoded(&association_setup_response()),
        encoded(&AssociationUpdateRequest {
            node_id: NODE,
            up_function_features: Some(UpFunctionFeatures::EMPU),
            cp_function_features: Some(CpFunctionFeatures::LOAD),
            pfcp_association_release_request: Some(AssociationReleaseRequestFlags::SARR),
            graceful_release_period: Some(Timer::at_least_s(180)),
            pfcpaureq_flags: Some(AssociationUpdateRequestFlags::PARPS),
            user_plane_ip_resource_information: [ip_resource()].into_iter().collect(),
            alternative_smf_ip_address: [smf_address()].into_iter().collect(),
            smf_set_id: Some(SmfSetId(Name(b"\x04set1"))),
            ue_ip_address_pool_information: [pool()].into_iter().collect(),
            // Sequence Number, Metric and Validity Timer (7.4.4.3.1).
            ue_ip_address_usage_information: [&[
                0, 52, 0, 4, 0, 0, 0, 1, 0, 53, 0, 1, 50, 1, 13, 0, 2, 0, 60,
            ][..]]
            .into_iter()
            .collect(),
        }),
        encoded(&AssociationUpdateResponse {
            node_id: NODE,
            cause: Cause::REQUEST_ACCEPTED,
            up_function_features: Some(UpFunctionFeatures::EMPU),
            cp_function_features: Some(CpFunctionFeatures::LOAD),
        }),
    ]
}

fn release() -> [Vec<u8>; 2] {
    [
        encoded(&AssociationReleaseRequest { node_id: NODE }),
        encoded(&AssociationReleaseResponse {
            node_id: NODE,
            cause: Cause::REQUEST_ACCEPTED,
        }),
    ]
}

fn reports() -> [Vec<u8>; 2] {
    [
        encoded(&NodeReportRequest {
            node_id: NODE,
            node_report_type: NodeReportType::UPFR | NodeReportType::UPRR | NodeReportType::PURR,
            user_plane_path_failure_report: Some(UserPlanePathFailureReport {
                remote_gtpu_peer: [remote_peer()].into_iter().collect(),
            }),
            user_plane_path_recovery_report: Some(UserPlanePathRecoveryReport {
                remote_gtpu_peer: [remote_peer(), remote_peer()].into_iter().collect(),
            }),
            // Time Domain Number (8.2.146).
            clock_drift_report: [&[0, 206, 0, 1, 5][..]].into_iter().collect(),
            gtpu_path_qos_report: Default::default(),
            peer_up_restart_report: Some(PeerUpRestartReport {
                remote_gtpu_peer: [remote_peer()].into_iter().collect(),
            }),
        }),
        encoded(&NodeReportResponse {
            node_id: NODE,
            cause: Cause::MANDATORY_IE_INCORRECT,
            offending_ie: Some(OffendingIe(IeType::NODE_REPORT_TYPE)),
        }),
    ]
}
