//! The session related messages.

use std::net::Ipv4Addr;

use super::encoded;
use super::groups::*;
use super::node::{NODE, STARTED, fq_csid};
use super::rules::*;
use sluice_wire::ids::*;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

pub fn messages() -> Vec<Vec<u8>> {
    vec![
        encoded(&establishment_request()),
        encoded(&establishment_response()),
        encoded(&establishment_refusal()),
        encoded(&modification_request()),
        encoded(&modification_response()),
        encoded(&SessionDeletionRequest::default()),
        encoded(&deletion_response()),
        encoded(&report_request()),
        encoded(&report_response()),
    ]
}

pub const SMF: FSeid = FSeid::v4(Seid(0x0102_0304_0506_0708), Ipv4Addr::new(192, 0, 2, 9));
/// Sequence Number and Metric (7.5.3.3); Overload Control adds Timer and OCI Flags (7.5.3.4).
const LOAD: &[u8] = &[0, 52, 0, 4, 0, 0, 0, 1, 0, 53, 0, 1, 50];
const OVERLOAD: &[u8] = &[
    0, 52, 0, 4, 0, 0, 0, 1, 0, 53, 0, 1, 50, 0, 55, 0, 1, 0x21, 0, 110, 0, 1, 1,
];
/// QER ID (7.5.7.1-2); tshark 4.0.17 cannot read the Packet Rate Status beside it (see `rules`).
const RATE_STATUS: &[u8] = &[0, 109, 0, 4, 0, 0, 0, 5];
/// Trace Information (8.2.108).
const TRACE: &[u8] = &[
    0x00, 0xf1, 0x10, 0, 0, 1, 1, 0x0f, 1, 1, 0xff, 4, 192, 0, 2, 77,
];

pub fn establishment_request() -> SessionEstablishmentRequest<'static> {
    SessionEstablishmentRequest {
        node_id: NODE,
        cp_f_seid: SMF,
        create_pdr: [create_pdr()].into_iter().collect(),
        create_far: [create_far(), buffering_far()].into_iter().collect(),
        create_urr: [create_urr()].into_iter().collect(),
        create_qer: [create_qer()].into_iter().collect(),
        create_bar: [create_bar()].into_iter().collect(),
        create_traffic_endpoint: [create_traffic_endpoint()].into_iter().collect(),
        pdn_type: Some(PdnType::IPV4V6),
        fq_csid: [fq_csid()].into_iter().collect(),
        user_plane_inactivity_timer: Some(Seconds(600)),
        user_id: Some(UserId {
            imsi: Some(&[0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0xf1]),
            imei: Some(&[0x53, 0x68, 0x12, 0x34, 0x56, 0x78, 0x90, 0x21]),
            msisdn: Some(&[0x94, 0x71, 0x12, 0x34, 0x56]),
            nai: Some(b"user@example"),
            supi: Some(b"imsi-001010000000001"),
            gpsi: Some(b"msisdn-491721234567"),
            pei: Some(b"imei-123456789012345"),
        }),
        trace_information: Some(TRACE),
        apn_dnn: Some(Name(b"\x08internet")),
        create_mar: Default::default(),
        pfcpsereq_flags: Some(SessionEstablishmentRequestFlags::RESTI),
        recovery_time_stamp: Some(STARTED),
        s_nssai: Some(SNssai { sst: 1, sd: None }),
        rat_type: Some(&[10]),
    }
}

pub fn establishment_response() -> SessionEstablishmentResponse<'static> {
    SessionEstablishmentResponse {
        node_id: NODE,
        cause: Cause::REQUEST_PARTIALLY_ACCEPTED,
        offending_ie: None,
        up_f_seid: Some(FSeid {
            ipv6: Some(PEER_V6),
            ..FSeid::v4(Seid(9), PEER_V4)
        }),
        created_pdr: [created_pdr()].into_iter().collect(),
        load_control_information: Some(LOAD),
        overload_control_information: Some(OVERLOAD),
        fq_csid: [fq_csid()].into_iter().collect(),
        failed_rule_id: None,
        created_traffic_endpoint: [created_traffic_endpoint()].into_iter().collect(),
        partial_failure_information: [partial_failure()].into_iter().collect(),
    }
}

fn establishment_refusal() -> SessionEstablishmentResponse<'static> {
    SessionEstablishmentResponse {
        node_id: NODE,
        cause: Cause::RULE_CREATION_MODIFICATION_FAILURE,
        offending_ie: Some(OffendingIe(IeType::SDF_FILTER)),
        failed_rule_id: Some(FailedRuleId::Pdr(PdrId(1))),
        ..SessionEstablishmentResponse::default()
    }
}

