//! The surroundings of all cases: two ports, four links, and the stations there.
//!
//! | link | port, VLAN | is | addresses |
//! |------|------------|----|-----------|
//! | 0 | 0 | N3 | 192.0.2.1/24, gNBs 192.0.2.50 and .51, more behind router .254; 2001:db8:3::1/64, gNB ::50, more behind fe80::fe |
//! | 1 | 1 | N6 `internet` | 198.51.100.1/24, server .80, default route to .254 |
//! | 2 | 1, VLAN 100 | N9 towards the anchor | 192.0.3.1/24, UPF 192.0.3.60 |
//! | 3 | 1, VLAN 200 | N6 `ims` | 100.64.0.1/24, server .80, no route beyond; MTU 1400 |
//!
//! Links 1 and 3 have IPv6 as well: 2001:db8:6::1/64 with a default route to fe80::fe, and
//! 2001:db8:64::1/64 without one.

use sluice_twin::{
    AddressPool, InterfaceName, Link, Nat, PredefinedRule, Shaping, Side, TunnelEnd, TwinConfig,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How long packets of idle UEs are held: no whole seconds, so that none is given up in the instant in which a URR's
/// time is over. Which of both is told first is open then.
const HOLD_NS: u64 = 3_700_000_000;
/// After this nothing is held any more.
pub const HOLD_OVER_NS: u64 = HOLD_NS + 1_000_000_000;

/// What cases are made of beside IPv4 and PDRs that tell flows by QFI alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// Sessions with a prefix, and IPv6 packets.
    pub ipv6: bool,
    /// SDF filters that single out flows, and those for IPv6.
    pub filters: bool,
    /// UE addresses that the UP function gives.
    pub given: bool,
    /// URRs with thresholds, quotas, periods, and reports of the first packet.
    pub usage: bool,
    /// The data network `internet` is translated.
    pub nat: bool,
    /// Framed routes and delegated prefixes.
    pub behind: bool,
    /// Rules that PDRs activate by name.
    pub predefined: bool,
    /// Applications, and messages that tell their flows.
    pub applications: bool,
}

impl Features {
    /// What the twin interprets.
    pub const ALL: Self = Self {
        ipv6: true,
        filters: true,
        given: true,
        usage: true,
        nat: false,
        behind: true,
        predefined: true,
        applications: true,
    };
}

/// What the session machine and the packet path do by now: this is the place to switch a part on.
pub const SERVED: Features = Features {
    ipv6: true,
    filters: true,
    given: true,
    usage: true,
    behind: true,
    predefined: true,
    applications: true,
    nat: false,
};

/// The same with translation, which takes cases of its own.
pub const TRANSLATED: Features = Features {
    nat: true,
    ..SERVED
};

pub const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const N9: Ipv4Addr = Ipv4Addr::new(192, 0, 3, 1);
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
pub const OTHER_GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 51);
pub const FAR_GNB: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
pub const N3_6: Ipv6Addr = ipv6(3, 1);
pub const GNB6: Ipv6Addr = ipv6(3, 0x50);
pub const FAR_GNB6: Ipv6Addr = ipv6(0x33, 9);
pub const ANCHOR: Ipv4Addr = Ipv4Addr::new(192, 0, 3, 60);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 80);
pub const SILENT: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 99);
/// Ours, on the link to `internet`.
pub const OUR_N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(8, 8, 4, 4);
pub const IMS_SERVER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 80);

pub const SERVER6: Ipv6Addr = ipv6(6, 0x80);
pub const SILENT6: Ipv6Addr = ipv6(6, 0x99);
pub const OUR_N6_6: Ipv6Addr = ipv6(6, 1);
pub const ELSEWHERE6: Ipv6Addr = ipv6(0xffff, 9);
pub const IMS_SERVER6: Ipv6Addr = ipv6(0x64, 0x80);
/// The router to [`ELSEWHERE6`], by its link-local address.
pub const ROUTER6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xfe);
/// Ours on the link to `internet`, of its MAC address 02:00:00:00:64:01 (RFC 4291, appendix A).
pub const OUR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 0x6401);

const fn ipv6(net: u16, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, net, 0, 0, 0, 0, host)
}

/// Where the CP function's tunnels end.
pub const CP_N4U: Ipv4Addr = Ipv4Addr::new(192, 0, 4, 2);

pub const ACCESS: &str = "access.test";
pub const N9_NAME: &str = "n9.test";
pub const INTERNET: &str = "internet";
pub const IMS: &str = "ims.lab";

pub const INTERNET_LINK: usize = 1;
pub const IMS_LINK: usize = 3;

/// Pools of UE addresses by network instance; addresses of other UEs lie outside.
pub const POOLS: [(&str, Ipv4Addr, u8); 2] = [
    (INTERNET, Ipv4Addr::new(10, 45, 0, 0), 16),
    (IMS, Ipv4Addr::new(10, 46, 0, 0), 16),
];

