//! Messages that break the rules, and what their sender is told (TS 38.413, 10).

use oxirush_ngap::ngap::{self, NgapPduKind as Kind};
use oxirush_ngap::{Deviation, Error, build_ngap_ie};

use crate::cause::Cause;
use crate::interface::error_indication::ErrorIndication;
use crate::interface::ng_setup::NgSetupFailure;
use crate::interface::ran_configuration_update::RanConfigurationUpdateFailure;
use crate::mobility::handover_preparation::HandoverPreparationFailure;
use crate::mobility::path_switch::{PathSwitchRequestFailure, none_switched};
use crate::procedures;
use crate::table::{Element, Written};
use crate::value::{AmfUeId, Connection, RanUeId, Transfers};

/// Longest message that is read: a handover with all its containers stays below it.
pub const LONGEST: usize = 65_536;

/// A message that is not processed, or of which something is not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faulty {
    /// Why.
    pub cause: Cause,
    /// The procedure's name in the TS, if there is one.
    pub procedure: &'static str,
    /// The IEs that are at fault, by name, and how.
    pub what: String,
    /// Whose message it is, as far as that can be read.
    pub connection: Connection,
    /// False of a procedure that its receiver does not serve.
    pub is_served: bool,
    /// What the sender gets; none if it is to be told nothing.
    pub answer: Option<Vec<u8>>,
    /// The procedure of its receiver that it was to end: that has failed (10.3.5).
    pub ends: Option<Ended>,
}

/// A procedure that an AMF begins, and ends as soon as its response is there, readable or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Initial Context Setup.
    ContextSetup,
    /// UE Context Modification.
    ContextModification,
    /// UE Context Release.
    ContextRelease,
    /// Handover Resource Allocation.
    ResourceAllocation,
    /// PDU Session Resource Setup.
    SessionSetup,
}

impl Ended {
    /// Of the outcome of one.
    fn of(pdu: &ngap::NGAP_PDU) -> Option<Self> {
        Some(match pdu.kind() {
            Kind::Successful_InitialContextSetup | Kind::Unsuccessful_InitialContextSetup => {
                Self::ContextSetup
            }
            Kind::Successful_UEContextModification | Kind::Unsuccessful_UEContextModification => {
                Self::ContextModification
            }
            Kind::Successful_UEContextRelease => Self::ContextRelease,
            Kind::Successful_HandoverResourceAllocation
            | Kind::Unsuccessful_HandoverResourceAllocation => Self::ResourceAllocation,
            Kind::Successful_PDUSessionResourceSetup => Self::SessionSetup,
            _ => return None,
        })
    }
}

/// Reads a PDU's envelope.
pub fn open(octets: &[u8]) -> Result<ngap::NGAP_PDU, Faulty> {
    if octets.len() > LONGEST {
        return Err(no_message());
    }
    ngap::NGAP_PDU::decode(octets).map_err(|_| no_message())
}

/// Checks which IEs a PDU has. The message is processed without those that it gives, whose sender is to be
/// notified (10.3.4.2).
pub fn check(pdu: &ngap::NGAP_PDU) -> Result<Vec<Deviation>, Faulty> {
    let mut deviations = pdu.check_structure().map_err(|_| no_message())?;
    let notifies = |deviation: &Deviation| {
        let notify = ngap::CauseProtocol::abstract_syntax_error_ignore_and_notify;
        deviation.cause().map(|cause| cause == notify)
    };
    let mut worst = deviations.iter().filter(|one| notifies(one) == Some(false));
    if let Some(worst) = worst.next().and_then(Deviation::cause) {
        return Err(refused(pdu, Cause::Protocol(worst as u8), &deviations));
    }
    deviations.retain(|one| notifies(one) == Some(true));
    Ok(deviations)
}

/// What the sender of a message hears that was processed without these IEs; none if there is nothing to hear.
pub fn notice(pdu: &ngap::NGAP_PDU, deviations: &[Deviation]) -> Option<Faulty> {
    if deviations.is_empty() {
        return None;
    }
    let why = Cause::ABSTRACT_SYNTAX_NOTIFY;
    let answer = is_answered(pdu).then(|| {
        let diagnostics = pdu.criticality_diagnostics(deviations);
        indication(why, &connection(pdu), Some(diagnostics))
    });
    Some(Faulty {
        answer,
        ..of(pdu, why, deviations)
    })
}

fn no_message() -> Faulty {
    let nobody = Connection::default();
    Faulty {
        cause: Cause::TRANSFER_SYNTAX,
        procedure: "no message",
        what: "the octets are no NGAP PDU".to_owned(),
        connection: nobody,
        is_served: true,
        answer: Some(indication(Cause::TRANSFER_SYNTAX, &nobody, None)),
        ends: None,
    }
}

/// A message of a procedure that its receiver does not serve, or does not begin: its criticality says whether it
/// is answered (10.3.4.1).
pub fn not_served(pdu: &ngap::NGAP_PDU) -> Faulty {
    let refused = refused(pdu, Cause::ABSTRACT_SYNTAX_REJECT, &[]);
    Faulty {
        is_served: false,
        what: "the procedure is not served, or not begun by this side".to_owned(),
        answer: refused.answer.filter(|_| procedures::is_answered(pdu)),
        ..refused
    }
}

