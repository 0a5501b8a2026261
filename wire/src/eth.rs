//! Ethernet II frames, untagged or with one IEEE 802.1Q tag.
//!
//! ```text
//! 0        6        12   14
//! | dst    | src    |type|            payload
//! | dst    | src    |8100|TCI |type|  payload
//! ```

use core::fmt;

/// Octets of the header without a tag.
pub const HEADER_LEN: usize = crate::layout::eth::LEN;
/// Octets of the header with one 802.1Q tag.
pub const TAGGED_HEADER_LEN: usize = crate::layout::eth::TAGGED_LEN;
/// The smallest payload of a frame on a real link; shorter ones are padded (IEEE 802.3, 3.2.8).
pub const MIN_PAYLOAD_LEN: usize = 46;

/// A 48-bit MAC address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// ff:ff:ff:ff:ff:ff
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// 00:00:00:00:00:00, which stands for "not known" in ARP.
    pub const ZERO: Self = Self([0; 6]);

    /// Whether the address names a group, broadcast included (IEEE 802, the I/G bit).
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether the address names all stations.
    #[inline]
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }

    /// Whether one station can have the address: no group, and not zero.
    #[inline]
    pub fn is_unicast(self) -> bool {
        !self.is_multicast() && self != Self::ZERO
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The protocol that a frame carries (IEEE 802 numbers).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4 (RFC 894).
    pub const IPV4: Self = Self(0x0800);
    /// ARP (RFC 826).
    pub const ARP: Self = Self(0x0806);
    /// An 802.1Q tag follows.
    pub const VLAN: Self = Self(0x8100);
    /// IPv6 (RFC 2464).
    pub const IPV6: Self = Self(0x86dd);
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtherType({:#06x})", self.0)
    }
}

/// The number of a VLAN (IEEE 802.1Q, 9.6): 1 to 4094.
///
/// On the wire 0 means "priority only, no VLAN" and 4095 is reserved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VlanId(u16);

impl VlanId {
    /// The largest VLAN number.
    pub const MAX: u16 = 4094;

    /// `None` for 0 and above 4094.
    pub const fn new(value: u16) -> Option<Self> {
        match value {
            1..=Self::MAX => Some(Self(value)),
            _ => None,
        }
    }

    /// 1 to 4094.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for VlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What an 802.1Q tag says (IEEE 802.1Q, 9.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// The VLAN; `None` in a frame that is only priority-tagged.
    pub vlan: Option<VlanId>,
}

/// Why bytes are no Ethernet frame that we read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EthError {
    /// The frame ends inside its header.
    Truncated,
    /// VLAN number 4095, which is reserved (IEEE 802.1Q, 9.6).
    ReservedVlan,
}

impl fmt::Display for EthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "Ethernet frame ends inside its header",
            Self::ReservedVlan => "VLAN number 4095 is reserved (IEEE 802.1Q, 9.6)",
        })
    }
}

impl core::error::Error for EthError {}

/// A frame as it lies in its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Eth<'a> {
    addresses: &'a [u8; HEADER_LEN],
    ethertype: EtherType,
    tag: Option<Tag>,
    payload: &'a [u8],
}

impl<'a> Eth<'a> {
    /// Reads the header and at most one tag.
    ///
    /// # Errors
    /// [`EthError`] if the frame is shorter than its header or names VLAN 4095.
    #[inline]
    pub fn parse(frame: &'a [u8]) -> Result<Self, EthError> {
        let (addresses, payload) = frame.split_first_chunk().ok_or(EthError::Truncated)?;
        let ethertype = EtherType(u16::from_be_bytes([addresses[12], addresses[13]]));
        if ethertype == EtherType::VLAN {
            return Self::parse_tagged(addresses, payload);
        }
        Ok(Self {
            addresses,
            ethertype,
            tag: None,
            payload,
        })
    }

    fn parse_tagged(addresses: &'a [u8; HEADER_LEN], rest: &'a [u8]) -> Result<Self, EthError> {
        let (&[c0, c1, t0, t1], payload) = rest.split_first_chunk().ok_or(EthError::Truncated)?;
        let vlan = match u16::from_be_bytes([c0 & 0x0f, c1]) {
            0 => None,
            id => Some(VlanId::new(id).ok_or(EthError::ReservedVlan)?),
        };
        let tag = Tag {
            priority: c0 >> 5,
            drop_eligible: c0 & 0x10 != 0,
            vlan,
        };
        let ethertype = EtherType(u16::from_be_bytes([t0, t1]));
        Ok(Self {
            addresses,
            ethertype,
            tag: Some(tag),
            payload,
        })
    }

    /// The receiver's address.
    #[inline]
    pub fn destination(&self) -> MacAddr {
        let [a, b, c, d, e, f, ..] = *self.addresses;
        MacAddr([a, b, c, d, e, f])
    }

    /// The sender's address.
    #[inline]
    pub fn source(&self) -> MacAddr {
        let [_, _, _, _, _, _, a, b, c, d, e, f, ..] = *self.addresses;
        MacAddr([a, b, c, d, e, f])
    }

