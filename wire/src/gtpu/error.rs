//! GTP-U parse and build errors.

use super::{ExtensionType, IeType, MessageType};
use core::fmt;

/// Why bytes are no GTP-U message that we can use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GtpuError {
    /// Fewer than the 8 octets of the mandatory header (5.1).
    Truncated,
    /// The version is not 1 (5.1).
    Version(u8),
    /// The PT flag says GTP' (5.1).
    ProtocolType,
    /// The length field says more than was received (5.1).
    Length {
        /// The field: octets behind the mandatory header.
        stated: u16,
    },
    /// A flag announces octets 9 to 12, but the message ends before (5.1).
    OptionalFields,
    /// A message that belongs to a tunnel has TEID 0 (5.1).
    TeidZero,
    /// A sound header, but of another message than a G-PDU.
    NotGPdu(MessageType),
    /// A message type that the user plane does not have (6.1).
    MessageType(MessageType),
    /// An extension header says that it has no length (5.2.1).
    ExtensionLengthZero(ExtensionType),
    /// An extension header reaches behind the end of the message (5.2.1).
    ExtensionTruncated(ExtensionType),
    /// More extension headers than [`super::MAX_EXTENSION_HEADERS`].
    TooManyExtensions,
    /// An extension header that must be comprehended and is not: Supported Extension Headers
    /// Notification is due (5.2.1).
    UnsupportedExtension {
        /// Its type.
        ty: ExtensionType,
    },
    /// The PDU Session Container has a PDU type that is reserved (TS 38.415, 5.5.3.1).
    ReservedPduType(u8),
    /// The PDU Session Container ends before a field that it announces (TS 38.415, 5.5.2).
    ContainerTruncated,
    /// An information element reaches behind the end of the message (8.1).
    IeTruncated(IeType),
    /// An unknown information element of fixed length, behind which nothing can be read (8.1).
    IeUnknown(IeType),
    /// An information element has a length that it cannot have (8.2 to 8.6).
    IeLength(IeType),
    /// An information element that is mandatory in the message is missing (7.2, 7.3).
    IeMissing(IeType),
}

impl fmt::Display for GtpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("GTP-U message shorter than 8 octets"),
            Self::Version(v) => write!(f, "GTP-U version {v} where 1 was expected (5.1)"),
            Self::ProtocolType => f.write_str("GTP' where GTP was expected (PT flag, 5.1)"),
            Self::Length { stated } => {
                write!(f, "GTP-U length {stated} is more than was received (5.1)")
            }
            Self::OptionalFields => f.write_str("GTP-U message ends inside octets 9 to 12 (5.1)"),
            Self::TeidZero => f.write_str("TEID 0 in a message of a tunnel (5.1)"),
            Self::NotGPdu(ty) => write!(f, "message type {} is no G-PDU", ty.0),
            Self::MessageType(ty) => write!(f, "message type {} is unknown (6.1)", ty.0),
            Self::ExtensionLengthZero(ty) => {
                write!(f, "extension header {:#04x} has length 0 (5.2.1)", ty.0)
            }
            Self::ExtensionTruncated(ty) => {
                write!(
                    f,
                    "message ends inside extension header {:#04x} (5.2.1)",
                    ty.0
                )
            }
            Self::TooManyExtensions => f.write_str("too many extension headers"),
            Self::UnsupportedExtension { ty } => {
                write!(
                    f,
                    "extension header {:#04x} must be comprehended (5.2.1)",
                    ty.0
                )
            }
            Self::ReservedPduType(ty) => {
                write!(
                    f,
                    "PDU type {ty} in the PDU Session Container (TS 38.415, 5.5.3.1)"
                )
            }
            Self::ContainerTruncated => {
                f.write_str("PDU Session Container ends before its fields (TS 38.415, 5.5.2)")
            }
            Self::IeTruncated(ty) => write!(f, "message ends inside IE {} (8.1)", ty.0),
            Self::IeUnknown(ty) => write!(f, "IE {} of unknown length (8.1)", ty.0),
            Self::IeLength(ty) => write!(f, "IE {} has an impossible length", ty.0),
            Self::IeMissing(ty) => write!(f, "mandatory IE {} is missing", ty.0),
        }
    }
}

impl core::error::Error for GtpuError {}
