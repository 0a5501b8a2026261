//! What the compiled routes say is what the rule says, read word by word.

use super::*;
use crate::ids::{InterfaceId, NextHopId};
use proptest::prelude::*;

/// The longest prefix of all; the link before the route, the first before the second.
fn by_the_rule(egress: &Egress, to: u32) -> Route {
    let links = egress.connected.iter().filter(|(p, _)| p.contains(to));
    let routes = egress.routes.iter().filter(|(p, _)| p.contains(to));
    // `max_by_key` gives the last of equals.
    let link = links.rev().max_by_key(|(p, _)| p.mask);
    let route = routes.rev().max_by_key(|(p, _)| p.mask);
    match (link, route) {
        (Some((on, interface)), via) if via.is_none_or(|(by, _)| on.mask >= by.mask) => {
            let own = egress.own.iter().find(|(address, _)| *address == to);
            match egress.neighbours.get(&to) {
                Some(hop) => Route::Via(*hop),
                None => own.map_or(Route::Unknown(*interface), |(_, id)| Route::Own(*id)),
            }
        }
        (_, via) => via.map_or(Route::None, |(_, hop)| Route::Via(*hop)),
    }
}

/// Addresses that lie close together, so that prefixes nest and touch.
fn address() -> impl Strategy<Value = u32> {
    let octet = || prop::sample::select(vec![0u8, 1, 2, 127, 128, 254, 255]);
    (
        prop::sample::select(vec![10u8, 11]),
        octet(),
        octet(),
        octet(),
    )
        .prop_map(|(a, b, c, d)| u32::from_be_bytes([a, b, c, d]))
}

fn prefix() -> impl Strategy<Value = Prefix> {
    (address(), 0u8..=32).prop_map(|(a, len)| Prefix::new(a.into(), len).expect("at most 32"))
}

fn egress() -> impl Strategy<Value = Egress> {
    let list = |most| prop::collection::vec((prefix(), (0u16..9).prop_map(NextHopId)), 0..most);
    let own = prop::collection::vec((address(), (0u8..3).prop_map(InterfaceId)), 0..4);
    let neighbours = prop::collection::hash_map(address(), (10u16..20).prop_map(NextHopId), 0..12);
    (list(12), list(4), own, neighbours).prop_map(|(mut routes, links, own, neighbours)| {
        routes.sort_by_key(|(p, _)| core::cmp::Reverse(p.mask));
        Egress {
            connected: links
                .into_iter()
                .map(|(p, id)| (p, InterfaceId(id.0 as u8)))
                .collect(),
            neighbours,
            routes,
            own,
            ..Egress::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_table_says_what_the_rule_says(
        egress in egress(),
        others in prop::collection::vec(any::<u32>(), 0..20),
    ) {
        let lpm = Lpm::of(&egress);
        let edges = egress.routes.iter().map(|(p, _)| *p);
        let edges = edges.chain(egress.connected.iter().map(|(p, _)| *p)).flat_map(|p| {
            let last = p.base | !p.mask;
            [p.base, last, p.base.wrapping_sub(1), last.wrapping_add(1)]
        });
        let known = egress.neighbours.keys().copied().chain(egress.own.iter().map(|(a, _)| *a));
        for to in edges.chain(known).chain(others) {
            prop_assert_eq!(lpm.route(to), by_the_rule(&egress, to), "{:08x}", to);
        }
    }
}

#[test]
fn nothing_leads_anywhere_without_routes() {
    assert_eq!(Lpm::of(&Egress::default()).route(0x0a00_0001), Route::None);
}

#[test]
fn thousands_of_stations_on_the_link_are_found() {
    let link = Prefix::new([10, 0, 0, 0].into(), 8).expect("at most 32");
    let stations = (0..20_000u32).map(|i| (0x0a00_0000 + i * 257, NextHopId(i as u16)));
    let egress = Egress {
        connected: vec![(link, InterfaceId(1))],
        neighbours: stations.clone().collect(),
        ..Egress::default()
    };
    let lpm = Lpm::of(&egress);
    for (address, hop) in stations {
        assert_eq!(lpm.route(address), Route::Via(hop));
        assert_eq!(lpm.route(address + 1), Route::Unknown(InterfaceId(1)));
    }
}
