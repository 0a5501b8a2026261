//! Topology of the benchmark: one UPF between 16 gNBs on a link and a data network behind a
//! gateway, addresses of RFC 5737.

use super::peers::{Peers, ROUTER, ROUTER_MAC, Servers};
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_datapath::lookup::layout::{InstanceId, Pool, PrefixPool};
use sluice_datapath::tables::{Prefix, PrefixIpv6};
use sluice_port::{PortId, PortInfo};
use sluice_session::network::Side;
use sluice_wire::eth::MacAddr;
use sluice_wire::ids::Qfi;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The port towards the gNBs.
pub const N3: PortId = PortId(0);
/// The port towards the data network.
pub const N6: PortId = PortId(1);

/// The port towards the SMFs, where N4 is measured.
pub const N4: PortId = PortId(2);
/// The UPF on N4; its SMFs are on the same link. Nothing of this leaves the process.
pub const N4_UPF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
/// All SMFs.
pub const N4_SMF: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The UPF on N4.
pub const N4_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 4]);
/// The SMFs' station.
pub const SMF_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 4]);

/// gNBs; a power of two.
pub const GNBS: usize = 16;
/// The UPF on N3.
pub const UPF_N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// A server behind the gateway.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 80);
/// The same for IPv6.
pub const SERVER_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0x80, 0, 0, 0, 0x50);
/// First UE address of the pool, a /10: room for four million sessions.
pub const POOL_BASE: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);
/// The session's QoS flow.
pub const QFI: Qfi = match Qfi::new(9) {
    Some(qfi) => qfi,
    None => unreachable!(),
};

/// The UPF on N3.
pub const N3_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
/// The UPF on N6.
pub const N6_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 6]);
/// The gateway to the data network.
pub const DN_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 6]);

/// Network instance towards the gNBs.
pub const ACCESS: &str = "access";
/// Network instance towards the data network.
pub const INTERNET: &str = "internet";
/// Its number on the path.
pub const INTERNET_ID: InstanceId = InstanceId(1);

const UPF_N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 254);
/// Room for an outer header around packets of 1500 octets, as docs/performance.md has it.
const MTU_BYTES: u16 = 1600;

/// The address of a gNB.
pub fn gnb_address(gnb: usize) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 100 + (gnb % GNBS) as u8)
}

/// The MAC address of a gNB.
pub fn gnb_mac(gnb: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 2, (gnb % GNBS) as u8])
}

/// The UE address of session `index`.
pub fn ue_address(index: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(POOL_BASE) + index)
}

/// An IPv6 address of the same UE: its /64 has a copy of the IPv4 address.
pub fn ue_ipv6(ue: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = ue.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Ipv6Addr::new(0x2001, 0xdb8, high, low, 0, 0, 0, 1)
}

/// The gNB's TEID of the first session.
const FIRST_GNB_TEID: u32 = 0x1000_0000;

/// The gNB's TEID of session `index`.
pub fn gnb_teid(index: u32) -> u32 {
    FIRST_GNB_TEID + index
}

/// The number of the session with this TEID of the gNB.
#[inline(always)]
pub fn number_of(gnb_teid: u32) -> u32 {
    gnb_teid.wrapping_sub(FIRST_GNB_TEID)
}

/// The TEID that the SMF chooses for session `index`, where SMFs choose: spread over all that have
/// not the form of ours, each once, and each with low bits of its own, so that the limit needs no
/// hash table.
pub fn foreign_teid(index: u32) -> u32 {
    // An odd factor maps the 2^31 numbers onto themselves, and the low bits onto themselves.
    (index + 1).wrapping_mul(0x9e37_79b1) & (u32::MAX >> 1)
}

/// The pool for `sessions` UEs, as small as it can be.
pub fn pool(sessions: u32) -> Pool {
    let bits = sessions.next_power_of_two().trailing_zeros();
    Pool {
        instance: INTERNET_ID,
        base: POOL_BASE,
        prefix_len: 32 - bits as u8,
    }
}

