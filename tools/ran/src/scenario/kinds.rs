//! Value types of scenario keys.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use sluice_program::config::kind::{self, Kind};
use sluice_program::units;

/// `500ms`, `10s`, `2m`, `1h`.
pub fn duration() -> Kind<Duration> {
    Kind::new("a time such as 500ms, 10s, 2m or 1h", |text| {
        units::duration(text).ok()
    })
}

/// A time, or `never`.
pub fn duration_or_never() -> Kind<Option<Duration>> {
    let expected = format!("never or {}", duration().expected);
    Kind::new(expected, |text| match text {
        "never" => Some(None),
        _ => units::duration(text).ok().map(Some),
    })
}

/// Rate per second, or `max`: no limit.
pub fn rate() -> Kind<Option<f64>> {
    let expected = "max or so many per second from 0.001 to 100000";
    Kind::new(expected, |text| match text {
        "max" => Some(None),
        _ => {
            let rate: f64 = text.parse().ok()?;
            (0.001..=1e5).contains(&rate).then_some(Some(rate))
        }
    })
}

/// The address that is so many behind the first; none behind the last of its family.
pub fn following(first: IpAddr, by: usize) -> Option<IpAddr> {
    match first {
        IpAddr::V4(first) => {
            let next = first.to_bits().checked_add(u32::try_from(by).ok()?)?;
            Some(IpAddr::V4(Ipv4Addr::from_bits(next)))
        }
        IpAddr::V6(first) => {
            let next = first.to_bits().checked_add(by as u128)?;
            Some(IpAddr::V6(Ipv6Addr::from_bits(next)))
        }
    }
}

/// An address of IPv4 or IPv6.
pub fn ip_address() -> Kind<IpAddr> {
    let expected = "an address such as 198.18.6.2 or 2001:db8:6::2";
    Kind::new(expected, |text| text.parse().ok())
}

/// A prefix of 64 bits.
pub fn prefix64() -> Kind<Ipv6Addr> {
    let expected = "an IPv6 prefix of 64 bits such as 2001:db8:60::/64";
    Kind::new(expected, |text| {
        let prefix: Ipv6Addr = text.strip_suffix("/64")?.parse().ok()?;
        (prefix.to_bits() as u64 == 0).then_some(prefix)
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduType {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    Ipv4v6,
}

/// `ipv4`, `ipv6` or `ipv4v6`.
pub fn pdu_type() -> Kind<PduType> {
    kind::word(&[
        ("ipv4", PduType::Ipv4),
        ("ipv6", PduType::Ipv6),
        ("ipv4v6", PduType::Ipv4v6),
    ])
}

/// A number that is not negative.
fn amount(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Bound of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    Exactly(f64),
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
}

impl Bound {
    /// Whether a figure is as it must be.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Exactly(wanted) => value == wanted,
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Between(least, most) => least <= value && value <= most,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(value) => write!(f, "{value}"),
            Self::AtLeast(value) => write!(f, "at least {value}"),
            Self::AtMost(value) => write!(f, "at most {value}"),
            Self::Between(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

/// `12`, `at least 1`, `at most 5`, `3 to 7`.
pub fn bound() -> Kind<Bound> {
    let expected = "a number, at least N, at most N, or N to M";
    Kind::new(expected, |text| {
        if let Some(least) = text.strip_prefix("at least ") {
            return amount(least).map(Bound::AtLeast);
        }
        if let Some(most) = text.strip_prefix("at most ") {
            return amount(most).map(Bound::AtMost);
        }
        if let Some((least, most)) = text.split_once(" to ") {
            let (least, most) = amount(least).zip(amount(most))?;
            return (least <= most).then_some(Bound::Between(least, most));
        }
        amount(text).map(Bound::Exactly)
    })
}

/// In which network namespace something is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NetnsPlace {
    /// That in which the command was started.
    Current,
    /// One that exists, by its name.
    Named(String),
    /// One that the scenario makes for a group of UEs.
    Group,
    /// One that the scenario makes for each UE.
    Each,
}

/// `current` or the name of a namespace that exists.
pub fn namespace() -> Kind<NetnsPlace> {
    let expected = "current or the name of a network namespace (ip netns list)";
    Kind::new(expected, |text| match text {
        "current" => Some(NetnsPlace::Current),
        _ => file_name(text).map(NetnsPlace::Named),
    })
}

/// As [`namespace`], or one to be made.
pub fn ue_namespace() -> Kind<NetnsPlace> {
    let expected = "group (one is made for all of them), each (one for each UE), current, \
                    or the name of a network namespace";
    Kind::new(expected, |text| match text {
        "group" => Some(NetnsPlace::Group),
        "each" => Some(NetnsPlace::Each),
        "current" => Some(NetnsPlace::Current),
        _ => file_name(text).map(NetnsPlace::Named),
    })
}

fn file_name(text: &str) -> Option<String> {
    let legal = |c: char| c.is_ascii_graphic() && c != '/';
    let good = (1..=255).contains(&text.len()) && text.chars().all(legal);
    (good && !matches!(text, "." | "..")).then(|| text.to_owned())
}

/// A command line for `sh -c`.
pub fn command() -> Kind<String> {
    Kind::new("a command line for the shell", |text| {
        let good = !text.trim().is_empty() && !text.contains('\0');
        good.then(|| text.to_owned())
    })
}
