//! Values of a subscriber's fields: what is expected, and how a text becomes one.

use std::net::{Ipv4Addr, Ipv6Addr};

use sluice_ids::{Dnn, Snssai, UpProtection};
use sluice_security::{Method, Sqn};

use super::keys::Kind;

pub(crate) const YES: &str = "yes or no";
pub(crate) const SLICE: &str = "a slice such as 1, or with its differentiator 1-00000a";
pub(crate) const DNN: &str = "a name of letters, digits and hyphens with full stops between labels";
pub(crate) const TYPES: &str = "some of ipv4, ipv6, ipv4v6, with spaces between them";
pub(crate) const RATE: &str =
    "bits per second from 1000 to 4000000000000, or such as 64k, 100M, 2G";
pub(crate) const FIVE_QI: &str = "a 5QI from 1 to 255 that guarantees no bit rate, as the default flow has none (TS 23.501, 5.7.2.7)";
pub(crate) const ARP: &str = "a priority from 1 (highest) to 15";
pub(crate) const IPV4: &str = "an address of one host, such as 10.45.0.7";
pub(crate) const IPV6: &str = "a prefix of 64 bits, such as 2001:db8:0:7::/64";

pub(crate) const PROTECTION: &str = "required, preferred or not_needed";

pub(crate) const ALGORITHM: &str = "milenage or tuak";
pub(crate) const METHOD: &str = "5g_aka or eap_aka_prime";

/// Least and most bits per second: the smallest unit of NAS (TS 24.501, 9.11.4.14), and the most that
/// NGAP takes without its extension (TS 38.413, 9.3.1.4).
const RATES: std::ops::RangeInclusive<u64> = 1_000..=4_000_000_000_000;

/// Standardised 5QIs with a guaranteed bit rate (TS 23.501, table 5.7.4-1).
const GUARANTEED: &[u8] = &[
    1, 2, 3, 4, 65, 66, 67, 71, 72, 73, 74, 75, 76, 82, 83, 84, 85, 86, 87, 88, 89, 90,
];

/// Names of session types, by number less one.
pub(crate) const TYPE_NAMES: [&str; 3] = ["ipv4", "ipv6", "ipv4v6"];

pub(crate) fn yes(text: &str) -> Option<bool> {
    match text {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }
}

pub(crate) fn algorithm(text: &str) -> Option<Kind> {
    [Kind::Milenage, Kind::Tuak]
        .into_iter()
        .find(|kind| kind.name() == text)
}

/// The names of TS 29.503 (6.3.6.3.3), in small letters.
const METHODS: [(&str, Method); 2] = [
    ("5g_aka", Method::FiveGAka),
    ("eap_aka_prime", Method::EapAkaPrime),
];

pub(crate) fn method(text: &str) -> Option<Method> {
    let found = METHODS.iter().find(|(name, _)| *name == text);
    found.map(|(_, method)| *method)
}

pub(crate) fn method_name(method: Method) -> &'static str {
    let found = METHODS.iter().find(|(_, one)| *one == method);
    found.map_or("", |(name, _)| name)
}

pub(crate) fn slice(text: &str) -> Option<Snssai> {
    let (sst, sd) = match text.split_once('-') {
        None => (text, None),
        Some((sst, sd)) => (sst, Some(*crate::hex::read::<3>(sd)?)),
    };
    Some(Snssai::new(whole(sst)?, sd))
}

pub(crate) fn dnn(text: &str) -> Option<Dnn> {
    Dnn::new(text)
}

/// No name twice; in any order.
pub(crate) fn types(text: &str) -> Option<[bool; 3]> {
    let mut types = [false; 3];
    for word in text.split_whitespace() {
        let number = usize::from(type_number(word)?);
        if std::mem::replace(&mut types[number - 1], true) {
            return None;
        }
    }
    types.contains(&true).then_some(types)
}

pub(crate) fn type_number(text: &str) -> Option<u8> {
    let at = TYPE_NAMES.iter().position(|name| *name == text)?;
    Some(at as u8 + 1)
}

pub(crate) fn rate(text: &str) -> Option<u64> {
    let text = text.strip_suffix("bps").unwrap_or(text);
    let (digits, unit) = match text.chars().next_back()? {
        'k' => (&text[..text.len() - 1], 1_000),
        'M' => (&text[..text.len() - 1], 1_000_000),
        'G' => (&text[..text.len() - 1], 1_000_000_000),
        'T' => (&text[..text.len() - 1], 1_000_000_000_000),
        _ => (text, 1),
    };
    let rate = whole::<u64>(digits)?.checked_mul(unit)?;
    RATES.contains(&rate).then_some(rate)
}

