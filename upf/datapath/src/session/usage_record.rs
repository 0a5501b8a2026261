//! Usage record of a session: how many octets its URRs still wait for, and what they granted to its rules.

use crate::forward::pdr::At;
use crate::ids::{EntryId, RecordId};
use crate::limits::RECORD_RULES;
use sluice_mem::zeroable_struct;

/// A number of octets that nobody waits for. What is granted is taken off it as well, so it is far from
/// either end.
pub const NEVER: i64 = i64::MAX / 2;

/// Where uplink, downlink and the sum of both stand in [`Rests`].
pub const UPLINK: usize = 0;
/// The downlink.
pub const DOWNLINK: usize = 1;
/// Both together.
pub const TOTAL: usize = 2;

/// Octets until something happens: uplink, downlink, both together; what rules were granted is gone from
/// them.
pub type Rests = [i64; 3];

zeroable_struct! {
    /// What is to be told of a URR, and what it waits for, as bits.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct UrrState {
        bits: u16,
    }
}

impl UrrState {
    /// To be told: the threshold is reached.
    pub const THRESHOLD: Self = Self { bits: 1 };
    /// To be told: the quota is used up.
    pub const QUOTA: Self = Self { bits: 1 << 1 };
    /// To be told: the first packet came.
    pub const STARTED: Self = Self { bits: 1 << 2 };
    /// It waits for the first packet.
    pub const AWAITS_START: Self = Self { bits: 1 << 3 };
    /// In the first cell: the control core was told that there is something to be told.
    pub const RUNG: Self = Self { bits: 1 << 4 };
    /// That the quota of uplink, downlink or both is used up was told, or is about to be.
    pub const USED_UP: [Self; 3] = [
        Self { bits: 1 << 5 },
        Self { bits: 1 << 6 },
        Self { bits: 1 << 7 },
    ];
    /// To be told: the packet came that it waits for.
    pub const RESUMED: Self = Self { bits: 1 << 8 };
    /// It waits for the next packet, with which its time runs again.
    pub const AWAITS_PACKET: Self = Self { bits: 1 << 9 };
    /// Nothing passes: a quota is used up that is none of octets.
    pub const STOPS: Self = Self { bits: 1 << 10 };
    /// What gate and bit rates drop counts as well (MBQE).
    pub const BEFORE_QOS: Self = Self { bits: 1 << 11 };
    /// To be told: so much on its way to the UE was lost.
    pub const LOST: Self = Self { bits: 1 << 12 };
    /// All that is to be told.
    pub const MARKS: Self = Self {
        bits: 0b111 | Self::RESUMED.bits | Self::LOST.bits,
    };

    /// Both.
    pub const fn with(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
        }
    }

    /// Both, where `on`.
    pub const fn with_if(self, other: Self, on: bool) -> Self {
        if on { self.with(other) } else { self }
    }

    /// This without the other.
    pub const fn without(self, other: Self) -> Self {
        Self {
            bits: self.bits & !other.bits,
        }
    }

    /// What both have.
    pub const fn and(self, other: Self) -> Self {
        Self {
            bits: self.bits & other.bits,
        }
    }

    /// True if some bit of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.bits & other.bits != 0
    }
}

/// Packets and octets on their way to the UE that may be lost until the CP function is told (Dropped DL Traffic
/// Threshold). More than fits here is never reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostRests {
    packets: u32,
    octets: u64,
}

impl LostRests {
    /// Nobody waits for it.
    pub const NEVER: Self = Self {
        packets: u32::MAX,
        octets: (1 << 48) - 1,
    };

    /// As a threshold says.
    pub fn new(packets: Option<u64>, octets: Option<u64>) -> Self {
        let Self {
            packets: most_packets,
            octets: most_octets,
        } = Self::NEVER;
        let packets = packets.and_then(|packets| u32::try_from(packets).ok());
        Self {
            packets: packets.unwrap_or(most_packets),
            octets: octets.unwrap_or(most_octets).min(most_octets),
        }
    }

