//! Presence flags of a record's parts.

use super::form::METHOD_BITS;
use super::ue::TunnelIpv4;
use crate::rules::{Given, Rules, UeRoutes, Urr};
use crate::store::user::User;

/// The parts, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds(u16);

impl Kinds {
    /// Identifiers and precedences take four octets; otherwise all of them fit into two.
    pub const WIDE: Self = Self(1);
    /// The user's IMSI is known.
    pub const IMSI: Self = Self(1 << 1);
    /// The user's MSISDN is known.
    pub const MSISDN: Self = Self(1 << 2);
    /// The UE's IPv4 address is known.
    pub const UE_IPV4: Self = Self(1 << 3);
    /// The UE's IPv6 prefix is known.
    pub const UE_PREFIX: Self = Self(1 << 4);
    /// We gave one of them.
    pub const GIVEN: Self = Self(1 << 5);
    /// The usage record has cells beside those of URRs.
    pub const CELLS: Self = Self(1 << 6);
    /// Prefixes lie behind the UE.
    pub const ROUTES: Self = Self(1 << 7);
    /// It has BARs.
    pub const BARS: Self = Self(1 << 8);
    /// It belongs to session sets.
    pub const SETS: Self = Self(1 << 9);
    /// Some F-TEID of ours has an IPv6 address.
    pub const IPV6_TUNNELS: Self = Self(1 << 10);
    /// Identifiers, numbers of network instances and ways out, and Apply Action take one octet, as most SMFs count from 1,
    /// and Measurement Method and Information one for both. Precedences take two: 65,535 is a common one.
    pub const NARROW: Self = Self(1 << 11);
    /// There are less than 16 of each kind of rule: their numbers take half an octet each.
    pub const FEW: Self = Self(1 << 12);
    /// The IPv4 addresses of all F-TEIDs are those known by the numbers of their endpoints.
    pub const KNOWN_TUNNELS: Self = Self(1 << 13);

    /// Those of a session.
    pub fn of(user: &User, rules: &Rules, known: &TunnelIpv4) -> Self {
        Self(0)
            .with_if(Self::FEW, counts(rules).iter().all(|count| *count < 16))
            .with_if(Self::KNOWN_TUNNELS, known.has_all(rules))
            .with_if(Self::IMSI, !user.imsi.is_empty())
            .with_if(Self::MSISDN, !user.msisdn.is_empty())
            .with_if(Self::WIDE, is_wide(rules))
            .with_if(Self::NARROW, is_narrow(rules))
            .with_if(Self::SETS, !rules.sets.is_empty())
            .with_if(Self::IPV6_TUNNELS, has_ipv6_tunnels(rules))
            .with_if(Self::BARS, !rules.bars.is_empty())
            .with_if(Self::UE_IPV4, rules.ue.ipv4.is_some())
            .with_if(Self::UE_PREFIX, rules.ue.prefix.is_some())
            .with_if(Self::ROUTES, rules.routes != UeRoutes::default())
            .with_if(Self::GIVEN, rules.ue.given != Given::default())
            .with_if(
                Self::CELLS,
                !rules.spare_cells.is_empty() || rules.inactivity.is_some(),
            )
    }

    fn with_if(self, other: Self, on: bool) -> Self {
        Self(if on { self.0 | other.0 } else { self.0 })
    }

    /// True if it has this part.
    #[inline]
    pub fn has(self, part: Self) -> bool {
        self.0 & part.0 != 0
    }

    /// True if these rules can be written as a record of this kind has them: no field of theirs is too wide.
    pub fn holds(self, rules: &Rules) -> bool {
        let is_wide_enough = self.has(Self::WIDE) || !is_wide(rules);
        is_wide_enough && (!self.has(Self::NARROW) || is_narrow(rules))
    }

    /// As they are written.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// As they were written.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// True if some F-TEID of ours has an IPv6 address.
pub(super) fn has_ipv6_tunnels(rules: &Rules) -> bool {
    let mut tunnels = rules.pdrs.iter().filter_map(|pdr| pdr.tunnel);
    tunnels.any(|tunnel| tunnel.addresses.ipv6.is_some())
}

/// True if some identifier or precedence needs more than 16 bits.
fn is_wide(rules: &Rules) -> bool {
    let pdrs = rules.pdrs.iter().map(|pdr| {
        let names = pdr.qers.as_slice().iter().chain(pdr.urrs.as_slice());
        names.fold(pdr.precedence | pdr.far.0, |sum, id| sum | id)
    });
    let fars = rules.fars.iter().map(|far| far.id.0);
    let qers = rules.qers.iter().map(|qer| qer.id.0);
    let urrs = rules.urrs.iter().map(|urr| urr.id.0);
    let all = pdrs.chain(fars).chain(qers).chain(urrs);
    all.fold(0, |sum, id| sum | id) > u32::from(u16::MAX)
}

/// How many of each kind of rule there are: URRs, endpoints, PDRs, FARs, QERs.
pub(super) fn counts(rules: &Rules) -> [usize; 5] {
    [
        rules.urrs.len(),
        rules.endpoints.len(),
        rules.pdrs.len(),
        rules.fars.len(),
        rules.qers.len(),
    ]
}

/// True if one octet is enough for all that [`Kinds::NARROW`] names.
fn is_narrow(rules: &Rules) -> bool {
    let pdrs = rules.pdrs.iter().map(|pdr| {
        let names = pdr.qers.as_slice().iter().chain(pdr.urrs.as_slice());
        let own = u32::from(pdr.id.0 | pdr.instance.number()) | pdr.far.0;
        names.fold(own, |sum, id| sum | id)
    });
    let fars = rules.fars.iter().map(|far| {
        let instance = far.forwarding.map_or(0, |f| f.instance.number());
        let egress = far.egress.map_or(0, |egress| egress.0);
        u32::from(far.flags | instance | egress) | far.id.0
    });
    let qers = rules.qers.iter().map(|qer| qer.id.0);
    let urrs = rules.urrs.iter().map(|urr| urr.id.0);
    let all = pdrs.chain(fars).chain(qers).chain(urrs);
    let fits = all.fold(0, |sum, field| sum | field) <= u32::from(u8::MAX);
    fits && rules.urrs.iter().all(|urr| measures(urr).is_some())
}

/// Measurement Method and Measurement Information in one octet, if they have no other flags than the usual.
pub(super) fn measures(urr: &Urr) -> Option<u8> {
    let information = u8::try_from(urr.information.0).ok()?;
    let is_usual = urr.method.0 < 1 << METHOD_BITS && information < 1 << (8 - METHOD_BITS);
    is_usual.then_some(information << METHOD_BITS | urr.method.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_bit_of_its_own() {
        let parts = [
            Kinds::WIDE,
            Kinds::IMSI,
            Kinds::MSISDN,
            Kinds::UE_IPV4,
            Kinds::UE_PREFIX,
            Kinds::GIVEN,
            Kinds::CELLS,
            Kinds::ROUTES,
            Kinds::BARS,
            Kinds::SETS,
            Kinds::IPV6_TUNNELS,
            Kinds::NARROW,
            Kinds::FEW,
            Kinds::KNOWN_TUNNELS,
        ];
        assert!(parts.iter().all(|part| part.0.is_power_of_two()));
        let all = parts.iter().fold(0, |bits, part| bits | part.0);
        assert_eq!(all.count_ones() as usize, parts.len());
    }
}
