//! Octets of records: writer and reader, the kinds of parts that follow, and the form of each rule. Little endian, as
//! nobody but this process sees them.
//!
//! Each rule begins with a word of bits, or has one behind its identifier, that tells which fields follow.

use crate::limits::{ENDPOINTS, SPARE_CELLS, TUNNEL_IPV6_ADDRESSES};
use crate::rules::{Given, Rules, UeRoutes, Urr};
use crate::store::head::User;
use crate::store::record::TunnelIpv4;
use sluice_datapath::limits::{BLOCK_BUCKETS, BLOCK_CHAIN};
use sluice_wire::limits::{QERS_PER_PDR, URRS_PER_PDR};

/// True if a number needs no more than `N` octets.
pub fn fits<const N: usize>(value: u64) -> bool {
    value <= most::<N>()
}

/// The largest number of `N` octets, one at the least.
pub const fn most<const N: usize>() -> u64 {
    u64::MAX >> (64 - 8 * N)
}

/// Writes.
pub struct OctetWriter<'r> {
    room: &'r mut [u8],
    len: usize,
}

impl<'r> OctetWriter<'r> {
    /// Writes from the start of `room`.
    pub fn new(room: &'r mut [u8]) -> Self {
        Self { room, len: 0 }
    }

    /// The next octets. What does not fit is left out, and counted by [`len`](Self::len).
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, octets: [u8; N]) {
        let place = self.room.get_mut(self.len..self.len + N);
        if let Some(place) = place {
            place.copy_from_slice(&octets);
        }
        self.len += N;
    }

    #[inline(always)]
    pub fn u8(&mut self, value: u8) {
        self.put([value]);
    }

    #[inline(always)]
    pub fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub fn u128(&mut self, value: u128) {
        self.put(value.to_le_bytes());
    }

    /// The lower `N` octets; no other may be set.
    #[inline(always)]
    pub fn low<const N: usize>(&mut self, value: u64) {
        debug_assert!(fits::<N>(value), "{value:#x} needs more than {N} octets");
        let octets = value.to_le_bytes();
        self.put(octets.first_chunk::<N>().copied().unwrap_or([0; N]));
    }

    /// Octets written.
    pub fn len(&self) -> usize {
        self.len
    }
}

/// Reads.
pub struct OctetReader<'r>(&'r [u8]);

impl<'r> OctetReader<'r> {
    /// Reads from the start.
    pub fn new(octets: &'r [u8]) -> Self {
        Self(octets)
    }

    /// The next octets; zeros behind the end, where a record that was written whole is not read.
    #[inline(always)]
    pub fn get<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk::<N>().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *head
    }

    /// Octets that are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    pub fn u8(&mut self) -> u8 {
        let [octet] = self.get();
        octet
    }

    #[inline(always)]
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.get())
    }

    #[inline(always)]
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.get())
    }

    #[inline(always)]
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.get())
    }

    #[inline(always)]
    pub fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.get())
    }

    /// A number of `N` octets.
    #[inline(always)]
    pub fn low<const N: usize>(&mut self) -> u64 {
        let octets = self.get::<N>().into_iter().rev();
        octets.fold(0, |value, octet| value << 8 | u64::from(octet))
    }
}

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

/// Octets of each at the most.
pub const URR_MAX: usize =
    4 + 1 + 2 + 2 + 1 + 1 + 4 + 2 * (1 + 3 * 8) + 4 + 4 + (1 + 5 * 4) + (1 + 2 * 8);

