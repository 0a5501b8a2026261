//! What a run found, told so that it can be repeated.

use core::fmt;

/// Where the input came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A kept input of this name.
    Kept(String),
    /// The mutant of this seed and number.
    Mutant {
        /// The seed.
        seed: u64,
        /// The number of the case.
        case: u64,
    },
    /// Given by the environment.
    Given,
}

/// An input for which something did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The target.
    pub target: &'static str,
    /// Where the input came from.
    pub origin: Origin,
    /// Octets that it had before it was made smaller.
    pub original_len: usize,
    /// The input, as small as it got.
    pub input: Vec<u8>,
    /// File and line of the panic.
    pub place: String,
    /// What the panic said.
    pub message: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, .. } = self;
        writeln!(f, "{target}: {} at {}", self.message, self.place)?;
        let octets = self.input.len();
        writeln!(
            f,
            "input of {octets} octets ({} at first):",
            self.original_len
        )?;
        writeln!(f, "  {}", hex(&self.input))?;
        let command = format!("cargo test -p sluice-fuzz --test targets {target}");
        match &self.origin {
            Origin::Kept(name) => writeln!(f, "it is the kept input {name}")?,
            Origin::Mutant { seed, case } => {
                writeln!(
                    f,
                    "it is case {case} of seed {seed}:\n  SLUICE_SEED={seed} {command}"
                )?;
            }
            Origin::Given => {}
        }
        let digits = hex(&self.input);
        write!(
            f,
            "this input alone:\n  SLUICE_INPUT={digits} {command}\n\
             to keep it, under the name of the rule that it broke:\n  \
             xxd -r -p <<<{digits} >fuzz/regressions/{target}/RULE"
        )
    }
}

/// Octets as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The inverse of [`hex`].
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.trim().chars().map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(
        digits
            .chunks(2)
            .map(|pair| (pair[0] << 4 | pair[1]) as u8)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_survive_as_digits() {
        assert_eq!(hex(&[0x0a, 0xff]), "0aff");
        assert_eq!(unhex("0aff\n"), Some(vec![0x0a, 0xff]));
        assert_eq!((unhex("0af"), unhex("0g")), (None, None));
    }
}
