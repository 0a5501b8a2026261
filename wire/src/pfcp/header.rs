//! The PFCP message header (TS 29.244, 7.2.2).
//!
//! ```text
//!        8   7   6   5   4   3   2   1
//!   1   | version = 1 | spare | FO  MP  S |
//!   2   | message type                    |
//!  3-4  | message length, without 1 to 4  |
//!  5-12 | SEID, only if S = 1             |
//!  +3   | sequence number                 |
//!  +1   | priority (MP = 1) |    spare    |
//! ```

use core::fmt;

use super::types::{MessageType, SequenceNumber};
use super::writer::{Full, Writer};
use crate::ids::Seid;

/// The header of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// What the message is.
    pub message_type: MessageType,
    /// The receiver's SEID; session related messages have one.
    pub seid: Option<Seid>,
    /// Ties a response to its request.
    pub sequence: SequenceNumber,
    /// Message priority 0 (highest) to 15, if the sender gave one (5.22).
    pub priority: Option<u8>,
}

/// Why octets are not a PFCP message; such a message cannot be answered but for its version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// Fewer octets than the header needs: silently discarded (7.6.3).
    TooShort,
    /// The stated length exceeds the octets received or is less than the header's own rest.
    Length {
        /// What the length field says.
        stated: u16,
        /// Octets present after the first four.
        available: usize,
    },
    /// Another version of PFCP: answered by Version Not Supported Response (7.6.2).
    Version {
        /// The version of the received message.
        version: u8,
        /// The sequence number, where version 1 has it, for the answer.
        sequence: SequenceNumber,
    },
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("PFCP header cut short (TS 29.244, 7.6.3)"),
            Self::Length { stated, available } => write!(
                f,
                "PFCP message length {stated} does not fit {available} octets (TS 29.244, 7.6.3)"
            ),
            Self::Version { version, .. } => {
                write!(
                    f,
                    "PFCP version {version} is not supported (TS 29.244, 7.6.2)"
                )
            }
        }
    }
}

impl core::error::Error for HeaderError {}

const VERSION: u8 = 1;
const FLAG_S: u8 = 0x01;
const FLAG_MP: u8 = 0x02;
/// Octets in front of what the length field counts.
const PREFIX: usize = 4;

impl Header {
    /// A header without SEID, for node related messages.
    pub const fn node(message_type: MessageType, sequence: SequenceNumber) -> Self {
        Self {
            message_type,
            seid: None,
            sequence,
            priority: None,
        }
    }

    /// A header with the receiver's SEID, for session related messages.
    pub const fn session(message_type: MessageType, seid: Seid, sequence: SequenceNumber) -> Self {
        Self {
            message_type,
            seid: Some(seid),
            sequence,
            priority: None,
        }
    }

    /// Reads the header; gives it and the message's IEs. Octets behind the message are ignored.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        Self::parse_next(datagram).map(|(header, body, _)| (header, body))
    }

    /// Like [`Header::parse`], but also gives what follows the message: bundled messages of one
    /// datagram (FO flag, 7.2.2.1) are read one after the other.
    pub fn parse_next(datagram: &[u8]) -> Result<(Self, &[u8], &[u8]), HeaderError> {
        let (&[flags, message_type, l0, l1], rest) = datagram
            .split_first_chunk::<PREFIX>()
            .ok_or(HeaderError::TooShort)?;
        if flags >> 5 != VERSION {
            return Err(other_version(flags, rest));
        }
        let stated = u16::from_be_bytes([l0, l1]);
        let wrong_length = HeaderError::Length {
            stated,
            available: rest.len(),
        };
        let (message, next) = rest.split_at_checked(stated.into()).ok_or(wrong_length)?;
        let (seid, message) = match flags & FLAG_S {
            0 => (None, message),
            _ => {
                let (seid, message) = message.split_first_chunk().ok_or(wrong_length)?;
                (Some(Seid(u64::from_be_bytes(*seid))), message)
            }
        };
        let (&[s0, s1, s2, priority], body) =
            message.split_first_chunk::<4>().ok_or(wrong_length)?;
        let header = Self {
            message_type: MessageType(message_type),
            seid,
            sequence: SequenceNumber::wrapping(u32::from_be_bytes([0, s0, s1, s2])),
            priority: (flags & FLAG_MP != 0).then_some(priority >> 4),
        };
        Ok((header, body, next))
    }

    fn emit(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let s = if self.seid.is_some() { FLAG_S } else { 0 };
        let mp = if self.priority.is_some() { FLAG_MP } else { 0 };
        out.u8(VERSION << 5 | mp | s)?;
        out.u8(self.message_type.0)?;
        out.u16(0)?;
        if let Some(seid) = self.seid {
            out.u64(seid.0)?;
        }
        out.u24(self.sequence.get())?;
        out.u8(self.priority.unwrap_or(0) << 4)
    }
}

