//! Shapes of traffic through the path in bursts. `scripts/path-instructions.sh` counts what a packet of each takes, with
//! `SLUICE_SHAPE` and `SLUICE_BURSTS`.

use crate::fast::with_options;
use crate::kit::*;
use crate::nat::Translated;
use crate::usage_grants::Watch;
use crate::{ipv6, several_rules};
use sluice_datapath::nat::pool::Filtering;
use sluice_wire::eth::EtherType;
use std::env;

/// Packets of a burst in each direction.
const BURST: usize = 32;

/// Frames that the path gets of gNB and data network, and what it is for them.
struct Shape {
    kit: Kit,
    up: Vec<u8>,
    down: Vec<u8>,
    /// All packets take the slow path; else none does once the first burst has passed.
    is_slow: bool,
}

impl Shape {
    /// Plain IPv4 packets of a session.
    fn of(kit: Kit, s: Session) -> Self {
        let up = udp_packet(UE, SERVER, (1, 2), &[7]);
        let down = udp_packet(SERVER, UE, (1, 2), &[7]);
        Self {
            kit,
            up: gtpu_frame(GNB, s.teid.get(), 9, &up),
            down: frame(N6_MAC, DN_MAC, EtherType::IPV4, &down),
            is_slow: false,
        }
    }
}

fn ipv4() -> Shape {
    let mut kit = Kit::new();
    let s = kit.default_session();
    Shape::of(kit, s)
}

/// A URR with a threshold of a mebibyte counts both directions.
fn counted() -> Shape {
    let Watch { kit, s, .. } = Watch::armed(Kit::new());
    Shape::of(kit, s)
}

fn ipv6() -> Shape {
    let mut kit = Kit::new();
    let s = ipv6::dual_session(&mut kit);
    let up = ipv6::udp(UE_IPV6, SERVER_IPV6);
    let down = ipv6::udp(SERVER_IPV6, UE_IPV6);
    Shape {
        up: gtpu_frame(GNB, s.teid.get(), 9, &up),
        down: frame(N6_MAC, DN_MAC, EtherType::IPV6, &down),
        ..Shape::of(kit, s)
    }
}

/// Ten rules uplink, of which the last one is that of the packet; one rule downlink.
fn rules() -> Shape {
    let (kit, s) = several_rules::session_whose_last_rule_matches(10);
    Shape::of(kit, s)
}

fn translated() -> Shape {
    let mut all = Translated::new(Filtering::EndpointIndependent, None);
    let sent = udp_packet(UE, SERVER, (4_000, 53), &[7]);
    let (seen, _) = all.up(&sent);
    let port = u16::from_be_bytes([seen[20], seen[21]]);
    let public = std::net::Ipv4Addr::new(seen[12], seen[13], seen[14], seen[15]);
    let answer = udp_packet(SERVER, public, (53, port), &[7]);
    let Translated { kit, session } = all;
    Shape {
        up: gtpu_frame(GNB, session.teid.get(), 9, &sent),
        down: frame(N6_MAC, DN_MAC, EtherType::IPV4, &answer),
        ..Shape::of(kit, session)
    }
}

/// Packets with options take the general way both ways.
fn general() -> Shape {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let up = with_options(&udp_packet(UE, SERVER, (1, 2), &[7]));
    let down = with_options(&udp_packet(SERVER, UE, (1, 2), &[7]));
    Shape {
        up: gtpu_frame(GNB, s.teid.get(), 9, &up),
        down: frame(N6_MAC, DN_MAC, EtherType::IPV4, &down),
        is_slow: true,
        ..Shape::of(kit, s)
    }
}

type Named = (&'static str, fn() -> Shape);

const SHAPES: [Named; 6] = [
    ("ipv4", ipv4),
    ("counted", counted),
    ("ipv6", ipv6),
    ("rules", rules),
    ("translated", translated),
    ("general", general),
];

#[test]
fn every_shape_passes_on_its_path() {
    let bursts = env::var("SLUICE_BURSTS").map_or(3, |bursts| bursts.parse().unwrap());
    let only = env::var("SLUICE_SHAPE").ok();
    let wanted = |(name, _): &&Named| only.as_deref().is_none_or(|only| only == *name);
    let shapes: Vec<&Named> = SHAPES.iter().filter(wanted).collect();
    assert!(!shapes.is_empty(), "no shape is called {only:?}");
    for (name, shape) in shapes {
        let mut shape = shape();
        // What a first packet finds out, others know.
        burst(&mut shape, name);
        let before = slow(&shape.kit);
        for _ in 0..bursts {
            burst(&mut shape, name);
        }
        let all = if shape.is_slow {
            bursts * 2 * BURST as u64
        } else {
            0
        };
        assert_eq!(slow(&shape.kit) - before, all, "{name}");
        shape.kit.close();
    }
}

fn burst(shape: &mut Shape, name: &str) {
    for _ in 0..BURST {
        shape.kit.n3.inject(&shape.up);
        shape.kit.n6.inject(&shape.down);
    }
    shape.kit.settle();
    let left = [&shape.kit.n3, &shape.kit.n6].map(|port| output(port).len());
    assert_eq!(left, [BURST; 2], "{name}");
}

fn slow(kit: &Kit) -> u64 {
    let stats = kit.control.stats().iter();
    stats
        .flat_map(|worker| &worker.slow)
        .map(|count| count.get())
        .sum()
}
