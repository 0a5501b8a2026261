//! GTP-U message builder (TS 29.281, 5.1 and 7).
//!
//! Signalling messages have TEID 0 and a sequence number (5.1); messages of a tunnel have neither
//! need nor use for one.

use super::cursor::Out;
use super::header::{FLAG_E, FLAG_S, FLAGS_V1};
use super::{
    ErrorIndication, ExtensionType, HEADER_LEN, IeType, LONG_HEADER_LEN, MessageType,
    PduSessionInformation, ShortContainer,
};
use crate::ids::Teid;
use crate::ipv4::TooLong;
use core::net::IpAddr;

/// The extension headers that [`super::GPdu::parse`] and [`super::Message::parse`] comprehend.
pub const SUPPORTED_EXTENSION_HEADERS: [ExtensionType; 2] = [
    ExtensionType::PDU_SESSION_CONTAINER,
    ExtensionType::UDP_PORT,
];

/// The header of a G-PDU without extension headers, before `payload_len` octets.
///
/// # Errors
/// [`TooLong`] if the length field cannot say it.
#[inline]
pub fn g_pdu_header(teid: Teid, payload_len: usize) -> Result<[u8; HEADER_LEN], TooLong> {
    let length = u16::try_from(payload_len).map_err(|_| TooLong)?;
    Ok(short_header(MessageType::G_PDU, teid, length))
}

/// The header of a G-PDU with a PDU Session Container, before `payload_len` octets.
///
/// # Errors
/// [`TooLong`] if the length field cannot say it.
#[inline]
pub fn g_pdu_header_with_container(
    teid: Teid,
    container: ShortContainer,
    payload_len: usize,
) -> Result<[u8; 16], TooLong> {
    if payload_len > usize::from(u16::MAX) - 8 {
        return Err(TooLong);
    }
    Ok(with_container(
        MessageType::G_PDU,
        teid,
        container,
        (payload_len + 8) as u16,
    ))
}

/// Writes the header of a G-PDU with any PDU Session Container, before `payload_len` octets;
/// returns its length, or `None` if `out` is too short or the length field cannot say it.
pub fn write_g_pdu_header(
    out: &mut [u8],
    teid: Teid,
    container: &PduSessionInformation,
    payload_len: usize,
) -> Option<usize> {
    let (head, rest) = out.split_first_chunk_mut::<LONG_HEADER_LEN>()?;
    let container_len = container.write(rest, ExtensionType::NONE)?;
    let length = u16::try_from(payload_len.checked_add(4 + container_len)?).ok()?;
    let [l0, l1] = length.to_be_bytes();
    let [t0, t1, t2, t3] = teid.get().to_be_bytes();
    let next = ExtensionType::PDU_SESSION_CONTAINER.0;
    *head = [
        FLAGS_V1 | FLAG_E,
        MessageType::G_PDU.0,
        l0,
        l1,
        t0,
        t1,
        t2,
        t3,
        0,
        0,
        0,
        next,
    ];
    Some(LONG_HEADER_LEN + container_len)
}

/// Echo Request (7.2.1).
pub fn echo_request(sequence: u16) -> [u8; LONG_HEADER_LEN] {
    signalling_header(MessageType::ECHO_REQUEST, sequence, ExtensionType::NONE, 0)
}

/// Echo Response (7.2.2), with the Recovery element, whose value is always 0 (8.2).
pub fn echo_response(sequence: u16) -> [u8; 14] {
    let header = signalling_header(MessageType::ECHO_RESPONSE, sequence, ExtensionType::NONE, 2);
    let mut out = [0; 14];
    out[..LONG_HEADER_LEN].copy_from_slice(&header);
    out[LONG_HEADER_LEN] = IeType::RECOVERY.0;
    out
}

/// End Marker (7.3.2).
pub fn end_marker(teid: Teid) -> [u8; HEADER_LEN] {
    short_header(MessageType::END_MARKER, teid, 0)
}

