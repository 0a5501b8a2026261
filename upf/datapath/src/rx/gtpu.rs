//! GTP-U header parsing: TEID, QFI, and where the inner packet begins.

use crate::drop::DropReason;
use crate::meta::NO_QFI;
use sluice_wire::gtpu::{GPdu, GtpuError, MessageType};

/// A G-PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// The TEID, never 0.
    pub teid: u32,
    /// QFI or [`NO_QFI`].
    pub qfi: u8,
    /// From the GTP-U header to the inner packet.
    pub payload_at: u16,
    /// Length of the inner packet as GTP-U tells it.
    pub payload_len: u16,
}

/// What a GTP-U message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// User data.
    Pdu(Pdu),
    /// No more user data follows in the tunnel.
    EndMarker(Pdu),
    /// Echo, Error Indication, Supported Extension Headers Notification, what belongs to no tunnel,
    /// or what has an extension header that must be understood and is not.
    Signalling,
}

/// Parses the UDP payload.
#[inline]
pub fn parse(payload: &[u8]) -> Result<Message, DropReason> {
    match GPdu::parse(payload) {
        Ok(pdu) if pdu.payload_len == 0 => Err(DropReason::GtpuEmpty),
        Ok(pdu) => Ok(Message::Pdu(Pdu {
            teid: pdu.teid.get(),
            qfi: pdu.qfi.map_or(NO_QFI, |q| q.get()),
            payload_at: pdu.payload_offset,
            payload_len: pdu.payload_len,
        })),
        Err(error) => other(error, payload),
    }
}

#[cold]
fn other(error: GtpuError, payload: &[u8]) -> Result<Message, DropReason> {
    match error {
        GtpuError::NotGPdu(MessageType::END_MARKER) => Ok(end_marker(payload)),
        GtpuError::NotGPdu(kind) if is_signalling(kind) => Ok(Message::Signalling),
        GtpuError::NotGPdu(_) | GtpuError::MessageType(_) => Err(DropReason::GtpuMessageType),
        // TS 29.281, 5.2.1: the sender is told which extension headers are understood here.
        GtpuError::UnsupportedExtension { .. } => Ok(Message::Signalling),
        GtpuError::TeidZero => Err(DropReason::UnknownTeid),
        GtpuError::Truncated
        | GtpuError::Version(_)
        | GtpuError::ProtocolType
        | GtpuError::Length { .. }
        | GtpuError::OptionalFields => Err(DropReason::GtpuHeader),
        _ => Err(DropReason::GtpuExtension),
    }
}

/// One that is broken, or has no TEID, is left to the control core to count.
fn end_marker(payload: &[u8]) -> Message {
    match sluice_wire::gtpu::Message::parse(payload) {
        Ok(sluice_wire::gtpu::Message::EndMarker(marker)) => Message::EndMarker(Pdu {
            teid: marker.teid.get(),
            qfi: NO_QFI,
            payload_at: 0,
            payload_len: 0,
        }),
        _ => Message::Signalling,
    }
}

fn is_signalling(kind: MessageType) -> bool {
    [
        MessageType::ECHO_REQUEST,
        MessageType::ECHO_RESPONSE,
        MessageType::ERROR_INDICATION,
        MessageType::SUPPORTED_EXTENSION_HEADERS_NOTIFICATION,
    ]
    .contains(&kind)
}
