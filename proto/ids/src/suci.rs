//! Concealed identity, SUCI (TS 23.003, 2.2B; TS 24.501, 9.11.3.4), of the SUPI type IMSI.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Plmn;

/// Most octets of a scheme output: a compressed point (33), an MSIN (5) and a MAC (8), and room for
/// longer ones of networks that pad.
pub const SCHEME_OUTPUT: usize = 64;

/// A subscriber's identity, concealed for the home network, or not concealed (scheme 0).
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Suci {
    /// Home network.
    pub home: Plmn,
    /// Routing Indicator, one to four digits as on the wire.
    pub routing: [u8; 2],
    /// Protection scheme: 0 null, 1 profile A, 2 profile B.
    pub scheme: u8,
    /// Which key of the home network.
    pub key_id: u8,
    length: u8,
    output: [u8; SCHEME_OUTPUT],
}

/// The Routing Indicator 0 as on the wire.
pub const ROUTING_ZERO: [u8; 2] = [0xf0, 0xff];

impl Suci {
    /// With the output of a scheme; none if it is empty or too long.
    pub fn new(home: Plmn, scheme: u8, key_id: u8, output: &[u8]) -> Option<Self> {
        if output.is_empty() || output.len() > SCHEME_OUTPUT {
            return None;
        }
        let mut octets = [0; SCHEME_OUTPUT];
        octets[..output.len()].copy_from_slice(output);
        let length = output.len() as u8;
        Some(Self {
            home,
            routing: ROUTING_ZERO,
            scheme,
            key_id,
            length,
            output: octets,
        })
    }

    /// Output of the scheme.
    pub fn output(&self) -> &[u8] {
        &self.output[..usize::from(self.length).min(SCHEME_OUTPUT)]
    }

    /// The MSIN that it shows; none if it is concealed, or is of no digits.
    pub fn msin(&self) -> Option<String> {
        msin_digits(self.output()).filter(|_| self.scheme == 0)
    }
}

impl fmt::Display for Suci {
    /// As TS 23.003, 2.2B and TS 29.571 have it: `suci-0-001-01-0-0-0-0000000009` with the digits of the MSIN where it is
    /// not concealed, else with the output in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "suci-0-{}-", self.home)?;
        match routing_digits(self.routing) {
            Some(digits) => f.write_str(&digits)?,
            None => write!(f, "{:02x}{:02x}", self.routing[0], self.routing[1])?,
        }
        write!(f, "-{}-{}-", self.scheme, self.key_id)?;
        match self.msin() {
            Some(msin) => f.write_str(&msin),
            None => self
                .output()
                .iter()
                .try_for_each(|octet| write!(f, "{octet:02x}")),
        }
    }
}

/// The digits of a Routing Indicator, one to four, ones behind them; none if it is otherwise.
fn routing_digits([a, b]: [u8; 2]) -> Option<String> {
    let halves = [a & 15, a >> 4, b & 15, b >> 4];
    let length = halves.iter().take_while(|half| **half < 10).count();
    let (digits, rest) = halves.split_at(length);
    let is_sound = !digits.is_empty() && rest.iter().all(|half| *half == 15);
    is_sound.then(|| digits.iter().map(|d| char::from(b'0' + d)).collect())
}

impl fmt::Debug for Suci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The digits of an MSIN, two to an octet, the first in the low half; an odd one is filled up with
/// ones.
pub fn msin_octets(msin: &str) -> Vec<u8> {
    let digits: Vec<u8> = msin.bytes().map(|c| c.wrapping_sub(b'0') & 15).collect();
    let pair = |pair: &[u8]| pair.get(1).unwrap_or(&0xf) << 4 | pair[0];
    digits.chunks(2).map(pair).collect()
}

/// The digits that an MSIN's octets are; none if there are others than digits.
pub fn msin_digits(octets: &[u8]) -> Option<String> {
    let halves: Vec<u8> = octets
        .iter()
        .flat_map(|octet| [octet & 15, octet >> 4])
        .collect();
    let digits = match halves.as_slice() {
        [digits @ .., 0xf] => digits,
        digits => digits,
    };
    let are_digits = !digits.is_empty() && digits.iter().all(|digit| *digit < 10);
    are_digits.then(|| {
        digits
            .iter()
            .map(|digit| char::from(b'0' + digit))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_msin_is_written_with_swapped_digits() {
        assert_eq!(msin_octets("0000000120"), [0, 0, 0, 0x10, 0x02]);
        assert_eq!(msin_octets("123"), [0x21, 0xf3]);
        assert_eq!(msin_digits(&[0x21, 0xf3]).as_deref(), Some("123"));
        assert_eq!(msin_digits(&[0x21, 0x3f]), None);
        assert_eq!(msin_digits(&[]), None);
    }

    #[test]
    fn outputs_are_bounded() {
        let home = Plmn::new("001", "01").unwrap();
        assert!(Suci::new(home, 1, 1, &[]).is_none());
        assert!(Suci::new(home, 1, 1, &[0; SCHEME_OUTPUT + 1]).is_none());
    }

    /// TS 23.003, 2.2B; TS 29.571, 5.3.2.
    #[test]
    fn a_suci_is_shown_with_its_digits_in_order_and_concealed_as_hexadecimal() {
        let home = Plmn::new("001", "01").unwrap();
        let shown = |scheme, key_id, output: &[u8], routing| {
            let mut suci = Suci::new(home, scheme, key_id, output).unwrap();
            suci.routing = routing;
            suci.to_string()
        };
        let msin = msin_octets("0000000009");
        assert_eq!(
            shown(0, 0, &msin, ROUTING_ZERO),
            "suci-0-001-01-0-0-0-0000000009"
        );
        // UERANSIM fills the Routing Indicator up with zeros.
        assert_eq!(
            shown(0, 0, &msin, [0, 0]),
            "suci-0-001-01-0000-0-0-0000000009"
        );
        // An odd number of digits, and of the Routing Indicator.
        assert_eq!(
            shown(0, 0, &[0x21, 0xf3], [0x21, 0xf3]),
            "suci-0-001-01-123-0-0-123"
        );
        let concealed = shown(1, 27, &[0x21, 0xf3], [0x21, 0x43]);
        assert_eq!(concealed, "suci-0-001-01-1234-1-27-21f3");
        // Neither is of digits.
        let faulty = shown(0, 0, &[0x2a, 0xf3], [0xff, 0xff]);
        assert_eq!(faulty, "suci-0-001-01-ffff-0-0-2af3");
    }
}
