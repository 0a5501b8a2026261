//! What the parts of the UPF are started with.

use super::super::{ConvertError, N4Start, OpenedPort, UpfConfig};
use super::{SHORT, accepted, short_with};
use sluice_control::config::Role;
use sluice_control::directory::Directory;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::tables::PrefixIpv6;
use sluice_n4::{Features, NodeId, PeerPort};
use sluice_port::PortId;
use sluice_port_dpdk::Memory;
use sluice_session::network::{Network, Side};
use sluice_session::{AllocationPool, ConfiguredApplications, PoolAddresses};
use sluice_wire::eth::MacAddr;
use sluice_wire::pfcp::value::{Gate, NtpTime};
use std::collections::HashMap;

const EXAMPLE: &str = include_str!("../../../../../docs/upf.yaml");

fn opened(mtu_bytes: u16) -> HashMap<String, OpenedPort> {
    let port = |id| OpenedPort {
        id: PortId(id),
        mac: MacAddr([2, 0, 0, 0, 0, id as u8]),
        mtu_bytes,
    };
    [("p0", 7), ("p1", 8)]
        .map(|(name, id)| (name.to_owned(), port(id)))
        .into()
}

fn short() -> UpfConfig {
    accepted(SHORT).config
}

#[test]
fn the_control_core_gets_interfaces_on_the_opened_ports() {
    let control = short().control(&opened(1500)).unwrap();
    let [ran, dn] = &control.interfaces[..] else {
        panic!("two interfaces")
    };
    assert_eq!(
        (ran.port, ran.mac.0[5], ran.mtu_bytes),
        (PortId(7), 7, 1500)
    );
    assert_eq!(ran.addresses, [([198, 51, 100, 1].into(), 24)]);
    let n3 = Role::Tunnels {
        side: Side::Access,
        instance: String::new(),
        addresses: std::net::Ipv4Addr::new(198, 51, 100, 1).into(),
    };
    assert_eq!(ran.roles, [n3]);
    let n6 = Role::Plain {
        side: Side::Core,
        instances: vec!["internet".to_owned()],
        is_default: false,
        id: InstanceId(0),
    };
    assert_eq!(dn.roles, [n6]);
    let (default, gateway) = dn.routes[0];
    assert_eq!((default.mask, gateway), (0, [203, 0, 113, 1].into()));
    assert_eq!(control.pools[0].instance, InstanceId(0));
}

#[test]
fn n4_may_be_served_on_an_interface_alone_or_beside_sockets() {
    let on_ran = SHORT.replace("n3: {}", "n3: {}, n4: {}");
    let alone = on_ran.replace("listen: 192.0.2.10, ", "");
    let n4 = Role::N4 {
        address: [198, 51, 100, 1].into(),
    };
    for (text, name) in [(&on_ran, [192, 0, 2, 10]), (&alone, [198, 51, 100, 1])] {
        let config = accepted(text).config;
        let control = config.control(&opened(1500)).unwrap();
        assert_eq!(control.interfaces[0].roles.last(), Some(&n4));
        assert_eq!(config.n4.node_id, NodeId::v4(name.into()));
        assert!(config.summary().contains("198.51.100.1 by port p0"));
    }
    assert!(accepted(&alone).config.n4.listen.is_empty());
}

#[test]
fn tunnels_over_ipv6_leave_ues_less_and_both_addresses_are_one_endpoint() {
    let both = "addresses: [198.51.100.1/24, '2001:db8:3::1/64'], \
                n3: {address: [198.51.100.1, '2001:db8:3::1']}";
    let text = SHORT.replace("addresses: 198.51.100.1/24, n3: {}", both);
    let config = accepted(&text).config;
    let control = config.control(&opened(1500)).unwrap();
    assert_eq!(control.router_advertisement.mtu_bytes, 1436);
    let directory = Directory::new(&control).unwrap();
    let endpoint = directory.tunnel_endpoint(Side::Access, None).unwrap();
    let addresses: Vec<String> = endpoint.addresses.all().map(|a| a.to_string()).collect();
    assert_eq!(addresses, ["198.51.100.1", "2001:db8:3::1"]);
    for address in endpoint.addresses.all() {
        let at = directory.tunnel_endpoint_at(Side::Access, None, address);
        assert_eq!(at, Some(endpoint));
    }
}

