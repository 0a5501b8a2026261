//! Options of Neighbour Discovery (RFC 4861, 4.6): type, length in words of 8 octets, content.

use crate::eth::MacAddr;
use core::fmt;

/// Source Link-Layer Address (RFC 4861, 4.6.1).
pub(super) const SOURCE_LINK_LAYER_ADDRESS: u8 = 1;
/// Target Link-Layer Address (RFC 4861, 4.6.1).
pub(super) const TARGET_LINK_LAYER_ADDRESS: u8 = 2;
/// Prefix Information (RFC 4861, 4.6.2).
pub(super) const PREFIX_INFORMATION: u8 = 3;
/// MTU (RFC 4861, 4.6.4).
pub(super) const MTU: u8 = 5;
/// Recursive DNS Server (RFC 8106, 5.1).
pub(super) const RDNSS: u8 = 25;

/// One option as it lies in its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiscoveryOption<'a> {
    /// The type octet.
    pub kind: u8,
    /// What follows type and length: 8 n - 2 octets.
    pub content: &'a [u8],
}

impl DiscoveryOption<'_> {
    /// The MAC address in a link-layer address option, whose length is 1 on Ethernet (RFC 2464, 6).
    pub(super) fn mac(&self) -> Result<MacAddr, OptionError> {
        let mac = self.content.try_into().map_err(|_| OptionError::Length)?;
        Ok(MacAddr(mac))
    }
}

/// Why the walk over options ends before their end: the whole message is to be dropped
/// (RFC 4861, 4.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionError {
    /// Length 0, or another one than the type has.
    Length,
    /// The option reaches behind the message.
    Truncated,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "Neighbour Discovery option of a wrong length (RFC 4861, 4.6)",
            Self::Truncated => "Neighbour Discovery option reaches behind the message",
        })
    }
}

impl core::error::Error for OptionError {}

/// Walks options in their order; ends behind the first error.
#[derive(Clone, Debug)]
pub struct DiscoveryOptions<'a>(&'a [u8]);

impl<'a> DiscoveryOptions<'a> {
    /// Over the octets behind the fixed part of a message.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn split_first(&self) -> Result<(DiscoveryOption<'a>, &'a [u8]), OptionError> {
        let (&[kind, words], _) = self.0.split_first_chunk().ok_or(OptionError::Truncated)?;
        if words == 0 {
            return Err(OptionError::Length);
        }
        let (option, rest) = self
            .0
            .split_at_checked(8 * usize::from(words))
            .ok_or(OptionError::Truncated)?;
        let content = option.get(2..).unwrap_or_default();
        Ok((DiscoveryOption { kind, content }, rest))
    }
}

impl<'a> Iterator for DiscoveryOptions<'a> {
    type Item = Result<DiscoveryOption<'a>, OptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        match self.split_first() {
            Ok((option, rest)) => {
                self.0 = rest;
                Some(Ok(option))
            }
            Err(error) => {
                self.0 = &[];
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn options_are_read_one_by_one() {
        let bytes = [
            1, 1, 2, 0, 0, 0, 0, 9, // source link-layer address
            14, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, // nonce (RFC 3971, 5.3.2)
        ];
        let options: Vec<_> = DiscoveryOptions::new(&bytes).map(Result::unwrap).collect();
        assert_eq!((options[0].kind, options[1].kind), (1, 14));
        assert_eq!(options[0].mac(), Ok(MacAddr([2, 0, 0, 0, 0, 9])));
        assert_eq!(options[1].content, &bytes[10..]);
        assert_eq!(options[1].mac(), Err(OptionError::Length));
        assert_eq!(options.len(), 2);
    }

    #[test]
    fn a_wrong_length_ends_the_walk() {
        let walk = |bytes: &[u8]| DiscoveryOptions::new(bytes).last().unwrap().unwrap_err();
        assert_eq!(walk(&[1, 0, 0, 0, 0, 0, 0, 0]), OptionError::Length);
        assert_eq!(walk(&[1, 2, 0, 0, 0, 0, 0, 0]), OptionError::Truncated);
        assert_eq!(walk(&[1]), OptionError::Truncated);
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_finite_steps(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let read: usize = DiscoveryOptions::new(&bytes)
                .map(|option| option.map_or(0, |option| option.content.len() + 2))
                .sum();
            let whole = DiscoveryOptions::new(&bytes).all(|option| option.is_ok());
            prop_assert!(read <= bytes.len());
            prop_assert_eq!(whole, read == bytes.len());
        }
    }
}
