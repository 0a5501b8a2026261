//! Memory that requests take: none, once the first of its kind was dealt with.

use super::super::bench::*;
use super::Costs;
use super::shapes::{PEERS, Shape, Subscriber};
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::session::txn::Usage;
use sluice_wire::ids::PdrId;
use sluice_wire::pfcp::group::{Pdi, UpdatePdr};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::{SdfFilter, SourceInterface, UeIpAddress};
use std::env;

/// The life of a session of both families with filters of its own in each direction.
fn life_with_filters(costs: &mut Costs, index: u8) -> u64 {
    let texts =
        [443, 8443].map(|port| format!("permit out 6 from 192.0.2.{index} {port} to assigned"));
    let mut request = default_session(Ipv4Addr::new(10, 45, 0, index), u64::from(index));
    let address = UeIpAddress {
        ipv4: Some(Ipv4Addr::new(10, 45, 0, index)),
        ..UeIpAddress::v6(
            Ipv6Addr::new(0x2001, 0xdb8, 0, index.into(), 0, 0, 0, 1),
            true,
        )
    };
    on_ue(&mut request, address);
    for (pdr, text) in request.create_pdr.iter_mut().zip(&texts) {
        pdr.pdi.sdf_filter.push(SdfFilter::flow(text.as_bytes()));
    }
    let (seid, taken) = costs.establish(&request);
    let mut pdi = Pdi {
        source_interface: SourceInterface::ACCESS,
        ..Default::default()
    };
    pdi.sdf_filter
        .push(SdfFilter::flow(b"permit out 17 from any 53 to assigned"));
    let mut change = SessionModificationRequest::default();
    change.update_pdr.push(UpdatePdr {
        pdr_id: PdrId(1),
        pdi: Some(pdi),
        ..Default::default()
    });
    taken + costs.modify(seid, &change) + costs.delete(seid)
}

#[test]
fn filters_and_prefixes_take_no_memory_either() {
    let mut costs = Costs::new(Bench::new());
    life_with_filters(&mut costs, 1);
    for i in 2..100 {
        let taken = life_with_filters(&mut costs, i);
        assert_eq!(taken, 0, "life {i}");
        costs.bench.now_s += 1;
    }
    assert_eq!(costs.bench.up.in_use(), Default::default());
}

/// A message of a session's life.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Establishment,
    PathSwitch,
    Deletion,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Establishment, Self::PathSwitch, Self::Deletion];

    fn name(self) -> &'static str {
        match self {
            Self::Establishment => "establishment",
            Self::PathSwitch => "path_switch",
            Self::Deletion => "deletion",
        }
    }
}

/// A message of the kind for each of the subscribers. Returns how often memory was taken.
// `scripts/n4-instructions.sh` counts each wave by itself, by this name.
#[inline(never)]
fn wave(costs: &mut Costs, kind: Kind, subscribers: &mut [Subscriber]) -> u64 {
    costs.traffic = match kind {
        Kind::Establishment => Usage::default(),
        Kind::PathSwitch | Kind::Deletion => Usage {
            bytes: 40_000,
            packets: 50,
        },
    };
    let message = |subscriber: &mut Subscriber| match kind {
        Kind::Establishment => {
            let (seid, taken) = costs.establish(&subscriber.establishment());
            subscriber.seid = seid;
            taken
        }
        Kind::PathSwitch => costs.modify(subscriber.seid, &subscriber.path_switch(1)),
        Kind::Deletion => costs.delete(subscriber.seid),
    };
    subscribers.iter_mut().map(message).sum()
}

/// Waves of each kind.
fn lives(costs: &mut Costs, subscribers: &mut [Subscriber]) -> [u64; 3] {
    Kind::ALL.map(|kind| {
        // Entries rest before they are used again.
        costs.bench.now_s += 1;
        wave(costs, kind, subscribers)
    })
}

#[test]
fn a_message_of_a_known_kind_takes_no_memory() {
    let asked = |name, short| env::var(name).map_or(short, |n| n.parse().unwrap());
    let present: u32 = asked("SLUICE_SESSIONS", 400);
    let alive: u32 = asked("SLUICE_LIVES", 50);
    // Parts of the indices have room for what the hash deals them: it is uneven where sessions are few.
    let mut costs = Costs::new(Bench::with_room(1_024 + 2 * (present + alive)));
    // Memory of the test's own.
    costs.bench.net.held.reserve(2 * PEERS as usize);
    for shape in Shape::ALL {
        let first = lives(&mut costs, &mut [Subscriber::new(shape, 0)]);
        // The first transaction of all takes some.
        assert!(first[0] > 0 || shape != Shape::Ipv4, "{first:?}");
    }
    let of_each = present / Shape::ALL.len() as u32;
    for shape in Shape::ALL {
        // Among many some tunnels have the same mark in an index, which takes memory: it is not asked here.
        for number in 0..of_each {
            costs.establish(&Subscriber::new(shape, number).establishment());
        }
    }
    if env::var_os("SLUICE_WAITS").is_some() {
        println!("{present} sessions are present");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
    for shape in Shape::ALL {
        let each = of_each..of_each + alive;
        let mut each: Vec<_> = each.map(|number| Subscriber::new(shape, number)).collect();
        let taken = lives(&mut costs, &mut each);
        assert_eq!(taken, [0; 3], "{shape:?}");
        for kind in Kind::ALL {
            println!("wave {}/{} {alive}", shape.name(), kind.name());
        }
    }
    let there = costs.bench.up.session_count();
    assert_eq!(there, 4 * of_each as usize);
}
