//! Topology of the benchmark: one UPF between gNBs, 16 on the N3 link or thousands behind a router, and servers of a
//! data network, one behind a gateway or 16; addresses of RFC 5737.

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
pub const N4_SMF: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The UPF on N4.
pub const N4_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 4]);
pub const SMF_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 4]);

/// gNBs; a power of two.
pub const GNBS: usize = 16;
/// The UPF on N3.
pub const UPF_N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// A server behind the gateway.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 80);
pub const SERVER_PORT: u16 = 443;
/// IPv6 address of the server.
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
/// Number of the network instance on the path.
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
        mtu_bytes: MTU_BYTES,
        addresses: vec![(address, 24)],
        ..InterfaceConfig::new(name, port, mac)
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

/// The router to them, on the N3 link.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
pub const ROUTER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 2, 0xfe]);
/// First address behind the router (RFC 2544: 198.18.0.0/15).
const ROUTED_BASE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const ROUTED_BITS: u8 = 15;
/// More than that the control core does not hold.
pub const PEERS_MAX: u32 = 30_000;

/// How many gNBs there are: 16, or more than those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peers(u32);

impl Default for Peers {
    /// 16 on the link.
    fn default() -> Self {
        Self(GNBS as u32)
    }
}

impl Peers {
    /// `count` gNBs, 16 at the least.
    pub fn new(count: u32) -> Self {
        Self(count.clamp(GNBS as u32, PEERS_MAX))
    }

    pub fn count(self) -> u32 {
        self.0
    }

    /// Whether they are behind the router.
    pub fn are_routed(self) -> bool {
        self.0 > GNBS as u32
    }

    /// Route to the gNBs, if they are behind the router.
    pub fn route(self) -> Option<(Prefix, Ipv4Addr)> {
        let prefix = Prefix::new(ROUTED_BASE, ROUTED_BITS)?;
        self.are_routed().then_some((prefix, ROUTER))
    }

    /// The gNB that gave this TEID. A session moves among 16 gNBs that are neighbours, told by the
    /// TEID's low bits; which 16 these are is spread over all.
    #[inline]
    pub fn number(self, gnb_teid: u32) -> usize {
        let (site, of_site) = (gnb_teid / GNBS as u32, gnb_teid % GNBS as u32);
        if !self.are_routed() {
            return of_site as usize;
        }
        let mixed = u64::from(site.wrapping_mul(0x9e37_79b1));
        let first = ((mixed * u64::from(self.0)) >> 32) as u32;
        ((first + of_site) % self.0) as usize
    }

    /// The address of a gNB.
    pub fn address(self, number: usize) -> Ipv4Addr {
        match self.are_routed() {
            true => Ipv4Addr::from(u32::from(ROUTED_BASE) + 1 + number as u32),
            false => gnb_address(number),
        }
    }
}

/// Servers, where there are several; a power of two.
const SERVERS: usize = 16;
/// Of these numbers: on the link, and behind the default route.
const ON_LINK: usize = 14;
const BY_DEFAULT: usize = 15;
const GATEWAYS: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Servers {
    #[default]
    One,
    /// 16.
    Many,
}

impl Servers {
    /// The number of the server that a UE talks to.
    #[inline(always)]
    pub fn number(self, ue: u32) -> usize {
        match self {
            Self::One => BY_DEFAULT,
            Self::Many => ue as usize % SERVERS,
        }
    }

    /// The server that a UE talks to.
    #[inline(always)]
    pub fn of(self, ue: u32) -> Ipv4Addr {
        server_address(self.number(ue))
    }

    /// Routes and stations that lead to them, beside the default route.
    pub fn configure(self, n6: &mut InterfaceConfig) {
        if self == Self::One {
            return;
        }
        for number in 0..ON_LINK {
            let prefix = Prefix::new(server_address(number), 16 + (number % 9) as u8);
            n6.routes
                .extend(prefix.map(|prefix| (prefix, gateway_of(number))));
        }
        n6.neighbours
            .extend((0..GATEWAYS).map(|number| (gateway_of(number).into(), station(number))));
        n6.neighbours
            .push((server_address(ON_LINK).into(), station(ON_LINK)));
    }
}

fn gateway_of(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, 240 + (number % GATEWAYS) as u8)
}

#[inline(always)]
fn server_address(number: usize) -> Ipv4Addr {
    match number {
        BY_DEFAULT => SERVER,
        ON_LINK => Ipv4Addr::new(198, 51, 100, 80),
        _ => Ipv4Addr::new(100, 64 + number as u8, 7, 9),
    }
}

/// The next hop to a server.
#[inline(always)]
pub fn station(number: usize) -> MacAddr {
    match number {
        BY_DEFAULT => DN_MAC,
        ON_LINK => MacAddr([2, 0, 0, 0, 3, 0x50]),
        _ => MacAddr([2, 0, 0, 0, 3, (number % GATEWAYS) as u8]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn sessions_reach_all_gnbs_and_each_sixteen_of_them() {
        let peers = Peers::new(5_000);
        let of = |session: u32| (0..16).map(move |k| peers.number(0x1000_0000 + session * 16 + k));
        assert!((0..1_000).all(|s| of(s).collect::<HashSet<_>>().len() == 16));
        let all: HashSet<usize> = (0..50_000).flat_map(of).collect();
        assert_eq!((all.len(), all.iter().max()), (5_000, Some(&4_999)));
        let (prefix, _) = peers.route().unwrap();
        assert!(
            all.iter()
                .all(|n| prefix.contains(peers.address(*n).into()))
        );
    }

    #[test]
    fn sixteen_are_on_the_link() {
        let peers = Peers::new(16);
        assert_eq!((peers, peers.route()), (Peers::default(), None));
        let numbers: Vec<usize> = (0x1000_0030..0x1000_0040)
            .map(|t| peers.number(t))
            .collect();
        assert_eq!(numbers, (0..16).collect::<Vec<_>>());
        assert_eq!(peers.address(3), gnb_address(3));
    }
}