#[test]
fn the_directory_finds_what_the_example_configures() {
    let config = accepted(EXAMPLE).config;
    let control = config.control(&opened(1544)).unwrap();
    let directory = Directory::new(&control).unwrap();
    let address = |side, name| {
        let endpoint = directory.tunnel_endpoint(side, Some(name))?;
        Some(endpoint.addresses.ipv4?.to_string())
    };
    assert_eq!(
        address(Side::Access, "access").as_deref(),
        Some("198.51.100.1")
    );
    assert_eq!(
        address(Side::Core, "backbone").as_deref(),
        Some("198.51.100.2")
    );
    assert_eq!(address(Side::Access, "backbone"), None);
    assert!(directory.egress(Side::Core, Some("internet")).is_some());
    let ran = &control.interfaces[0];
    assert_eq!((ran.routes.len(), ran.neighbours.len()), (2, 1));
    assert_eq!((ran.allowed_peers.len(), ran.proxy_arp.len()), (2, 0));
    assert!(ran.verifies_udp, "the default");
}

#[test]
fn tcp_segments_are_clamped_to_what_fits_where_that_is_wanted() {
    let clamps = |with: &str, mtus: [u16; 2]| {
        let config = accepted(&short_with("{name: dn,", with)).config;
        let mut ports = opened(mtus[0]);
        if let Some(port) = ports.get_mut("p1") {
            port.mtu_bytes = mtus[1];
        }
        let control = config.control(&ports).unwrap();
        let of = |i: usize| {
            let clamp = control.interfaces[i].mss_clamp;
            clamp.map(|clamp| (clamp.ipv4_bytes(), clamp.ipv6_bytes()))
        };
        [of(0), of(1)]
    };
    assert_eq!(clamps("{name: dn,", [1500, 1500]), [None, None]);
    let at_n6 = "{name: dn, mss_clamp: auto,";
    assert_eq!(clamps(at_n6, [1500, 1500])[1], Some((1416, 1396)));
    assert_eq!(clamps(at_n6, [9000, 1500])[1], Some((1460, 1440)));
    let given = "{name: dn, mss_clamp: 1300,";
    assert_eq!(clamps(given, [1500, 1500])[1], Some((1300, 1280)));
    let config = accepted(&short_with("{name: ran,", "{name: ran, mss_clamp: auto,")).config;
    let control = config.control(&opened(1500)).unwrap();
    let clamp = control.interfaces[0].mss_clamp.unwrap();
    assert_eq!(clamp.ipv4_bytes(), 1416);
}

#[test]
fn a_port_that_is_missing_or_too_small_is_named() {
    let missing = short().control(&HashMap::new()).unwrap_err();
    assert_eq!(missing.to_string(), "interface ran: port p0 is not open");
    let config = accepted(&short_with("{name: dn,", "{name: dn, mtu: 1600,")).config;
    let small = config.control(&opened(1500)).unwrap_err();
    assert!(matches!(small, ConvertError::Mtu { .. }));
    assert_eq!(
        small.to_string(),
        "interface dn: MTU 1600, but its port carries 1500 bytes"
    );
}

#[test]
fn the_n4_endpoint_gets_names_timers_and_limits() {
    let keys = "peers: 192.0.2.20, t1_ms: 500, n1: 1, heartbeat_s: 30, peer_port: source, \
                associations_max: 9, requests_per_s: 100000";
    let config = accepted(&short_with("peers: 192.0.2.20", keys)).config;
    let start = N4Start {
        recovery_time_stamp: NtpTime(77),
        hash_seed: 5,
        features: Features::default(),
        retains_sessions: true,
    };
    let n4 = config.n4_endpoint(&start);
    assert_eq!(n4.node_id, NodeId::v4([192, 0, 2, 10].into()));
    assert_eq!(
        (n4.t1_ms, n4.n1, n4.heartbeat_interval_ms),
        (500, 1, 30_000)
    );
    assert_eq!(n4.peer_port, PeerPort::Source);
    assert_eq!((n4.recovery_time_stamp, n4.hash_seed), (NtpTime(77), 5));
    assert!(n4.retains_sessions);
    assert_eq!(n4.limits.associations, 9);
    assert_eq!(
        (n4.limits.cache_window_ms, n4.limits.cached_requests),
        (1000, 100_000)
    );
    assert!(n4.allowed_peers[0].contains([192, 0, 2, 20].into()));
}

#[test]
fn the_path_gets_a_layout_of_the_configured_size() {
    let limits =
        "limits: {sessions: 3000, rule_blocks: 10, foreign_entries: 0}\nworkers: {count: 2}\n";
    let plan = accepted(&format!("{limits}{SHORT}")).config.plan().unwrap();
    assert_eq!(plan.layout.endpoints(), 65_536);
    assert_eq!(plan.layout.entries(), 65_536 + 65_536);
    assert_eq!((plan.blocks, plan.workers), (4096, 2));
    let plan = accepted(&format!("limits: {{sessions: 100000}}\n{SHORT}"))
        .config
        .plan()
        .unwrap();
    assert_eq!(plan.layout.endpoints(), 262_144);
    assert_eq!(plan.blocks, 25 * 4096);
}