/// A PDU with an IE that cannot be read, or of a procedure that is not offered. A procedure that has an
/// unsuccessful outcome ends with it, if what that needs can be read (10.3.4.2, 10.3.5).
pub fn refused(pdu: &ngap::NGAP_PDU, why: Cause, deviations: &[Deviation]) -> Faulty {
    let answer = is_answered(pdu).then(|| {
        unsuccessful(pdu, why, deviations).unwrap_or_else(|| {
            let diagnostics = pdu.criticality_diagnostics(deviations);
            indication(why, &connection(pdu), Some(diagnostics))
        })
    });
    Faulty {
        answer,
        ends: Ended::of(pdu),
        ..of(pdu, why, deviations)
    }
}

/// An error indication and a response are never answered (10.5, 10.3.4).
fn is_answered(pdu: &ngap::NGAP_PDU) -> bool {
    pdu.is_initiating() && pdu.procedure_code() != ERROR_INDICATION
}

const ERROR_INDICATION: u8 = 9;

fn of(pdu: &ngap::NGAP_PDU, why: Cause, deviations: &[Deviation]) -> Faulty {
    let is_at_fault = |one: &&Deviation| one.cause().is_some();
    let mut which: Vec<String> = deviations
        .iter()
        .filter(is_at_fault)
        .map(describe)
        .collect();
    if which.is_empty() {
        which = deviations.iter().map(describe).collect();
    }
    Faulty {
        cause: why,
        procedure: procedures::name(pdu.procedure_code()),
        what: match which.is_empty() {
            true => "a value makes no sense".to_owned(),
            false => which.join("; "),
        },
        connection: connection(pdu),
        is_served: true,
        answer: None,
        ends: None,
    }
}

/// The IE that is at fault, and how.
fn describe(deviation: &Deviation) -> String {
    let named = |name: &str, id: &u16| format!("{} (IE {id})", name.replace('_', " "));
    match deviation {
        Deviation::MissingIe { id, name, .. } => format!("{} is missing", named(name, id)),
        Deviation::RepeatedIe { id, name, .. } => format!("{} stands twice", named(name, id)),
        Deviation::OutOfOrder { id, name, .. } => {
            format!("{} is not in its place", named(name, id))
        }
        Deviation::UndecodableIe { id, name, .. } => format!("{} cannot be read", named(name, id)),
        Deviation::UnexpectedIe { id, name, .. } => {
            let name = name.unwrap_or("an IE of a later release");
            format!("{} is not known in this message", named(name, id))
        }
        _ => "it is not constructed as clause 9.4 says".to_owned(),
    }
}

/// The unsuccessful outcome of the procedure that a PDU begins; none if there is none, or if it lacks what that
/// needs.
fn unsuccessful(pdu: &ngap::NGAP_PDU, why: Cause, deviations: &[Deviation]) -> Option<Vec<u8>> {
    use oxirush_ngap::ie::PDUSessionResourceToBeSwitchedDLList as ToBeSwitched;
    let ids = || {
        let Connection { amf, ran } = connection(pdu);
        Some((amf?, ran?))
    };
    let outcome = match pdu.kind() {
        Kind::Initiating_NGSetup => NgSetupFailure { cause: why }.write(),
        Kind::Initiating_RANConfigurationUpdate => {
            RanConfigurationUpdateFailure { cause: why }.write()
        }
        Kind::Initiating_HandoverPreparation => {
            let (ids, cause) = (ids()?, why);
            HandoverPreparationFailure { ids, cause }.write()
        }
        Kind::Initiating_PathSwitchRequest => {
            let list = pdu.ie::<ToBeSwitched>()?.ok()?;
            let sessions = <Transfers as Element<ToBeSwitched>>::read(list)?;
            let (ids, released) = (ids()?, none_switched(&sessions, why));
            PathSwitchRequestFailure { ids, released }.write()
        }
        _ => return None,
    };
    let diagnostics = pdu.criticality_diagnostics_for_response(deviations);
    diagnosed(outcome, Some(diagnostics)).ok()
}

/// The octets of a message, with diagnostics at its end. All messages that have them give them the same criticality.
fn diagnosed(
    message: Result<ngap::NGAP_PDU, Error>,
    diagnostics: Option<ngap::CriticalityDiagnostics>,
) -> Result<Vec<u8>, Error> {
    let mut pdu = message?;
    if let Some(diagnostics) = diagnostics {
        let mut ies = pdu.protocol_ies()?.into_owned();
        ies.0.push(build_ngap_ie!(
            ErrorIndication,
            CriticalityDiagnostics(diagnostics)
        )?);
        pdu.set_protocol_ies(ies)?;
    }
    pdu.encode()
}

/// Whose message it is, as far as that can be read.
fn connection(pdu: &ngap::NGAP_PDU) -> Connection {
    use oxirush_ngap::ie;
    let amf = pdu.ie::<ie::AMF_UE_NGAP_ID>().and_then(Result::ok);
    let source = || pdu.ie::<ie::SourceAMF_UE_NGAP_ID>().and_then(Result::ok);
    let ran = pdu.ie::<ie::RAN_UE_NGAP_ID>().and_then(Result::ok);
    Connection {
        amf: amf.or_else(source).map(|id| AmfUeId(id.0)),
        ran: ran.map(|id| RanUeId(id.0)),
    }
}

/// Error Indication.
fn indication(
    why: Cause,
    connection: &Connection,
    diagnostics: Option<ngap::CriticalityDiagnostics>,
) -> Vec<u8> {
    let indication = ErrorIndication::new(*connection, why);
    diagnosed(indication.write(), diagnostics).unwrap_or_default()
}
