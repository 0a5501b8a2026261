//! Time and random numbers, which the caller hands in.

/// Monotonic time in nanoseconds since any fixed point of the caller's choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

const NS_PER_MS: u64 = 1_000_000;

impl Instant {
    /// Later than all times: a deadline that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ms` milliseconds later, at most [`Instant::NEVER`].
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms.saturating_mul(NS_PER_MS)))
    }

    /// Milliseconds from `earlier` to `self`; 0 if `earlier` is not earlier.
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / NS_PER_MS
    }
}

/// What time it is when an input arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// For timers; it never goes back.
    pub instant: Instant,
    /// Seconds since 1970, for sequence numbers and what people read; it may jump.
    pub unix_s: u64,
}

/// A source of random octets: the system's for the daemon, a seed's for tests.
pub trait Random {
    /// Fills the octets.
    fn fill(&mut self, octets: &mut [u8]);
}

impl<F: FnMut(&mut [u8])> Random for F {
    fn fill(&mut self, octets: &mut [u8]) {
        self(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_saturates_instead_of_wrapping() {
        assert_eq!(Instant(u64::MAX - 1).plus_ms(1), Instant::NEVER);
        assert_eq!(Instant(5).ms_since(Instant(9)), 0);
        assert_eq!(Instant(0).plus_ms(7).ms_since(Instant(0)), 7);
    }
}