/// The most octets that its Monitoring Time takes beside.
pub const MONITORING_MAX: usize = 1 + 4 + 2 * (1 + 3 * 8) + 2 * 4;
pub const ENDPOINT_MAX: usize = ENDPOINT_MIN + 4 * BLOCK_CHAIN;
pub const PDR_MAX: usize = PDR_MIN + PDR_IPV6 + 4 * (QERS_PER_PDR + URRS_PER_PDR);
pub const FAR_MAX: usize = FAR_MIN + FAR_IPV6 + FAR_MARKED;
pub const BAR_MAX: usize = 4;
pub const QER_MAX: usize = 4 + 1 + 10 + 10 + 1 + 2 * (1 + 4);
/// The same without lists: PDR ID, bits, precedence, instance, FAR, tunnel, what is said of the UE,
/// filter, QFIs.
pub const PDR_MIN: usize = 2 + 2 + 4 + 2 + 4 + 11 + 2 + FILTER_MAX + 8;
/// The same with a tunnel over IPv4 at the most. It has a peer or a way out without one, never both.
pub const FAR_MIN: usize = 4 + 2 + 2 + 2 + 8 + 2 + 8 + 1;
/// What an IPv6 address adds to each: which of the record's addresses it is; the rest of the address.
pub const PDR_IPV6: usize = 1;
pub const FAR_IPV6: usize = 12;
/// What a FAR has more that marks.
pub const FAR_MARKED: usize = 2;
/// The number of IPv6 addresses of tunnels, and these.
pub const IPV6_TUNNELS_MAX: usize = 1 + 16 * TUNNEL_IPV6_ADDRESSES;
/// Families, a run, and a predefined rule or an application.
pub const FILTER_MAX: usize = 1 + 4 + 2;
/// The same without blocks.
pub const ENDPOINT_MIN: usize = 1 + 5 + 4;

/// How many of the lowest bits of a TEID are the number of its entry, where it is one of our own.
pub fn entry_bits(teid: u32, entry: u32) -> u32 {
    (teid ^ entry).trailing_zeros()
}

/// The entry of a TEID with so many bits of it.
pub fn entry_of(teid: u32, bits: u32) -> u32 {
    teid & !u32::MAX.checked_shl(bits).unwrap_or(0)
}

/// In place of an endpoint's number: the tunnel is none of the session's endpoints.
pub const NO_ENDPOINT: u8 = 0x7f;
/// Bit of that number: a CHOOSE ID is the tunnel's last octet.
pub const TUNNEL_CHOSEN: u8 = 0x80;
const _: () = assert!(ENDPOINTS < NO_ENDPOINT as usize);

/// Bits of the Measurement Method where it shares an octet with the Measurement Information.
pub const METHOD_BITS: u32 = 3;

/// Bits of a URR's octet.
pub const URR_THRESHOLD: u8 = 1;
pub const URR_QUOTA: u8 = 1 << 1;
pub const URR_PERIOD: u8 = 1 << 2;
pub const URR_CELL: u8 = 1 << 3;
/// Times follow: an octet that tells which, and those.
pub const URR_TIMES: u8 = 1 << 4;
/// It says something of a Monitoring Time.
pub const URR_MONITORING: u8 = 1 << 5;
/// It says something of packets that are lost: an octet that tells what, and that.
pub const URR_LOST: u8 = 1 << 6;
/// Triggers take a third octet, which comes next.
pub const URR_LATE_TRIGGERS: u8 = 1 << 7;
/// Bits of the octet of lost packets.
pub const LOST_PACKETS: u8 = 1;
pub const LOST_OCTETS: u8 = 1 << 1;

/// What a Monitoring Time says: when it is, or that it has passed, and what holds then.
pub const MONITORING_AT: u8 = 1;
pub const MONITORING_PASSED: u8 = 1 << 1;
pub const MONITORING_THRESHOLD: u8 = 1 << 2;
pub const MONITORING_QUOTA: u8 = 1 << 3;
pub const MONITORING_THRESHOLD_S: u8 = 1 << 4;
pub const MONITORING_QUOTA_S: u8 = 1 << 5;

/// Bit of the number of cells for rules alone: the session's timer and its cell follow.
pub const CELLS_TIMER: u8 = 1 << 7;
const _: () = assert!(SPARE_CELLS < CELLS_TIMER as usize);

/// Bits of a volume's octet, which tell what follows.
pub const VOLUME_TOTAL: u8 = 1;
pub const VOLUME_UPLINK: u8 = 1 << 1;
pub const VOLUME_DOWNLINK: u8 = 1 << 2;
/// Each of them takes eight octets; otherwise four.
pub const VOLUME_LONG: u8 = 1 << 3;

