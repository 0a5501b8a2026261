//! Apply Action (TS 29.244, 8.2.26).

use crate::pfcp::element::{Element, Fault};
use crate::pfcp::writer::{Full, Writer};

/// What a FAR does with packets. One octet up to Release 15, two since; both are read, and either
/// can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ApplyAction {
    flags: u16,
    two_octets: bool,
}

macro_rules! actions {
    ($($(#[$meta:meta])* $flag:ident = $bit:literal;)*) => {
        impl ApplyAction {
            $($(#[$meta])* pub const $flag: Self = Self::new(1 << $bit);)*

            /// The names of the set flags, as the TS has them; flags without a name are left out.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let all = [$(($bit, stringify!($flag)),)*];
                let set = all.into_iter().filter(move |(bit, _)| self.flags >> bit & 1 == 1);
                set.map(|(_, name)| name)
            }
        }
    };
}

actions! {
    /// Drop.
    DROP = 0;
    /// Forward.
    FORW = 1;
    /// Buffer.
    BUFF = 2;
    /// Notify the CP function of the first buffered packet.
    NOCP = 3;
    /// Duplicate.
    DUPL = 4;
    /// Accept IP multicast joins.
    IPMA = 5;
    /// Deny IP multicast joins.
    IPMD = 6;
    /// Duplicate for redundant transmission.
    DFRT = 7;
    /// Eliminate duplicates of redundant transmission.
    EDRT = 8;
    /// Buffered downlink packet notification.
    BDPN = 9;
    /// Discarded downlink packet notification.
    DDPN = 10;
    /// Forward with a lower layer source specific multicast address.
    FSSM = 11;
    /// Forward MBS data by unicast.
    MBSU = 12;
}

impl ApplyAction {
    /// From the flags, octet 5 in the low byte; sent in two octets.
    pub const fn new(flags: u16) -> Self {
        Self {
            flags,
            two_octets: true,
        }
    }

    /// Sent in one octet if no flag of the second is set, for peers up to Release 15.
    #[must_use]
    pub const fn in_one_octet(self) -> Self {
        Self {
            two_octets: self.flags > 0xff,
            ..self
        }
    }

    /// The flags, octet 5 in the low byte.
    pub const fn flags(self) -> u16 {
        self.flags
    }

    /// Whether all actions of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.flags & other.flags == other.flags
    }

    /// Whether at least one action of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.flags & other.flags != 0
    }

    /// The actions of both, in the wider coding of the two.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        let two_octets = self.two_octets || other.two_octets;
        Self {
            flags: self.flags | other.flags,
            two_octets,
        }
    }
}

impl Default for ApplyAction {
    fn default() -> Self {
        Self::new(0)
    }
}

impl core::ops::BitOr for ApplyAction {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl Element<'_> for ApplyAction {
    fn decode(value: &[u8]) -> Result<Self, Fault> {
        match value {
            [] => Err(Fault::Length),
            [low] => Ok(Self {
                flags: u16::from(*low),
                two_octets: false,
            }),
            [low, high, ..] => Ok(Self::new(u16::from_le_bytes([*low, *high]))),
        }
    }

    fn encode(&self, out: &mut Writer<'_>) -> Result<(), Full> {
        let [low, high] = self.flags.to_le_bytes();
        out.u8(low)?;
        if self.two_octets {
            out.u8(high)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_widths_are_read_and_written() {
        let mut buffer = [0; 4];
        let mut out = Writer::new(&mut buffer);
        let action = ApplyAction::BUFF | ApplyAction::NOCP;
        action.encode(&mut out).unwrap();
        action.in_one_octet().encode(&mut out).unwrap();
        assert_eq!(out.written(), [0x0c, 0, 0x0c]);
        assert_eq!(ApplyAction::decode(&[0x0c]), Ok(action.in_one_octet()));
        assert_eq!(
            ApplyAction::decode(&[0x0c, 2]),
            Ok(action | ApplyAction::BDPN)
        );
        assert_eq!(ApplyAction::decode(&[]), Err(Fault::Length));
    }

    #[test]
    fn a_flag_of_the_second_octet_keeps_it() {
        assert_eq!(ApplyAction::BDPN.in_one_octet(), ApplyAction::BDPN);
    }
}
