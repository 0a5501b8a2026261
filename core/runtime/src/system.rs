//! The host's clocks and random numbers, as the core takes them.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sluice_host::clock;
use sluice_sbi::{Instant, Now};

/// What time it is.
pub fn now() -> Now {
    Now {
        instant: Instant(clock::monotonic_ns()),
        unix_s: clock::wall().as_secs(),
    }
}

/// Fills the octets from the kernel's generator.
///
/// # Panics
/// When the kernel has none: keys and challenges that can be guessed are worse than no core.
pub fn random(mut octets: &mut [u8]) {
    while !octets.is_empty() {
        match getrandom(&mut *octets, GetRandomFlags::empty()) {
            Ok(filled) => octets = octets.get_mut(filled..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => panic!("the kernel has no random numbers: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_octets_are_all_filled_and_differ() {
        let (mut one, mut other) = ([0; 300], [0; 300]);
        random(&mut one);
        random(&mut other);
        assert_ne!(one, other);
        assert!(one[290..].iter().any(|octet| *octet != 0));
    }

    #[test]
    fn time_goes_on() {
        let (before, after) = (now(), now());
        assert!(after.instant >= before.instant && after.unix_s >= before.unix_s);
    }
}
