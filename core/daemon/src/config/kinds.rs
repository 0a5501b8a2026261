//! Values of `core.yaml` that other files do not have: identities of 5GS, keys, bit rates.

use sluice_ids::{Dnn, Plmn, Snssai, Supi, Tac, UpProtection};
use sluice_program::config::kind::Kind;
use sluice_sctp::Prefix;
use sluice_security::TuakKey;
use sluice_subscribers::draft::may_be_default;
use std::path::PathBuf;

/// MCC and MNC.
pub fn plmn() -> Kind<Plmn> {
    Kind::new("MCC-MNC, such as 001-01 or 310-410", |text| {
        // Without a hyphen, as others write it: the MCC has three digits.
        let (mcc, mnc) = text.split_once('-').or_else(|| text.split_at_checked(3))?;
        Plmn::new(mcc, mnc)
    })
}

/// SST, and SD if there is one.
pub fn slice() -> Kind<Snssai> {
    let expected = "a slice: SST, or SST-SD with six hexadecimal digits, such as 1 or 1-00000a";
    Kind::new(expected, |text| {
        let (sst, sd) = match text.split_once('-') {
            Some((sst, sd)) => (sst, Some(octets::<3>(sd)?)),
            None => (text, None),
        };
        Some(Snssai::new(sst.parse().ok()?, sd))
    })
}

/// Tracking area code; 0 and 0xfffffe are reserved for UEs without one (TS 24.501, 9.11.3.8).
pub fn tac() -> Kind<Tac> {
    Kind::new(
        "a number from 1 to 16777213, or 0x with hexadecimal digits",
        |text| {
            let number = match text.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => text.parse().ok()?,
            };
            let [_, code @ ..] = number.to_be_bytes();
            (1..=0xff_fffd).contains(&number).then_some(Tac(code))
        },
    )
}

/// A tracking area, with its PLMN where it is not of the first.
pub fn tai() -> Kind<(Option<Plmn>, Tac)> {
    let expected = "a tracking area code, or a PLMN and one, such as 001-01-1";
    Kind::new(expected, |text| match text.rsplit_once('-') {
        Some((of, code)) => Some((Some(plmn().parse(of)?), tac().parse(code)?)),
        None => Some((None, tac().parse(text)?)),
    })
}

/// How far a kind of protection of the user plane is wanted (TS 29.571, 5.4.3.4).
pub fn protection() -> Kind<UpProtection> {
    let expected = "required, preferred or not_needed";
    Kind::new(expected, UpProtection::from_name)
}

/// The identity of a subscriber.
pub fn imsi() -> Kind<Supi> {
    Kind::new("an IMSI of 6 to 15 digits", Supi::from_imsi)
}

/// A data network.
pub fn dnn() -> Kind<Dnn> {
    Kind::new("the name of a data network, such as internet", Dnn::new)
}

/// A key of 128 bits.
pub fn key() -> Kind<[u8; 16]> {
    Kind::new("32 hexadecimal digits", octets::<16>).secret()
}

/// A key of 256 bits.
pub fn key_of_32() -> Kind<[u8; 32]> {
    Kind::new("64 hexadecimal digits", octets::<32>).secret()
}

/// A key of 128 or 256 bits.
pub fn tuak_key() -> Kind<TuakKey> {
    let read = |text: &str| match octets::<16>(text) {
        Some(k) => TuakKey::new(&k),
        None => TuakKey::new(&octets::<32>(text)?),
    };
    Kind::new("32 or 64 hexadecimal digits", read).secret()
}

/// 5QI of a default flow.
pub fn default_five_qi() -> Kind<u8> {
    let expected = "a 5QI from 1 to 255 that guarantees no bit rate, as the default flow has none";
    Kind::new(expected, |text| {
        text.parse().ok().filter(|number| may_be_default(*number))
    })
}

/// Octets written as hexadecimal digits.
pub fn octets<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut octets = [0; N];
    for (octet, pair) in octets.iter_mut().zip(text.as_bytes().chunks(2)) {
        *octet = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(octets)
}

/// Addresses of gNBs.
pub fn gnbs() -> Kind<Prefix> {
    let expected = "an IP address or a prefix, such as 192.0.2.0/24";
    Kind::new(expected, |text| text.parse().ok())
}

