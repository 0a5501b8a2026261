//! Time parameters: a monotonic instant for timers, and ordered Recovery Time Stamps.

use sluice_wire::pfcp::value::NtpTime;

const NS_PER_MS: u64 = 1_000_000;

/// Monotonic time in nanoseconds since any fixed point of the caller's choice.
///
/// The endpoint only subtracts and compares instants, so the fixed point does not matter, but
/// successive calls must not go back in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// The later of all times: a deadline that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ms` milliseconds later, at most [`Instant::NEVER`].
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(NS_PER_MS)))
    }

    /// The instant `ns` nanoseconds later, at most [`Instant::NEVER`].
    pub const fn plus_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Nanoseconds from `earlier` to `self`; 0 if `earlier` is not earlier.
    pub const fn ns_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Whether a Recovery Time Stamp is later than another (TS 29.244, 8.2.65), by serial-number
/// arithmetic: the seconds since 1900 wrap in February 2036.
pub const fn is_after(time_stamp: NtpTime, other: NtpTime) -> bool {
    let ahead = time_stamp.0.wrapping_sub(other.0);
    ahead != 0 && ahead < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_time_stamps_survives_the_wrap_of_2036() {
        let (before, after) = (NtpTime(u32::MAX - 5), NtpTime(7));
        assert!(is_after(after, before));
        assert!(!is_after(before, after));
        assert!(!is_after(after, after));
    }

    #[test]
    fn a_deadline_saturates_instead_of_wrapping() {
        assert_eq!(Instant(u64::MAX - 1).plus_ms(1), Instant::NEVER);
        assert_eq!(Instant(5).ns_since(Instant(9)), 0);
    }
}
