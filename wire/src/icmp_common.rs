//! What ICMP (RFC 792) and ICMPv6 (RFC 4443) have in common: the first eight octets, and echo.

use crate::checksum::update_u16;

/// Octets before the data.
pub const HEADER_LEN: usize = 8;

/// Which of the two echo messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EchoKind {
    /// Answer, please.
    Request,
    /// The answer.
    Reply,
}

/// Identifier, sequence number and data of an echo message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo<'a> {
    /// Names the asking process; what NAPT translates instead of a port (RFC 3022, 2.2).
    pub identifier: u16,
    /// Counts the requests.
    pub sequence: u16,
    /// Returned unchanged by the reply.
    pub data: &'a [u8],
}

impl Echo<'_> {
    /// The header of an echo message of this type, its checksum still 0.
    pub(crate) const fn header(&self, kind: u8) -> [u8; HEADER_LEN] {
        let [i0, i1] = self.identifier.to_be_bytes();
        let [s0, s1] = self.sequence.to_be_bytes();
        [kind, 0, 0, 0, i0, i1, s0, s1]
    }
}

/// A message as it lies in its bytes, whatever its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    header: &'a [u8; HEADER_LEN],
    /// What follows the first eight octets.
    pub body: &'a [u8],
}

impl<'a> Fields<'a> {
    /// None of fewer than eight octets.
    pub(crate) fn split(bytes: &'a [u8]) -> Option<Self> {
        let (header, body) = bytes.split_first_chunk()?;
        Some(Self { header, body })
    }

    pub(crate) const fn kind(&self) -> u8 {
        self.header[0]
    }

    pub(crate) const fn code(&self) -> u8 {
        self.header[1]
    }

    /// The four octets between checksum and body.
    pub(crate) const fn word(&self) -> [u8; 4] {
        let [_, _, _, _, word @ ..] = *self.header;
        word
    }

    /// The message as an echo message, which its type says that it is.
    pub(crate) const fn echo(&self) -> Echo<'a> {
        let [i0, i1, s0, s1] = self.word();
        Echo {
            identifier: u16::from_be_bytes([i0, i1]),
            sequence: u16::from_be_bytes([s0, s1]),
            data: self.body,
        }
    }
}

/// Gives a message of type `request` the type `reply`, in place, and its mended checksum as `written`
/// writes it; `false`, and nothing changed, if it is of another type.
pub(crate) fn turn_into_reply(
    message: &mut [u8],
    [request, reply]: [u8; 2],
    written: fn(u16) -> u16,
) -> bool {
    let Some(header) = message.first_chunk_mut::<HEADER_LEN>() else {
        return false;
    };
    if header[0] != request {
        return false;
    }
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[0] = reply;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let checksum = update_u16(u16::from_be_bytes([header[2], header[3]]), old, new);
    [header[2], header[3]] = written(checksum).to_be_bytes();
    true
}
