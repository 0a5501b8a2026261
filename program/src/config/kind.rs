//! Value types of configuration keys, with their descriptions for error messages.

use super::ip::{Address, Prefix};
use super::ipv4::Prefix4;
use super::ipv6::Prefix6;
use core::fmt::Display;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;
use sluice_n4::{Cidr, Fqdn, NodeId};
use sluice_wire::eth::{MacAddr, VlanId};
use std::path::PathBuf;
use tracing_subscriber::filter::Targets;

/// A kind of value: what is expected, and how a text becomes one.
pub struct Kind<T> {
    /// For people: "expected ...".
    pub expected: String,
    read: Box<Read<T>>,
    is_secret: bool,
}

type Read<T> = dyn Fn(&str) -> Option<T>;

impl<T> Kind<T> {
    /// A kind of its own.
    pub fn new(expected: impl Into<String>, read: impl Fn(&str) -> Option<T> + 'static) -> Self {
        Self {
            expected: expected.into(),
            read: Box::new(read),
            is_secret: false,
        }
    }

    /// The same, of which messages tell the length alone.
    #[must_use]
    pub fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }

    /// Whether messages may not show what stands there.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// The value of a text, if it is one.
    pub fn parse(&self, text: &str) -> Option<T> {
        (self.read)(text)
    }
}

/// A whole number from `min` to `max`; `unit` is for people, such as "seconds".
pub fn number<T>(min: T, max: T, unit: &str) -> Kind<T>
where
    T: FromStr + PartialOrd + Display + Copy + 'static,
{
    let expected = match unit {
        "" => format!("a whole number from {min} to {max}"),
        unit => format!("a whole number of {unit} from {min} to {max}"),
    };
    Kind::new(expected, move |text| {
        let value: T = text.parse().ok()?;
        (min <= value && value <= max).then_some(value)
    })
}

/// `auto`, which is `None`, or another kind.
pub fn auto_or<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    Kind::new(
        format!("auto or {}", kind.expected),
        move |text| match text {
            "auto" => Some(None),
            text => kind.parse(text).map(Some),
        },
    )
}

/// One word of several.
pub fn word<T: Copy + 'static>(words: &'static [(&'static str, T)]) -> Kind<T> {
    let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    Kind::new(names.join(" or "), |text| {
        words
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, v)| *v)
    })
}

/// `true` or `false`.
pub fn boolean() -> Kind<bool> {
    word(&[("true", true), ("false", false)])
}

/// A name that messages, commands and metrics can carry as it is.
pub fn name() -> Kind<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    Kind::new(
        "a name of 1 to 63 letters, digits, '.', '_' and '-'",
        move |text| {
            ((1..=63).contains(&text.len()) && text.chars().all(fits)).then(|| text.to_owned())
        },
    )
}

/// A Network Instance: a domain name as a rule (TS 29.244, 8.2.4).
pub fn network_instance() -> Kind<String> {
    Kind::new("a network instance, such as internet", |text| {
        let plain = text.chars().all(|c| c.is_ascii_graphic());
        (plain && Fqdn::from_text(text).is_ok()).then(|| text.to_owned())
    })
}

/// An IPv4 address.
pub fn ipv4() -> Kind<Ipv4Addr> {
    Kind::new("an IPv4 address", |text| text.parse().ok())
}

/// An address of either family.
pub fn ip() -> Kind<IpAddr> {
    Kind::new("an IP address", |text| text.parse().ok())
}

/// An IPv6 address that UEs reach beyond their link.
pub fn dns_ipv6() -> Kind<Ipv6Addr> {
    Kind::new("an IPv6 address that UEs can reach", |text| {
        let reached = |a: &Ipv6Addr| {
            !(a.is_unspecified()
                || a.is_multicast()
                || a.is_loopback()
                || a.is_unicast_link_local())
        };
        text.parse().ok().filter(reached)
    })
}

/// An address with the length of its subnet. Link-local ones are made of the MAC address.
pub fn address() -> Kind<Address> {
    Kind::new(
        "an IP address with its prefix length, such as 192.0.2.1/24 or 2001:db8::1/64",
        |text| text.parse().ok(),
    )
}

/// A prefix of either family without host bits; a bare address stands for itself.
pub fn prefix() -> Kind<Prefix> {
    Kind::new(
        "an IP prefix without host bits, such as 192.0.2.0/24 or 2001:db8::/32",
        |text| text.parse().ok(),
    )
}

/// An IPv6 prefix without host bits; a bare address stands for itself.
pub fn prefix6() -> Kind<Prefix6> {
    Kind::new(
        "an IPv6 prefix without host bits, such as 2001:db8::/32",
        |text| text.parse().ok(),
    )
}

/// An IPv4 prefix without host bits; a bare address stands for itself.
pub fn prefix4() -> Kind<Prefix4> {
    Kind::new(
        "an IPv4 prefix without host bits, such as 192.0.2.0/24",
        |text| text.parse().ok(),
    )
}

/// A prefix of IPv4 or IPv6.
pub fn cidr() -> Kind<Cidr> {
    Kind::new("an IPv4 or IPv6 prefix, such as 192.0.2.0/24", |text| {
        text.parse().ok()
    })
}

