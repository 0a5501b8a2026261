//! Errors of endpoint calls.

use core::fmt;

use sluice_wire::pfcp::MessageType;

use crate::association::AssociationId;
use crate::config::Role;
use crate::transport::Refusal;

/// Why a message was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestError {
    /// The association has ended or never was.
    NoAssociation,
    /// The association is not set up yet, or not any more.
    NotEstablished,
    /// There is an association with that address already.
    AlreadyAssociated(AssociationId),
    /// There are as many associations as the limits allow.
    TooManyAssociations,
    /// The transport has no room for another request.
    Refused(Refusal),
    /// The message is longer than the limits allow.
    TooLong,
    /// The type is not a request for the layer above to send.
    NotARequest(MessageType),
    /// Only the other role may do this (TS 29.244, 6.2).
    WrongRole(Role),
    /// The peer has not stated the feature EPFAR (TS 29.244, 5.18), or we have not.
    NoEpfar,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAssociation => f.write_str("no such PFCP association"),
            Self::NotEstablished => f.write_str("the PFCP association is not set up"),
            Self::AlreadyAssociated(id) => write!(f, "PFCP association {id} has this address"),
            Self::TooManyAssociations => f.write_str("limit of PFCP associations reached"),
            Self::Refused(Refusal::TooManyInFlight) => {
                f.write_str("limit of PFCP requests in flight reached")
            }
            Self::Refused(Refusal::NoMemory) => {
                f.write_str("memory for PFCP requests in flight used up")
            }
            Self::TooLong => f.write_str("the PFCP message exceeds the longest message"),
            Self::NotARequest(message_type) => {
                write!(
                    f,
                    "{message_type} is not a PFCP request for the upper layer to send"
                )
            }
            Self::WrongRole(Role::Cp) => f.write_str("a CP function does not send this"),
            Self::WrongRole(Role::Up) => f.write_str("a UP function does not send this"),
            Self::NoEpfar => f.write_str("EPFAR is not supported by both sides"),
        }
    }
}

impl std::error::Error for RequestError {}