#[test]
fn however_few_sessions_there_are_each_shard_has_room_for_several() {
    let plan = accepted(&format!("limits: {{sessions: 1}}\n{SHORT}"))
        .config
        .plan()
        .unwrap();
    let (_, foreign) = plan.layout.foreign();
    assert_eq!(
        [plan.layout.endpoints(), foreign].map(|n| n / SHARDS),
        [16, 8]
    );
    // Block 0 is never used.
    assert_eq!(plan.blocks / SHARDS, 9);
}

#[test]
fn dpdk_gets_memory_devices_and_the_housekeeping_core() {
    let text = short_with("'net_af_packet1,iface=eth2'", "'0000:03:00.0,rss=on'");
    let text = format!("dpdk: {{huge_pages: never, memory_mb: 300, mbufs: 9000}}\n{text}");
    let config = accepted(&text).config;
    let eal = config.eal();
    assert_eq!(eal.memory, Memory::NormalPages { mib: 300 });
    assert_eq!(eal.pci_devices, ["0000:03:00.0,rss=on"]);
    assert_eq!(eal.main_cpus.as_deref(), Some("0"));
    assert_eq!(config.pool(None).packets, 9000);
    assert_eq!(config.pool(None).data_room_bytes, None);
}

#[test]
fn ports_get_queues_for_all_workers_and_slots_for_their_mtu() {
    let text = short_with("{name: p0,", "{name: p0, mtu: 9000,");
    let text = format!("dpdk: {{mbufs: 4096}}\nworkers: {{count: 3}}\n{text}");
    let config = accepted(&text).config;
    let ports = config.port_configs();
    assert_eq!((ports[0].rx_queues, ports[0].tx_queues), (3, 3));
    assert_eq!(ports[0].mtu_bytes, Some(9000));
    assert!(
        ports[0].devargs.contains(",qpairs=3,"),
        "{}",
        ports[0].devargs
    );
    let slot = |devargs: &str| -> u32 {
        let (_, rest) = devargs.split_once("framesz=").unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    };
    let room = u32::from(config.pool(None).data_room_bytes.unwrap());
    // The kernel's 66 bytes in front of a frame; 52 of a slot need no room in a buffer.
    assert!(slot(&ports[0].devargs) >= 9000 + 18 + 66);
    assert!(slot(&ports[0].devargs) - 52 <= room - 128);
    assert!(slot(&ports[1].devargs) < 2048);
}

#[test]
fn device_arguments_that_say_more_than_iface_stay_as_they_are() {
    let device = "net_af_packet0,iface=eth1,framesz=4096";
    let config = accepted(&short_with("net_af_packet0,iface=eth1", device)).config;
    assert_eq!(config.port_configs()[0].devargs, device);
    let xdp = accepted(&short_with(
        "net_af_packet0,iface=eth1",
        "net_af_xdp0,iface=eth1",
    ))
    .config;
    let devargs = &xdp.port_configs()[0].devargs;
    assert_eq!(
        devargs,
        "net_af_xdp0,iface=eth1,start_queue=0,queue_count=1"
    );
}

