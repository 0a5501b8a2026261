//! 5GS mobile identity (TS 24.501, 9.11.3.4).

use sluice_ids::{AmfId, Guami, Guti, Imeisv, Plmn, STmsi, Suci, Tmsi};

/// How a UE calls itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MobileIdentity {
    /// No identity.
    None,
    /// Concealed for the home network.
    Suci(Suci),
    /// Given by an AMF.
    Guti(Guti),
    /// The end of it.
    STmsi(STmsi),
    /// The device.
    Imeisv(Imeisv),
    /// One that is not known here: a network specific identifier, an IMEI, a MAC address.
    Other,
}

/// Types of identity.
const SUCI: u8 = 1;
const GUTI: u8 = 2;
const S_TMSI: u8 = 4;
const IMEISV: u8 = 5;

impl MobileIdentity {
    /// Of the value of the IE; what cannot be read is [`MobileIdentity::Other`].
    pub(crate) fn read(value: &[u8]) -> Self {
        let Some((&first, rest)) = value.split_first() else {
            return Self::Other;
        };
        match (first & 7, rest) {
            (0, _) => Self::None,
            (SUCI, rest) => suci(first, rest).map_or(Self::Other, Self::Suci),
            (GUTI, &[a, b, c, region, set, pointer, t0, t1, t2, t3]) => {
                let Some(plmn) = Plmn::from_octets([a, b, c]) else {
                    return Self::Other;
                };
                let guami = Guami {
                    plmn,
                    amf: AmfId::from_octets([region, set, pointer]),
                };
                Self::Guti(Guti {
                    guami,
                    tmsi: Tmsi([t0, t1, t2, t3]),
                })
            }
            (S_TMSI, &[set, pointer, t0, t1, t2, t3]) => {
                let tmsi = Tmsi([t0, t1, t2, t3]);
                Self::STmsi(STmsi {
                    set_and_pointer: [set, pointer],
                    tmsi,
                })
            }
            (IMEISV, rest) => imeisv(first, rest).map_or(Self::Other, Self::Imeisv),
            _ => Self::Other,
        }
    }

    /// The value of the IE.
    pub(crate) fn octets(&self) -> Vec<u8> {
        match self {
            Self::None | Self::Other => vec![0],
            Self::Suci(suci) => {
                let mut octets = vec![SUCI];
                octets.extend_from_slice(&suci.home.octets());
                octets.extend_from_slice(&suci.routing);
                octets.extend_from_slice(&[suci.scheme & 15, suci.key_id]);
                octets.extend_from_slice(suci.output());
                octets
            }
            Self::Guti(guti) => {
                let mut octets = vec![0xf0 | GUTI];
                octets.extend_from_slice(&guti.guami.plmn.octets());
                octets.extend_from_slice(&guti.guami.amf.octets());
                octets.extend_from_slice(&guti.tmsi.0);
                octets
            }
            Self::STmsi(s_tmsi) => {
                let mut octets = vec![0xf0 | S_TMSI];
                octets.extend_from_slice(&s_tmsi.set_and_pointer);
                octets.extend_from_slice(&s_tmsi.tmsi.0);
                octets
            }
            Self::Imeisv(imeisv) => {
                let text = imeisv.to_string();
                let digits: Vec<u8> = text.bytes().map(|c| c - b'0').chain([15]).collect();
                let mut octets = vec![digits[0] << 4 | IMEISV];
                octets.extend(digits[1..].chunks(2).map(|pair| pair[1] << 4 | pair[0]));
                octets
            }
        }
    }
}

fn suci(first: u8, rest: &[u8]) -> Option<Suci> {
    // SUPI format: 0 is an IMSI.
    let is_imsi = first >> 4 & 7 == 0;
    let &[a, b, c, r0, r1, scheme, key_id, ref output @ ..] = rest else {
        return None;
    };
    let home = Plmn::from_octets([a, b, c]).filter(|_| is_imsi)?;
    let mut suci = Suci::new(home, scheme & 15, key_id, output)?;
    suci.routing = [r0, r1];
    Some(suci)
}

fn imeisv(first: u8, rest: &[u8]) -> Option<Imeisv> {
    let halves = rest.iter().flat_map(|octet| [octet & 15, octet >> 4]);
    let digits: Vec<u8> = [first >> 4].into_iter().chain(halves).collect();
    // Sixteen digits, and a half octet to fill up.
    let (_, digits) = digits.split_last()?;
    let digit = |digit: &u8| char::from_digit(u32::from(*digit), 10);
    Imeisv::from_digits(&digits.iter().map(digit).collect::<Option<String>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(identity: MobileIdentity) {
        assert_eq!(MobileIdentity::read(&identity.octets()), identity);
    }

    #[test]
    fn identities_are_read_as_they_are_written() {
        let plmn = Plmn::new("208", "93").unwrap();
        let guami = Guami {
            plmn,
            amf: AmfId::new(0xca, 0x3fe, 0).unwrap(),
        };
        let guti = Guti {
            guami,
            tmsi: Tmsi([0x11, 0x22, 0x33, 0x44]),
        };
        let octets = [
            0xf2, 0x02, 0xf8, 0x39, 0xca, 0xff, 0x80, 0x11, 0x22, 0x33, 0x44,
        ];
        assert_eq!(MobileIdentity::Guti(guti).octets(), octets);
        read_back(MobileIdentity::Guti(guti));
        read_back(MobileIdentity::STmsi(guti.s_tmsi()));
        read_back(MobileIdentity::None);
        read_back(MobileIdentity::Imeisv(
            Imeisv::from_digits("1234567890123456").unwrap(),
        ));
        let suci = Suci::new(plmn, 0, 0, &[0, 0, 0, 0x10, 0x02]).unwrap();
        let octets = [1, 0x02, 0xf8, 0x39, 0xf0, 0xff, 0, 0, 0, 0, 0, 0x10, 0x02];
        assert_eq!(MobileIdentity::Suci(suci).octets(), octets);
        read_back(MobileIdentity::Suci(suci));
    }

    #[test]
    fn what_cannot_be_read_is_another_identity() {
        for octets in [
            &[][..],
            &[0xf2, 1, 2],
            // A digit of the PLMN is none.
            &[0xf2, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            // A network specific identifier.
            &[0x11, b'a', b'@', b'b'],
            // Without scheme output.
            &[1, 0x02, 0xf8, 0x39, 0xf0, 0xff, 0, 0],
            &[0x15, 0x21],
        ] {
            assert_eq!(
                MobileIdentity::read(octets),
                MobileIdentity::Other,
                "{octets:02x?}"
            );
        }
    }
}
