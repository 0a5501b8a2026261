//! IPv6 extension headers (RFC 8200, 4), on the way to the upper layer.

use crate::protocol::Protocol;

/// Extension headers that are read; a packet with more of them has no upper layer for us.
pub const MAX_EXTENSION_HEADERS: usize = 8;

/// The first header that is no hop-by-hop options, routing, fragment or destination options header.
///
/// ESP and AH are upper layers here: SDF filters name them (TS 29.244, 8.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upper<'a> {
    /// What the payload is. In a later fragment, what the fragment header says; where the headers
    /// are cut short or too many, the type of the first that was not read.
    pub protocol: Protocol,
    /// The header and what follows it; empty where the headers are cut short or too many.
    pub payload: &'a [u8],
    /// Whether this is a part of a packet. One with a fragment header that is whole nevertheless
    /// (RFC 6946) is none.
    pub is_fragment: bool,
    /// Whether it is another part than the first: the payload does not begin with a header.
    pub is_later_fragment: bool,
}

impl<'a> Upper<'a> {
    /// Walks from `next_header`, whose header is at the beginning of `payload`.
    #[inline]
    pub fn find(next_header: Protocol, payload: &'a [u8]) -> Self {
        let whole = Self {
            protocol: next_header,
            payload,
            is_fragment: false,
            is_later_fragment: false,
        };
        if next_header.is_ipv6_extension() {
            whole.behind_extensions()
        } else {
            whole
        }
    }

    fn behind_extensions(self) -> Self {
        let mut upper = self;
        for _ in 0..MAX_EXTENSION_HEADERS {
            upper = match upper.behind_one() {
                Some(next) => next,
                None => break,
            };
            if upper.is_later_fragment || !upper.protocol.is_ipv6_extension() {
                return upper;
            }
        }
        Self {
            payload: &[],
            ..upper
        }
    }

    /// What the extension header at the beginning of the payload leads to; none if it is cut short.
    fn behind_one(self) -> Option<Self> {
        let &[next, len, field0, field1] = self.payload.first_chunk()?;
        let is_fragment_header = self.protocol == Protocol::FRAGMENT;
        let (octets, fragment) = if is_fragment_header {
            (8, u16::from_be_bytes([field0, field1]))
        } else {
            (8 * (usize::from(len) + 1), 0)
        };
        Some(Self {
            protocol: Protocol(next),
            payload: self.payload.get(octets..)?,
            is_fragment: self.is_fragment || fragment & 0xfff9 != 0,
            is_later_fragment: fragment & 0xfff8 != 0,
        })
    }
}

impl Protocol {
    /// Whether a header is one that [`Upper`] looks behind.
    #[inline]
    pub const fn is_ipv6_extension(self) -> bool {
        matches!(
            self,
            Self::HOP_BY_HOP | Self::ROUTING | Self::FRAGMENT | Self::DESTINATION_OPTIONS
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Hop-by-hop options of 8 octets: PadN of 6.
    fn hop_by_hop(next: Protocol) -> [u8; 8] {
        [next.0, 0, 1, 4, 0, 0, 0, 0]
    }

    fn fragment(next: Protocol, offset_and_m: u16) -> [u8; 8] {
        let [a, b] = offset_and_m.to_be_bytes();
        [next.0, 0xff, a, b, 1, 2, 3, 4]
    }

    #[test]
    fn the_upper_layer_lies_behind_all_extension_headers() {
        let routing = [Protocol::DESTINATION_OPTIONS.0, 1, 0, 0];
        let mut bytes = hop_by_hop(Protocol::ROUTING).to_vec();
        bytes.extend(routing);
        bytes.extend([0; 12]);
        bytes.extend(hop_by_hop(Protocol::FRAGMENT));
        bytes.extend(fragment(Protocol::UDP, 1));
        bytes.extend(b"upper");
        let upper = Upper::find(Protocol::HOP_BY_HOP, &bytes);
        assert_eq!(
            (upper.protocol, upper.payload),
            (Protocol::UDP, &b"upper"[..])
        );
        assert!(upper.is_fragment && !upper.is_later_fragment);
    }

    #[test]
    fn ah_and_esp_are_upper_layers() {
        for protocol in [Protocol::AH, Protocol::ESP, Protocol::NO_NEXT_HEADER] {
            let upper = Upper::find(protocol, b"12345678");
            assert_eq!(
                (upper.protocol, upper.payload),
                (protocol, &b"12345678"[..])
            );
        }
    }

    #[test]
    fn a_later_fragment_ends_the_walk_and_an_atomic_one_is_whole() {
        let mut bytes = fragment(Protocol::DESTINATION_OPTIONS, 8).to_vec();
        bytes.extend(b"anything");
        let upper = Upper::find(Protocol::FRAGMENT, &bytes);
        assert_eq!(upper.protocol, Protocol::DESTINATION_OPTIONS);
        assert_eq!(upper.payload, b"anything");
        assert!(upper.is_fragment && upper.is_later_fragment);
        let atomic = fragment(Protocol::TCP, 0x0006);
        let upper = Upper::find(Protocol::FRAGMENT, &atomic);
        assert_eq!(upper.protocol, Protocol::TCP);
        assert!(!upper.is_fragment && !upper.is_later_fragment);
    }

    #[test]
    fn headers_cut_short_or_too_many_leave_no_payload() {
        let cut = Upper::find(Protocol::ROUTING, &[6, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!((cut.protocol, cut.payload), (Protocol::ROUTING, &[][..]));
        let chain = |headers: usize| {
            let mut bytes: Vec<u8> = Vec::new();
            for _ in 1..headers {
                bytes.extend(hop_by_hop(Protocol::DESTINATION_OPTIONS));
            }
            bytes.extend(hop_by_hop(Protocol::UDP));
            bytes.push(7);
            bytes
        };
        let most = chain(MAX_EXTENSION_HEADERS);
        let upper = Upper::find(Protocol::DESTINATION_OPTIONS, &most);
        assert_eq!((upper.protocol, upper.payload), (Protocol::UDP, &[7][..]));
        let more = chain(MAX_EXTENSION_HEADERS + 1);
        let upper = Upper::find(Protocol::DESTINATION_OPTIONS, &more);
        assert_eq!(upper.protocol, Protocol::DESTINATION_OPTIONS);
        assert!(upper.payload.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_upper_layer(
            first in prop::sample::select(vec![0u8, 43, 44, 60, 6]),
            bytes in proptest::collection::vec(
                prop_oneof![Just(0u8), Just(43), Just(44), Just(60), any::<u8>()], 0..120,
            ),
        ) {
            let upper = Upper::find(Protocol(first), &bytes);
            prop_assert!(bytes.ends_with(upper.payload));
            prop_assert!(upper.is_fragment || !upper.is_later_fragment);
            let is_header = !upper.is_later_fragment && upper.protocol.is_ipv6_extension();
            prop_assert!(!is_header || upper.payload.is_empty());
        }
    }
}
