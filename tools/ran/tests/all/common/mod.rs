//! A laboratory: two gNBs and a small UPF in namespaces of their own.

// Each test file uses its own part.
#![allow(dead_code)]

pub mod core;
pub mod upf;

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use sluice_host::env_check::{self, Need};
use sluice_host::netns::Netns;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_host::veth::{Veth, VethEnd};
use sluice_ran::{FTeid, Gnb, GnbConfig, UeConfig, UeId};
use sluice_wire::ids::{Qfi, Teid};

use upf::Upf;

pub const GNB_A: Ipv4Addr = Ipv4Addr::new(10, 60, 1, 2);
pub const GNB_B: Ipv4Addr = Ipv4Addr::new(10, 60, 2, 2);
/// The UPF's address on the links to either gNB.
pub const UPF_A: Ipv4Addr = Ipv4Addr::new(10, 60, 1, 1);
pub const UPF_B: Ipv4Addr = Ipv4Addr::new(10, 60, 2, 1);
pub const UE_1: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
pub const UE_2: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);

/// Says so and gives `false` where namespaces cannot be made.
pub fn is_root() -> bool {
    let tools = ["ip", "ethtool", "ping", "iperf3"].map(Need::Tool);
    let needs: Vec<_> = [Need::NetworkAdmin, Need::Tun]
        .into_iter()
        .chain(tools)
        .collect();
    let missing = env_check::missing(&needs);
    for lack in &missing {
        println!("skipped: needs root ({lack})");
    }
    missing.is_empty()
}

pub fn teid(value: u32) -> Teid {
    Teid::new(value).expect("not 0")
}

pub fn qfi(value: u8) -> Qfi {
    Qfi::new(value).expect("six bits")
}

/// Asks again and again until `condition` holds, for at most ten seconds.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

// Fields go in this order: gNBs before the links that they use, links before namespaces.
pub struct Lab {
    pub gnb_a: Gnb,
    pub gnb_b: Gnb,
    pub upf: Upf,
    pub veth_a: Veth,
    pub veth_b: Veth,
    pub ns_a: Netns,
    pub ns_b: Netns,
    pub ns_upf: Netns,
    pub ns_ue1: Netns,
    pub ns_ue2: Netns,
}

impl Lab {
    pub fn new(label: &str) -> Self {
        let ns = |part: &str| Netns::create(&format!("{label}-{part}")).expect("namespace");
        let (ns_a, ns_b, ns_upf) = (ns("gnba"), ns("gnbb"), ns("upf"));
        let link = |gnb: &Netns, name: &str, upf: Ipv4Addr, address: Ipv4Addr| {
            let far = VethEnd::bare(&ns_upf, name).with_address(upf, 24);
            let near = VethEnd::bare(gnb, "n3").with_address(address, 24);
            let veth = Veth::create(&near, &far, 1500).expect("veth");
            veth.set_static_neighbours(address, upf)
                .expect("neighbours");
            veth
        };
        let veth_a = link(&ns_a, "n3a", UPF_A, GNB_A);
        let veth_b = link(&ns_b, "n3b", UPF_B, GNB_B);
        let gnb = |name: &str, ns: &Netns, n3| {
            Gnb::start(&GnbConfig::new(&format!("{name}-{label}"), ns, n3)).expect("gNB")
        };
        Self {
            gnb_a: gnb("a", &ns_a, GNB_A),
            gnb_b: gnb("b", &ns_b, GNB_B),
            upf: Upf::start(&ns_upf),
            veth_a,
            veth_b,
            ns_a,
            ns_b,
            ns_upf,
            ns_ue1: ns("ue1"),
            ns_ue2: ns("ue2"),
        }
    }

    /// UE 1 at gNB A with uplink TEID 0x11 and downlink TEID 0xa1, flow 5.
    pub fn attach_1(&self) -> UeId {
        self.upf.route(UE_1, GNB_A, teid(0xa1), qfi(5));
        let config = ue(&self.ns_ue1, UE_1, UPF_A, 0x11, 0xa1, 5);
        self.gnb_a.handle().attach(config).expect("attach")
    }

    /// UE 2 at gNB B with uplink TEID 0x12 and downlink TEID 0xb2, flow 9.
    pub fn attach_2(&self) -> UeId {
        self.upf.route(UE_2, GNB_B, teid(0xb2), qfi(9));
        let config = ue(&self.ns_ue2, UE_2, UPF_B, 0x12, 0xb2, 9);
        self.gnb_b.handle().attach(config).expect("attach")
    }
}

pub fn ue(
    ns: &Netns,
    ue_ip: Ipv4Addr,
    upf: Ipv4Addr,
    uplink_teid: u32,
    downlink_teid: u32,
    flow: u8,
) -> UeConfig {
    let tun = TunConfig {
        name: "ue".into(),
        address: Some(ue_ip),
        mtu: 1400,
        route: TunRoute::Default,
    };
    UeConfig {
        addresses: ue_ip.into(),
        uplink: FTeid {
            address: upf.into(),
            teid: teid(uplink_teid),
        },
        downlink_teid: teid(downlink_teid),
        qfi: qfi(flow),
        rules: Default::default(),
        tun: Tun::create(ns, &tun).expect("tun"),
        has_framed_routes: false,
    }
}
