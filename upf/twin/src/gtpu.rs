//! GTP-U messages, read as TS 29.281, 5 says.

use crate::outcome::Drop;

/// What a GTP-U message is.
#[derive(Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// User data.
    GPdu {
        /// Tunnel.
        teid: u32,
        /// QoS flow of the PDU Session Container.
        qfi: Option<u8>,
        /// What a node that only relays passes on: types and contents of extension headers.
        passed_on: Vec<(u8, &'a [u8])>,
        /// The inner packet.
        inner: &'a [u8],
    },
    /// Nothing more comes in this tunnel.
    EndMarker {
        /// Tunnel.
        teid: u32,
    },
    /// Something that the control core answers.
    Signalling,
}

const ECHO_REQUEST: u8 = 1;
const ECHO_RESPONSE: u8 = 2;
const ERROR_INDICATION: u8 = 26;
const SUPPORTED_EXTENSION_HEADERS_NOTIFICATION: u8 = 31;
const END_MARKER: u8 = 254;
const G_PDU: u8 = 255;

const PDU_SESSION_CONTAINER: u8 = 0x85;
/// More extension headers than types exist are not read.
const EXTENSIONS: usize = 8;

/// Reads a UDP payload.
pub fn read(payload: &[u8]) -> Result<Message<'_>, Drop> {
    let header = payload.get(..8).ok_or(Drop::GtpuHeader)?;
    let (version, protocol_type) = (header[0] >> 5, header[0] >> 4 & 1);
    if version != 1 || protocol_type != 1 {
        return Err(Drop::GtpuHeader);
    }
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let mut rest = payload.get(8..8 + length).ok_or(Drop::GtpuHeader)?;
    let mut next = 0;
    if header[0] & 0b111 != 0 {
        let optional = rest.get(..4).ok_or(Drop::GtpuHeader)?;
        if header[0] & 0b100 != 0 {
            next = optional[3];
        }
        rest = &rest[4..];
    }
    let teid = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    match header[1] {
        G_PDU => {}
        END_MARKER => return Ok(end_marker(teid, next, rest)),
        ECHO_REQUEST
        | ECHO_RESPONSE
        | ERROR_INDICATION
        | SUPPORTED_EXTENSION_HEADERS_NOTIFICATION => return Ok(Message::Signalling),
        _ => return Err(Drop::GtpuMessageType),
    }
    g_pdu(teid, next, rest)
}

/// Sound and of a tunnel, or nobody's business but the control core's.
fn end_marker(teid: u32, next: u8, rest: &[u8]) -> Message<'_> {
    match g_pdu(teid, next, rest) {
        Ok(Message::GPdu { .. }) | Err(Drop::GtpuEmpty) => Message::EndMarker { teid },
        _ => Message::Signalling,
    }
}

fn g_pdu(teid: u32, mut next: u8, mut rest: &[u8]) -> Result<Message<'_>, Drop> {
    let mut container = None;
    let mut passed_on = Vec::new();
    let mut walked = 0;
    while next != 0 {
        walked += 1;
        let units = usize::from(*rest.first().ok_or(Drop::GtpuExtension)?);
        if walked > EXTENSIONS || units == 0 {
            return Err(Drop::GtpuExtension);
        }
        let extension = rest.get(..4 * units).ok_or(Drop::GtpuExtension)?;
        rest = &rest[4 * units..];
        // Figure 5.2.1-2: bit 7 tells relays to keep it to themselves.
        if next & 0x40 == 0 {
            passed_on.push((next, &extension[1..4 * units - 1]));
        }
        if next == PDU_SESSION_CONTAINER {
            container = container.or(Some(extension));
        } else if next & 0x80 != 0 {
            // Comprehension required (5.2.1): the sender is told what is comprehended.
            return Ok(Message::Signalling);
        }
        next = extension[4 * units - 1];
    }
    if teid == 0 {
        return Err(Drop::UnknownTeid);
    }
    let qfi = match container {
        // Only PDU types 0 and 1 are defined (TS 38.415, 5.5.3.1).
        Some(c) if c[1] >> 4 > 1 => return Err(Drop::GtpuExtension),
        Some(c) => Some(c[2] & 0x3f),
        None => None,
    };
    if rest.is_empty() {
        return Err(Drop::GtpuEmpty);
    }
    Ok(Message::GPdu {
        teid,
        qfi,
        passed_on,
        inner: rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_g_pdu_with_a_container_has_a_flow() {
        let bytes = [
            0x34, 255, 0, 10, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 9, 0, 0xab, 0xcd,
        ];
        let want = Message::GPdu {
            teid: 7,
            qfi: Some(9),
            passed_on: vec![(0x85, &[0x10, 9])],
            inner: &[0xab, 0xcd],
        };
        assert_eq!(read(&bytes), Ok(want));
    }

    #[test]
    fn a_plain_g_pdu_has_none_and_ends_at_its_length() {
        let bytes = [0x30, 255, 0, 1, 0, 0, 0, 7, 0xab, 0xcd];
        let want = Message::GPdu {
            teid: 7,
            qfi: None,
            passed_on: vec![],
            inner: &[0xab],
        };
        assert_eq!(read(&bytes), Ok(want));
    }

    #[test]
    fn each_fault_has_its_name() {
        for (bytes, drop) in [
            (&[0x50, 255, 0, 1, 0, 0, 0, 7, 1][..], Drop::GtpuHeader),
            (&[0x20, 255, 0, 1, 0, 0, 0, 7, 1], Drop::GtpuHeader),
            (&[0x30, 255, 0, 2, 0, 0, 0, 7, 1], Drop::GtpuHeader),
            (&[0x31, 255, 0, 1, 0, 0, 0, 7, 1], Drop::GtpuHeader),
            (&[0x30, 255, 0, 0, 0, 0, 0, 7], Drop::GtpuEmpty),
            (&[0x30, 255, 0, 1, 0, 0, 0, 0, 1], Drop::UnknownTeid),
            (&[0x30, 253, 0, 1, 0, 0, 0, 1, 1], Drop::GtpuMessageType),
            (
                &[0x34, 255, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0x85, 0],
                Drop::GtpuExtension,
            ),
            (
                &[0x34, 255, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0x85, 1],
                Drop::GtpuExtension,
            ),
        ] {
            assert_eq!(read(bytes), Err(drop), "{bytes:x?}");
        }
    }

    #[test]
    fn signalling_and_unknown_mandatory_extensions_go_to_the_control_core() {
        let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(read(&echo), Ok(Message::Signalling));
        let strange = [0x34, 255, 0, 9, 0, 0, 0, 7, 0, 0, 0, 0xc1, 1, 0, 0, 0, 9];
        assert_eq!(read(&strange), Ok(Message::Signalling));
    }
}
