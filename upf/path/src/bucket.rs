//! Token bucket as a virtual clock (the generic cell rate algorithm of ITU-T I.371, annex A):
//! one time stamp is the whole state, so a bucket costs 8 bytes and no division.

use crate::limits::{BUCKET_DEPTH_NS, BUCKET_MIN_BYTES};
use sluice_mem::zeroable_struct;

/// Fractions of a nanosecond in which bucket time runs: 1/64, so that 100 bytes at 1 Tbit/s
/// (0.8 ns) still cost 51 units, and 64 bits last 9 years.
const UNITS_PER_NS: u64 = 64;

zeroable_struct! {
    /// Cost of a byte at a maximum bit rate, in bucket time, as the bits of an `f32` (24 bits of
    /// mantissa keep a rate to 1e-7); 0 means no limit.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    #[repr(C)]
    pub struct Rate {
        cost_bits: u32,
    }
}

impl Rate {
    /// No limit.
    pub const UNLIMITED: Self = Self { cost_bits: 0 };

    /// From bits per second. 0 bit/s lets nothing pass (a gate), so it is not a `Rate`: `None`.
    pub fn from_bps(rate_bps: u64) -> Option<Self> {
        let cost = (8e9 * UNITS_PER_NS as f64 / rate_bps as f64) as f32;
        (rate_bps > 0).then_some(Self {
            cost_bits: cost.to_bits(),
        })
    }

    /// True if a limit is set.
    #[inline]
    pub fn is_limited(self) -> bool {
        self.cost_bits != 0
    }

    #[inline]
    fn cost(self, bytes: u32) -> u64 {
        (f32::from_bits(self.cost_bits) * bytes as f32) as u64
    }

    /// How far the clock may run ahead.
    #[inline]
    fn depth(self) -> u64 {
        let least = self.cost(BUCKET_MIN_BYTES as u32);
        least.max(BUCKET_DEPTH_NS * UNITS_PER_NS)
    }
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
    /// The clock after `bytes` at `now_ns`, or `None` if the packet exceeds the rate.
    ///
    /// Nothing is written, so that a packet that a second bucket refuses costs the first nothing.
    #[inline]
    pub fn after(self, now_ns: u64, rate: Rate, bytes: u32) -> Option<Self> {
        let now = now_ns.wrapping_mul(UNITS_PER_NS);
        let next = self.units.max(now) + rate.cost(bytes);
        (next <= now + rate.depth()).then_some(Self { units: next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried_bytes(rate_bps: u64, packet: u32, offered_per_s: u64, seconds: u64) -> u64 {
        let rate = Rate::from_bps(rate_bps).unwrap();
        let (mut tat, mut carried) = (Tat::default(), 0);
        for i in 0..offered_per_s * seconds {
            if let Some(next) = tat.after(1 + i * 1_000_000_000 / offered_per_s, rate, packet) {
                tat = next;
                carried += u64::from(packet);
            }
        }
        carried
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
        assert!(Tat::default().after(1, rate, 1500).is_some());
    }

    #[test]
    fn zero_is_no_rate() {
        assert_eq!(Rate::from_bps(0), None);
    }
}
