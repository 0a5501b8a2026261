//! Token bucket as a virtual clock (the generic cell rate algorithm of ITU-T I.371, annex A):
//! one time stamp is the whole state, so a bucket costs 8 bytes and no division.

use crate::limits::{BUCKET_DEPTH_NS, BUCKET_MIN_BYTES};
use sluice_mem::zeroable_struct;

/// Fractions of a nanosecond in which bucket time runs: 1/64, so that 100 bytes at 1 Tbit/s
/// (0.8 ns) still cost 51 units, and 64 bits last 9 years.
const UNITS_PER_NS: u64 = 64;

/// Of a [`Rate`].
const MANTISSA_BITS: u8 = 25;
const EXPONENT_BITS: u32 = 6;
const EXPONENT_MASK: u32 = (1 << EXPONENT_BITS) - 1;
/// Bit above the exponent: what exceeds the rate waits.
const SHAPED: u32 = 1 << EXPONENT_BITS;
const MANTISSA_AT: u32 = EXPONENT_BITS + 1;
/// Left shift of a product before the right shift by the exponent, which has no sign.
const SHIFT: i32 = 16;

zeroable_struct! {
    /// Cost of a byte at a maximum bit rate, in bucket time: 25 bits of mantissa (which keep a
    /// rate to 6e-8), a bit that says whether what exceeds the rate waits, 6 bits of exponent; 0 means no
    /// limit.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    #[repr(C)]
    pub struct Rate {
        cost_bits: u32,
    }
}

impl Rate {
    /// No limit.
    pub const UNLIMITED: Self = Self { cost_bits: 0 };
    /// No limit, and the bucket's clock tells when the last packet left: a byte costs nothing. No bit rate
    /// has these bits.
    pub const STAMP: Self = Self {
        cost_bits: 1 << MANTISSA_AT | EXPONENT_MASK,
    };

    /// What the field of an entry says that limits no rate.
    pub const fn bits(self) -> u32 {
        self.cost_bits
    }

    /// The field that says so.
    pub const fn from_bits(bits: u32) -> Self {
        Self { cost_bits: bits }
    }

    /// From bits per second. 0 bit/s lets nothing pass (a gate), so it is not a `Rate`: `None`.
    pub fn from_bps(rate_bps: u64) -> Option<Self> {
        if rate_bps == 0 {
            return None;
        }
        // A byte costs mantissa * 2^(SHIFT - exponent). From 1 bit/s (2^39 units) to the fastest
        // rate of a QER (2^40 kbit/s, 2^-11 units) the exponent is 3 to 53.
        let cost = 8e9 * UNITS_PER_NS as f64 / rate_bps as f64;
        let exponent = i32::from(MANTISSA_BITS) - 1 + SHIFT - floor_log2(cost);
        let exponent = exponent.clamp(0, EXPONENT_MASK as i32);
        let mantissa = (cost * power_of_2(exponent - SHIFT)) as u32;
        let mantissa = mantissa.clamp(1, (1 << MANTISSA_BITS) - 1);
        Some(Self {
            cost_bits: mantissa << MANTISSA_AT | exponent as u32,
        })
    }

    /// The same rate; what exceeds it is not dropped but waits.
    #[must_use]
    pub const fn shaped(self) -> Self {
        match self.cost_bits {
            0 => self,
            cost_bits => Self {
                cost_bits: cost_bits | SHAPED,
            },
        }
    }

    /// True if what exceeds the rate waits.
    #[inline(always)]
    pub const fn is_shaped(self) -> bool {
        self.cost_bits & SHAPED != 0
    }

    /// True if a limit is set, or the last packet is noted.
    #[inline]
    pub fn is_limited(self) -> bool {
        self.cost_bits != 0
    }

    /// True if it is no limit, but a bucket that notes the last packet.
    #[inline(always)]
    pub fn is_stamp(self) -> bool {
        self == Self::STAMP
    }

    #[inline]
    fn cost(self, bytes: u32) -> u64 {
        // Of 17 bits at the most (a packet, or the least depth), so no bit is lost on the left.
        let product = u64::from(bytes) * u64::from(self.cost_bits >> MANTISSA_AT);
        (product << SHIFT) >> (self.cost_bits & EXPONENT_MASK)
    }
}

