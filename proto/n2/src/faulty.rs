//! Messages that break the rules, and what their sender is told (TS 38.413, 10).

use oxirush_ngap::{Deviation, build_ngap, ngap};

use crate::cause::Cause;
use crate::from_amf::FromAmf;
use crate::procedures;
use crate::value::{AmfUeId, Connection, RanUeId};

/// Longest message that is read: a handover with all its containers stays below it.
pub const LONGEST: usize = 65_536;

/// A message that is not processed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faulty {
    /// Why.
    pub cause: Cause,
    /// The procedure's name in the TS, if there is one.
    pub procedure: &'static str,
    /// False of a procedure that its receiver does not serve.
    pub is_served: bool,
    /// What the sender gets; none if it is to be told nothing.
    pub answer: Option<Vec<u8>>,
}

/// Reads a PDU's envelope.
pub fn open(octets: &[u8]) -> Result<ngap::NGAP_PDU, Faulty> {
    if octets.len() > LONGEST {
        return Err(no_message());
    }
    ngap::NGAP_PDU::decode(octets).map_err(|_| no_message())
}

/// Checks which IEs a PDU has.
pub fn check(pdu: &ngap::NGAP_PDU) -> Result<(), Faulty> {
    let deviations = pdu.check_structure().map_err(|_| no_message())?;
    let worst = deviations
        .iter()
        .filter_map(Deviation::cause)
        .find(|cause| *cause != ngap::CauseProtocol::abstract_syntax_error_ignore_and_notify);
    match worst {
        None => Ok(()),
        Some(worst) => Err(refused(pdu, Cause::Protocol(worst as u8), &deviations)),
    }
}

fn no_message() -> Faulty {
    Faulty {
        cause: Cause::TRANSFER_SYNTAX,
        procedure: "no message",
        is_served: true,
        answer: Some(indication(Cause::TRANSFER_SYNTAX, None, None)),
    }
}

/// A message of a procedure that its receiver does not serve, or does not begin: its criticality says whether it
/// is answered (10.3.4.1).
pub fn not_served(pdu: &ngap::NGAP_PDU) -> Faulty {
    let refused = refused(pdu, Cause::ABSTRACT_SYNTAX_REJECT, &[]);
    Faulty {
        is_served: false,
        answer: refused.answer.filter(|_| procedures::is_answered(pdu)),
        ..refused
    }
}

/// A PDU with an IE that cannot be read, or of a procedure that is not offered.
pub fn refused(pdu: &ngap::NGAP_PDU, why: Cause, deviations: &[Deviation]) -> Faulty {
    let procedure = pdu.procedure_name();
    let is_setup = pdu.is_initiating() && pdu.procedure_code() == NG_SETUP;
    // An error indication and a response are never answered (10.5, 10.3.4).
    let is_answered = pdu.is_initiating() && pdu.procedure_code() != ERROR_INDICATION;
    let answer = if is_setup {
        let diagnostics = pdu.criticality_diagnostics_for_response(deviations);
        build_ngap!(
            UnsuccessfulOutcome,
            NGSetup,
            NGSetupFailure,
            Cause(why.write()),
            CriticalityDiagnostics(diagnostics),
        )
        .and_then(|pdu| pdu.encode())
        .ok()
    } else if is_answered {
        Some(indication(
            why,
            Some(connection(pdu)),
            Some(pdu.criticality_diagnostics(deviations)),
        ))
    } else {
        None
    };
    Faulty {
        cause: why,
        procedure,
        is_served: true,
        answer,
    }
}

const NG_SETUP: u8 = 21;
const ERROR_INDICATION: u8 = 9;

/// Whose message it is, as far as that can be read.
fn connection(pdu: &ngap::NGAP_PDU) -> Connection {
    use oxirush_ngap::ie;
    let amf = pdu.ie::<ie::AMF_UE_NGAP_ID>().and_then(Result::ok);
    let ran = pdu.ie::<ie::RAN_UE_NGAP_ID>().and_then(Result::ok);
    Connection {
        amf: amf.map(|id| AmfUeId(id.0)),
        ran: ran.map(|id| RanUeId(id.0)),
    }
}

/// Error Indication.
fn indication(
    why: Cause,
    connection: Option<Connection>,
    diagnostics: Option<ngap::CriticalityDiagnostics>,
) -> Vec<u8> {
    let pdu = match (connection, diagnostics) {
        (
            Some(Connection {
                amf: Some(amf),
                ran: Some(ran),
            }),
            Some(diagnostics),
        ) => {
            build_ngap!(
                InitiatingMessage,
                ErrorIndication,
                ErrorIndication,
                AMF_UE_NGAP_ID(amf.0),
                RAN_UE_NGAP_ID(ran.0),
                Cause(why.write()),
                CriticalityDiagnostics(diagnostics),
            )
        }
        (_, Some(diagnostics)) => build_ngap!(
            InitiatingMessage,
            ErrorIndication,
            ErrorIndication,
            Cause(why.write()),
            CriticalityDiagnostics(diagnostics),
        ),
        (_, None) => {
            return FromAmf::ErrorIndication {
                connection,
                cause: Some(why),
            }
            .encode();
        }
    };
    pdu.and_then(|pdu| pdu.encode()).unwrap_or_default()
}