/// The pool of the same UEs' IPv6 prefixes.
pub fn prefix_pool(sessions: u32) -> PrefixPool {
    let Pool {
        base, prefix_len, ..
    } = pool(sessions);
    PrefixPool {
        instance: INTERNET_ID.0,
        base: (ue_ipv6(base).to_bits() >> 64) as u64,
        len: 32 + prefix_len,
    }
}

/// The UPF's interfaces, with all neighbours known.
pub fn control_config(pool: Pool, peers: Peers, servers: Servers) -> ControlConfig {
    let tunnels = |instance: &str| Role::Tunnels {
        side: Side::Access,
        instance: instance.to_owned(),
        addresses: UPF_N3.into(),
    };
    let n3 = InterfaceConfig {
        // Some SMFs name the data network on both sides.
        roles: vec![tunnels(ACCESS), tunnels(INTERNET)],
        routes: peers.route().into_iter().collect(),
        neighbours: (0..GNBS)
            .map(|i| (gnb_address(i).into(), gnb_mac(i)))
            .chain(peers.are_routed().then_some((ROUTER.into(), ROUTER_MAC)))
            .collect(),
        ..interface("n3", N3, N3_MAC, UPF_N3)
    };
    let default = Prefix::new(Ipv4Addr::UNSPECIFIED, 0);
    let mut n6 = InterfaceConfig {
        roles: vec![Role::Plain {
            side: Side::Core,
            instances: vec![INTERNET.to_owned()],
            is_default: false,
            id: INTERNET_ID,
        }],
        routes: default.map(|all| (all, GATEWAY)).into_iter().collect(),
        neighbours: vec![(GATEWAY.into(), DN_MAC)],
        ..interface("n6", N6, N6_MAC, UPF_N6)
    };
    servers.configure(&mut n6);
    ControlConfig {
        interfaces: vec![n3, n6],
        pools: vec![pool],
        ..ControlConfig::default()
    }
}

/// The data network has IPv6 as well.
pub fn add_ipv6(config: &mut ControlConfig) {
    let on_link = |host| Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, host);
    let gateway = on_link(0xfe);
    for n6 in config.interfaces.iter_mut().filter(|one| one.port == N6) {
        n6.addresses_ipv6.push((on_link(1), 64));
        let default = PrefixIpv6::new(Ipv6Addr::UNSPECIFIED, 0);
        n6.routes_ipv6.extend(default.map(|all| (all, gateway)));
        n6.neighbours.push((gateway.into(), DN_MAC));
    }
}

/// The interface towards the SMFs.
pub fn n4_interface() -> InterfaceConfig {
    InterfaceConfig {
        roles: vec![Role::N4 { address: N4_UPF }],
        neighbours: vec![(N4_SMF.into(), SMF_MAC)],
        ..interface("n4", N4, N4_MAC, N4_UPF)
    }
}

fn interface(name: &str, port: PortId, mac: MacAddr, address: Ipv4Addr) -> InterfaceConfig {
    InterfaceConfig {
        name: name.to_owned(),
        port,
        vlan: None,
        mac,
        mtu_bytes: MTU_BYTES,
        addresses: vec![(address, 24)],
        addresses_ipv6: vec![],
        roles: vec![],
        routes: vec![],
        routes_ipv6: vec![],
        neighbours: vec![],
        proxy_arp: vec![],
        proxy_nd: vec![],
        allowed_peers: vec![],
        allowed_peers_ipv6: vec![],
        verifies_udp: true,
        mss_clamp: None,
    }
}

/// The two ports of user packets as the path sees them.
pub fn ports(queue_packets: u16) -> Vec<PortInfo> {
    vec![
        port(N3, "n3", N3_MAC, queue_packets),
        port(N6, "n6", N6_MAC, queue_packets),
    ]
}

/// A port as the path sees it.
pub fn port(id: PortId, name: &str, mac: MacAddr, queue_packets: u16) -> PortInfo {
    PortInfo {
        id,
        name: name.to_owned(),
        mac: mac.0,
        mtu_bytes: MTU_BYTES,
        rx_queues: 1,
        tx_queues: 1,
        rx_queue_packets: queue_packets,
        tx_queue_packets: queue_packets,
    }
}