/// A rate. What NAS can tell ends at 65,535 times 256 Pbit/s; what a link carries ends earlier.
pub fn bit_rate() -> Kind<u64> {
    let expected = "bits per second from 1000 to 1000G, such as 200M or 1G";
    Kind::new(expected, |text| {
        let units = [('k', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
        let unit = units.iter().find(|(unit, _)| text.ends_with(*unit));
        let (digits, times) = match unit {
            Some((_, times)) => (&text[..text.len() - 1], *times),
            None => (text, 1),
        };
        let digits: u64 = digits.parse().ok()?;
        let rate = digits.checked_mul(times)?;
        (1_000..=1_000_000_000_000).contains(&rate).then_some(rate)
    })
}

/// Local time less universal time, in quarters of an hour.
pub fn time_zone() -> Kind<i8> {
    Kind::new(
        "the difference to UTC in quarters of an hour, such as +01:00 or -03:30",
        |text| {
            let (sign, rest) = match text.split_at_checked(1)? {
                ("+", rest) => (1, rest),
                ("-", rest) => (-1, rest),
                _ => return None,
            };
            let (hours, minutes) = rest.split_once(':')?;
            let two = |digits: &str| {
                (digits.len() == 2)
                    .then(|| digits.parse::<i8>().ok())
                    .flatten()
            };
            let (hours, minutes) = (two(hours)?, two(minutes)?);
            let fits = (0..=19).contains(&hours) && [0, 15, 30, 45].contains(&minutes);
            fits.then(|| sign * (hours * 4 + minutes / 15))
        },
    )
}

/// A network's name as UEs show it.
pub fn shown_name() -> Kind<String> {
    Kind::new("1 to 60 characters of ASCII", |text| {
        let fits = (1..=60).contains(&text.len()) && text.chars().all(|c| (' '..='~').contains(&c));
        fits.then(|| text.to_owned())
    })
}

/// What an AMF or a gNB is called (TS 38.413, 9.3.3.21).
pub fn node_name() -> Kind<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || " '()+,-./:=?".contains(c);
    Kind::new(
        "1 to 150 letters, digits and ' ( ) + , - . / : = ?",
        move |text| {
            ((1..=150).contains(&text.len()) && text.chars().all(fits)).then(|| text.to_owned())
        },
    )
}

/// A file of this machine.
pub fn file() -> Kind<PathBuf> {
    Kind::new("an absolute path", |text| {
        let path = PathBuf::from(text);
        path.is_absolute().then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_as_operators_write_them() {
        assert_eq!(plmn().parse("001-01"), Plmn::new("001", "01"));
        assert_eq!(plmn().parse("310-410"), Plmn::new("310", "410"));
        assert_eq!(plmn().parse("00101"), Plmn::new("001", "01"));
        assert_eq!(plmn().parse("310410"), Plmn::new("310", "410"));
        for bad in ["0010", "0010123", "1-01", "001-1", "001-01-1", "abc-01", ""] {
            assert_eq!(plmn().parse(bad), None, "{bad}");
        }
        assert_eq!(slice().parse("1"), Some(Snssai::new(1, None)));
        assert_eq!(
            slice().parse("1-00000a"),
            Some(Snssai::new(1, Some([0, 0, 10])))
        );
        for bad in ["256", "1-", "1-0000a", "1-00000g", "-000001", "x"] {
            assert_eq!(slice().parse(bad), None, "{bad}");
        }
        assert_eq!(tac().parse("0x00000a"), Some(Tac([0, 0, 10])));
        assert_eq!(tac().parse("16777213"), Some(Tac([0xff, 0xff, 0xfd])));
        for bad in ["0", "16777214", "0xfffffe", "0x", "-1", "1.5"] {
            assert_eq!(tac().parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn rates_and_time_zones_have_units() {
        assert_eq!(bit_rate().parse("200M"), Some(200_000_000));
        assert_eq!(bit_rate().parse("1000"), Some(1_000));
        assert_eq!(bit_rate().parse("1000G"), Some(1_000_000_000_000));
        for bad in ["999", "1001G", "1 G", "G", "1.5G", "-1k", "1g", ""] {
            assert_eq!(bit_rate().parse(bad), None, "{bad}");
        }
        assert_eq!(time_zone().parse("+01:00"), Some(4));
        assert_eq!(time_zone().parse("-03:30"), Some(-14));
        assert_eq!(time_zone().parse("+19:45"), Some(79));
        for bad in ["1", "+1:00", "+20:00", "+01:10", "01:00", "+-1:00", "", "ä"] {
            assert_eq!(time_zone().parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn keys_have_all_their_digits() {
        let text = "465b5ce8b199b49faa5f0a2ee238a6bc";
        assert_eq!(key().parse(text).map(|key| key[0]), Some(0x46));
        for bad in [
            "465b5ce8b199b49faa5f0a2ee238a6b",
            "",
            "zz5b5ce8b199b49faa5f0a2ee238a6bc",
            "+65b5ce8b199b49faa5f0a2ee238a6bc",
        ] {
            assert_eq!(key().parse(bad), None, "{bad}");
        }
    }
}
