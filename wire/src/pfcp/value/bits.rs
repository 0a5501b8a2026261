//! `bit_set!`: IEs that are flags in successive octets.

/// Makes a newtype over the flags of an IE and the [`Element`] that reads and writes it.
///
/// Flag n of octet 5 is bit n-1, the flags of octet 6 follow at bit 8, and so on. Octets that are
/// wanting on receipt are zero (older releases had fewer), octets beyond the integer are ignored.
/// On sending, at least `octets` octets are written and as many as the set flags need.
///
/// [`Element`]: crate::pfcp::element::Element
macro_rules! bit_set {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($int:ty), octets = $octets:literal {
            $($(#[$flag_meta:meta])* $flag:ident = $bit:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$flag_meta])* pub const $flag: Self = Self(1 << $bit);)*

            /// Every flag that has a name.
            pub const ALL: Self = Self($(Self::$flag.0 |)* 0);

            /// No flag set.
            pub const NONE: Self = Self(0);

            /// Whether all flags of `other` are set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether at least one flag of `other` is set.
            pub const fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            /// The flags of both.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The names of the set flags, as the TS has them; flags without a name are left out.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let all = [$(($bit, stringify!($flag)),)*];
                let set = all.into_iter().filter(move |(bit, _)| self.0 >> bit & 1 == 1);
                set.map(|(_, name)| name)
            }

            /// The flags of this one that `other` lacks.
            #[must_use]
            pub const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl core::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }

        impl core::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                *self = self.union(other);
            }
        }

        /// Prints the names of the set flags.
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(concat!(stringify!($name), "("))?;
                let mut rest = self.0;
                $(if rest & (1 << $bit) != 0 {
                    f.write_str(concat!(stringify!($flag), " "))?;
                    rest &= !(1 << $bit);
                })*
                write!(f, "{rest:#x})")
            }
        }

        impl $crate::pfcp::element::Element<'_> for $name {
            #[inline]
            fn decode(value: &[u8]) -> Result<Self, $crate::pfcp::element::Fault> {
                if value.is_empty() {
                    return Err($crate::pfcp::element::Fault::Length);
                }
                let mut octets = [0; size_of::<$int>()];
                for (index, octet) in octets.iter_mut().enumerate() {
                    *octet = value.get(index).copied().unwrap_or(0);
                }
                Ok(Self(<$int>::from_le_bytes(octets)))
            }

            #[inline]
            fn encode(
                &self,
                out: &mut $crate::pfcp::Writer<'_>,
            ) -> Result<(), $crate::pfcp::Full> {
                let needed = size_of::<$int>() - self.0.leading_zeros() as usize / 8;
                let octets = self.0.to_le_bytes();
                let count = needed.max($octets).min(octets.len());
                out.bytes(octets.get(..count).unwrap_or(&octets))
            }
        }
    };
}

pub(crate) use bit_set;

#[cfg(test)]
mod tests {
    use crate::pfcp::element::{Element, Fault};
    use crate::pfcp::{Writer, value::ReportingTriggers, value::UpFunctionFeatures};

    #[test]
    fn flags_of_any_length_are_read() {
        let features = UpFunctionFeatures::decode(&[0x10, 0, 0x04, 0, 0, 0, 0, 0, 0xff]).unwrap();
        assert_eq!(
            features,
            UpFunctionFeatures::FTUP | UpFunctionFeatures::UEIP
        );
        assert_eq!(
            UpFunctionFeatures::decode(&[0x10]).unwrap(),
            UpFunctionFeatures::FTUP
        );
        assert_eq!(UpFunctionFeatures::decode(&[]), Err(Fault::Length));
    }

    #[test]
    fn flags_are_written_in_their_least_width_or_more() {
        let mut buffer = [0; 8];
        let mut out = Writer::new(&mut buffer);
        ReportingTriggers::PERIO.encode(&mut out).unwrap();
        assert_eq!(out.written(), [1, 0, 0]);
        let mut out = Writer::new(&mut buffer);
        UpFunctionFeatures::MBSN4.encode(&mut out).unwrap();
        assert_eq!(out.written(), [0, 0, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn flags_print_their_names() {
        let both = ReportingTriggers::PERIO | ReportingTriggers(1 << 23);
        assert_eq!(format!("{both:?}"), "ReportingTriggers(PERIO 0x800000)");
    }
}