/// An IPv4 address with a port; `default_port` if it has none.
pub fn socket_address(default_port: u16) -> Kind<SocketAddr> {
    let expected = format!("IPV4:PORT such as 192.0.2.1:{default_port}, or IPV4 alone");
    Kind::new(expected, move |text| {
        let alone = || Some(SocketAddr::new(text.parse().ok()?, default_port));
        let address: SocketAddr = text.parse().ok().or_else(alone)?;
        // N4 runs over IPv4.
        (address.is_ipv4() && address.port() != 0).then_some(address)
    })
}

/// A MAC address of one station.
pub fn mac() -> Kind<MacAddr> {
    Kind::new(
        "the MAC address of one station, such as 02:00:00:00:00:01",
        |text| {
            let mut octets = [0; 6];
            let mut parts = text.split(':');
            for octet in &mut octets {
                let part = parts.next().filter(|part| part.len() == 2)?;
                *octet = u8::from_str_radix(part, 16).ok()?;
            }
            let mac = MacAddr(octets);
            (parts.next().is_none() && mac.is_unicast()).then_some(mac)
        },
    )
}

/// A VLAN.
pub fn vlan() -> Kind<VlanId> {
    Kind::new("a VLAN number from 1 to 4094", |text| {
        VlanId::new(text.parse().ok()?)
    })
}

/// The name of a PFCP node (TS 29.244, 8.2.38).
pub fn node_id() -> Kind<NodeId> {
    Kind::new(
        "an IP address that others can reach, or a domain name",
        |text| {
            if let Ok(address) = text.parse::<IpAddr>() {
                let usable = !address.is_unspecified() && !address.is_multicast();
                return usable.then_some(NodeId::Ip(address));
            }
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            // Four numbers are a mistyped address, not a domain.
            let named = text.chars().all(fits) && text.chars().any(|c| c.is_ascii_alphabetic());
            named
                .then(|| Fqdn::from_text(text).ok())
                .flatten()
                .map(NodeId::Fqdn)
        },
    )
}

/// A path for a socket. The kernel keeps 108 bytes for it, with a NUL at the end (unix(7)).
pub fn socket_path() -> Kind<PathBuf> {
    Kind::new("an absolute path of at most 107 bytes", |text| {
        let path = PathBuf::from(text);
        (path.is_absolute() && text.len() <= 107).then_some(path)
    })
}

/// Log filter, as `tracing` filters are written.
pub fn log_filter() -> Kind<String> {
    let expected = "error, warn, info, debug or trace, \
                    and levels of single parts such as info,sluice_n4=debug";
    Kind::new(expected, |text| {
        let levels = ["off", "error", "warn", "info", "debug", "trace"];
        let part = |part: &str| {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            levels.contains(&level)
        };
        (text.split(',').all(part) && text.parse::<Targets>().is_ok()).then(|| text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_and_in_range() {
        let kind = number(1u16, 60, "seconds");
        assert_eq!(kind.expected, "a whole number of seconds from 1 to 60");
        assert_eq!(kind.parse("60"), Some(60));
        for bad in ["0", "61", "1.5", "", "-1", "70000", "0x10", "1_0"] {
            assert_eq!(kind.parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn auto_is_no_number() {
        let kind = auto_or(number(1u8, 9, ""));
        assert_eq!(kind.parse("auto"), Some(None));
        assert_eq!(kind.parse("3"), Some(Some(3)));
        assert_eq!(kind.parse("Auto"), None);
    }

    #[test]
    fn a_mac_address_names_one_station() {
        let kind = mac();
        assert_eq!(
            kind.parse("02:00:5E:10:00:ff"),
            Some(MacAddr([2, 0, 0x5e, 0x10, 0, 0xff]))
        );
        for bad in [
            "ff:ff:ff:ff:ff:ff",
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "2:0:0:0:0:1",
        ] {
            assert_eq!(kind.parse(bad), None, "{bad}");
        }
        assert_eq!(kind.parse("02:00:00:00:00:01:02"), None);
        assert_eq!(kind.parse("02:00:00:00:00"), None);
    }

    #[test]
    fn a_node_is_named_by_a_reachable_address_or_a_domain_name() {
        let kind = node_id();
        assert_eq!(
            kind.parse("192.0.2.1"),
            Some(NodeId::v4([192, 0, 2, 1].into()))
        );
        assert!(matches!(
            kind.parse("upf1.example.org"),
            Some(NodeId::Fqdn(_))
        ));
        for bad in [
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "192.0.2.300",
            "a b",
            "",
            "a..b",
        ] {
            assert_eq!(kind.parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_without_port_gets_the_protocols() {
        let kind = socket_address(8805);
        assert_eq!(kind.parse("192.0.2.1"), "192.0.2.1:8805".parse().ok());
        assert_eq!(kind.parse("192.0.2.1:9000"), "192.0.2.1:9000".parse().ok());
        assert_eq!(kind.parse("[2001:db8::1]:8805"), None);
        assert_eq!(kind.parse("192.0.2.1:0"), None);
        assert_eq!(kind.parse("localhost:8805"), None);
    }
}
