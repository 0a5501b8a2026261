//! Requests that other UP functions take and this one refuses, with the cause.

use super::bench::*;
use super::live_cores::recorded;
use core::net::Ipv4Addr;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::CreatePdr;
use sluice_wire::pfcp::message::SessionEstablishmentResponse;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, Full, Header, IeType, MessageType, Writer};

/// A Create PDR as an SGW-C sends it that ranks none: all that it has but the Precedence.
fn unranked(pdr: &CreatePdr<'_>, w: &mut Writer<'_>) -> Result<(), Full> {
    w.ie(IeType::CREATE_PDR, |w| {
        w.ie(IeType::PDR_ID, |w| pdr.pdr_id.encode(w))?;
        w.ie(IeType::PDI, |w| pdr.pdi.emit(w))?;
        w.ie(IeType::OUTER_HEADER_REMOVAL, |w| {
            OuterHeaderRemoval::GTPU_UDP_IP.encode(w)
        })?;
        w.ie(IeType::FAR_ID, |w| pdr.far_id.unwrap().encode(w))
    })
}

fn refused(answer: &[u8]) -> (Cause, Option<IeType>) {
    let (_, body) = Header::parse(answer).unwrap();
    let response = SessionEstablishmentResponse::parse(body).unwrap();
    (response.cause, response.offending_ie.map(|ie| ie.0))
}

const NO_PRECEDENCE: (Cause, Option<IeType>) =
    (Cause::MANDATORY_IE_MISSING, Some(IeType::PRECEDENCE));

#[test]
fn pdrs_without_precedence_are_refused_by_name() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let pdr = request.create_pdr.remove(0);
    let kind = MessageType::SESSION_ESTABLISHMENT_REQUEST;
    let answer = bench.ask(CP, kind, Some(Seid(0)), |w| {
        request.emit(w)?;
        unranked(&pdr, w)
    });
    assert_eq!(refused(&answer.unwrap()), NO_PRECEDENCE);
    bench.assert_vacant();
}

/// The same as an SGW-C sent it.
#[test]
fn a_recorded_sgwc_is_refused_by_name() {
    let Some(messages) = recorded::recorded("open5gs-sgwc.txt") else {
        return;
    };
    let mut bench = Bench::new();
    let cp = Ipv4Addr::new(127, 0, 0, 3);
    for (name, octets) in messages {
        let answer = bench.ask_bytes(cp, &octets).unwrap();
        if name == "Session_Establishment_Request" {
            assert_eq!(refused(&answer), NO_PRECEDENCE);
        }
    }
}

/// `Osmocom UPF TC_session_est_noop`, which wants such rules admitted where they do nothing.
#[test]
fn a_tunnel_whose_header_stays_is_refused() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let mut from_cp = uplink_pdr(3, 2);
    from_cp.pdi.source_interface = SourceInterface::CP_FUNCTION;
    from_cp.outer_header_removal = None;
    request.create_pdr.push(from_cp);
    let done = bench.establish(CP, &request);
    let told = (done.cause, done.offending);
    let rule = Cause::RULE_CREATION_MODIFICATION_FAILURE;
    assert_eq!(told, (rule, Some(IeType::OUTER_HEADER_REMOVAL)));
    bench.assert_vacant();
}
