//! Token buckets, counted in bits.
//!
//! A bucket holds what its rate carries in 100 ms, but at least 3200 bytes, and starts full. A
//! packet passes if its bits are there. A changed rate keeps the time until the bucket is full.

/// What a bucket holds, as time at its rate.
const DEPTH_NS: u128 = 100_000_000;
/// And at least that, in bits.
const LEAST_BITS: u128 = 3_200 * 8;
/// Bits are counted in units of 1/64 bit-nanosecond per bit-per-second, so that a debt of any
/// whole number of 1/64 ns is a whole number at every rate.
const UNITS_PER_BIT: u128 = 64 * 1_000_000_000;

/// One bucket.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    /// How much is missing, in units.
    debt: u128,
    /// When that was so.
    at_ns: u64,
    rate_bps: u64,
}

impl Bucket {
    /// Lets time pass and takes over the rate that now holds.
    pub fn refill(&mut self, now_ns: u64, rate_bps: u64) {
        let elapsed_ns = u128::from(now_ns.saturating_sub(self.at_ns));
        let earned = elapsed_ns * u128::from(self.rate_bps) * 64;
        self.debt = self.debt.saturating_sub(earned);
        if self.rate_bps != rate_bps && self.rate_bps != 0 {
            self.debt = self.debt * u128::from(rate_bps) / u128::from(self.rate_bps);
        }
        (self.at_ns, self.rate_bps) = (now_ns, rate_bps);
    }

    /// True if a packet of this length may pass now.
    pub fn has_room(&self, bytes: usize) -> bool {
        let rate = u128::from(self.rate_bps);
        let depth = (DEPTH_NS * rate * 64).max(LEAST_BITS * UNITS_PER_BIT);
        self.debt + cost(bytes) <= depth
    }

    /// How long until a packet of this length may pass that others of up to `burst_ns` at the rate may go
    /// before, in ns.
    pub fn wait_ns(&self, bytes: usize, burst_ns: u64) -> u64 {
        let rate = u128::from(self.rate_bps);
        let depth = (u128::from(burst_ns) * rate * 64).max(LEAST_BITS * UNITS_PER_BIT);
        let missing = (self.debt + cost(bytes)).saturating_sub(depth);
        missing.div_ceil(rate * 64) as u64
    }

    /// How long what always has room takes, in ns.
    pub fn least_ns(&self) -> u64 {
        (LEAST_BITS * 1_000_000_000).div_ceil(u128::from(self.rate_bps)) as u64
    }

    /// The packet passes.
    pub fn pay(&mut self, bytes: usize) {
        self.debt += cost(bytes);
    }
}

fn cost(bytes: usize) -> u128 {
    bytes as u128 * 8 * UNITS_PER_BIT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(bucket: &mut Bucket, now_ns: u64, rate_bps: u64, bytes: usize) -> bool {
        bucket.refill(now_ns, rate_bps);
        let passes = bucket.has_room(bytes);
        if passes {
            bucket.pay(bytes);
        }
        passes
    }

    #[test]
    fn a_burst_of_100_ms_passes_and_then_the_rate() {
        let mut b = Bucket::default();
        let burst = (0..200).filter(|_| offer(&mut b, 1, 8_000_000, 1000));
        assert_eq!(burst.count(), 100, "8 Mbit/s for 100 ms are 100,000 bytes");
        assert!(!offer(&mut b, 999_999, 8_000_000, 1000));
        assert!(offer(&mut b, 1_000_001, 8_000_000, 1000));
    }

    #[test]
    fn a_low_rate_has_room_for_3200_bytes() {
        let mut b = Bucket::default();
        assert!(!offer(&mut b, 0, 8_000, 3201));
        assert!(offer(&mut b, 0, 8_000, 3200));
        assert!(!offer(&mut b, 0, 8_000, 1));
    }

    #[test]
    fn a_changed_rate_keeps_the_time_until_full() {
        let mut b = Bucket::default();
        for _ in 0..100 {
            assert!(offer(&mut b, 0, 8_000_000, 1000));
        }
        // Empty for 100 ms; at the double rate half of that time earns half of the double depth.
        b.refill(0, 16_000_000);
        let passed = (0..200).filter(|_| offer(&mut b, 50_000_000, 16_000_000, 1000));
        assert_eq!(passed.count(), 100);
    }
}
