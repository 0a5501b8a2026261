//! NAS messages of 5GS session management (TS 24.501, 8.3), which travel inside of UL and DL NAS
//! Transport.

use core::fmt;

use oxirush_nas::nas_5gs as nas;
use oxirush_nas::nas_5gs::{Nas5gsMessage, Nas5gsmMessage};

use crate::back_off;
use crate::codec;
use crate::establishment::{self, EstablishmentAccept, EstablishmentRequest};
use crate::modification::{self, ModificationCommand, ModificationRequest};
use crate::session_cause::SessionCause;

/// Payload container type of session management (TS 24.501, 9.11.3.40).
pub const N1_SM: u8 = 1;

/// Type of a message (TS 24.501, 9.7).
const ESTABLISHMENT_REQUEST: u8 = 0xc1;

/// A session and the procedure that a message belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// PDU session identity, 1 to 15.
    pub session: u8,
    /// Procedure transaction identity; 0 where the network began.
    pub procedure: u8,
}

/// PDU session type (TS 24.501, 9.11.4.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum SessionType {
    /// IPv4 alone.
    Ipv4 = 1,
    /// IPv6 alone.
    Ipv6 = 2,
    /// Both.
    Ipv4v6 = 3,
    /// Anything.
    Unstructured = 4,
    /// Frames.
    Ethernet = 5,
}

impl SessionType {
    /// Of its number; what is reserved counts as IPv4v6.
    pub fn from_number(number: u8) -> Self {
        match number & 7 {
            1 => Self::Ipv4,
            2 => Self::Ipv6,
            4 => Self::Unstructured,
            5 => Self::Ethernet,
            _ => Self::Ipv4v6,
        }
    }

    /// The name that the TS gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
            Self::Ipv4v6 => "IPv4v6",
            Self::Unstructured => "Unstructured",
            Self::Ethernet => "Ethernet",
        }
    }
}

/// A message from a UE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionUplink {
    /// 8.3.1
    EstablishmentRequest(EstablishmentRequest),
    /// 8.3.7
    ModificationRequest(Box<ModificationRequest>),
    /// 8.3.10
    ModificationComplete,
    /// 8.3.11
    ModificationCommandReject(SessionCause),
    /// 8.3.12
    ReleaseRequest(Option<SessionCause>),
    /// 8.3.15
    ReleaseComplete,
    /// 8.3.16
    Status(SessionCause),
    /// A message that only a network sends, or of a service that is not offered here.
    Other,
}

/// A message to a UE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionDownlink {
    /// 8.3.2
    EstablishmentAccept(Box<EstablishmentAccept>),
    /// 8.3.3
    EstablishmentReject {
        /// Why.
        cause: SessionCause,
        /// SSC mode 1 is there, where another was wanted.
        allows_ssc_mode_1: bool,
        /// How long the UE is to ask for none, in seconds (T3396; 6.4.1.4.2).
        back_off_s: Option<u32>,
    },
    /// 8.3.8
    ModificationReject(SessionCause),
    /// 8.3.9
    ModificationCommand(Box<ModificationCommand>),
    /// 8.3.13
    ReleaseReject(SessionCause),
    /// 8.3.14
    ReleaseCommand(SessionCause),
    /// 8.3.16
    Status(SessionCause),
    /// A message that only a UE sends, or that is not known here.
    Other,
}

/// Which session and procedure octets are for, though they may be no message: what an answer needs.
pub fn transaction(octets: &[u8]) -> Option<Transaction> {
    match *octets {
        [0x2e, session, procedure, _, ..] => Some(Transaction { session, procedure }),
        _ => None,
    }
}

/// Whether octets are of a PDU Session Establishment Request, which may have errors.
pub(crate) fn is_establishment_request(octets: &[u8]) -> bool {
    transaction(octets).is_some() && octets[3] == ESTABLISHMENT_REQUEST
}

fn decode(octets: &[u8]) -> Result<Nas5gsmMessage, SessionCause> {
    if octets.len() > codec::LONGEST {
        return Err(SessionCause::INVALID_MANDATORY_INFORMATION);
    }
    match Nas5gsMessage::decode(octets) {
        // What has to be understood, and is not (7.5.1).
        Ok(Nas5gsMessage::Gsm(_, message))
            if message
                .unknown_ies()
                .iter()
                .any(|ie| ie.is_comprehension_required()) =>
        {
            Err(SessionCause::INVALID_MANDATORY_INFORMATION)
        }
        Ok(Nas5gsMessage::Gsm(_, message)) => Ok(message),
        // Types from Establishment Request to the last of Release 17 (TS 24.501, 9.7).
        Err(_)
            if octets
                .get(3)
                .is_some_and(|kind| !(0xc1..=0xdb).contains(kind)) =>
        {
            Err(SessionCause::MESSAGE_TYPE)
        }
        _ => Err(SessionCause::INVALID_MANDATORY_INFORMATION),
    }
}