#[test]
fn a_summary_fits_on_a_screen() {
    let text = accepted(EXAMPLE).config.summary();
    assert!(text.lines().count() <= 24, "{text}");
    for part in [
        "upf1.example.org",
        "n9 core 198.51.100.2",
        "10.45.0.0/16",
        "131072 sessions",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn what_may_not_be_meant_is_warned_of() {
    let warnings = |text: &str| {
        let warnings = accepted(text).warnings;
        warnings.iter().map(|w| w.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(warnings(SHORT), [] as [&str; 0]);
    assert_eq!(
        warnings(&short_with(", peers: 192.0.2.20", "")),
        ["n4.peers"]
    );
}

/// [`SHORT`] with IPv6 on N6.
fn dual() -> String {
    short_with(
        "addresses: 203.0.113.2/24, gateway: 203.0.113.1,",
        "addresses: [203.0.113.2/24, '2001:db8:6::2/64'], gateway: [203.0.113.1, 'fe80::1'], \
         routes: [{to: '2001:db8:9::/48', via: '2001:db8:6::9'}], \
         neighbours: [{address: '2001:db8:6::9', mac: '02:00:00:00:00:09'}], \
         proxy_nd: '2001:db8:45::/48',",
    )
}

#[test]
fn ipv6_reaches_the_control_core_beside_ipv4() {
    let control = accepted(&dual()).config.control(&opened(1500)).unwrap();
    let dn = &control.interfaces[1];
    assert_eq!(dn.addresses, [([203, 0, 113, 2].into(), 24)]);
    let ipv6 = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap();
    let prefix = |text: &str, len| PrefixIpv6::new(ipv6(text), len).unwrap();
    assert_eq!(dn.addresses_ipv6, [(ipv6("2001:db8:6::2"), 64)]);
    assert_eq!(dn.routes.len(), 1);
    assert_eq!(
        dn.routes_ipv6,
        [
            (prefix("2001:db8:9::", 48), ipv6("2001:db8:6::9")),
            (prefix("::", 0), ipv6("fe80::1")),
        ]
    );
    let station = (ipv6("2001:db8:6::9").into(), MacAddr([2, 0, 0, 0, 0, 9]));
    assert_eq!(dn.neighbours, [station]);
    assert_eq!(dn.proxy_nd, [prefix("2001:db8:45::", 48)]);
    assert!(Directory::new(&control).is_ok());
    assert!(control.interfaces[0].addresses_ipv6.is_empty());
    let ports = accepted(&dual()).config.port_configs();
    assert_eq!(
        [0, 1].map(|port: usize| ports[port].all_multicast),
        [false, true]
    );
}

#[test]
fn ues_are_told_an_mtu_that_fits_tunnels_and_data_networks() {
    let told = |text: &str, mtu| {
        let control = accepted(text).config.control(&opened(mtu)).unwrap();
        control.router_advertisement.mtu_bytes
    };
    assert_eq!(
        [1500, 1544, 9000, 1280].map(|mtu| told(&dual(), mtu)),
        [1456, 1500, 1500, 1280]
    );
    let narrow = dual().replace("{name: dn,", "{name: dn, mtu: 1400,");
    assert_eq!(told(&narrow, 1500), 1400);
    let given = format!("router_advertisement: {{mtu: 1320}}\n{}", dual());
    assert_eq!(told(&given, 1500), 1320);
}

#[test]
fn ues_are_told_what_the_file_says_of_routers_and_servers() {
    let control = short().control(&opened(1500)).unwrap();
    let told = control.router_advertisement;
    assert_eq!((told.lifetime_s, told.dns.len()), (64_800, 0));
    let section = "router_advertisement: {lifetime_s: 9000, dns: ['2001:db8::53']}";
    let config = accepted(&format!("{section}\n{}", dual())).config;
    let told = config.control(&opened(1500)).unwrap().router_advertisement;
    assert_eq!(told.lifetime_s, 9000);
    assert_eq!(told.dns[0].to_string(), "2001:db8::53");
    let summary = config.summary();
    for part in [
        "2001:db8:6::2/64",
        "lifetime 9000 s, MTU auto, DNS 2001:db8::53",
    ] {
        assert!(summary.contains(part), "{part} is not in\n{summary}");
    }
    let json = config.summary_json();
    assert_eq!(json["router_advertisement"]["lifetime_s"], 9000);
    assert_eq!(json["interfaces"][1]["addresses"][1], "2001:db8:6::2/64");
}

#[test]
fn pools_for_allocation_go_to_the_session_machine() {
    let text = SHORT.replace(
        "prefix: 10.45.0.0/16",
        "prefix: 10.45.0.0/16, allocate: true, identity: homes, rest_s: 7",
    );
    let of = |text: &str| accepted(text).config.allocation();
    let ipv4 = AllocationPool {
        instance: InstanceId(0),
        addresses: PoolAddresses::Ipv4 {
            base: [10, 45, 0, 0].into(),
            prefix_len: 16,
        },
        identity: Some("homes".to_owned()),
        rest_s: 7,
    };
    assert_eq!((of(SHORT), of(&text)), (vec![], vec![ipv4]));
    let text = SHORT.replace(
        "prefix: 10.45.0.0/16",
        "prefix: '2001:db8:45::/48', allocate: true",
    );
    let config = accepted(&text).config;
    let addresses = PoolAddresses::Ipv6 {
        base: "2001:db8:45::".parse().unwrap(),
        prefix_len: 48,
    };
    let pools = config.allocation();
    assert_eq!((pools[0].addresses, pools[0].rest_s), (addresses, 120));
    assert!(config.plan().is_ok(), "it takes no lines");
}

#[test]
fn predefined_rules_are_those_of_the_file() {
    let rules = accepted(EXAMPLE).config.predefined_rules();
    let (rule, flows) = rules.get(rules.find(b"dns").unwrap()).unwrap();
    assert_eq!((flows.len(), rule.qfi), (2, Some(5)));
    assert_eq!(rule.mbr.unwrap().downlink_kbps, 4000);
    assert_eq!(rule.gate.uplink, Gate::Open);
    assert!(accepted(SHORT).config.predefined_rules().is_empty());
}

#[test]
fn applications_are_those_of_the_file() {
    let config = accepted(EXAMPLE).config;
    let names = config.applications.iter().map(|of| &of.name.value[..]);
    assert!(names.eq(["com.example.video"]));
    let none = ConfiguredApplications::default();
    assert_ne!(config.configured_applications(), none);
    assert_eq!(accepted(SHORT).config.configured_applications(), none);
}
