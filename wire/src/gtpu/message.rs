//! GTP-U message parser (TS 29.281, 7).

use super::extension::{Received, receive};
use super::{GPdu, GtpuError, Header, IeType, Ies, MessageType};
use crate::ids::Teid;
use core::net::IpAddr;

/// A message by its type.
///
/// Sequence numbers are mandatory in signalling messages (5.1); if one is missing it reads as 0,
/// so that a peer that forgets the flag still gets its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// Is the path alive? (7.2.1)
    EchoRequest {
        /// To be returned.
        sequence: u16,
    },
    /// It is. (7.2.2) The Recovery element is ignored on receipt (8.2).
    EchoResponse {
        /// As in the request.
        sequence: u16,
    },
    /// The peer knows no such tunnel (7.3.1).
    ErrorIndication(ErrorIndication),
    /// The peer did not comprehend an extension header (7.2.3).
    SupportedExtensionHeadersNotification {
        /// Types of extension headers that it comprehends, one octet each.
        supported: &'a [u8],
    },
    /// The state of a tunnel (7.3.3).
    TunnelStatus {
        /// The tunnel.
        teid: Teid,
        /// Tunnel status flags; bit 1 is SPOC, start pause of charging (8.7).
        flags: Option<u8>,
    },
    /// No more packets follow on this tunnel (7.3.2); read like a G-PDU.
    EndMarker(GPdu),
    /// User data.
    GPdu(GPdu),
}

/// Error Indication (TS 29.281, 7.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorIndication {
    /// The TEID of the G-PDU that found no tunnel: an endpoint of the sender of this message.
    pub teid: u32,
    /// The address that the G-PDU was sent to.
    pub peer: IpAddr,
    /// The UDP source port of the G-PDU, if told (5.2.2.1).
    pub udp_source_port: Option<u16>,
}

impl<'a> Message<'a> {
    /// Reads the UDP payload that `bytes` is.
    ///
    /// # Errors
    /// [`GtpuError`], naming what is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, GtpuError> {
        let (header, body) = Header::parse(bytes)?;
        let sequence = header.sequence.unwrap_or(0);
        match header.message_type {
            MessageType::G_PDU => GPdu::from_parts(&header, body).map(Self::GPdu),
            MessageType::END_MARKER => GPdu::from_parts(&header, body).map(Self::EndMarker),
            MessageType::ECHO_REQUEST => {
                check_all(receive(header.next_extension, body)?.payload)?;
                Ok(Self::EchoRequest { sequence })
            }
            MessageType::ECHO_RESPONSE => {
                check_all(receive(header.next_extension, body)?.payload)?;
                Ok(Self::EchoResponse { sequence })
            }
            MessageType::ERROR_INDICATION => parse_error_indication(&header, body),
            MessageType::SUPPORTED_EXTENSION_HEADERS_NOTIFICATION => {
                let elements = receive(header.next_extension, body)?.payload;
                let supported = mandatory(elements, IeType::EXTENSION_HEADER_TYPE_LIST)?;
                Ok(Self::SupportedExtensionHeadersNotification { supported })
            }
            MessageType::TUNNEL_STATUS => parse_tunnel_status(&header, body),
            other => Err(GtpuError::MessageType(other)),
        }
    }
}

fn parse_error_indication<'a>(header: &Header, body: &[u8]) -> Result<Message<'a>, GtpuError> {
    let Received {
        udp_port, payload, ..
    } = receive(header.next_extension, body)?;
    let teid = mandatory(payload, IeType::TEID_DATA_I)?
        .first_chunk()
        .ok_or(GtpuError::IeLength(IeType::TEID_DATA_I))?;
    let peer = match mandatory(payload, IeType::GTP_U_PEER_ADDRESS)? {
        value if value.len() == 4 => value.first_chunk::<4>().map(|a| IpAddr::from(*a)),
        value if value.len() == 16 => value.first_chunk::<16>().map(|a| IpAddr::from(*a)),
        _ => None,
    };
    Ok(Message::ErrorIndication(ErrorIndication {
        teid: u32::from_be_bytes(*teid),
        peer: peer.ok_or(GtpuError::IeLength(IeType::GTP_U_PEER_ADDRESS))?,
        udp_source_port: udp_port,
    }))
}

fn parse_tunnel_status<'a>(header: &Header, body: &[u8]) -> Result<Message<'a>, GtpuError> {
    let elements = receive(header.next_extension, body)?.payload;
    let information = find(elements, IeType::TUNNEL_STATUS_INFORMATION)?;
    Ok(Message::TunnelStatus {
        teid: Teid::new(header.teid).ok_or(GtpuError::TeidZero)?,
        flags: information.and_then(|value| value.first().copied()),
    })
}

/// The first element of type `ty`, once all have been walked.
fn find(elements: &[u8], ty: IeType) -> Result<Option<&[u8]>, GtpuError> {
    let mut found = None;
    for element in Ies::new(elements) {
        let element = element?;
        if element.ty == ty {
            found = found.or(Some(element.value));
        }
    }
    Ok(found)
}

fn mandatory(elements: &[u8], ty: IeType) -> Result<&[u8], GtpuError> {
    find(elements, ty)?.ok_or(GtpuError::IeMissing(ty))
}

/// Whether all elements are sound, of which none matters.
fn check_all(elements: &[u8]) -> Result<(), GtpuError> {
    Ies::new(elements).try_for_each(|element| element.map(drop))
}