pub fn modification_request() -> SessionModificationRequest<'static> {
    SessionModificationRequest {
        cp_f_seid: Some(SMF),
        remove_pdr: [RemovePdr { pdr_id: PdrId(11) }].into_iter().collect(),
        remove_far: [RemoveFar { far_id: FarId(12) }].into_iter().collect(),
        remove_urr: [RemoveUrr { urr_id: UrrId(13) }].into_iter().collect(),
        remove_qer: [RemoveQer { qer_id: QerId(14) }].into_iter().collect(),
        remove_bar: [RemoveBar { bar_id: BarId(15) }].into_iter().collect(),
        remove_traffic_endpoint: [RemoveTrafficEndpoint {
            traffic_endpoint_id: 16,
        }]
        .into_iter()
        .collect(),
        create_pdr: [create_pdr()].into_iter().collect(),
        create_far: [create_far()].into_iter().collect(),
        create_urr: [create_urr()].into_iter().collect(),
        create_qer: [create_qer()].into_iter().collect(),
        create_bar: [create_bar()].into_iter().collect(),
        create_traffic_endpoint: [create_traffic_endpoint()].into_iter().collect(),
        update_pdr: [update_pdr()].into_iter().collect(),
        update_far: [update_far()].into_iter().collect(),
        update_urr: [update_urr()].into_iter().collect(),
        update_qer: [update_qer()].into_iter().collect(),
        update_bar: [update_bar()].into_iter().collect(),
        update_traffic_endpoint: [update_traffic_endpoint()].into_iter().collect(),
        pfcpsmreq_flags: Some(SessionModificationRequestFlags::QAURR),
        query_urr: [QueryUrr { urr_id: UrrId(3) }].into_iter().collect(),
        fq_csid: [fq_csid()].into_iter().collect(),
        user_plane_inactivity_timer: Some(Edit::Set(Seconds(30))),
        query_urr_reference: Some(99),
        trace_information: Some(TRACE),
        node_id: Some(NODE),
        rat_type: Some(&[10]),
    }
}

pub fn modification_response() -> SessionModificationResponse<'static> {
    SessionModificationResponse {
        cause: Cause::REQUEST_ACCEPTED,
        offending_ie: Some(OffendingIe(IeType::UPDATE_FAR)),
        created_pdr: [created_pdr()].into_iter().collect(),
        load_control_information: Some(LOAD),
        overload_control_information: Some(OVERLOAD),
        usage_report: [queried_usage_report()].into_iter().collect(),
        failed_rule_id: Some(FailedRuleId::Urr(UrrId(3))),
        additional_usage_reports_information: Some(AdditionalUsageReportsInformation {
            more: true,
            number: 5,
        }),
        created_traffic_endpoint: [created_traffic_endpoint()].into_iter().collect(),
        updated_pdr: [updated_pdr()].into_iter().collect(),
        packet_rate_status_report: [RATE_STATUS].into_iter().collect(),
        partial_failure_information: [partial_failure()].into_iter().collect(),
    }
}

pub fn deletion_response() -> SessionDeletionResponse<'static> {
    SessionDeletionResponse {
        cause: Cause::REQUEST_ACCEPTED,
        offending_ie: Some(OffendingIe(IeType::CAUSE)),
        load_control_information: Some(LOAD),
        overload_control_information: Some(OVERLOAD),
        usage_report: [usage_report(), usage_report()].into_iter().collect(),
        additional_usage_reports_information: Some(AdditionalUsageReportsInformation::default()),
        packet_rate_status_report: [RATE_STATUS].into_iter().collect(),
        session_report: [SESSION_REPORT].into_iter().collect(),
        pfcpsdrsp_flags: Some(SessionDeletionResponseFlags::PURU),
    }
}

/// SRR ID (7.5.8.6).
const SESSION_REPORT: &[u8] = &[0, 215, 0, 1, 1];

pub fn report_request() -> SessionReportRequest<'static> {
    SessionReportRequest {
        report_type: ReportType::DLDR | ReportType::USAR | ReportType::ERIR | ReportType::UPIR,
        downlink_data_report: Some(downlink_data_report()),
        usage_report: [reported_usage_report()].into_iter().collect(),
        error_indication_report: Some(error_indication_report()),
        load_control_information: Some(LOAD),
        overload_control_information: Some(OVERLOAD),
        additional_usage_reports_information: Some(AdditionalUsageReportsInformation {
            more: false,
            number: 1,
        }),
        pfcpsrreq_flags: Some(SessionReportRequestFlags::PSDBU),
        old_cp_f_seid: Some(SMF),
        packet_rate_status_report: [RATE_STATUS].into_iter().collect(),
        session_report: [SESSION_REPORT].into_iter().collect(),
    }
}

pub fn report_response() -> SessionReportResponse {
    SessionReportResponse {
        cause: Cause::REQUEST_ACCEPTED,
        offending_ie: Some(OffendingIe(IeType::CAUSE)),
        update_bar: [update_bar_in_report_response()].into_iter().collect(),
        pfcpsrrsp_flags: Some(SessionReportResponseFlags::DROBU),
        cp_f_seid: Some(SMF),
        n4_u_f_teid: Some(FTeid::v4(teid(), PEER_V4)),
        alternative_smf_ip_address: Some(smf_address()),
    }
}
