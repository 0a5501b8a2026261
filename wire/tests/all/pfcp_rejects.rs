//! What is refused, with which cause and which offending IE (TS 29.244, 7.6).

use crate::pfcp_common::{rules, session};
use sluice_wire::ids::*;
use sluice_wire::limits;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Full, IeType, Reject, Writer};

fn body(write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>) -> Vec<u8> {
    let mut buffer = vec![0; 64 * 1024];
    let mut out = Writer::new(&mut buffer);
    write(&mut out).expect("it fits");
    out.written().to_vec()
}

/// The smallest establishment, with one more IE.
fn establishment_with(ie_type: IeType, value: &[u8]) -> Vec<u8> {
    body(|out| {
        out.ie(IeType::NODE_ID, |out| out.bytes(&[0, 10, 0, 0, 1]))?;
        out.ie(IeType::F_SEID, |out| {
            out.bytes(&[2, 0, 0, 0, 0, 0, 0, 0, 1, 10, 0, 0, 1])
        })?;
        out.ie(IeType::CREATE_PDR, |out| rules::create_pdr().emit(out))?;
        out.ie(IeType::CREATE_FAR, |out| rules::buffering_far().emit(out))?;
        out.ie(ie_type, |out| out.bytes(value))
    })
}

#[test]
fn a_missing_mandatory_ie_is_named() {
    assert_eq!(
        HeartbeatRequest::parse(&[]),
        Err(Reject::mandatory_missing(IeType::RECOVERY_TIME_STAMP))
    );
    let no_pdr = SessionEstablishmentRequest {
        create_pdr: Default::default(),
        ..session::establishment_request()
    };
    assert_eq!(
        SessionEstablishmentRequest::parse(&body(|out| no_pdr.emit(out))),
        Err(Reject::mandatory_missing(IeType::CREATE_PDR))
    );
}

#[test]
fn a_missing_ie_inside_a_group_is_named() {
    let request = establishment_with(IeType::CREATE_QER, &[0, 109, 0, 4, 0, 0, 0, 1]);
    assert_eq!(
        SessionEstablishmentRequest::parse(&request),
        Err(Reject::mandatory_missing(IeType::GATE_STATUS))
    );
}

#[test]
fn a_missing_conditional_ie_is_named() {
    let far = CreateFar {
        apply_action: ApplyAction::FORW,
        ..CreateFar::default()
    };
    let request = establishment_with(IeType::CREATE_FAR, &body(|out| far.emit(out)));
    assert_eq!(
        SessionEstablishmentRequest::parse(&request),
        Err(Reject::conditional_missing(IeType::FORWARDING_PARAMETERS))
    );
    let report = SessionReportRequest {
        report_type: ReportType::DLDR,
        ..Default::default()
    };
    assert_eq!(
        SessionReportRequest::parse(&body(|out| report.emit(out))),
        Err(Reject::conditional_missing(IeType::DOWNLINK_DATA_REPORT))
    );
    let accepted = SessionEstablishmentResponse {
        up_f_seid: None,
        ..session::establishment_response()
    };
    assert_eq!(
        SessionEstablishmentResponse::parse(&body(|out| accepted.emit(out))),
        Err(Reject::conditional_missing(IeType::F_SEID))
    );
}

#[test]
fn a_short_ie_has_an_invalid_length() {
    let request = establishment_with(IeType::USER_PLANE_INACTIVITY_TIMER, &[0, 0, 1]);
    let reject = Reject::invalid_length(IeType::USER_PLANE_INACTIVITY_TIMER);
    assert_eq!(reject.cause, Cause::INVALID_LENGTH);
    assert_eq!(SessionEstablishmentRequest::parse(&request), Err(reject));
}

#[test]
fn an_ie_beyond_its_group_has_an_invalid_length() {
    let request = establishment_with(IeType::CREATE_PDR, &[0, 56, 0, 3, 0, 1]);
    assert_eq!(
        SessionEstablishmentRequest::parse(&request),
        Err(Reject::invalid_length(IeType::PDR_ID))
    );
    let loose_octets = establishment_with(IeType::CREATE_BAR, &[0, 88, 0]);
    assert_eq!(
        SessionEstablishmentRequest::parse(&loose_octets),
        Err(Reject::invalid_length(IeType::CREATE_BAR))
    );
}