/// Writes one whole message: the header, the IEs that `body` writes, and then the length.
/// Gives the octets written.
#[inline]
pub fn write_message(
    out: &mut [u8],
    header: &Header,
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
) -> Result<usize, Full> {
    let mut writer = Writer::new(out);
    header.emit(&mut writer)?;
    body(&mut writer)?;
    let length = u16::try_from(writer.len() - PREFIX).map_err(|_| Full)?;
    writer.patch(2, length.to_be_bytes())?;
    Ok(writer.len())
}

fn other_version(flags: u8, rest: &[u8]) -> HeaderError {
    let rest = if flags & FLAG_S == 0 {
        rest
    } else {
        rest.get(8..).unwrap_or_default()
    };
    let sequence = match rest {
        [s0, s1, s2, ..] => u32::from_be_bytes([0, *s0, *s1, *s2]),
        _ => 0,
    };
    HeaderError::Version {
        version: flags >> 5,
        sequence: SequenceNumber::wrapping(sequence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCE: SequenceNumber = SequenceNumber::wrapping(0x01_0203);

    #[test]
    fn a_node_header_has_8_octets() {
        let header = Header::node(MessageType::HEARTBEAT_REQUEST, SEQUENCE);
        let mut out = [0; 64];
        let n = write_message(&mut out, &header, |w| w.bytes(&[0, 96, 0, 4, 1, 2, 3, 4])).unwrap();
        let expected = [0x20, 1, 0, 12, 1, 2, 3, 0, 0, 96, 0, 4, 1, 2, 3, 4];
        assert_eq!(out[..n], expected);
        assert_eq!(Header::parse(&out[..n]), Ok((header, &expected[8..])));
    }

    #[test]
    fn a_session_header_has_16_octets_and_may_have_a_priority() {
        let message_type = MessageType::SESSION_DELETION_REQUEST;
        let header = Header {
            priority: Some(5),
            ..Header::session(message_type, Seid(0x1122_3344_5566_7788), SEQUENCE)
        };
        let mut out = [0; 16];
        let n = write_message(&mut out, &header, |_| Ok(())).unwrap();
        assert_eq!(
            out[..n],
            [
                0x23, 54, 0, 12, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 1, 2, 3, 0x50
            ]
        );
        assert_eq!(Header::parse(&out), Ok((header, &[][..])));
    }

    #[test]
    fn bundled_messages_are_read_one_after_the_other() {
        let two = [0x24, 2, 0, 4, 0, 0, 1, 0, 0x20, 2, 0, 4, 0, 0, 2, 0];
        let (first, _, rest) = Header::parse_next(&two).unwrap();
        let (second, _, rest) = Header::parse_next(rest).unwrap();
        assert_eq!((first.sequence.get(), second.sequence.get()), (1, 2));
        assert!(rest.is_empty());
    }

    #[test]
    fn wrong_lengths_are_told_apart() {
        assert_eq!(Header::parse(&[0x20, 1, 0]), Err(HeaderError::TooShort));
        let beyond = [0x20, 1, 0, 5, 0, 0, 1, 0];
        let error = HeaderError::Length {
            stated: 5,
            available: 4,
        };
        assert_eq!(Header::parse(&beyond), Err(error));
        let no_room_for_seid = [0x21, 50, 0, 4, 0, 0, 1, 0];
        let error = HeaderError::Length {
            stated: 4,
            available: 4,
        };
        assert_eq!(Header::parse(&no_room_for_seid), Err(error));
    }

    #[test]
    fn another_version_is_reported_with_its_sequence_number() {
        let version = HeaderError::Version {
            version: 2,
            sequence: SEQUENCE,
        };
        assert_eq!(Header::parse(&[0x40, 1, 0, 4, 1, 2, 3, 0]), Err(version));
    }
}