    /// What is left when a packet is lost.
    #[must_use]
    fn less(self, bytes: u32) -> Self {
        let mut left = self;
        if self.packets != Self::NEVER.packets {
            left.packets = self.packets.saturating_sub(1);
        }
        if self.octets != Self::NEVER.octets {
            left.octets = self.octets.saturating_sub(bytes.into());
        }
        left
    }

    fn is_reached(self) -> bool {
        self.packets == 0 || self.octets == 0
    }
}

zeroable_struct! {
    /// A rule that URRs watch, and its direction; 0 is none.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct WatchedRule {
        raw: u32,
    }
}

impl WatchedRule {
    /// No rule.
    pub const NONE: Self = Self { raw: 0 };
    const IN_BLOCK: u32 = 1 << 31;
    const IS_UPLINK: u32 = 1 << 30;
    const IS_ENTRY: u32 = 1 << 29;
    const IS_DROPS: u32 = 1 << 28;
    const PLACE: u32 = Self::IS_DROPS - 1;

    /// The rule of an entry, or none if its number is too high.
    pub const fn of_entry(entry: EntryId, uplink: bool) -> Option<Self> {
        Self::at(entry.0, Self::IS_ENTRY, uplink)
    }

    /// A rule in a block, or none if its number is too high.
    pub fn in_block(at: At, uplink: bool) -> Option<Self> {
        Self::at(at.number(), Self::IN_BLOCK, uplink)
    }

    const fn at(place: u32, kind: u32, uplink: bool) -> Option<Self> {
        if place > Self::PLACE {
            return None;
        }
        let direction = if uplink { Self::IS_UPLINK } else { 0 };
        Some(Self {
            raw: place | kind | direction,
        })
    }

    /// The entry, if it is one's own rule.
    pub fn entry(self) -> Option<EntryId> {
        let is_entry = self.raw & (Self::IS_ENTRY | Self::IS_DROPS) == Self::IS_ENTRY;
        is_entry.then_some(EntryId(self.raw & Self::PLACE))
    }

    /// The place in a block, if it stands in one.
    pub fn block(self) -> Option<At> {
        let place = self.raw & Self::PLACE;
        let in_block = self.raw & (Self::IN_BLOCK | Self::IS_DROPS) == Self::IN_BLOCK;
        in_block.then(|| At::from_number(place)).flatten()
    }

    /// In its place stands what gate and bit rates dropped of the rule's packets: octets in place of what was
    /// granted, packets in place of URRs.
    #[must_use]
    pub const fn drops(self) -> Self {
        Self {
            raw: self.raw | Self::IS_DROPS,
        }
    }

    /// Where its direction stands in [`Rests`].
    pub const fn direction(self) -> usize {
        if self.raw & Self::IS_UPLINK != 0 {
            UPLINK
        } else {
            DOWNLINK
        }
    }

    /// True if it is this rule, whatever its direction.
    pub const fn is_at(self, other: Self) -> bool {
        self.raw & !Self::IS_UPLINK == other.raw & !Self::IS_UPLINK
    }
}

zeroable_struct! {
    /// A rule with what it was granted.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct Watched {
        /// The rule.
        pub rule: WatchedRule,
        /// The URRs that count it, a bit for each cell.
        pub urrs: u32,
        /// Octets granted since the last take; what has left of it is that less what the rule's counter has
        /// left.
        pub granted: i64,
    }
}

zeroable_struct! {
    /// A cell of a usage record: one URR, and some of the rules. A session has as many as it takes.
    #[derive(Clone, Copy, Debug)]
    #[repr(C, align(64))]
    pub struct UsageRecord {
        /// The next cell; 0 is none.
        pub next: RecordId,
        /// What is to be told of the URR, and what it waits for.
        pub state: UrrState,
        /// Of the octets that may be lost the upper 16 bits of 48.
        lost_octets_high: u16,
        /// Octets until the threshold is reached.
        pub threshold: Rests,
        /// Octets until the quota is used up.
        pub quota: Rests,
        /// When the first packet since the last take left, monotonic, in nanoseconds; 0 is none.
        pub first_ns: u64,
        /// Rules that the session's URRs watch.
        pub rules: [Watched; RECORD_RULES],
        /// When the last packet left of those whose usage was taken, monotonic, in nanoseconds, where the URR
        /// measures time; 0 is none.
        pub last_ns: u64,
        /// Packets that may be lost.
        lost_packets: u32,
        /// Of the octets that may be lost the lower 32 bits.
        lost_octets_low: u32,
    }
}