/// End Marker of a QoS flow's packets (7.3.2, 5.2.2.7).
pub fn end_marker_with_container(teid: Teid, container: ShortContainer) -> [u8; 16] {
    with_container(MessageType::END_MARKER, teid, container, 8)
}

/// Supported Extension Headers Notification (7.2.3), which names
/// [`SUPPORTED_EXTENSION_HEADERS`].
pub fn supported_extension_headers_notification(sequence: u16) -> [u8; 16] {
    let ty = MessageType::SUPPORTED_EXTENSION_HEADERS_NOTIFICATION;
    let header = signalling_header(ty, sequence, ExtensionType::NONE, 4);
    let [first, second] = SUPPORTED_EXTENSION_HEADERS;
    let list = [IeType::EXTENSION_HEADER_TYPE_LIST.0, 2, first.0, second.0];
    let mut out = [0; 16];
    out[..LONG_HEADER_LEN].copy_from_slice(&header);
    out[LONG_HEADER_LEN..].copy_from_slice(&list);
    out
}

/// Writes Error Indication (7.3.1); returns its length, 24 to 40 octets, or `None` if `out` is too
/// short.
pub fn write_error_indication(
    out: &mut [u8],
    sequence: u16,
    indication: &ErrorIndication,
) -> Option<usize> {
    let (address, address_len): (&[u8], u8) = match &indication.peer {
        IpAddr::V4(peer) => (&peer.octets(), 4),
        IpAddr::V6(peer) => (&peer.octets(), 16),
    };
    let (next, port_len) = match indication.udp_source_port {
        Some(_) => (ExtensionType::UDP_PORT, 4),
        None => (ExtensionType::NONE, 0),
    };
    let body_len = port_len + 5 + 3 + u16::from(address_len);
    let mut out = Out::new(out);
    out.put(&signalling_header(
        MessageType::ERROR_INDICATION,
        sequence,
        next,
        body_len,
    ))?;
    if let Some(port) = indication.udp_source_port {
        let [p0, p1] = port.to_be_bytes();
        out.put(&[1, p0, p1, ExtensionType::NONE.0])?;
    }
    out.put(&[IeType::TEID_DATA_I.0])?;
    out.put(&indication.teid.to_be_bytes())?;
    out.put(&[IeType::GTP_U_PEER_ADDRESS.0, 0, address_len])?;
    out.put(address)?;
    Some(out.len())
}

#[inline]
fn short_header(ty: MessageType, teid: Teid, length: u16) -> [u8; HEADER_LEN] {
    let [l0, l1] = length.to_be_bytes();
    let [t0, t1, t2, t3] = teid.get().to_be_bytes();
    [FLAGS_V1, ty.0, l0, l1, t0, t1, t2, t3]
}

#[inline]
fn with_container(ty: MessageType, teid: Teid, container: ShortContainer, length: u16) -> [u8; 16] {
    let [l0, l1] = length.to_be_bytes();
    let [t0, t1, t2, t3] = teid.get().to_be_bytes();
    let [c0, c1, c2, c3] = container.0;
    let next = ExtensionType::PDU_SESSION_CONTAINER.0;
    [
        FLAGS_V1 | FLAG_E,
        ty.0,
        l0,
        l1,
        t0,
        t1,
        t2,
        t3,
        0,
        0,
        0,
        next,
        c0,
        c1,
        c2,
        c3,
    ]
}

/// A header with TEID 0 and a sequence number, before `body_len` octets.
fn signalling_header(
    ty: MessageType,
    sequence: u16,
    next: ExtensionType,
    body_len: u16,
) -> [u8; LONG_HEADER_LEN] {
    let e = if next == ExtensionType::NONE {
        0
    } else {
        FLAG_E
    };
    let [l0, l1] = (body_len + 4).to_be_bytes();
    let [s0, s1] = sequence.to_be_bytes();
    [
        FLAGS_V1 | FLAG_S | e,
        ty.0,
        l0,
        l1,
        0,
        0,
        0,
        0,
        s0,
        s1,
        0,
        next.0,
    ]
}
