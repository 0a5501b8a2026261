//! A compiled rule: what a PDR with its FAR, QERs and URRs says, flattened for one direction.

use crate::ids::{BlockId, EgressId, PeerId, RecordId};
use crate::limits::{BLOCK_BUCKETS, BLOCK_RULES, RULE_QERS};
use crate::session::filter_hint::{Candidates, FlowHints, RuleHints};
use crate::session::flow_filter::FilterRun;
use crate::session::token_bucket::{Rate, Tat};
use sluice_mem::zeroable_struct;

zeroable_struct! {
    /// What a rule does, as bits.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct Flags {
        bits: u16,
    }
}

impl Flags {
    /// The entry holds no rule but the number of its extension block.
    pub const EXTENDED: Self = Self { bits: 1 };
    /// FAR: forward. Without it the packet is dropped as `FarDrop`.
    pub const FORWARD: Self = Self { bits: 1 << 1 };
    /// Outer Header Removal: GTP-U/UDP/IP.
    pub const REMOVE_OUTER: Self = Self { bits: 1 << 2 };
    /// Outer Header Creation: GTP-U/UDP/IP towards `peer`, over its family, with `teid`.
    pub const CREATE_OUTER: Self = Self { bits: 1 << 3 };
    /// A gate of this direction is closed.
    pub const GATE_CLOSED: Self = Self { bits: 1 << 4 };
    /// The outer header gets a PDU Session Container with `qfi_mark`.
    pub const MARK_QFI: Self = Self { bits: 1 << 5 };
    /// The rule matches one QFI only.
    pub const MATCH_QFI: Self = Self { bits: 1 << 6 };
    /// The packet goes away from the UE: the container written is the uplink one (an I-UPF's N9
    /// towards the anchor).
    pub const UPLINK: Self = Self { bits: 1 << 7 };
    /// The entry is entered by TEID; otherwise by UE address.
    pub const TUNNEL: Self = Self { bits: 1 << 8 };
    /// Packets of the entry come from the UE: the inner source must be `ue_ip`.
    pub const FROM_UE: Self = Self { bits: 1 << 9 };
    /// Packets of the entry go to the UE: the inner destination must be `ue_ip`. With `FROM_UE`
    /// one of both is enough: forwarding from gNB to gNB has no direction.
    pub const TO_UE: Self = Self { bits: 1 << 11 };
    /// The tunnel that packets come by ends here: nothing of its header goes on, as one of both ends is neither N3
    /// nor N9 (N4-u, TS 29.244, 5.3). Without `FORWARD` it is a FAR to the CP function to which nothing leads, and
    /// the packet is dropped as `N4uAbsent`.
    pub const N4U: Self = Self { bits: 1 << 10 };
    /// The rule matches inner IPv4 packets only.
    pub const MATCH_IPV4: Self = Self { bits: 1 << 12 };
    /// The rule matches inner IPv6 packets only.
    pub const MATCH_IPV6: Self = Self { bits: 1 << 13 };
    /// Rules that only link-local and multicast packets can match stand in the extension block that
    /// `teid` names; all others take the entry's own rule, which makes no outer header.
    pub const LINK_RULES: Self = Self { bits: 1 << 14 };
    /// FAR: hold. Where `FORWARD` is set as well, packets wait that came before, and new ones may have to go behind
    /// them: the owner of the shard sets it.
    pub const HOLD: Self = Self { bits: 1 << 15 };

    /// No bit.
    pub const fn none() -> Self {
        Self { bits: 0 }
    }

