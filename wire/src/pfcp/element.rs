//! Traits of IE values and groups, and their reader.

use core::net::{Ipv4Addr, Ipv6Addr};

use arrayvec::ArrayVec;

use super::ie_type::IeType;
use super::reject::Reject;
use super::writer::{Full, Writer};

/// The contents of one IE: a plain value or a group of further IEs.
///
/// Octets behind the known contents are ignored, as later releases may append some (7.6.7).
pub trait Element<'a>: Default {
    /// Reads the contents.
    fn decode(value: &'a [u8]) -> Result<Self, Fault>;

    /// Reads the contents into a place that holds the default; large groups do it without a copy.
    #[inline]
    fn decode_into(&mut self, value: &'a [u8]) -> Result<(), Fault> {
        *self = Self::decode(value)?;
        Ok(())
    }

    /// Reads the contents into an empty place.
    #[inline]
    fn decode_option(place: &mut Option<Self>, value: &'a [u8]) -> Result<(), Fault> {
        *place = Some(Self::decode(value)?);
        Ok(())
    }

    /// Reads the contents behind the end of a list that is not full.
    #[inline]
    fn decode_push<const N: usize>(
        list: &mut ArrayVec<Self, N>,
        value: &'a [u8],
    ) -> Result<(), Fault> {
        list.push(Self::decode(value)?);
        Ok(())
    }

    /// Writes the contents, without type and length.
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full>;
}

/// What is wrong with the contents of an IE; whoever knows the IE's type makes it a [`Reject`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Fewer octets than the contents need (7.6.7).
    Length,
    /// A value that the TS does not allow (7.6.8).
    Value,
    /// Something inside a group.
    Inner(Reject),
}

impl Fault {
    /// The answer, for an IE of the given type.
    pub fn into_reject(self, ie: IeType) -> Reject {
        match self {
            Self::Length => Reject::invalid_length(ie),
            Self::Value => Reject::incorrect(ie),
            Self::Inner(Reject {
                cause,
                offending_ie,
            }) => Reject {
                cause,
                offending_ie: offending_ie.or(Some(ie)),
            },
        }
    }
}

impl From<Reject> for Fault {
    fn from(reject: Reject) -> Self {
        Self::Inner(reject)
    }
}

/// Takes the fields of a value from its front; every call fails when octets are wanting.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(value: &'a [u8]) -> Self {
        Self(value)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Fault::Length)?;
        self.0 = rest;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        self.array().map(|[octet]| octet)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u24(&mut self) -> Result<u32, Fault> {
        self.array()
            .map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u40(&mut self) -> Result<u64, Fault> {
        self.array()
            .map(|[a, b, c, d, e]| u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_be_bytes)
    }

    /// An IPv4 address if `present`.
    #[inline]
    pub(crate) fn ipv4(&mut self, present: bool) -> Result<Option<Ipv4Addr>, Fault> {
        self.when(present, |r| r.u32().map(Ipv4Addr::from_bits))
    }

    /// An IPv6 address if `present`.
    #[inline]
    pub(crate) fn ipv6(&mut self, present: bool) -> Result<Option<Ipv6Addr>, Fault> {
        self.when(present, |r| r.array::<16>().map(Ipv6Addr::from))
    }

    /// A field that a flag announces.
    #[inline]
    pub(crate) fn when<T>(
        &mut self,
        present: bool,
        field: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        if present {
            field(self).map(Some)
        } else {
            Ok(None)
        }
    }

    #[inline]
    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(Fault::Length)?;
        self.0 = rest;
        Ok(head)
    }

    /// A text behind its one-octet length.
    #[inline]
    pub(crate) fn short_text(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.u8()?;
        self.slice(length.into())
    }

    /// A text behind its two-octet length.
    #[inline]
    pub(crate) fn long_text(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.u16()?;
        self.slice(length.into())
    }

    /// Everything that is left.
    #[inline]
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }
}