#[allow(clippy::expect_used)]
fn encode(message: impl Into<Nas5gsmMessage>, of: Transaction) -> Vec<u8> {
    // As in `codec`: our values fit their IEs.
    Nas5gsMessage::new_5gsm(message, of.session, of.procedure)
        .encode()
        .expect("our values fit their IEs")
}

impl SessionUplink {
    /// Reads a message, or says what the UE is told in a 5GSM STATUS.
    pub fn decode(octets: &[u8]) -> Result<Self, SessionCause> {
        let cause = |cause: &nas::NasFGsmCause| SessionCause(cause.value);
        Ok(match decode(octets)? {
            Nas5gsmMessage::PduSessionEstablishmentRequest(m) => {
                Self::EstablishmentRequest(establishment::read_request(&m))
            }
            Nas5gsmMessage::PduSessionModificationRequest(m) => {
                Self::ModificationRequest(Box::new(modification::read_request(&m)?))
            }
            Nas5gsmMessage::PduSessionModificationComplete(_) => Self::ModificationComplete,
            Nas5gsmMessage::PduSessionModificationCommandReject(m) => {
                Self::ModificationCommandReject(cause(&m.fgsm_cause))
            }
            Nas5gsmMessage::PduSessionReleaseRequest(m) => {
                Self::ReleaseRequest(m.fgsm_cause.as_ref().map(cause))
            }
            Nas5gsmMessage::PduSessionReleaseComplete(_) => Self::ReleaseComplete,
            Nas5gsmMessage::FiveGsmStatus(m) => Self::Status(cause(&m.fgsm_cause)),
            _ => Self::Other,
        })
    }

    /// The octets; none of [`SessionUplink::Other`] and what a UE here does not ask for.
    pub fn encode(&self, of: Transaction) -> Vec<u8> {
        let cause = |cause: &SessionCause| nas::NasFGsmCause::new(cause.0);
        match self {
            Self::EstablishmentRequest(m) => encode(establishment::write_request(m), of),
            Self::ReleaseRequest(why) => {
                let mut message = nas::NasPduSessionReleaseRequest::new();
                if let Some(why) = why {
                    message = message.with_fgsm_cause(cause(why));
                }
                encode(message, of)
            }
            Self::ReleaseComplete => encode(nas::NasPduSessionReleaseComplete::new(), of),
            Self::Status(why) => encode(nas::NasFGsmStatus::new(cause(why)), of),
            Self::ModificationRequest(m) => encode(modification::write_request(m), of),
            Self::ModificationComplete => encode(nas::NasPduSessionModificationComplete::new(), of),
            Self::ModificationCommandReject(why) => {
                let reject = nas::NasPduSessionModificationCommandReject::new(cause(why));
                encode(reject, of)
            }
            Self::Other => Vec::new(),
        }
    }

    /// Name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::EstablishmentRequest(_) => "PDU Session Establishment Request",
            Self::ModificationRequest(_) => "PDU Session Modification Request",
            Self::ModificationComplete => "PDU Session Modification Complete",
            Self::ModificationCommandReject(_) => "PDU Session Modification Command Reject",
            Self::ReleaseRequest(_) => "PDU Session Release Request",
            Self::ReleaseComplete => "PDU Session Release Complete",
            Self::Status(_) => "5GSM Status",
            Self::Other => "another message",
        }
    }
}

impl SessionDownlink {
    /// Reads a message.
    pub fn decode(octets: &[u8]) -> Result<Self, SessionCause> {
        let cause = |cause: &nas::NasFGsmCause| SessionCause(cause.value);
        Ok(match decode(octets)? {
            Nas5gsmMessage::PduSessionEstablishmentAccept(m) => {
                let accept = establishment::read_accept(&m);
                let accept = accept.ok_or(SessionCause::INVALID_MANDATORY_INFORMATION)?;
                Self::EstablishmentAccept(Box::new(accept))
            }
            Nas5gsmMessage::PduSessionEstablishmentReject(m) => Self::EstablishmentReject {
                cause: cause(&m.fgsm_cause),
                allows_ssc_mode_1: m.allowed_ssc_mode.is_some_and(|modes| modes.value & 1 != 0),
                back_off_s: m.back_off_timer_value.as_ref().and_then(back_off::read),
            },
            Nas5gsmMessage::PduSessionModificationReject(m) => {
                Self::ModificationReject(cause(&m.fgsm_cause))
            }
            Nas5gsmMessage::PduSessionModificationCommand(m) => {
                Self::ModificationCommand(Box::new(modification::read_command(&m)?))
            }
            Nas5gsmMessage::PduSessionReleaseReject(m) => Self::ReleaseReject(cause(&m.fgsm_cause)),
            Nas5gsmMessage::PduSessionReleaseCommand(m) => {
                Self::ReleaseCommand(cause(&m.fgsm_cause))
            }
            Nas5gsmMessage::FiveGsmStatus(m) => Self::Status(cause(&m.fgsm_cause)),
            _ => Self::Other,
        })
    }

