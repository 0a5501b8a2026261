//! Record layout: a presence bitmap per rule, then its fields.
//!
//! Of each a word of bits comes first, or behind its identifier, that tells what follows.

use crate::limits::{ENDPOINTS, SPARE_CELLS, TUNNEL_IPV6_ADDRESSES};
use sluice_datapath::limits::{BLOCK_BUCKETS, BLOCK_CHAIN};
use sluice_wire::limits::{QERS_PER_PDR, URRS_PER_PDR};

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
