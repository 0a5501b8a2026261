//! Extension headers (TS 29.281, 5.2).
//!
//! ```text
//!  1     | length, in units of 4 octets, of all octets below and this
//!  2-n   | content
//!  n+1   | next extension header type
//! ```

use super::GtpuError;
use core::fmt;

/// The most extension headers that we walk: the user plane defines eight types (5.2.1), and none
/// makes sense twice.
pub const MAX_EXTENSION_HEADERS: usize = 8;

/// What an extension header is (TS 29.281, figure 5.2.1-3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExtensionType(pub u8);

impl ExtensionType {
    /// No more extension headers.
    pub const NONE: Self = Self(0x00);
    /// Long PDCP PDU Number (5.2.2.2A), comprehension not required.
    pub const LONG_PDCP_PDU_NUMBER: Self = Self(0x03);
    /// Service Class Indicator (5.2.2.3).
    pub const SERVICE_CLASS_INDICATOR: Self = Self(0x20);
    /// UDP Port (5.2.2.1).
    pub const UDP_PORT: Self = Self(0x40);
    /// RAN Container (5.2.2.4).
    pub const RAN_CONTAINER: Self = Self(0x81);
    /// Xw RAN Container (5.2.2.5).
    pub const XW_RAN_CONTAINER: Self = Self(0x83);
    /// NR RAN Container (5.2.2.6).
    pub const NR_RAN_CONTAINER: Self = Self(0x84);
    /// PDU Session Container (5.2.2.7).
    pub const PDU_SESSION_CONTAINER: Self = Self(0x85);
    /// PDCP PDU Number (5.2.2.2).
    pub const PDCP_PDU_NUMBER: Self = Self(0xc0);

    /// Whether the endpoint of the tunnel must comprehend it: bit 8 is set (figure 5.2.1-2).
    #[inline]
    pub const fn must_be_comprehended(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// Whether a node that only relays must comprehend it too: bits 8 and 7 are set
    /// (figure 5.2.1-2).
    #[inline]
    pub const fn must_be_comprehended_by_relays(self) -> bool {
        self.0 & 0xc0 == 0xc0
    }

    /// Whether a node that only relays and does not comprehend it passes it on: bit 7 is clear
    /// (figure 5.2.1-2).
    #[inline]
    pub const fn is_relayed(self) -> bool {
        self.0 & 0x40 == 0
    }
}

impl fmt::Debug for ExtensionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExtensionType({:#04x})", self.0)
    }
}

/// One extension header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extension<'a> {
    /// What it is.
    pub ty: ExtensionType,
    /// Its octets between length and next type; 2 more than a multiple of 4.
    pub content: &'a [u8],
}

/// Walks a chain of extension headers, whatever their types; after an error it ends.
#[derive(Clone, Debug)]
pub struct Extensions<'a> {
    next: ExtensionType,
    rest: &'a [u8],
    left: usize,
}

impl<'a> Extensions<'a> {
    /// Over the chain that begins with a header of type `first` at the start of `body`.
    #[inline]
    pub const fn new(first: ExtensionType, body: &'a [u8]) -> Self {
        Self {
            next: first,
            rest: body,
            left: MAX_EXTENSION_HEADERS,
        }
    }

    /// What follows the headers walked so far: the payload, once the iterator has ended.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn step(&mut self) -> Result<Extension<'a>, GtpuError> {
        let ty = self.next;
        self.left = self
            .left
            .checked_sub(1)
            .ok_or(GtpuError::TooManyExtensions)?;
        let units = *self.rest.first().ok_or(GtpuError::ExtensionTruncated(ty))?;
        if units == 0 {
            return Err(GtpuError::ExtensionLengthZero(ty));
        }
        let (header, rest) = self
            .rest
            .split_at_checked(usize::from(units) * 4)
            .ok_or(GtpuError::ExtensionTruncated(ty))?;
        let [_, content @ .., next] = header else {
            return Err(GtpuError::ExtensionTruncated(ty));
        };
        self.next = ExtensionType(*next);
        self.rest = rest;
        Ok(Extension { ty, content })
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Result<Extension<'a>, GtpuError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == ExtensionType::NONE {
            return None;
        }
        let step = self.step();
        if step.is_err() {
            self.next = ExtensionType::NONE;
        }
        Some(step)
    }
}

/// What the endpoint of a tunnel makes of the extension headers of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received<'a> {
    /// The first PDU Session Container.
    pub container: Option<Container<'a>>,
    /// The port in the first UDP Port header.
    pub udp_port: Option<u16>,
    /// What follows the extension headers.
    pub payload: &'a [u8],
}

/// The content of a PDU Session Container and its distance from the end of the message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container<'a> {
    pub content: &'a [u8],
    pub octets_behind: usize,
}

/// Walks the chain as the endpoint of a tunnel must (5.2.1): takes what it comprehends, skips what
/// it need not, refuses what it should.
#[inline]
pub(super) fn receive(first: ExtensionType, body: &[u8]) -> Result<Received<'_>, GtpuError> {
    let mut chain = Extensions::new(first, body);
    let (mut container, mut udp_port) = (None, None);
    while let Some(extension) = chain.next() {
        let Extension { ty, content } = extension?;
        match ty {
            ExtensionType::PDU_SESSION_CONTAINER => {
                // The octet between content and rest is the next type.
                let octets_behind = chain.rest().len() + 1;
                container = container.or(Some(Container {
                    content,
                    octets_behind,
                }));
            }
            ExtensionType::UDP_PORT => udp_port = udp_port.or(read_port(content)),
            ty if ty.must_be_comprehended() => {
                return Err(GtpuError::UnsupportedExtension { ty });
            }
            _ => {}
        }
    }
    Ok(Received {
        container,
        udp_port,
        payload: chain.rest(),
    })
}

/// The port of a UDP Port extension header (5.2.2.1).
#[inline]
fn read_port(content: &[u8]) -> Option<u16> {
    content.first_chunk().map(|port| u16::from_be_bytes(*port))
}