/// UE addresses that we give: few, so that they run out. Of `ims` there are none of IPv6.
fn pools() -> Vec<AddressPool> {
    let pool = |instance, prefix, rest_s| AddressPool {
        place: place(Side::Core, instance),
        prefix,
        rest_s,
    };
    vec![
        pool(INTERNET, (Ipv4Addr::new(10, 45, 0, 0).into(), 30), 4),
        pool(
            INTERNET,
            (Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0, 0, 0, 0, 0).into(), 63),
            20,
        ),
        pool(IMS, (Ipv4Addr::new(10, 46, 0, 1).into(), 32), 20),
    ]
}

/// In place of an address: that which the session of a slot is given.
pub const fn given_ipv4(slot: u8) -> Ipv4Addr {
    Ipv4Addr::new(240, 0, 0, slot)
}

/// In place of a prefix: the same.
pub const fn given_prefix(slot: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0xffff, slot as u16, 0, 0, 0, 0)
}

/// The slot of a session whose given address is meant.
pub fn given_slot(address: IpAddr) -> Option<u8> {
    match address {
        IpAddr::V4(address) => {
            let [240, 0, 0, slot] = address.octets() else {
                return None;
            };
            Some(slot)
        }
        IpAddr::V6(address) => {
            let [0x2001, 0xdb8, 0xffff, slot, ..] = address.segments() else {
                return None;
            };
            Some(slot as u8)
        }
    }
}

/// How session-AMBRs are shaped where they are: so little room that all bounds are met.
pub const SHAPING: Shaping = Shaping {
    all: false,
    burst_ns: 10_000_000,
    delay_ns: 50_000_000,
    packets: 3,
};

/// `zero_rate_closes` is one of the two readings of a maximum bit rate of 0.
pub fn world(zero_rate_closes: bool, shapes: bool, features: Features) -> TwinConfig {
    let mut links = vec![n3(), internet(), n9(), ims()];
    if !features.ipv6 {
        for link in &mut links {
            link.tunnels.iter_mut().for_each(|end| end.second = None);
            link.addresses6.clear();
            link.routes6.clear();
            link.stations.retain(|(address, _)| address.is_ipv4());
        }
    }
    TwinConfig {
        links,
        zero_rate_closes,
        dscp: vec![(9, 46), (5, 26)],
        pools: pools(),
        // Few and for a short time, so that both bounds are met.
        hold_packets: 3,
        hold_ns: HOLD_NS,
        shaping: shapes.then_some(SHAPING),
        predefined: predefined(),
        applications: vec![
            (APPLICATIONS[0], vec![APPLICATION_FLOWS[0].to_owned()]),
            (
                APPLICATIONS[1],
                vec![
                    APPLICATION_FLOWS[1].to_owned(),
                    APPLICATION_FLOWS[3].to_owned(),
                ],
            ),
        ],
        application_names: APPLICATIONS.to_vec(),
        flow_texts: APPLICATION_FLOWS.to_vec(),
        nats: match features.nat {
            true => vec![nat(zero_rate_closes)],
            false => vec![],
        },
        ue_prefixes: POOLS
            .map(|(name, base, len)| (place(Side::Core, name), (base, len)))
            .to_vec(),
    }
}

/// Applications: the last has flows only where a message tells them.
pub const APPLICATIONS: [&str; 3] = ["shop", "film", "mail"];

/// Flows that packets of cases often meet and often miss; the first two are configured, the last is none.
pub const APPLICATION_FLOWS: [&str; 11] = [
    "permit out 17 from any 80-81 to assigned",
    "permit out 6 from any to assigned",
    "permit out 17 from any 80 to assigned",
    "permit out ip from 198.51.100.80 to assigned",
    "permit out 6 from any 80-81 to assigned",
    "permit out 17 from any to assigned 4000",
    "permit out ip from 0.0.0.0/0 to assigned",
    "permit out ip from ::/0 to assigned",
    "permit out ip from any to assigned",
    "permit out 58 from ff02::2/128 to assigned",
    "permit in ip from any to assigned",
];

/// Predefined rules: a QFI, a rate, closed gates, nothing of its own, and one for IPv6 alone.
pub const PREDEFINED: [&str; 5] = ["web", "slow", "shut", "all", "six"];

