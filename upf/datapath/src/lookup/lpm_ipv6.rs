//! Longest-prefix match for IPv6: stations and our own addresses by hash, prefixes one after the other.
//!
//! A data network has a handful of links and routes; a table like IPv4's would take more memory than it
//! saves time.

use crate::ids::{InterfaceId, NextHopId};
use crate::topology::{Egress, EgressIpv6, PrefixIpv6, Route};
use std::collections::HashMap;

/// The compiled IPv6 routes of an egress.
#[derive(Clone, Debug, Default)]
pub struct LpmIpv6 {
    /// Whole addresses on links.
    hosts: HashMap<u128, Route>,
    /// The longest first; of two of one length the link comes before the route.
    prefixes: Vec<(PrefixIpv6, Route)>,
}

impl LpmIpv6 {
    /// Of an egress. A station counts where its link is the longest match.
    pub fn of(egress: &Egress) -> Self {
        let EgressIpv6 {
            connected,
            neighbours,
            routes,
            own,
        } = &egress.ipv6;
        let link = |(prefix, id): &(PrefixIpv6, InterfaceId)| (*prefix, Route::Unknown(*id));
        let via = |(prefix, hop): &(PrefixIpv6, NextHopId)| (*prefix, Route::Via(*hop));
        let mut prefixes: Vec<_> = connected
            .iter()
            .map(link)
            .chain(routes.iter().map(via))
            .collect();
        prefixes.sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.len));
        let mut hosts: HashMap<_, _> = neighbours
            .iter()
            .map(|(a, hop)| (*a, Route::Via(*hop)))
            .collect();
        hosts.extend(own.iter().map(|(a, id)| (*a, Route::Own(*id))));
        Self { hosts, prefixes }
    }

    /// The way to `destination`.
    pub fn route(&self, destination: u128) -> Route {
        let mut prefixes = self.prefixes.iter();
        match prefixes.find(|(prefix, _)| prefix.contains(destination)) {
            Some((_, link @ Route::Unknown(_))) => {
                self.hosts.get(&destination).copied().unwrap_or(*link)
            }
            Some((_, route)) => *route,
            None => Route::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_and_a_link_before_a_route() {
        let prefix = |text: &str, len| PrefixIpv6::new(text.parse().unwrap(), len).unwrap();
        let address = |text: &str| text.parse::<core::net::Ipv6Addr>().unwrap().to_bits();
        let ipv6 = EgressIpv6 {
            connected: vec![(prefix("2001:db8:1::", 64), InterfaceId(3))],
            neighbours: [(address("2001:db8:1::9"), NextHopId(5))].into(),
            routes: vec![
                (prefix("::", 0), NextHopId(1)),
                (prefix("2001:db8:1::", 64), NextHopId(2)),
                (prefix("2001:db8:1::8", 125), NextHopId(4)),
            ],
            own: vec![(address("2001:db8:1::1"), InterfaceId(3))],
        };
        let lpm = LpmIpv6::of(&Egress {
            ipv6,
            ..Egress::default()
        });
        let route = |text: &str| lpm.route(address(text));
        assert_eq!(route("2001:db8:2::1"), Route::Via(NextHopId(1)));
        assert_eq!(route("2001:db8:1::1"), Route::Own(InterfaceId(3)));
        assert_eq!(route("2001:db8:1::77"), Route::Unknown(InterfaceId(3)));
        let by_longer_route = Route::Via(NextHopId(4));
        assert_eq!(
            route("2001:db8:1::9"),
            by_longer_route,
            "longer than the link"
        );
        assert_eq!(LpmIpv6::default().route(1), Route::None);
    }
}
