//! A compiled rule: what a PDR with its FAR, QERs and URRs says, flattened for one direction.

use crate::ids::{BlockId, EgressId, PeerId};
use crate::limits::{BLOCK_BUCKETS, BLOCK_RULES, RULE_QERS};
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
    /// The line holds no rule but the number of its extension block.
    pub const EXTENDED: Self = Self { bits: 1 };
    /// FAR: forward. Without it the packet is dropped as `FarDrop`.
    pub const FORWARD: Self = Self { bits: 1 << 1 };
    /// Outer Header Removal: GTP-U/UDP/IP.
    pub const REMOVE_OUTER: Self = Self { bits: 1 << 2 };
    /// Outer Header Creation: GTP-U/UDP/IPv4 towards `peer` with `teid`.
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
    /// The line is entered by TEID; otherwise by UE address.
    pub const TUNNEL: Self = Self { bits: 1 << 8 };
    /// Packets of the line come from the UE: the inner source must be `ue_ip`.
    pub const FROM_UE: Self = Self { bits: 1 << 9 };
    /// Packets of the line go to the UE: the inner destination must be `ue_ip`. With `FROM_UE`
    /// one of both is enough: forwarding from gNB to gNB has no direction.
    pub const TO_UE: Self = Self { bits: 1 << 11 };
    /// FAR: to the CP function, where nothing leads yet. Dropped as `N4uAbsent`.
    pub const TO_CP: Self = Self { bits: 1 << 10 };

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

    /// `other` added where `on`.
    pub const fn with_if(self, other: Self, on: bool) -> Self {
        if on { self.with(other) } else { self }
    }

    /// True if, of the bits looked at, those that are wanted are set and no others.
    #[inline]
    pub const fn agree(self, [looked_at, wanted]: [Self; 2]) -> bool {
        self.bits & looked_at.bits == wanted.bits
    }

    /// True if every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.bits & other.bits == other.bits
    }
}

zeroable_struct! {
    /// The decisions that are looked at first: 4 bytes.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct Head {
        /// What to do.
        pub flags: Flags,
        /// The QFI to match where `MATCH_QFI`.
        pub qfi_match: u8,
        /// The QFI to write where `MARK_QFI`.
        pub qfi_mark: u8,
    }
}

zeroable_struct! {
    /// The rest of a rule with its usage and its own two buckets: 48 bytes, so that with the 16
    /// bytes of a line's identity and head one cache line holds all.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    pub struct Body {
        /// Egress (network instance and interface) where no outer header is made.
        pub egress: EgressId,
        /// Peer that the outer header goes to.
        pub peer: PeerId,
        /// TEID that the outer header carries.
        pub teid: u32,
        /// Inner bytes that left since the last take.
        pub bytes: u64,
        /// Packets that left since the last take.
        pub packets: u64,
        /// State of the first bucket.
        pub tat0: Tat,
        /// Rate of the first bucket.
        pub rate0: Rate,
        /// Rate of the second bucket.
        pub rate1: Rate,
        /// State of the second bucket.
        pub tat1: Tat,
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

zeroable_struct! {
    /// One rule of an extension block.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C)]
    pub struct Rule {
        /// Decisions.
        pub head: Head,
        _pad: u32,
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
    /// Rules of one endpoint in order of precedence, and buckets that rules share.
    #[derive(Clone, Copy, Default)]
    #[repr(C, align(64))]
    pub struct ExtBlock {
        /// The next block of the chain; 0 is none.
        pub next: BlockId,
        /// Rules in this block.
        pub rules_len: u32,
        /// The rules, lowest precedence value first.
        pub rules: [Rule; BLOCK_RULES],
        /// Shared buckets.
        pub buckets: [SharedBucket; BLOCK_BUCKETS],
        _pad: [u64; 7],
    }
}

impl Rule {
    /// A rule with counters and clocks at zero.
    pub fn new(head: Head, buckets: [BucketRef; RULE_QERS], body: Body) -> Self {
        Self {
            head,
            _pad: 0,
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

const _: () = assert!(size_of::<Body>() == 48);
const _: () = assert!(size_of::<Head>() == 4);