/// Exponent bits of a double (IEEE 754, 3.4): below them 52 bits of fraction.
const F64_FRACTION_BITS: u32 = 52;
const F64_BIAS: i32 = 1023;

/// Of a positive number that is not as small as 2^-1022: its exponent. Rates are drawn with every
/// message of N4, and the logarithm of the library takes as long as a wait for the second cache.
fn floor_log2(value: f64) -> i32 {
    (value.to_bits() >> F64_FRACTION_BITS) as i32 - F64_BIAS
}

/// 2^`exponent`, for exponents between -1022 and 1023.
fn power_of_2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + F64_BIAS) as u64) << F64_FRACTION_BITS)
}

zeroable_struct! {
    /// The time at which the bucket would be full again; 0 is a full bucket.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    #[repr(C)]
    pub struct Tat {
        units: u64,
    }
}

impl Tat {
    /// The clock of a bucket that [notes](Rate::STAMP) a packet.
    #[inline]
    pub const fn stamped(now_ns: u64) -> Self {
        Self {
            units: now_ns.wrapping_mul(UNITS_PER_NS),
        }
    }

    /// When the last packet left that such a bucket noted, in nanoseconds; 0 is none.
    #[inline]
    pub const fn stamp_ns(self) -> u64 {
        self.units / UNITS_PER_NS
    }

    /// The clock after `bytes` at `now_ns`, if it runs ahead by no more than `within`, or by what a rate
    /// always has room for; `None` otherwise.
    ///
    /// Nothing is written, so that a packet that a second bucket refuses costs the first nothing.
    #[inline(always)]
    pub fn after(self, now_ns: u64, rate: Rate, bytes: u32, within: Lead) -> Option<Self> {
        let next = self.next(now_ns, rate, bytes);
        // Low rates have a longer way.
        let fits = next.is_within(now_ns, within) || next.is_within(now_ns, Lead::least(rate));
        fits.then_some(next)
    }

    /// The clock after `bytes` at `now_ns`, whether or not it may run so far ahead.
    #[inline(always)]
    pub fn next(self, now_ns: u64, rate: Rate, bytes: u32) -> Self {
        let now = now_ns.wrapping_mul(UNITS_PER_NS);
        Self {
            units: self.units.max(now) + rate.cost(bytes),
        }
    }

    #[inline(always)]
    fn is_within(self, now_ns: u64, lead: Lead) -> bool {
        self.units <= now_ns.wrapping_mul(UNITS_PER_NS) + lead.units
    }

    /// The first nanosecond at which the clock runs ahead by no more than `lead`: when what it was
    /// advanced for may leave.
    pub fn due_ns(self, lead: Lead) -> u64 {
        self.units.saturating_sub(lead.units).div_ceil(UNITS_PER_NS)
    }
}

/// How far the clock of a bucket may run ahead of time: the longest burst, as time at the bucket's rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lead {
    units: u64,
}

impl Lead {
    /// Of buckets whose excess is dropped.
    pub const POLICED: Self = Self::from_ns(BUCKET_DEPTH_NS);

    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self {
            units: ns * UNITS_PER_NS,
        }
    }

    /// What every rate has room for, so that a low one still lets whole packets pass.
    #[inline(always)]
    pub fn least(rate: Rate) -> Self {
        Self {
            units: rate.cost(BUCKET_MIN_BYTES as u32),
        }
    }

    /// In nanoseconds, rounded up.
    pub const fn ns(self) -> u64 {
        self.units.div_ceil(UNITS_PER_NS)
    }
}

/// How rates are shaped whose excess waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shaping {
    /// The longest burst that passes at once, as time at the rate.
    pub burst: Lead,
    /// The longest that a packet waits.
    pub delay: Lead,
    /// Packets of one session and direction that wait at a time.
    pub session_packets: u32,
    /// Packets that one worker lets wait at a time; at most [`crate::limits::SHAPED`].
    pub worker_packets: u32,
}

