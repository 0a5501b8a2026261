//! IPv4 options (RFC 791, 3.1).

/// One option, its type and length octets included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ipv4Option<'a>(&'a [u8]);

impl<'a> Ipv4Option<'a> {
    /// The type octet: copied flag, class and number.
    pub fn kind(&self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Whether every fragment carries the option, not only the first.
    pub fn is_copied(&self) -> bool {
        self.kind() & 0x80 != 0
    }

    /// The octets of the option, from its type on.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// Walks options in their order; ends at End of Options, at the end of the bytes, or before an
/// option whose length lies.
#[derive(Clone, Debug)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Over the octets between the fixed header and the payload.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Ipv4Option<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let len = match *self.0 {
            [] | [0, ..] => return None,
            [1, ..] => 1,
            [_] | [_, 0 | 1, ..] => return None,
            [_, len, ..] => usize::from(len),
        };
        let (option, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(Ipv4Option(option))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_operation_and_end_of_options_are_single_octets() {
        let bytes = [1, 0x94, 4, 0, 0, 0, 7, 3];
        let kinds: Vec<u8> = Options::new(&bytes).map(|o| o.kind()).collect();
        assert_eq!(kinds, [1, 0x94]);
    }

    #[test]
    fn an_option_that_lies_about_its_length_ends_the_walk() {
        assert_eq!(Options::new(&[7, 9, 0, 0]).count(), 0);
        assert_eq!(Options::new(&[7, 1, 0, 0]).count(), 0);
        assert_eq!(Options::new(&[1, 7]).count(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_finite_steps(bytes in proptest::collection::vec(any::<u8>(), 0..41)) {
            let total: usize = Options::new(&bytes).map(|o| o.bytes().len()).sum();
            prop_assert!(total <= bytes.len());
        }
    }
}