#[test]
fn an_incorrect_ie_of_a_rule_is_refused() {
    // An F-TEID with TEID 0 in an Outer Header Creation.
    let far = body(|out| {
        out.ie(IeType::FAR_ID, |out| out.u32(1))?;
        out.ie(IeType::APPLY_ACTION, |out| out.u8(2))?;
        out.ie(IeType::FORWARDING_PARAMETERS, |out| {
            out.ie(IeType::DESTINATION_INTERFACE, |out| out.u8(0))?;
            let teid_0 = [1, 0, 0, 0, 0, 0, 10, 0, 0, 1];
            out.ie(IeType::OUTER_HEADER_CREATION, |out| out.bytes(&teid_0))
        })
    });
    assert_eq!(
        SessionEstablishmentRequest::parse(&establishment_with(IeType::CREATE_FAR, &far)),
        Err(Reject::incorrect(IeType::OUTER_HEADER_CREATION))
    );
}

#[test]
fn extra_octets_of_a_known_ie_are_ignored() {
    let request = establishment_with(IeType::USER_PLANE_INACTIVITY_TIMER, &[0, 0, 0, 7, 1, 2]);
    let request = SessionEstablishmentRequest::parse(&request).unwrap();
    assert_eq!(request.user_plane_inactivity_timer, Some(Seconds(7)));
}

#[test]
fn the_first_of_a_repeated_ie_holds() {
    let twice = [0, 96, 0, 4, 0, 0, 0, 1, 0, 96, 0, 4, 0, 0, 0, 2];
    assert_eq!(
        HeartbeatResponse::parse(&twice),
        Ok(HeartbeatResponse {
            recovery_time_stamp: NtpTime(1)
        })
    );
}

#[test]
fn lists_hold_their_limit_and_refuse_one_more() {
    let removals = |count: usize| {
        body(|out| {
            (0..count).try_for_each(|i| {
                let pdr = RemovePdr {
                    pdr_id: PdrId(i as u16),
                };
                out.ie(IeType::REMOVE_PDR, |out| pdr.emit(out))
            })
        })
    };
    let full = removals(limits::PDRS_PER_MESSAGE);
    let request = SessionModificationRequest::parse(&full).unwrap();
    assert_eq!(request.remove_pdr.len(), limits::PDRS_PER_MESSAGE);
    let reject = Reject::too_many(IeType::REMOVE_PDR);
    assert_eq!(reject.cause, Cause::NO_RESOURCES_AVAILABLE);
    let over = removals(limits::PDRS_PER_MESSAGE + 1);
    assert_eq!(SessionModificationRequest::parse(&over), Err(reject));
}

#[test]
fn null_lengths_remove_parameters_and_references() {
    let update = UpdatePdr {
        pdr_id: PdrId(1),
        urr_id: [Edit::Remove].into_iter().collect(),
        ..UpdatePdr::default()
    };
    let octets = body(|out| update.emit(out));
    assert_eq!(octets, [0, 56, 0, 2, 0, 1, 0, 81, 0, 0]);
    assert_eq!(UpdatePdr::parse(&octets), Ok(update));
    let urr = rules::removing_urr();
    assert_eq!(UpdateUrr::parse(&body(|out| urr.emit(out))), Ok(urr));
    let null_in_create = [0, 56, 0, 2, 0, 1, 0, 29, 0, 0];
    assert_eq!(
        CreatePdr::parse(&null_in_create),
        Err(Reject::invalid_length(IeType::PRECEDENCE))
    );
}

#[test]
fn the_wrong_value_of_an_informing_ie_is_ignored() {
    let request = establishment_with(IeType::PDN_TYPE, &[0]);
    assert_eq!(
        SessionEstablishmentRequest::parse(&request)
            .unwrap()
            .pdn_type,
        None
    );
    let cut_short = establishment_with(IeType::PDN_TYPE, &[]);
    assert_eq!(
        SessionEstablishmentRequest::parse(&cut_short),
        Err(Reject::invalid_length(IeType::PDN_TYPE))
    );
}