    /// The octets; none of [`SessionDownlink::Other`].
    pub fn encode(&self, of: Transaction) -> Vec<u8> {
        let cause = |cause: &SessionCause| nas::NasFGsmCause::new(cause.0);
        match self {
            Self::EstablishmentAccept(m) => encode(establishment::write_accept(m), of),
            Self::EstablishmentReject {
                cause: why,
                allows_ssc_mode_1,
                back_off_s,
            } => {
                let mut message = nas::NasPduSessionEstablishmentReject::new(cause(why));
                if *allows_ssc_mode_1 {
                    message = message.with_allowed_ssc_mode(nas::NasAllowedSscMode::new(1));
                }
                if let Some(timer) = back_off_s.and_then(back_off::write) {
                    message = message.with_back_off_timer_value(timer);
                }
                encode(message, of)
            }
            Self::ModificationReject(why) => {
                encode(nas::NasPduSessionModificationReject::new(cause(why)), of)
            }
            Self::ModificationCommand(m) => encode(modification::write_command(m), of),
            Self::ReleaseReject(why) => {
                encode(nas::NasPduSessionReleaseReject::new(cause(why)), of)
            }
            Self::ReleaseCommand(why) => {
                encode(nas::NasPduSessionReleaseCommand::new(cause(why)), of)
            }
            Self::Status(why) => encode(nas::NasFGsmStatus::new(cause(why)), of),
            Self::Other => Vec::new(),
        }
    }

    /// Name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::EstablishmentAccept(_) => "PDU Session Establishment Accept",
            Self::EstablishmentReject { .. } => "PDU Session Establishment Reject",
            Self::ModificationReject(_) => "PDU Session Modification Reject",
            Self::ModificationCommand(_) => "PDU Session Modification Command",
            Self::ReleaseReject(_) => "PDU Session Release Reject",
            Self::ReleaseCommand(_) => "PDU Session Release Command",
            Self::Status(_) => "5GSM Status",
            Self::Other => "another message",
        }
    }
}

