//! The targets of `sluice-fuzz` as libFuzzer runs them.
#![forbid(unsafe_code)]

pub use libfuzzer_sys;
pub use sluice_fuzz::targets;

use sluice_fuzz::corpus::{self, Entry};
use sluice_fuzz::random::Rng;
use std::sync::OnceLock;

/// The program of the target that has its name: half of its mutants are libFuzzer's own, half are of the mutator
/// that knows the format.
#[macro_export]
macro_rules! guided {
    () => {
        use $crate::libfuzzer_sys;

        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::run(env!("CARGO_BIN_NAME"), data));

        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            match seed % 2 {
                0 => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
                _ => $crate::mutant(env!("CARGO_BIN_NAME"), data, size, max_size, seed),
            }
        });
    };
}

/// Gives `data` to the target of that name.
///
/// # Panics
/// There is none of that name, or the target finds a fault.
pub fn run(name: &str, data: &[u8]) {
    let target = targets::find(name).expect("a target of the program's name");
    (target.run)(data);
}

/// Writes a mutant of the first `size` octets over them; its length.
pub fn mutant(name: &str, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    static KEPT: OnceLock<Vec<Entry>> = OnceLock::new();
    let kept = KEPT.get_or_init(|| corpus::kept(name));
    let Some(target) = targets::find(name) else {
        return size;
    };
    let mut rng = Rng::new(seed.into(), 0);
    let mut input = data.get(..size).unwrap_or_default().to_vec();
    for _ in 0..=rng.below(4) {
        let donor = rng.pick(kept).map_or(&[][..], |entry| &entry.bytes);
        (target.mutate)(&mut input, donor, &mut rng);
    }
    let len = input.len().min(max_size).min(data.len());
    data[..len].copy_from_slice(&input[..len]);
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    /// libFuzzer takes the length for granted: one that is too long would be read past its buffer.
    #[test]
    fn mutants_of_every_target_fit_what_libfuzzer_has_room_for() {
        for target in targets::TARGETS {
            for (max_size, seed) in (1..=64).zip(1..) {
                let mut data = vec![0x20; 64];
                let size = max_size.min(7);
                let len = mutant(target.name, &mut data, size, max_size, seed);
                assert!(len <= max_size, "{}: {len} of {max_size}", target.name);
            }
        }
    }
}
