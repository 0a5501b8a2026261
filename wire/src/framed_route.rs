//! Framed routes (TS 29.244, 8.2.109 and 8.2.111): text as RADIUS has it in Framed-Route (RFC 2865, 5.22) and
//! Framed-IPv6-Route (RFC 3162, 2.5): a prefix, then perhaps a gateway and metrics.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// The prefix of a Framed-Route and its length, 1 to 32. Without a length it is that of the address's class
/// (RFC 2865, 5.22). Bits behind the length are cleared.
pub fn ipv4(text: &[u8]) -> Option<(Ipv4Addr, u8)> {
    let (address, len) = prefix::<Ipv4Addr>(text)?;
    let classful = match address.octets()[0] {
        0..=127 => 8,
        128..=191 => 16,
        192..=223 => 24,
        _ => return None,
    };
    let len = len.unwrap_or(classful);
    let mask = u32::MAX.checked_shl(32_u32.checked_sub(len.into())?)?;
    Some((Ipv4Addr::from(u32::from(address) & mask), len))
}

/// The same of a Framed-IPv6-Route; its length, 1 to 128, must be there.
pub fn ipv6(text: &[u8]) -> Option<(Ipv6Addr, u8)> {
    let (address, len) = prefix::<Ipv6Addr>(text)?;
    let len = len?;
    let mask = u128::MAX.checked_shl(128_u32.checked_sub(len.into())?)?;
    Some((Ipv6Addr::from(u128::from(address) & mask), len))
}

/// The address and the length of the first word, if the others are a gateway of the family and metrics.
fn prefix<A: FromStr + Into<IpAddr> + Copy>(text: &[u8]) -> Option<(A, Option<u8>)> {
    let text = core::str::from_utf8(text).ok()?;
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?;
    let (address, len) = match first.split_once('/') {
        Some((address, len)) => (address, Some(number(len)?)),
        None => (first, None),
    };
    let gateway = words.next();
    let is_sound = gateway.is_none_or(|word| word.parse::<A>().is_ok())
        && words.all(|metric| number::<u32>(metric).is_some());
    Some((address.parse().ok()?, len)).filter(|_| is_sound)
}

/// Digits alone: the standard parser takes a sign as well.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_stands_alone_or_before_gateway_and_metrics() {
        let of = |text: &str| ipv4(text.as_bytes()).map(|(a, len)| format!("{a}/{len}"));
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(of("192.168.1.0/24 192.168.1.1 1"), is("192.168.1.0/24"));
        assert_eq!(of("192.168.1.0/24 0.0.0.0 1 2 -1"), None);
        assert_eq!(of("192.168.1.9/24"), is("192.168.1.0/24"));
        assert_eq!(of("10.0.0.1/32 0.0.0.0"), is("10.0.0.1/32"));
        assert_eq!(of("10.1.2.3"), is("10.0.0.0/8"));
        assert_eq!(of("172.16.9.0 172.16.9.1 1 2 3"), is("172.16.0.0/16"));
        assert_eq!(of("198.51.100.7"), is("198.51.100.0/24"));
        for wrong in [
            "",
            "10.0.0.0/0",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/8 ::1",
            "224.0.0.0/4",
            "10.0.0.0/8 10.0.0.1 x",
            "net",
            "10.0.0.0/",
            "::/8",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(ipv4(b"10.0.0.0/8\xff"), None);
    }

    #[test]
    fn an_ipv6_prefix_needs_its_length() {
        let of = |text: &str| ipv6(text.as_bytes()).map(|(a, len)| format!("{a}/{len}"));
        let is = |text: &str| Some(text.to_owned());
        let of_rfc_3162 = "2000:0:0:106::/64 2000::106:a00:20ff:fe99:a998 1";
        assert_eq!(of(of_rfc_3162), is("2000:0:0:106::/64"));
        assert_eq!(of("2001:db8:7:8::1/56"), is("2001:db8:7::/56"));
        assert_eq!(of("2001:db8::1/128"), is("2001:db8::1/128"));
        for wrong in [
            "2001:db8::",
            "2001:db8::/0",
            "2001:db8::/129",
            "10.0.0.0/8",
            "::/64 10.0.0.1",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