    /// What the payload is; behind the tag if there is one.
    #[inline]
    pub fn ethertype(&self) -> EtherType {
        self.ethertype
    }

    /// The 802.1Q tag.
    #[inline]
    pub fn tag(&self) -> Option<Tag> {
        self.tag
    }

    /// The VLAN, if a tag names one.
    #[inline]
    pub fn vlan(&self) -> Option<VlanId> {
        self.tag.and_then(|tag| tag.vlan)
    }

    /// 14 octets, or 18 with a tag.
    #[inline]
    pub fn header_len(&self) -> usize {
        if self.tag.is_some() {
            TAGGED_HEADER_LEN
        } else {
            HEADER_LEN
        }
    }

    /// What follows the header, padding of short frames included.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// The fields of a header to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EthHeader {
    /// The receiver's address.
    pub destination: MacAddr,
    /// The sender's address.
    pub source: MacAddr,
    /// What the payload is.
    pub ethertype: EtherType,
}

impl EthHeader {
    /// The header without a tag.
    #[inline]
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        let (addresses, ethertype) = out.split_at_mut(12);
        let (destination, source) = addresses.split_at_mut(6);
        destination.copy_from_slice(&self.destination.0);
        source.copy_from_slice(&self.source.0);
        ethertype.copy_from_slice(&self.ethertype.0.to_be_bytes());
        out
    }

    /// The header with an 802.1Q tag; of `tag.priority` only the low three bits exist.
    #[inline]
    pub fn to_tagged_bytes(&self, tag: Tag) -> [u8; TAGGED_HEADER_LEN] {
        let tci = u16::from(tag.priority & 7) << 13
            | u16::from(tag.drop_eligible) << 12
            | tag.vlan.map_or(0, VlanId::get);
        let outer = Self {
            ethertype: EtherType::VLAN,
            ..*self
        };
        let mut out = [0; TAGGED_HEADER_LEN];
        let (front, behind) = out.split_at_mut(HEADER_LEN);
        front.copy_from_slice(&outer.to_bytes());
        let (control, ethertype) = behind.split_at_mut(2);
        control.copy_from_slice(&tci.to_be_bytes());
        ethertype.copy_from_slice(&self.ethertype.0.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: EthHeader = EthHeader {
        destination: MacAddr([0x02, 0, 0, 0, 0, 1]),
        source: MacAddr([0x02, 0, 0, 0, 0, 2]),
        ethertype: EtherType::IPV4,
    };

    #[test]
    fn an_untagged_header_is_fourteen_octets() {
        let bytes = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
        assert_eq!(HEADER.to_bytes(), bytes);
        let eth = Eth::parse(&bytes).unwrap();
        assert_eq!(
            (eth.destination(), eth.source()),
            (HEADER.destination, HEADER.source)
        );
        assert_eq!((eth.ethertype(), eth.tag()), (EtherType::IPV4, None));
        assert_eq!((eth.header_len(), eth.payload()), (14, &[][..]));
    }

    #[test]
    fn a_tag_gives_priority_and_vlan_and_the_inner_type() {
        let bytes = [
            2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0x00, 0xb0, 0x64, 0x08, 0x06, 7,
        ];
        let eth = Eth::parse(&bytes).unwrap();
        let tag = Tag {
            priority: 5,
            drop_eligible: true,
            vlan: VlanId::new(100),
        };
        assert_eq!(eth.tag(), Some(tag));
        assert_eq!(eth.vlan().map(VlanId::get), Some(100));
        assert_eq!((eth.ethertype(), eth.header_len()), (EtherType::ARP, 18));
        assert_eq!(eth.payload(), [7]);
        let header = EthHeader {
            ethertype: EtherType::ARP,
            ..HEADER
        };
        assert_eq!(header.to_tagged_bytes(tag), bytes[..18]);
    }

    #[test]
    fn a_priority_tag_names_no_vlan_and_4095_is_refused() {
        let mut bytes = [0; 18];
        bytes[12] = 0x81;
        assert_eq!(Eth::parse(&bytes).unwrap().tag().unwrap().vlan, None);
        bytes[14..16].copy_from_slice(&[0x0f, 0xff]);
        assert_eq!(Eth::parse(&bytes).unwrap_err(), EthError::ReservedVlan);
        assert_eq!((VlanId::new(0), VlanId::new(4095)), (None, None));
    }

    #[test]
    fn group_addresses_are_told_from_stations() {
        assert!(MacAddr::BROADCAST.is_multicast() && MacAddr::BROADCAST.is_broadcast());
        assert!(MacAddr([1, 0, 0x5e, 0, 0, 1]).is_multicast());
        assert!(HEADER.source.is_unicast() && !MacAddr::ZERO.is_unicast());
        assert_eq!(std::format!("{}", HEADER.source), "02:00:00:00:00:02");
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            match Eth::parse(&bytes) {
                Ok(eth) => prop_assert_eq!(eth.header_len() + eth.payload().len(), bytes.len()),
                Err(EthError::Truncated) => prop_assert!(bytes.len() < TAGGED_HEADER_LEN),
                Err(EthError::ReservedVlan) => prop_assert!(bytes.len() >= TAGGED_HEADER_LEN),
            }
        }
    }
}