impl Default for Shaping {
    /// Nothing waits.
    fn default() -> Self {
        Self {
            burst: Lead::POLICED,
            delay: Lead::from_ns(0),
            session_packets: 0,
            worker_packets: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried_bytes(rate_bps: u64, packet: u32, offered_per_s: u64, seconds: u64) -> u64 {
        let rate = Rate::from_bps(rate_bps).unwrap();
        let (mut tat, mut carried) = (Tat::default(), 0);
        for i in 0..offered_per_s * seconds {
            if let Some(next) = tat.after(
                1 + i * 1_000_000_000 / offered_per_s,
                rate,
                packet,
                Lead::POLICED,
            ) {
                tat = next;
                carried += u64::from(packet);
            }
        }
        carried
    }

    #[test]
    fn exponents_are_those_of_the_numbers() {
        for exponent in -40..60 {
            let power = f64::from(exponent).exp2();
            assert_eq!(power_of_2(exponent), power);
            assert_eq!(floor_log2(power), exponent);
            assert_eq!(floor_log2(power * 1.999), exponent);
        }
    }

    #[test]
    fn a_rate_is_kept_to_one_percent_from_64_kbps_to_10_gbps() {
        for (rate_bps, packet, offered) in [
            (64_000, 100, 1_000),
            (20_000_000, 1400, 10_000),
            (10_000_000_000, 1400, 2_000_000),
        ] {
            let seconds = 12;
            let depth = (rate_bps as f64 / 8.0 * 0.1).max(3_200.0);
            let want = rate_bps as f64 / 8.0 * seconds as f64 + depth;
            let got = carried_bytes(rate_bps, packet, offered, seconds) as f64;
            assert!(
                (got / want - 1.0).abs() < 0.01,
                "{rate_bps}: {got} instead of {want}"
            );
        }
    }

    #[test]
    fn below_the_rate_nothing_is_lost() {
        assert_eq!(carried_bytes(1_000_000, 125, 900, 20), 125 * 900 * 20);
    }

    #[test]
    fn a_low_rate_still_lets_a_whole_packet_through() {
        let rate = Rate::from_bps(1_000).unwrap();
        assert!(Tat::default().after(1, rate, 1500, Lead::POLICED).is_some());
    }

    #[test]
    fn the_cost_of_a_byte_is_exact_from_one_bps_to_the_fastest_rate_of_a_qer() {
        for rate_bps in (0..50)
            .map(|bit| 1 << bit)
            .chain([3, 7_777_777, ((1 << 40) - 1) * 1000])
        {
            let want = 8e9 * UNITS_PER_NS as f64 / rate_bps as f64 * 65_535.0;
            let got = Rate::from_bps(rate_bps).unwrap().cost(65_535) as f64;
            assert!(
                got <= want && want - got < 1.0 + want * 1e-7,
                "{rate_bps} bit/s: {got} instead of {want}"
            );
        }
    }

    #[test]
    fn a_shaped_rate_costs_the_same() {
        for rate_bps in [1, 64_000, 7_777_777, 10_000_000_000, ((1 << 40) - 1) * 1000] {
            let rate = Rate::from_bps(rate_bps).unwrap();
            assert!(!rate.is_shaped() && rate.shaped().is_shaped());
            assert_eq!(rate.cost(65_535), rate.shaped().cost(65_535));
        }
        assert_eq!(Rate::UNLIMITED.shaped(), Rate::UNLIMITED);
    }

    #[test]
    fn what_is_due_fits_then_and_not_before() {
        let rate = Rate::from_bps(7_777_777).unwrap();
        let lead = Lead::from_ns(10_000_000);
        let mut tat = Tat::default();
        for _ in 0..100 {
            let due_ns = tat.next(1, rate, 1400).due_ns(lead).max(1);
            assert!(tat.after(due_ns, rate, 1400, lead).is_some());
            assert!(due_ns == 1 || tat.after(due_ns - 1, rate, 1400, lead).is_none());
            tat = tat.next(1, rate, 1400);
        }
    }

    #[test]
    fn zero_is_no_rate() {
        assert_eq!(Rate::from_bps(0), None);
    }
}