const _: () = assert!(size_of::<UsageRecord>() == 128);

impl Default for UsageRecord {
    /// Waits for nothing.
    fn default() -> Self {
        Self {
            next: RecordId(0),
            state: UrrState::default(),
            lost_octets_high: u16::MAX,
            threshold: [NEVER; 3],
            quota: [NEVER; 3],
            first_ns: 0,
            rules: [Watched::default(); RECORD_RULES],
            last_ns: 0,
            lost_packets: u32::MAX,
            lost_octets_low: u32::MAX,
        }
    }
}

impl UsageRecord {
    /// Takes octets off all that waits for octets of a direction, or gives them back.
    pub fn grant(&mut self, direction: usize, bytes: i64) {
        for rests in [&mut self.threshold, &mut self.quota] {
            for at in [direction, TOTAL] {
                rests[at] = rests[at].saturating_sub(bytes);
            }
        }
    }

    /// How many octets of a direction can be granted before something happens. A threshold that was reached
    /// waits for the next measurement.
    pub fn rest(&self, direction: usize) -> i64 {
        let quota = self.quota[direction].min(self.quota[TOTAL]);
        if self.state.has_any(UrrState::STOPS) {
            return 0;
        }
        let threshold = self.threshold[direction].min(self.threshold[TOTAL]);
        if self.state.has_any(UrrState::THRESHOLD) {
            quota
        } else {
            quota.min(threshold)
        }
    }

    /// True if a quota of the direction is used up, of both together, or of something else than octets.
    pub fn is_used_up(&self, direction: usize) -> bool {
        self.state.has_any(UrrState::STOPS) || self.quota[direction] <= 0 || self.quota[TOTAL] <= 0
    }

    fn lost(&self) -> LostRests {
        LostRests {
            packets: self.lost_packets,
            octets: u64::from(self.lost_octets_high) << 32 | u64::from(self.lost_octets_low),
        }
    }

    fn set_lost(&mut self, LostRests { packets, octets }: LostRests) {
        self.lost_packets = packets;
        (self.lost_octets_high, self.lost_octets_low) = ((octets >> 32) as u16, octets as u32);
    }

    /// A packet to the UE is lost.
    pub fn lose(&mut self, bytes: u32) {
        let left = self.lost().less(bytes);
        self.set_lost(left);
        self.state = self.state.with_if(UrrState::LOST, left.is_reached());
    }

    /// Notes what has been reached, where nothing is granted any more.
    pub fn judge(&mut self) {
        self.judge_quota();
        if self.threshold.iter().any(|rest| *rest <= 0) {
            self.state = self.state.with(UrrState::THRESHOLD);
        }
    }

    /// The same of the quota alone.
    pub fn judge_quota(&mut self) {
        for (rest, used_up) in self.quota.iter().zip(UrrState::USED_UP) {
            if *rest <= 0 && !self.state.has_any(used_up) {
                self.state = self.state.with(UrrState::QUOTA).with(used_up);
            }
        }
    }
}

/// What a cell becomes with a transaction, which has taken the usage of all its session's rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordImage {
    /// The next cell; 0 is none.
    pub next: RecordId,
    /// Octets until the threshold is reached.
    pub threshold: Rests,
    /// When they begin anew.
    pub restart: Restart,
    /// A new quota, or none: then the old one goes on.
    pub quota: Option<Rests>,
    /// Whether it waits for the first packet; none: as before.
    pub awaits_start: Option<bool>,
    /// Whether it waits for the next packet.
    pub awaits_packet: AwaitsPacket,
    /// Nothing passes.
    pub stops: bool,
    /// What gate and bit rates drop counts as well.
    pub before_qos: bool,
    /// What may be lost until it is told: it begins anew when that is told.
    pub lost: LostRests,
    /// It begins anew now.
    pub restarts_lost: bool,
    /// Rules with the URRs that count them.
    pub rules: [(WatchedRule, u32); RECORD_RULES],
}

