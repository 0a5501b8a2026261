//! What lies behind a UE: framed routes (TS 29.244, 5.16; RFC 2865, 5.22; RFC 3162, 2.5) and delegated prefixes
//! (5.14).

use super::{Draft, Refused, no, no_rule};
use crate::config::{InterfaceName, TwinConfig, contains};
use crate::rules::{Route, Session};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::Pdi;
use sluice_wire::pfcp::value::UeIpAddress;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

impl Draft<'_, '_> {
    /// The routes of a PDI, each told when the session was established.
    pub(super) fn routes(&mut self, pdi: &Pdi<'_>) -> Result<Vec<Route>, Refused> {
        let framed = IeType::FRAMED_ROUTE;
        let framed6 = IeType::FRAMED_IPV6_ROUTE;
        if pdi.framed_routing.is_some_and(|routing| routing != 0) {
            return no_rule(IeType::FRAMED_ROUTING, "nobody speaks a routing protocol");
        }
        let mut all = Vec::new();
        for text in &pdi.framed_route {
            all.push((framed, ipv4_route(&words(text.0))));
        }
        for text in &pdi.framed_ipv6_route {
            all.push((framed6, ipv6_route(&words(text.0))));
        }
        for ue in &pdi.ue_ip_address {
            if let Some(prefix) = delegated(ue) {
                all.push((IeType::UE_IP_ADDRESS, Some(prefix)));
            }
        }
        let mut routes = Vec::new();
        for (ie, route) in all {
            let Some(route) = route.filter(|r| is_unicast(r.0)) else {
                return no_rule(ie, "no prefix behind a UE");
            };
            if !self.rules.behind.contains(&route) {
                if !self.is_new {
                    return no_rule(ie, "a prefix that the establishment did not tell");
                }
                self.rules.behind.push(route);
            }
            routes.push(route);
        }
        Ok(routes)
    }
}

fn words(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8(text.to_vec()).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Digits, as a number.
fn digits(word: &str) -> Option<u32> {
    word.chars()
        .all(|c| c.is_ascii_digit())
        .then(|| word.parse().ok())?
}

fn has_sound_rest<A: std::str::FromStr>(words: &[String]) -> bool {
    let mut rest = words.iter().skip(1);
    let gateway = rest.next();
    gateway.is_none_or(|g| g.parse::<A>().is_ok()) && rest.all(|m| digits(m).is_some())
}

fn ipv4_route(words: &[String]) -> Option<Route> {
    let (address, len) = match words.first()?.split_once('/') {
        Some((address, len)) => (address, Some(digits(len)?)),
        None => (words[0].as_str(), None),
    };
    let address: Ipv4Addr = address.parse().ok()?;
    let class = match address.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        192..224 => 24,
        _ => return None,
    };
    let len = len.unwrap_or(class);
    if !(1..=32).contains(&len) || !has_sound_rest::<Ipv4Addr>(words) {
        return None;
    }
    let base = u32::from(address) >> (32 - len) << (32 - len);
    Some((Ipv4Addr::from(base).into(), len as u8))
}

/// Prefixes of more than 64 bits lead nowhere here.
fn ipv6_route(words: &[String]) -> Option<Route> {
    let (address, len) = words.first()?.split_once('/')?;
    let (address, len) = (address.parse().ok()?, digits(len)?);
    let is_sound = (1..=64).contains(&len) && has_sound_rest::<Ipv6Addr>(words);
    is_sound.then(|| leading(address, len as u8))
}

fn leading(address: Ipv6Addr, len: u8) -> Route {
    let free = 128 - u32::from(len);
    let base = u128::from(address) >> free << free;
    (Ipv6Addr::from(base).into(), len)
}

/// The prefix of which the UE has more than 64 bits' worth.
fn delegated(ue: &UeIpAddress) -> Option<Route> {
    let bits = ue.ipv6_prefix_delegation_bits.unwrap_or(0);
    let len = ue.ipv6_prefix_length.unwrap_or(64 - bits.min(64));
    let address = ue.ipv6?;
    (1..64).contains(&len).then(|| leading(address, len))
}

fn is_unicast(base: IpAddr) -> bool {
    match base {
        IpAddr::V4(base) => {
            let [first, second, ..] = base.octets();
            let is_link = (first, second) == (169, 254);
            !is_link && first != 0 && first != 127 && first < 224
        }
        IpAddr::V6(base) => {
            let upper = u128::from(base) >> 64;
            upper != 0 && upper >> 48 < 0xfe80
        }
    }
}

fn meet(a: Route, b: Route) -> bool {
    contains(a, b.0) || contains(b, a.0)
}

/// Prefixes behind UEs are nobody else's in their data network, and no addresses of pools.
pub fn check_routes(
    config: &TwinConfig,
    network: &InterfaceName,
    rules: &Session,
    others: &[&Session],
) -> Result<(), Refused> {
    for (at, route) in rules.behind.iter().enumerate() {
        if rules.behind[..at].iter().any(|r| meet(*r, *route)) {
            return no_route(*route, "is told twice");
        }
        let mut told = config
            .ue_prefixes
            .iter()
            .filter(|(place, _)| place == network);
        let in_prefixes = told.any(|(_, (base, len))| meet(((*base).into(), *len), *route));
        let mut pools = config.pools.iter().filter(|p| p.place == *network);
        let in_pools = route.0.is_ipv6() && pools.any(|p| meet(p.prefix, *route));
        if in_prefixes || in_pools {
            return no_route(*route, "is for UEs");
        }
        let mut behind = others.iter().flat_map(|o| &o.behind);
        if behind.any(|other| meet(*other, *route)) {
            return no_route(*route, "is behind another UE");
        }
    }
    let mut behind = others.iter().flat_map(|o| &o.behind);
    let is_there = |route: &Route| rules.told.all().any(|address| contains(*route, address));
    match behind.any(is_there) {
        true => no_rule(IeType::UE_IP_ADDRESS, "the UE is behind another one"),
        false => Ok(()),
    }
}

/// Refuses a prefix behind a UE. One of IPv6 may have been told with the UE's address or as a framed route.
fn no_route<T>(route: Route, why: &str) -> Result<T, Refused> {
    let why = format!("{route:?} {why}");
    match route.0 {
        IpAddr::V4(_) => no_rule(IeType::FRAMED_ROUTE, why),
        IpAddr::V6(_) => no(why),
    }
}