fn predefined() -> Vec<PredefinedRule> {
    let rule = |name: &str, flows: &[&str]| PredefinedRule {
        name: name.to_owned(),
        flows: flows.iter().map(|flow| (*flow).to_owned()).collect(),
        open: (true, true),
        mbr: None,
        qfi: None,
    };
    let web = [
        "permit out 17 from any 80-81 to assigned",
        "permit out 6 from any 80 to assigned",
    ];
    let [web_name, slow, shut, all, six] = PREDEFINED;
    vec![
        PredefinedRule {
            qfi: Some(5),
            ..rule(web_name, &web)
        },
        PredefinedRule {
            mbr: Some((80, 320)),
            ..rule(slow, &["permit out ip from 198.51.100.80 to assigned"])
        },
        PredefinedRule {
            open: (false, true),
            ..rule(shut, &["permit out 17 from any to assigned 4001"])
        },
        rule(all, &[]),
        PredefinedRule {
            qfi: Some(0),
            ..rule(six, &["permit out ip from ::/0 to assigned"])
        },
    ]
}

/// Four addresses with two blocks each, more than there are sessions; strangers filtered and UEs meeting, or
/// neither.
fn nat(filters: bool) -> Nat {
    Nat {
        place: place(Side::Core, INTERNET),
        addresses: (8..12).map(|d| Ipv4Addr::new(198, 18, 0, d)).collect(),
        first_port: 65_408,
        block_ports: 64,
        blocks_per_ue: 2,
        filters,
        hairpins: filters,
    }
}

fn n3() -> Link {
    Link {
        tunnels: vec![TunnelEnd {
            second: Some(N3_6),
            ..tunnel(Side::Access, ACCESS, N3)
        }],
        addresses6: vec![(N3_6, 64)],
        routes6: vec![((ipv6(0x33, 0), 48), ROUTER6)],
        routes: vec![
            ((Ipv4Addr::new(203, 0, 113, 0), 24), [192, 0, 2, 254].into()),
            ((CP_N4U, 32), [192, 0, 2, 254].into()),
        ],
        stations: [
            stations([192, 0, 2], &[50, 51, 254]),
            vec![
                (GNB6.into(), [2, 0, 1, 0, 2, 0x56]),
                (ROUTER6.into(), [2, 0, 1, 0, 2, 0xf6]),
            ],
        ]
        .concat(),
        clamp_bytes: Some(1300),
        ..link(0, None, N3)
    }
}

fn internet() -> Link {
    Link {
        plain: Some(place(Side::Core, INTERNET)),
        routes: vec![((Ipv4Addr::UNSPECIFIED, 0), [198, 51, 100, 254].into())],
        stations: [
            stations([198, 51, 100], &[80, 254]),
            vec![
                (SERVER6.into(), [2, 0, 1, 51, 100, 80]),
                (ROUTER6.into(), [2, 0, 1, 51, 100, 254]),
            ],
        ]
        .concat(),
        addresses6: vec![(OUR_N6_6, 64)],
        routes6: vec![((Ipv6Addr::UNSPECIFIED, 0), ROUTER6)],
        ..link(1, None, [198, 51, 100, 1].into())
    }
}

fn n9() -> Link {
    Link {
        tunnels: vec![tunnel(Side::Core, N9_NAME, N9)],
        stations: stations([192, 0, 3], &[60]),
        allowed_peers: vec![(Ipv4Addr::new(192, 0, 3, 0).into(), 24)],
        verifies_udp: false,
        ..link(1, Some(100), N9)
    }
}

fn ims() -> Link {
    Link {
        plain: Some(place(Side::Core, IMS)),
        stations: [
            stations([100, 64, 0], &[80]),
            vec![(IMS_SERVER6.into(), [2, 0, 1, 64, 0, 80])],
        ]
        .concat(),
        addresses6: vec![(ipv6(0x64, 1), 64)],
        mtu_bytes: 1400,
        clamp_bytes: Some(840),
        ..link(1, Some(200), [100, 64, 0, 1].into())
    }
}

fn link(port: u16, vlan: Option<u16>, address: Ipv4Addr) -> Link {
    let [_, _, c, _] = address.octets();
    Link {
        port,
        vlan,
        mac: [2, 0, 0, 0, c, port as u8],
        mtu_bytes: 1500,
        addresses: vec![(address, 24)],
        addresses6: vec![],
        tunnels: vec![],
        plain: None,
        routes: vec![],
        routes6: vec![],
        stations: vec![],
        allowed_peers: vec![],
        verifies_udp: true,
        clamp_bytes: None,
    }
}

fn place(side: Side, instance: &str) -> InterfaceName {
    let instance = instance.to_owned();
    InterfaceName { side, instance }
}

fn tunnel(side: Side, instance: &str, address: Ipv4Addr) -> TunnelEnd {
    let place = place(side, instance);
    TunnelEnd {
        place,
        address: address.into(),
        second: None,
    }
}

fn stations([a, b, c]: [u8; 3], hosts: &[u8]) -> Vec<(IpAddr, [u8; 6])> {
    let station = |d: &u8| (IpAddr::from([a, b, c, *d]), [2, 0, 1, b, c, *d]);
    hosts.iter().map(station).collect()
}
