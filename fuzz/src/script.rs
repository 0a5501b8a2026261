//! Inputs that are a sequence of things to happen, as bytes.
//!
//! ```text
//!   1   | what happens (the target says)     |
//!   2   | time that passes first, see below  |
//!  3-4  | length of what follows             |
//!  5-n  | octets that go with it             |
//! ```
//! Any bytes are a script: a length beyond the end takes what is there.

/// Steps that a target takes of one input.
pub const STEPS: usize = 48;

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<'a> {
    /// What happens.
    pub kind: u8,
    /// Time that passes first: see [`Step::wait_ns`].
    pub wait: u8,
    /// What goes with it.
    pub bytes: &'a [u8],
}

impl Step<'_> {
    /// Time that passes before the step: 0, or 8 ns to 32 s, eight values for each power of two.
    pub fn wait_ns(&self) -> u64 {
        match self.wait {
            0 => 0,
            wait => (8 + u64::from(wait & 7)) << (wait >> 3),
        }
    }

    /// The smallest wait that is not shorter than `ns`, as an octet.
    pub fn wait_of(ns: u64) -> u8 {
        let long_enough = |wait: &u8| {
            let step = Step {
                kind: 0,
                wait: *wait,
                bytes: &[],
            };
            step.wait_ns() >= ns
        };
        (0..=u8::MAX).find(long_enough).unwrap_or(u8::MAX)
    }

    /// Octet `at` of what goes with it, 0 behind the end.
    pub fn octet(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }
}

/// The steps of an input, at most [`STEPS`].
pub fn steps(input: &[u8]) -> impl Iterator<Item = Step<'_>> {
    all_steps(input).take(STEPS)
}

/// All steps of an input.
pub fn all_steps(input: &[u8]) -> impl Iterator<Item = Step<'_>> {
    let mut rest = input;
    core::iter::from_fn(move || {
        let (&[kind, wait, l0, l1], behind) = rest.split_first_chunk::<4>()?;
        let stated = usize::from(u16::from_be_bytes([l0, l1]));
        let (bytes, behind) = behind.split_at(stated.min(behind.len()));
        rest = behind;
        Some(Step { kind, wait, bytes })
    })
}

/// Appends a step to a script; octets beyond 65535 are left out.
pub fn push(script: &mut Vec<u8>, step: Step<'_>) {
    let len = u16::try_from(step.bytes.len()).unwrap_or(u16::MAX);
    script.extend([step.kind, step.wait]);
    script.extend(len.to_be_bytes());
    script.extend(step.bytes.iter().take(usize::from(len)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_read_back() {
        let first = Step {
            kind: 3,
            wait: 9,
            bytes: b"abc",
        };
        let second = Step {
            kind: 0,
            wait: 0,
            bytes: b"",
        };
        let mut script = Vec::new();
        push(&mut script, first);
        push(&mut script, second);
        assert_eq!(steps(&script).collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn a_length_beyond_the_end_takes_what_is_there() {
        let all: Vec<_> = steps(&[1, 0, 0xff, 0xff, 7, 8]).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].bytes, [7, 8]);
        assert_eq!(steps(&[1, 0, 0]).count(), 0);
    }

    #[test]
    fn waits_reach_from_nothing_to_half_a_minute() {
        let wait = |wait| {
            let bytes = &[][..];
            Step {
                kind: 0,
                wait,
                bytes,
            }
            .wait_ns()
        };
        assert_eq!((wait(0), wait(1)), (0, 9));
        assert_eq!(wait(255), 15 << 31);
        assert!(wait(Step::wait_of(1_000_000_000)) >= 1_000_000_000);
    }
}