impl fmt::Display for SessionDownlink {
    /// Name and cause of the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EstablishmentReject {
                cause,
                back_off_s: Some(time_s),
                ..
            } => write!(f, "{} {cause}, back-off {time_s} s", self.name()),
            Self::EstablishmentReject { cause, .. }
            | Self::ModificationReject(cause)
            | Self::ReleaseReject(cause)
            | Self::ReleaseCommand(cause)
            | Self::Status(cause) => write!(f, "{} {cause}", self.name()),
            Self::EstablishmentAccept(_) | Self::ModificationCommand(_) | Self::Other => {
                f.write_str(self.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::establishment::{IntegrityRate, IntegrityRates, PduAddress};
    use crate::qos::Ambr;
    use crate::qos_flows::FlowDescription;
    use crate::qos_rules::QosRule;
    use core::net::Ipv4Addr;
    use sluice_ids::Snssai;

    const OF: Transaction = Transaction {
        session: 5,
        procedure: 1,
    };

    fn accept() -> EstablishmentAccept {
        EstablishmentAccept {
            session_type: SessionType::Ipv4,
            cause: Some(SessionCause::IPV4_ONLY),
            ssc_mode: 1,
            qfi: 1,
            five_qi: 9,
            rules: Vec::new(),
            flows: Vec::new(),
            ambr: Ambr {
                down_bps: 1_000_000_000,
                up_bps: 500_000_000,
            },
            address: PduAddress {
                ipv4: Some(Ipv4Addr::new(10, 45, 0, 2)),
                interface_identifier: None,
            },
            slice: Snssai::new(1, Some([0, 0, 10])),
            always_on: None,
            options: None,
            dnn: b"\x08internet".to_vec(),
        }
    }

    #[test]
    fn an_accept_is_read_as_it_is_written() {
        let both = PduAddress {
            interface_identifier: Some([1; 8]),
            ..accept().address
        };
        for accept in [
            accept(),
            EstablishmentAccept {
                session_type: SessionType::Ipv4v6,
                cause: None,
                always_on: Some(false),
                address: both,
                options: Some(vec![0x80]),
                ..accept()
            },
        ] {
            let message = SessionDownlink::EstablishmentAccept(Box::new(accept));
            let octets = message.encode(OF);
            assert_eq!(transaction(&octets), Some(OF));
            assert_eq!(SessionDownlink::decode(&octets), Ok(message));
        }
    }

    #[test]
    fn the_octets_of_an_accept_are_those_of_the_ts() {
        let octets = SessionDownlink::EstablishmentAccept(Box::new(accept())).encode(OF);
        let expected = [
            // Header, SSC mode 1 and IPv4.
            &[0x2e, 5, 1, 0xc2, 0x11][..],
            // Rule 1, new and default, of one filter: both ways, match-all; precedence 255, QFI 1.
            &[0, 9, 1, 0, 6, 0x31, 0x31, 1, 1, 0xff, 1],
            // AMBR: 1 Gbit/s down, 500 Mbit/s up.
            &[6, 11, 0, 1, 7, 0, 125],
            // #50
            &[0x59, 50],
            // Address, slice, flow with 5QI 9, DNN.
            &[0x29, 5, 1, 10, 45, 0, 2],
            &[0x22, 4, 1, 0, 0, 10],
            &[0x79, 0, 6, 1, 0x20, 0x41, 1, 1, 9],
            b"\x25\x09\x08internet",
        ]
        .concat();
        assert_eq!(octets, expected);
    }

    #[test]
    fn requests_and_refusals_are_read_as_they_are_written() {
        for message in [
            SessionUplink::EstablishmentRequest(EstablishmentRequest {
                integrity: IntegrityRates {
                    up: IntegrityRate::Null,
                    down: IntegrityRate::Kbps64,
                },
                session_type: Some(SessionType::Ipv4v6),
                ssc_mode: Some(1),
                always_on: true,
                options: Some(vec![0x80, 0, 0x0d, 0]),
            }),
            SessionUplink::EstablishmentRequest(EstablishmentRequest::default()),
            SessionUplink::ReleaseRequest(Some(SessionCause::REGULAR_DEACTIVATION)),
            SessionUplink::ReleaseComplete,
            SessionUplink::ModificationRequest(Box::default()),
            SessionUplink::ModificationRequest(Box::new(ModificationRequest {
                cause: Some(SessionCause::SEMANTICS_OF_QOS),
                always_on: true,
                options: Some(vec![0x80, 0, 0x0d, 0]),
                ..ModificationRequest::default()
            })),
            SessionUplink::ModificationComplete,
            SessionUplink::ModificationCommandReject(SessionCause::SEMANTICS_OF_QOS),
            SessionUplink::Status(SessionCause::MESSAGE_TYPE),
        ] {
            assert_eq!(SessionUplink::decode(&message.encode(OF)), Ok(message));
        }
        for message in [
            SessionDownlink::EstablishmentReject {
                cause: SessionCause::SSC_MODE_NOT_SUPPORTED,
                allows_ssc_mode_1: true,
                back_off_s: None,
            },
            SessionDownlink::ReleaseCommand(SessionCause::REGULAR_DEACTIVATION),
            SessionDownlink::ReleaseReject(SessionCause::INVALID_SESSION_IDENTITY),
            SessionDownlink::ModificationReject(SessionCause::NOT_SUPPORTED),
            SessionDownlink::ModificationCommand(Box::new(ModificationCommand {
                ambr: Some(accept().ambr),
                rules: vec![QosRule::default_of(1), QosRule::deleted(2)],
                flows: vec![FlowDescription::deleted(2)],
                always_on: Some(false),
                options: Some(vec![0x80, 0, 0x0d, 4, 192, 0, 2, 53]),
            })),
            SessionDownlink::EstablishmentAccept(Box::new(EstablishmentAccept {
                rules: vec![QosRule {
                    is_default: false,
                    id: 2,
                    precedence: 7,
                    ..QosRule::default_of(2)
                }],
                flows: vec![FlowDescription::new(2, 5)],
                ..accept()
            })),
            SessionDownlink::Status(SessionCause::INVALID_SESSION_IDENTITY),
        ] {
            assert_eq!(SessionDownlink::decode(&message.encode(OF)), Ok(message));
        }
        assert_eq!(
            SessionUplink::decode(&[0x2e, 5, 1, 0xff]),
            Err(SessionCause::MESSAGE_TYPE)
        );
        assert_eq!(transaction(&[0x2e, 5, 1]), None);
    }
}
