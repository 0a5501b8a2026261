//! Longest-prefix match: the route of a Network Instance to an IPv4 destination, in three look-ups at the most.
//!
//! Prefixes are painted over a table of the upper 16 bits and, where they are longer, over blocks of 8 bits
//! more, the shorter ones first. The table is made anew when a route or a station on a link comes or
//! goes.
//!
//! A data network has a handful of links and routes; a table like IPv4's would take more memory than it
//! saves time.

use crate::ids::{InterfaceId, NextHopId};
use crate::topology::{Egress, EgressIpv6, Prefix, PrefixIpv6, Route};
use std::collections::HashMap;

/// An entry is a route, or with this bit the number of a block.
const BLOCK: u32 = 1 << 31;
/// Kinds of routes, above their numbers; 0 is none.
const VIA: u32 = 1 << 16;
const OWN: u32 = 2 << 16;
const UNKNOWN: u32 = 3 << 16;
const KIND: u32 = !0 << 16;
const FIRST: usize = 1 << 16;
const NEXT: usize = 1 << 8;

/// The compiled routes of an egress.
#[derive(Clone, Debug)]
pub struct Lpm {
    first: Box<[u32; FIRST]>,
    blocks: Vec<[u32; NEXT]>,
}

/// What an entry that is no block says.
#[inline(always)]
fn route_of(entry: u32) -> Route {
    match entry & KIND {
        VIA => Route::Via(NextHopId(entry as u16)),
        OWN => Route::Own(InterfaceId(entry as u8)),
        UNKNOWN => Route::Unknown(InterfaceId(entry as u8)),
        _ => Route::None,
    }
}

fn entry_of(route: Route) -> u32 {
    match route {
        Route::Via(hop) => VIA | u32::from(hop.0),
        Route::Own(interface) => OWN | u32::from(interface.0),
        Route::Unknown(interface) => UNKNOWN | u32::from(interface.0),
        Route::None => 0,
    }
}

impl Lpm {
    /// Of an egress. Of two prefixes of one length the link comes before the route, and what was
    /// given first before what was given later.
    pub fn of(egress: &Egress) -> Self {
        let first = vec![0; FIRST].into_boxed_slice().try_into();
        let mut this = Self {
            first: first.unwrap_or_else(|_| unreachable!("it has that length")),
            blocks: Vec::new(),
        };
        for len in 0..=32 {
            let mask = Prefix::new([0; 4].into(), len).map_or(0, |p| p.mask);
            let routes = egress.routes.iter().filter(|(p, _)| p.mask == mask);
            for (prefix, hop) in routes.rev() {
                this.paint(*prefix, Route::Via(*hop));
            }
            let links = egress.connected.iter().filter(|(p, _)| p.mask == mask);
            for (prefix, interface) in links.rev() {
                this.link(*prefix, *interface, egress);
            }
        }
        this
    }

    /// The way to `destination` (host order).
    #[inline(always)]
    pub fn route(&self, destination: u32) -> Route {
        let entry = self.first[(destination >> 16) as usize];
        match entry & BLOCK {
            0 => route_of(entry),
            _ => self.behind(entry, destination),
        }
    }

    #[inline(never)]
    fn behind(&self, mut entry: u32, destination: u32) -> Route {
        for shift in [8, 0] {
            if entry & BLOCK == 0 {
                break;
            }
            let block = self.blocks.get((entry & !BLOCK) as usize);
            entry = block.map_or(0, |block| block[(destination >> shift) as usize % NEXT]);
        }
        route_of(entry)
    }

    /// A link, with its stations and our own addresses on it.
    fn link(&mut self, prefix: Prefix, interface: InterfaceId, egress: &Egress) {
        self.paint(prefix, Route::Unknown(interface));
        let host = |address| Prefix {
            base: address,
            mask: u32::MAX,
        };
        let on_link = |address: &u32| prefix.contains(*address);
        for (address, interface) in egress.own.iter().rev().filter(|(a, _)| on_link(a)) {
            self.paint(host(*address), Route::Own(*interface));
        }
        for (address, hop) in egress.neighbours.iter().filter(|(a, _)| on_link(a)) {
            self.paint(host(*address), Route::Via(*hop));
        }
    }

    fn paint(&mut self, prefix: Prefix, route: Route) {
        let entry = entry_of(route);
        let last = prefix.base | !prefix.mask;
        let of = |address: u32, shift: u32| (address >> shift) as usize;
        if prefix.mask & 0xffff == 0 {
            let range = of(prefix.base, 16)..=of(last, 16);
            return self.first[range].fill(entry);
        }
        let inner = self.first[of(prefix.base, 16)];
        let block = self.block(inner);
        self.first[of(prefix.base, 16)] = block | BLOCK;
        let (from, to) = (of(prefix.base, 8) % NEXT, of(last, 8) % NEXT);
        if prefix.mask & 0xff == 0 {
            return self.blocks[block as usize][from..=to].fill(entry);
        }
        let inner = self.blocks[block as usize][from];
        let last_block = self.block(inner);
        self.blocks[block as usize][from] = last_block | BLOCK;
        let range = of(prefix.base, 0) % NEXT..=of(last, 0) % NEXT;
        self.blocks[last_block as usize][range].fill(entry);
    }

    /// The block behind an entry: its own, or a new one that says the same.
    fn block(&mut self, entry: u32) -> u32 {
        if entry & BLOCK != 0 {
            return entry & !BLOCK;
        }
        self.blocks.push([entry; NEXT]);
        (self.blocks.len() - 1) as u32
    }
}

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
mod ipv6_tests {
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

#[cfg(test)]
mod tests;
