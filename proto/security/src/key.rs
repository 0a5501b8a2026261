//! Keys of 5G security (TS 33.501, 6.2.2), each with a type of its own.

use std::fmt;

use zeroize::Zeroize;

macro_rules! key {
    ($(#[$doc:meta])* $name:ident, $length:literal) => {
        $(#[$doc])*
        ///
        /// The key is wiped when it is dropped, and prints as its name alone.
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name([u8; $length]);

        impl $name {
            /// The key that these octets are.
            pub fn new(octets: [u8; $length]) -> Self {
                Self(octets)
            }

            /// For derivations and messages between network functions.
            pub fn octets(&self) -> &[u8; $length] {
                &self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

key!(
    /// A subscriber's long-term key, in the SIM and the home network.
    K, 16
);
key!(
    /// The operator's variant of Milenage, bound to a subscriber's key (TS 35.206).
    Opc, 16
);
key!(
    /// A subscriber's long-term key of 256 bits, which TUAK takes (TS 35.231, 5.1).
    K256, 32
);
key!(
    /// The operator's variant of TUAK, bound to a subscriber's key (TS 35.231, 6.1).
    Topc, 32
);
key!(
    /// Of the home network, after an authentication (TS 33.501, A.2).
    Kausf, 32
);
key!(
    /// Of the serving network (TS 33.501, A.6).
    Kseaf, 32
);
key!(
    /// Of the AMF (TS 33.501, A.7).
    Kamf, 32
);
key!(
    /// Of the gNB, also called Security Key in NGAP (TS 33.501, A.9).
    Kgnb, 32
);

impl Opc {
    /// Of a subscriber's key and the operator's constant OP.
    pub fn from_op(k: &K, op: [u8; 16]) -> Self {
        use oxirush_security::milenage;
        let opc = milenage::Opc::from_op(&milenage::K::new(&k.0), &milenage::Op::new(&op));
        Self(*opc.as_octets())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Octets of hexadecimal digits.
    pub fn octets(text: &str) -> Vec<u8> {
        let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
        (0..text.len()).step_by(2).map(pair).collect()
    }

    /// A fixed number of octets.
    pub fn array<const N: usize>(text: &str) -> [u8; N] {
        octets(text).try_into().expect("so many octets")
    }

    /// A key of 256 bits.
    pub fn key_256(text: &str) -> [u8; 32] {
        array(text)
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", K::new([1; 16])), "K");
        assert_eq!(format!("{:?}", Kamf::new([1; 32])), "Kamf");
    }
}