/// Bits of a PDR's word: two of the side, then these, then the lengths of its lists.
pub const PDR_FILTER: u16 = 1 << 2;
pub const PDR_REMOVES: u16 = 1 << 3;
pub const PDR_TUNNEL: u16 = 1 << 4;
pub const PDR_UE: u16 = 1 << 5;
/// Of a PDR that has one: it is not what most of the session have.
pub const PDR_OWN_UE: u16 = 1 << 6;
pub const PDR_QFIS: u16 = 1 << 7;
pub const PDR_QERS: u32 = 8;
pub const PDR_URRS: u32 = 12;
/// In place of the number of QERs: both lists are those of the PDR before it.
pub const SAME_LISTS: u16 = 15;
const _: () = assert!(QERS_PER_PDR < SAME_LISTS as usize && URRS_PER_PDR < 16);

/// Bits of a filter's octet, behind two of the families.
pub const FILTER_RUN: u8 = 1 << 2;
pub const FILTER_LINK: u8 = 1 << 3;
pub const FILTER_STANDS_BACK: u8 = 1 << 4;
pub const FILTER_PREDEFINED: u8 = 1 << 5;
pub const FILTER_APPLICATION: u8 = 1 << 6;

/// Bits of a FAR's word: two of the side, two of the action, then these.
pub const FAR_ACTION: u32 = 2;
pub const FAR_FORWARDING: u16 = 1 << 4;
pub const FAR_TUNNEL: u16 = 1 << 5;
pub const FAR_PEER: u16 = 1 << 6;
pub const FAR_EGRESS: u16 = 1 << 7;
/// Two bits.
pub const FAR_INDICATED: u32 = 8;
pub const FAR_PAGED: u16 = 1 << 10;
pub const FAR_BAR: u16 = 1 << 11;
/// Of one with a tunnel: it goes over IPv6.
pub const FAR_IPV6_TUNNEL: u16 = 1 << 12;
/// Apply Action has the one flag of the action.
pub const FAR_ONE_FLAG: u16 = 1 << 13;
/// Outer headers are marked: value and mask follow the tunnel.
pub const FAR_MARKING: u16 = 1 << 14;

/// Bits of the octet before the address of a tunnel, where tunnels have some of IPv6: there is one of IPv4; above
/// it, which of the record's IPv6 addresses it has, counted from 1.
pub const TUNNEL_IPV4: u8 = 1;
pub const TUNNEL_IPV6: u32 = 1;

/// Bits of a QER's octet.
pub const QER_UPLINK_CLOSED: u8 = 1;
pub const QER_DOWNLINK_CLOSED: u8 = 1 << 1;
pub const QER_MBR: u8 = 1 << 2;
pub const QER_GBR: u8 = 1 << 3;
pub const QER_QFI: u8 = 1 << 4;
pub const QER_BUCKETS: u8 = 1 << 5;
/// Bit rates take three octets each (16 Gbit/s), otherwise five.
pub const QER_SHORT_RATES: u8 = 1 << 6;

/// In place of a bucket's number in its block: there is none.
pub const NO_BUCKET: u8 = u8::MAX;
const _: () = assert!(BLOCK_BUCKETS < NO_BUCKET as usize);
/// No block has a higher number: with any place in it a reference to its bucket has 32 bits.
pub const LAST_BLOCK: u32 = (u32::MAX - NO_BUCKET as u32) / BLOCK_BUCKETS as u32;

/// Bits of an endpoint's octet: two of the key's kind, two of the origin, three of the blocks.
pub const KEY_SPARE: u8 = 0;
pub const KEY_TUNNEL: u8 = 1;
pub const KEY_UE: u8 = 2;
/// The UE in the network instance that most of the session have.
pub const KEY_OWN_UE: u8 = 3;
pub const ENDPOINT_ORIGIN: u32 = 2;
pub const ENDPOINT_BLOCKS: u32 = 4;
pub const ENDPOINT_LINK_RULES: u8 = 1 << 7;
const _: () = assert!(BLOCK_CHAIN < 8);

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
