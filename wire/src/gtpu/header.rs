//! The GTP-U header (TS 29.281, 5.1).

use super::{ExtensionType, GtpuError};
use crate::layout::gtpu as layout;
use core::fmt;

/// Octets of the mandatory header, which the length field does not count.
pub const HEADER_LEN: usize = layout::LEN;
/// Octets of the header with sequence number, N-PDU number and next extension header type.
pub const LONG_HEADER_LEN: usize = layout::LONG_LEN;

use crate::layout::gtpu::FLAG_PN;
pub(super) use crate::layout::gtpu::{FLAG_E, FLAG_S, FLAGS_V1};

/// The message type octet (TS 29.281, table 6.1-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageType(pub u8);

impl MessageType {
    /// Echo Request (7.2.1).
    pub const ECHO_REQUEST: Self = Self(1);
    /// Echo Response (7.2.2).
    pub const ECHO_RESPONSE: Self = Self(2);
    /// Error Indication (7.3.1).
    pub const ERROR_INDICATION: Self = Self(26);
    /// Supported Extension Headers Notification (7.2.3).
    pub const SUPPORTED_EXTENSION_HEADERS_NOTIFICATION: Self = Self(31);
    /// Tunnel Status (7.3.3).
    pub const TUNNEL_STATUS: Self = Self(253);
    /// End Marker (7.3.2).
    pub const END_MARKER: Self = Self(254);
    /// G-PDU: user data.
    pub const G_PDU: Self = Self(255);
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageType({})", self.0)
    }
}

/// The header as read; a field whose flag is clear is absent, whatever its octets say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// What the message is.
    pub message_type: MessageType,
    /// Octets behind the mandatory header, optional fields and extension headers included.
    pub length: u16,
    /// The receiver's tunnel endpoint; 0 in messages that belong to no tunnel.
    pub teid: u32,
    /// Sequence number (S).
    pub sequence: Option<u16>,
    /// N-PDU number (PN).
    pub n_pdu: Option<u8>,
    /// The first extension header (E); [`ExtensionType::NONE`] if there is none.
    pub next_extension: ExtensionType,
}

impl Header {
    /// Reads the header of a UDP payload; returns what follows it, cut at the stated length.
    ///
    /// # Errors
    /// [`GtpuError`] by the field that is wrong. The spare bit is ignored, as 5.1 wants.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), GtpuError> {
        let (&[flags, ty, l0, l1, t0, t1, t2, t3], rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(GtpuError::Truncated)?;
        check_flags(flags)?;
        let stated = u16::from_be_bytes([l0, l1]);
        let body = rest
            .get(..usize::from(stated))
            .ok_or(GtpuError::Length { stated })?;
        let header = Self {
            message_type: MessageType(ty),
            length: stated,
            teid: u32::from_be_bytes([t0, t1, t2, t3]),
            sequence: None,
            n_pdu: None,
            next_extension: ExtensionType::NONE,
        };
        if flags & (FLAG_E | FLAG_S | FLAG_PN) == 0 {
            return Ok((header, body));
        }
        header.parse_optional(flags, body)
    }

    #[inline]
    fn parse_optional(self, flags: u8, body: &[u8]) -> Result<(Self, &[u8]), GtpuError> {
        let (&[s0, s1, n_pdu, next], body) =
            body.split_first_chunk().ok_or(GtpuError::OptionalFields)?;
        let next = if flags & FLAG_E != 0 { next } else { 0 };
        let header = Self {
            sequence: (flags & FLAG_S != 0).then_some(u16::from_be_bytes([s0, s1])),
            n_pdu: (flags & FLAG_PN != 0).then_some(n_pdu),
            next_extension: ExtensionType(next),
            ..self
        };
        Ok((header, body))
    }
}

#[inline]
fn check_flags(flags: u8) -> Result<(), GtpuError> {
    if flags >> 5 != 1 {
        return Err(GtpuError::Version(flags >> 5));
    }
    if flags & 0x10 == 0 {
        return Err(GtpuError::ProtocolType);
    }
    Ok(())
}