impl RecordImage {
    /// Nobody's cell.
    pub const VACANT: Self = Self {
        next: RecordId(0),
        threshold: [0; 3],
        restart: Restart::Vacate,
        quota: None,
        awaits_start: None,
        awaits_packet: AwaitsPacket::NEVER,
        stops: false,
        before_qos: false,
        lost: LostRests::NEVER,
        restarts_lost: true,
        rules: [(WatchedRule::NONE, 0); RECORD_RULES],
    };
}

/// Whether the control core is told of the next packet, because time runs again with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AwaitsPacket {
    /// If none came since the last take.
    pub if_none: bool,
    /// If the last one left before this time, monotonic, in nanoseconds.
    pub before_ns: u64,
}

impl AwaitsPacket {
    /// No.
    pub const NEVER: Self = Self {
        if_none: false,
        before_ns: 0,
    };

    fn holds(self, last_ns: u64) -> bool {
        match last_ns {
            0 => self.if_none,
            last_ns => last_ns < self.before_ns,
        }
    }
}

/// When a threshold begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// Now: the measurement is told, or the threshold is another.
    Now,
    /// Only if one of these is to be told: the measurement is told then.
    IfMarked(UrrState),
    /// The cell is nobody's from now on.
    Vacate,
}

/// What a transaction brings back of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Marks {
    /// What is to be told.
    pub state: UrrState,
    /// When the first packet since the last take left, monotonic, in nanoseconds; 0 is none.
    pub first_ns: u64,
    /// When the last one left, likewise, where the URR measures time.
    pub last_ns: u64,
}

impl UsageRecord {
    /// Becomes what the image says; gives what was to be told.
    pub fn become_image(&mut self, image: &RecordImage) -> Marks {
        let marks = Marks {
            state: self.state.and(UrrState::MARKS),
            first_ns: self.first_ns,
            // A rule knows its last packet for ever.
            last_ns: match self.first_ns {
                0 => 0,
                _ => self.last_ns,
            },
        };
        if image.restart == Restart::Vacate {
            *self = Self {
                threshold: [0; 3],
                quota: [0; 3],
                ..Self::default()
            };
            return marks;
        }
        let restarts = match image.restart {
            Restart::IfMarked(told) => marks.state.has_any(told),
            Restart::Now | Restart::Vacate => true,
        };
        if restarts {
            self.threshold = image.threshold;
        }
        if image.restarts_lost || marks.state.has_any(UrrState::LOST) {
            self.set_lost(image.lost);
        }
        let ended = UrrState::MARKS.with(UrrState::RUNG);
        let set_anew = UrrState::AWAITS_PACKET
            .with(UrrState::STOPS)
            .with(UrrState::BEFORE_QOS);
        let is_idle = image.awaits_packet.holds(marks.last_ns);
        let state = self.state.without(ended.with(set_anew));
        self.state = state
            .with_if(UrrState::AWAITS_PACKET, is_idle)
            .with_if(UrrState::STOPS, image.stops)
            .with_if(UrrState::BEFORE_QOS, image.before_qos);
        if let Some(quota) = image.quota {
            self.quota = quota;
            let [uplink, downlink, both] = UrrState::USED_UP;
            self.state = self.state.without(uplink.with(downlink).with(both));
        }
        if let Some(awaits) = image.awaits_start {
            self.state = if awaits {
                self.state.with(UrrState::AWAITS_START)
            } else {
                self.state.without(UrrState::AWAITS_START)
            };
        }
        (self.first_ns, self.last_ns) = (0, 0);
        self.next = image.next;
        self.rules = image.rules.map(|(rule, urrs)| Watched {
            rule,
            urrs,
            granted: 0,
        });
        marks
    }
}