pub(crate) fn five_qi(text: &str) -> Option<u8> {
    whole(text).filter(|number| may_be_default(*number))
}

/// Whether a 5QI may be that of a default flow, which has no guaranteed bit rate (TS 23.501, 5.7.2.7).
pub fn may_be_default(five_qi: u8) -> bool {
    five_qi > 0 && !GUARANTEED.contains(&five_qi)
}

pub(crate) fn arp(text: &str) -> Option<u8> {
    whole(text).filter(|number| (1..=15).contains(number))
}

pub(crate) fn protection(text: &str) -> Option<UpProtection> {
    UpProtection::from_name(text)
}

pub(crate) fn sqn(text: &str) -> Option<Sqn> {
    let octets = crate::hex::read::<6>(text)?;
    let value = octets
        .iter()
        .fold(0, |value, octet| value << 8 | u64::from(*octet));
    Some(Sqn::new(value))
}

pub(crate) fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let is_host = |address: &Ipv4Addr| {
        let reserved = address.octets()[0] == 0 || address.octets()[0] >= 240;
        !(reserved || address.is_loopback() || address.is_multicast() || address.is_link_local())
    };
    text.parse().ok().filter(is_host)
}

pub(crate) fn ipv6_prefix(text: &str) -> Option<[u8; 8]> {
    let text = text.strip_suffix("/64").unwrap_or(text);
    let address: Ipv6Addr = text.parse().ok()?;
    let (prefix, interface) = address
        .octets()
        .split_first_chunk::<8>()
        .map(|(p, i)| (*p, i.to_vec()))?;
    let is_local = prefix[0] == 0xfe && prefix[1] & 0xc0 == 0x80;
    let fits = interface == [0; 8] && prefix != [0; 8] && !address.is_multicast() && !is_local;
    fits.then_some(prefix)
}

/// Digits alone: no sign, no space.
fn whole<T: std::str::FromStr>(text: &str) -> Option<T> {
    let is_digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    is_digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units_and_bounds() {
        for (text, bps) in [
            ("1000", Some(1_000)),
            ("64k", Some(64_000)),
            ("64kbps", Some(64_000)),
            ("100M", Some(100_000_000)),
            ("2G", Some(2_000_000_000)),
            ("4T", Some(4_000_000_000_000)),
            ("4000000000001", None),
            ("999", None),
            ("0", None),
            ("-1", None),
            ("1.5G", None),
            ("G", None),
            ("", None),
            ("bps", None),
            ("99999999999999999999", None),
            ("18446744073709551615T", None),
        ] {
            assert_eq!(rate(text), bps, "{text}");
        }
    }

    #[test]
    fn addresses_are_those_of_one_host_or_a_link() {
        for wrong in [
            "0.0.0.0",
            "127.0.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "169.254.0.1",
            "10.0.0.0/8",
            "10.0.0.256",
            "::1",
        ] {
            assert_eq!(ipv4(wrong), None, "{wrong}");
        }
        assert_eq!(ipv4("10.45.0.7"), Some(Ipv4Addr::new(10, 45, 0, 7)));
        let prefix = Some([0x20, 1, 0xd, 0xb8, 0, 0, 0, 7]);
        assert_eq!(ipv6_prefix("2001:db8:0:7::/64"), prefix);
        assert_eq!(ipv6_prefix("2001:db8:0:7::"), prefix);
        for wrong in [
            "::/64",
            "fe80::/64",
            "ff02::/64",
            "2001:db8::1/64",
            "2001:db8::/48",
            "x",
        ] {
            assert_eq!(ipv6_prefix(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn words_are_read_strictly() {
        assert_eq!(slice("1"), Some(Snssai::new(1, None)));
        assert_eq!(
            slice("255-00000A"),
            Some(Snssai::new(255, Some([0, 0, 10])))
        );
        for wrong in ["", "-", "1-", "1-0a", "256", "+1", " 1", "1-00000g"] {
            assert_eq!(slice(wrong), None, "{wrong}");
        }
        assert_eq!(types("ipv6 ipv4"), Some([true, true, false]));
        for wrong in ["", "ipv4 ipv4", "ipv5", "ipv4,ipv6"] {
            assert_eq!(types(wrong), None, "{wrong}");
        }
        assert_eq!(
            (five_qi("9"), five_qi("1"), five_qi("0"), five_qi("256")),
            (Some(9), None, None, None)
        );
        assert_eq!((arp("15"), arp("16"), arp("0")), (Some(15), None, None));
        assert_eq!(sqn("0000000000ff"), Some(Sqn::new(255)));
        assert_eq!(sqn("ff"), None);
    }
}