    /// All bits of both.
    pub const fn with(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
        }
    }

    /// Those that both have.
    #[inline]
    pub const fn common(self, other: Self) -> Self {
        Self {
            bits: self.bits & other.bits,
        }
    }

    /// Those of `other` taken away.
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self {
            bits: self.bits & !other.bits,
        }
    }

    /// `other` added where `on`.
    pub const fn with_if(self, other: Self, on: bool) -> Self {
        if on { self.with(other) } else { self }
    }

    /// True if, of the bits looked at, those that are wanted are set and no others.
    #[inline]
    pub const fn agree(self, [looked_at, wanted]: [Self; 2]) -> bool {
        self.bits & looked_at.bits == wanted.bits
    }

    /// True if some bit of `other` is set.
    #[inline]
    pub const fn has_any(self, other: Self) -> bool {
        self.bits & other.bits != 0
    }

    /// True if every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.bits & other.bits == other.bits
    }
}

zeroable_struct! {
    /// The decisions that are looked at first: 8 bytes.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct Head {
        /// What to do.
        pub flags: Flags,
        /// The QFI to match where `MATCH_QFI`.
        pub qfi_match: u8,
        /// The QFI to write where `MARK_QFI`; above it, whether the control core is to hear of the next packet.
        pub mark_and_notify: u8,
        /// TEID that the outer header carries, or the number of an extension block.
        pub teid: u32,
    }
}

impl Head {
    /// Bits of the QFI in `mark_and_notify`.
    const QFI: u8 = 0x3f;
    /// Bit of `mark_and_notify`: the control core is to hear of the next packet.
    pub const NOTIFY: u8 = 0x80;
    /// Bit of `mark_and_notify`: what gate and bit rates drop is counted.
    const COUNTS_DROPS: u8 = 0x40;

    /// The QFI to write where `MARK_QFI`.
    #[inline(always)]
    pub const fn qfi_mark(self) -> u8 {
        self.mark_and_notify & Self::QFI
    }

    const fn with_bit(self, bit: u8, on: bool) -> Self {
        let set = if on { bit } else { 0 };
        Self {
            mark_and_notify: self.mark_and_notify & !bit | set,
            ..self
        }
    }

    /// The same, and whether the control core is to hear of the next packet.
    #[must_use]
    pub const fn notifying(self, on: bool) -> Self {
        self.with_bit(Self::NOTIFY, on)
    }

    /// The same, and whether what gate and bit rates drop counts for some URR (measurement before QoS enforcement).
    #[must_use]
    pub const fn counting_drops(self, on: bool) -> Self {
        self.with_bit(Self::COUNTS_DROPS, on)
    }

    /// True if what gate and bit rates drop counts for some URR.
    #[inline]
    pub const fn counts_drops(self) -> bool {
        self.mark_and_notify & Self::COUNTS_DROPS != 0
    }

    /// True if the control core is to hear of the next packet.
    #[inline]
    pub const fn notifies(self) -> bool {
        self.mark_and_notify & Self::NOTIFY != 0
    }
}

zeroable_struct! {
    /// The rest of a rule with its usage and its own two buckets: 40 bytes, so that with the 24
    /// bytes of an entry's identity and head one cache line holds all.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    pub struct Body {
        /// Rate of the first bucket.
        pub rate0: Rate,
        /// Rate of the second bucket.
        pub rate1: Rate,
        /// State of the first bucket.
        pub tat0: Tat,
        /// State of the second bucket.
        pub tat1: Tat,
        /// What left since the last take, and where it goes.
        pub usage: UsageAndWay,
    }
}

impl Body {
    /// A rule that routes packets in a network instance.
    pub fn to_egress(egress: EgressId) -> Self {
        Self {
            usage: UsageAndWay::new(egress.0),
            ..Self::default()
        }
    }

    /// A rule that sends packets into tunnels of a peer.
    pub fn to_peer(peer: PeerId) -> Self {
        Self {
            usage: UsageAndWay::new(peer.0),
            ..Self::default()
        }
    }

    /// A rule that holds packets of an entry, so many as a BAR suggests, if it does. The number and 1 stand in the
    /// place of the way out, which such a rule has not.
    pub fn to_hold(suggested: Option<u8>) -> Self {
        Self {
            usage: UsageAndWay::new(suggested.map_or(0, |packets| u16::from(packets) + 1)),
            ..Self::default()
        }
    }

