//! Information elements of signalling messages (TS 29.281, 8).
//!
//! The top bit of the type tells the format: clear, the type fixes the length (TV); set, a length
//! field follows (TLV), of two octets but for the Extension Header Type List, which has one.

use super::GtpuError;
use core::fmt;

/// What an information element is (TS 29.281, table 8.1-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IeType(pub u8);

impl IeType {
    /// Recovery, one octet, always 0 (8.2).
    pub const RECOVERY: Self = Self(14);
    /// Tunnel Endpoint Identifier Data I, four octets (8.3).
    pub const TEID_DATA_I: Self = Self(16);
    /// GTP-U Peer Address, an IPv4 or IPv6 address (8.4).
    pub const GTP_U_PEER_ADDRESS: Self = Self(133);
    /// Extension Header Type List (8.5).
    pub const EXTENSION_HEADER_TYPE_LIST: Self = Self(141);
    /// GTP-U Tunnel Status Information (8.7).
    pub const TUNNEL_STATUS_INFORMATION: Self = Self(230);
    /// Recovery Time Stamp (8.8).
    pub const RECOVERY_TIME_STAMP: Self = Self(231);
    /// Private Extension (8.6).
    pub const PRIVATE_EXTENSION: Self = Self(255);
}

impl fmt::Debug for IeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IeType({})", self.0)
    }
}

/// One information element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ie<'a> {
    /// What it is.
    pub ty: IeType,
    /// Its octets behind type and length.
    pub value: &'a [u8],
}

/// Walks the information elements of a message; after an error it ends.
#[derive(Clone, Debug)]
pub struct Ies<'a>(&'a [u8]);

impl<'a> Ies<'a> {
    /// Over what follows header and extension headers.
    pub const fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    fn step(&mut self, ty: IeType, rest: &'a [u8]) -> Result<Ie<'a>, GtpuError> {
        let truncated = GtpuError::IeTruncated(ty);
        let (len, rest) = match (ty, rest) {
            (IeType::RECOVERY, rest) => (1, rest),
            (IeType::TEID_DATA_I, rest) => (4, rest),
            (ty, _) if ty.0 & 0x80 == 0 => return Err(GtpuError::IeUnknown(ty)),
            (IeType::EXTENSION_HEADER_TYPE_LIST, [len, rest @ ..]) => (usize::from(*len), rest),
            (IeType::EXTENSION_HEADER_TYPE_LIST, []) => return Err(truncated),
            (_, [l0, l1, rest @ ..]) => (usize::from(u16::from_be_bytes([*l0, *l1])), rest),
            _ => return Err(truncated),
        };
        let (value, rest) = rest.split_at_checked(len).ok_or(truncated)?;
        self.0 = rest;
        Ok(Ie { ty, value })
    }
}

impl<'a> Iterator for Ies<'a> {
    type Item = Result<Ie<'a>, GtpuError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (ty, rest) = self.0.split_first()?;
        let step = self.step(IeType(*ty), rest);
        if step.is_err() {
            self.0 = &[];
        }
        Some(step)
    }
}