    /// When the last packet left, in nanoseconds, where that is [noted](Rate::STAMP); 0 is none.
    #[inline]
    pub fn last_ns(&self) -> u64 {
        if self.rate1.is_stamp() {
            self.tat1.stamp_ns()
        } else {
            0
        }
    }

    /// Packets that a rule which holds may hold; none: as many as any.
    #[inline]
    pub fn suggested(&self) -> Option<u16> {
        self.usage.way().checked_sub(1)
    }

    /// Egress (network instance and interface) where no outer header is made.
    #[inline(always)]
    pub fn egress(&self) -> EgressId {
        EgressId(self.usage.way())
    }

    /// Peer that the outer header goes to.
    #[inline(always)]
    pub fn peer(&self) -> PeerId {
        PeerId(self.usage.way())
    }
}

/// Bits of the packet counter; the others of its word are the way out. 2^48 packets are ten months of 10
/// million a second.
const PACKETS_BITS: u32 = 48;
/// Bits of the octet counter; the others of its word are the number of the local address or network
/// instance.
const BYTES_BITS: u32 = 56;
/// Where the counter of a rule ends whose octets are granted: it begins as far below as the grant says. One
/// that nobody grants begins at 0; 2^55 octets are a month of 100 Gbit/s.
const BOUND: u64 = 1 << (BYTES_BITS - 1);
/// A counter from here on is of a rule whose octets are granted: grants stay below 2^32.
const GRANTED: u64 = BOUND >> 1;

zeroable_struct! {
    /// Octets and packets of a rule, with two small constants in the bits that counters leave: adding to
    /// a counter leaves its constant alone.
    ///
    /// The octet counter runs up to a bound. Where a URR waits for an amount of octets, the rule is granted
    /// octets: its counter stands as far below the bound as is left of them.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct UsageAndWay {
        local_and_bytes: u64,
        way_and_packets: u64,
    }
}

impl UsageAndWay {
    /// Nothing counted, on this way.
    #[inline]
    pub const fn new(way: u16) -> Self {
        Self {
            local_and_bytes: 0,
            way_and_packets: (way as u64) << PACKETS_BITS,
        }
    }

    /// The same with the number of a local address or network instance.
    #[inline]
    pub const fn with_local(self, local: u8) -> Self {
        Self {
            local_and_bytes: self.bytes() | (local as u64) << BYTES_BITS,
            ..self
        }
    }

    /// Number of the local address or network instance.
    #[inline(always)]
    pub const fn local(&self) -> u8 {
        (self.local_and_bytes >> BYTES_BITS) as u8
    }

    /// Number of the egress or the peer.
    #[inline(always)]
    pub const fn way(&self) -> u16 {
        (self.way_and_packets >> PACKETS_BITS) as u16
    }

    /// The octet counter: inner bytes that left since the last take, if nobody grants them.
    #[inline(always)]
    pub const fn bytes(&self) -> u64 {
        self.local_and_bytes & ((1 << BYTES_BITS) - 1)
    }

    /// Nothing counted, and nothing granted: every packet asks.
    #[inline]
    pub const fn awaiting_grants(self) -> Self {
        Self {
            local_and_bytes: (self.local() as u64) << BYTES_BITS | BOUND,
            ..self
        }
    }

    /// True if octets are granted, or would be.
    #[inline]
    pub const fn is_granted(&self) -> bool {
        self.bytes() >= GRANTED
    }

    /// True if as many bytes more stay below the bound.
    #[inline(always)]
    pub const fn has_room(&self, bytes: u32) -> bool {
        (self.local_and_bytes + bytes as u64) & BOUND == 0
    }

    /// Octets that are left of the grants; negative if more have left than that.
    #[inline]
    pub const fn left(&self) -> i64 {
        BOUND as i64 - self.bytes() as i64
    }

    /// Grants as many octets, or takes them back.
    #[inline]
    pub const fn grant(&mut self, bytes: i64) {
        self.local_and_bytes = self.local_and_bytes.wrapping_sub(bytes as u64);
    }

    /// Packets that left since the last take.
    #[inline(always)]
    pub const fn packets(&self) -> u64 {
        self.way_and_packets & ((1 << PACKETS_BITS) - 1)
    }

    /// One more packet.
    #[inline(always)]
    pub fn add(&mut self, bytes: u32) {
        self.local_and_bytes += u64::from(bytes);
        self.way_and_packets += 1;
    }

    /// One packet less, which was added before.
    #[inline(always)]
    pub fn subtract(&mut self, bytes: u32) {
        self.local_and_bytes -= u64::from(bytes);
        self.way_and_packets -= 1;
    }

    /// Nothing counted; the constants stay, and so do grants.
    #[inline]
    pub fn clear(&mut self) {
        if !self.is_granted() {
            self.local_and_bytes &= !((1 << BYTES_BITS) - 1);
        }
        self.way_and_packets &= !((1 << PACKETS_BITS) - 1);
    }
}

zeroable_struct! {
    /// A bucket shared by several rules: block number and place in it; 0 is none.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct BucketRef {
        raw: u32,
    }
}

impl BucketRef {
    /// No bucket.
    pub const NONE: Self = Self { raw: 0 };

    /// The bucket `at` of `block`. Block 0 is never used, so no reference is 0.
    pub const fn new(block: BlockId, at: u8) -> Self {
        Self {
            raw: block.0 * BLOCK_BUCKETS as u32 + at as u32,
        }
    }

    /// Block and place, or `None`.
    #[inline]
    pub fn get(self) -> Option<(BlockId, usize)> {
        (self.raw != 0).then_some((
            BlockId(self.raw / BLOCK_BUCKETS as u32),
            self.raw as usize % BLOCK_BUCKETS,
        ))
    }
}

/// One rule of an extension block, whole.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rule {
    /// Decisions.
    pub head: Head,
    /// The flow filters of which a packet must meet one; or none.
    pub filters: FilterRun,
    /// The usage record from which its octets are granted.
    pub record: RecordId,
    /// Shared buckets of all QERs with a maximum bit rate; the body's own two stay empty.
    pub buckets: [BucketRef; RULE_QERS],
    /// The rest.
    pub body: Body,
}

zeroable_struct! {
    /// Of a rule what a packet that meets it needs: one cache line.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    pub struct BlockRule {
        /// Decisions.
        pub head: Head,
        /// Shared buckets of all QERs with a maximum bit rate; the body's own two stay empty.
        pub buckets: [BucketRef; RULE_QERS],
        /// The rest.
        pub body: Body,
    }
}

zeroable_struct! {
    /// A bucket that several rules share.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    pub struct SharedBucket {
        /// State.
        pub tat: Tat,
        /// Rate.
        pub rate: Rate,
        _pad: u32,
    }
}

zeroable_struct! {
    /// What a rule asks of a packet beside its flow filters: a QFI and a family.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct Conditions {
        bits: u16,
    }
}

impl Conditions {
    const QFI: u16 = 0xff;
    const HAS_QFI: u16 = 1 << 8;
    const IPV4: u16 = 1 << 9;
    const IPV6: u16 = 1 << 10;

    /// Those of a rule.
    #[inline(always)]
    pub const fn of(head: Head) -> Self {
        const fn bit(on: bool, bit: u16) -> u16 {
            if on { bit } else { 0 }
        }
        let flags = head.flags;
        let of_family = bit(flags.has(Flags::MATCH_IPV4), Self::IPV4)
            | bit(flags.has(Flags::MATCH_IPV6), Self::IPV6);
        Self {
            bits: head.qfi_match as u16
                | bit(flags.has(Flags::MATCH_QFI), Self::HAS_QFI)
                | of_family,
        }
    }

    /// True if a packet with this QFI, or [none](crate::meta::NO_QFI), and of this family meets them.
    #[inline(always)]
    pub const fn are_met(self, qfi: u8, is_ipv6: bool) -> bool {
        let of_flow = self.bits & Self::HAS_QFI == 0 || self.bits & Self::QFI == qfi as u16;
        let of_family =
            self.bits & (Self::IPV4 | Self::IPV6) == 0 || (self.bits & Self::IPV6 != 0) == is_ipv6;
        of_flow && of_family
    }
}

zeroable_struct! {
    /// Rules of one endpoint in order of precedence, and buckets that rules share. What all rules ask stands in the
    /// first cache line, so that a packet reads no rule that it does not meet.
    #[derive(Clone, Copy, Default)]
    #[repr(C, align(64))]
    pub struct ExtBlock {
        /// The next block of the chain; 0 is none.
        pub next: BlockId,
        /// Rules in this block.
        pub rules_len: u32,
        filters: [FilterRun; BLOCK_RULES],
        conditions: [Conditions; BLOCK_RULES],
        hints: RuleHints,
        /// The rules, lowest precedence value first. [`Self::set`] replaces one.
        pub rules: [BlockRule; BLOCK_RULES],
        /// Shared buckets.
        pub buckets: [SharedBucket; BLOCK_BUCKETS],
        records: [RecordId; BLOCK_RULES],
        _pad: [u64; 4],
    }
}

impl ExtBlock {
    /// Replaces a rule; nothing is counted of the new one, and its own clocks stand at zero. `hint` is that of
    /// [its filters](crate::session::filter_hint::FlowHints::of_filters).
    pub fn set(&mut self, at: usize, image: &Rule, hint: u8) {
        let place = (self.rules.get_mut(at))
            .zip(self.filters.get_mut(at))
            .zip(self.conditions.get_mut(at))
            .zip(self.records.get_mut(at));
        let Some((((rule, filters), conditions), record)) = place else {
            return;
        };
        let Rule {
            head,
            buckets,
            body,
            ..
        } = *image;
        *rule = BlockRule {
            head,
            buckets,
            body,
        };
        rule.body.usage.clear();
        (rule.body.tat0, rule.body.tat1) = Default::default();
        (*filters, *conditions) = (image.filters, Conditions::of(image.head));
        *record = image.record;
        self.hints.set(at, hint);
    }

    /// The usage record from which a rule's octets are granted; 0 is none.
    #[inline]
    pub fn record(&self, at: usize) -> RecordId {
        self.records.get(at).copied().unwrap_or_default()
    }

    /// What a rule asks.
    #[inline(always)]
    pub fn asks(&self, at: usize) -> (Conditions, FilterRun) {
        (self.conditions[at], self.filters[at])
    }

    /// The rules that a packet may meet; `hints` are asked for where they tell something.
    #[inline(always)]
    pub fn candidates(&self, hints: impl FnOnce() -> FlowHints) -> Candidates {
        if self.hints.are_none() {
            Candidates::all(self.rules_len)
        } else {
            self.hints.candidates(hints(), self.rules_len)
        }
    }
}

impl Rule {
    /// A rule with counters and clocks at zero.
    pub fn new(
        head: Head,
        filters: FilterRun,
        buckets: [BucketRef; RULE_QERS],
        body: Body,
    ) -> Self {
        Self {
            head,
            filters,
            record: RecordId(0),
            buckets,
            body,
        }
    }
}

impl SharedBucket {
    /// A full bucket.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            ..Self::default()
        }
    }
}

const _: () = assert!(size_of::<Body>() == 40);
const _: () = assert!(size_of::<Head>() == 8);
const _: () = assert!(size_of::<BlockRule>() == 64);
const _: () = assert!(core::mem::offset_of!(ExtBlock, rules) == 64);
const _: () = assert!(size_of::<ExtBlock>() == 768);

#[cfg(test)]
mod tests;
