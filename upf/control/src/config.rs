//! Control core configuration: interfaces, roles, gateways.

use crate::paths::EchoConfig;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_datapath::forward::marking::DscpByQfi;
use sluice_datapath::forward::mss_clamp::MssClamp;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::nat::pool::NatPools;
use sluice_datapath::session::token_bucket::Shaping;
use sluice_datapath::tables::{Prefix, PrefixIpv6};
use sluice_port::PortId;
use sluice_session::network::{Side, TunnelAddresses};
use sluice_wire::eth::{MacAddr, VlanId};
use sluice_wire::ipv6::link_local_of;

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct ControlConfig {
    /// Logical interfaces; the order gives their ids.
    pub interfaces: Vec<InterfaceConfig>,
    /// UE pools; the control core answers errors for addresses in them through their sessions.
    pub pools: Vec<Pool>,
    /// Network instances whose addresses are translated.
    pub nat: NatPools,
    /// Router Advertisements to UEs.
    pub router_advertisement: RouterAdvertisementConfig,
    /// DSCP of outer headers.
    pub dscp: DscpByQfi,
    /// Echo Requests to tunnel peers.
    pub echo: EchoConfig,
    /// How rates are shaped.
    pub shaping: Shaping,
}

/// Contents of Router Advertisements (RFC 4861, 4.2) beside the session's prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouterAdvertisementConfig {
    /// How long we are the UE's default router, in seconds.
    pub lifetime_s: u16,
    /// Largest IPv6 packet of a UE, in bytes.
    pub mtu_bytes: u16,
    /// Recursive DNS servers.
    pub dns: Vec<Ipv6Addr>,
}

impl Default for RouterAdvertisementConfig {
    /// A lifetime as TS 29.061, 11.2.1.3.4 has it, and what fits into a tunnel on Ethernet.
    fn default() -> Self {
        Self {
            lifetime_s: 64_800,
            mtu_bytes: 1456,
            dns: Vec::new(),
        }
    }
}

/// One logical interface: a port, a VLAN, its addresses and roles.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    /// Name of the interface, for people.
    pub name: String,
    /// Frames go out by this port.
    pub port: PortId,
    /// 802.1Q VLAN, if tagged.
    pub vlan: Option<VlanId>,
    /// Our MAC address.
    pub mac: MacAddr,
    /// Largest IP packet, in bytes.
    pub mtu_bytes: u16,
    /// Our addresses with their prefix lengths.
    pub addresses: Vec<(Ipv4Addr, u8)>,
    /// The same of IPv6, the link-local address apart.
    pub addresses_ipv6: Vec<(Ipv6Addr, u8)>,
    /// Roles of the interface.
    pub roles: Vec<Role>,
    /// Static routes; the default route is `0.0.0.0/0`.
    pub routes: Vec<(Prefix, Ipv4Addr)>,
    /// The same of IPv6; the default route is `::/0`.
    pub routes_ipv6: Vec<(PrefixIpv6, Ipv6Addr)>,
    /// Stations that are not asked for.
    pub neighbours: Vec<(IpAddr, MacAddr)>,
    /// Prefixes in which we answer ARP for addresses of UEs and translated ones, beside our own.
    pub proxy_arp: Vec<Prefix>,
    /// Prefixes in which we answer Neighbour Solicitations for addresses of UEs, beside our own.
    pub proxy_nd: Vec<PrefixIpv6>,
    /// Outer sources allowed. With those of IPv6: if both are empty, all are.
    pub allowed_peers: Vec<Prefix>,
    /// The same of IPv6.
    pub allowed_peers_ipv6: Vec<PrefixIpv6>,
    /// UDP checksums of tunnel packets are verified where there are any.
    pub verifies_udp: bool,
    /// MSS clamp of TCP segments that arrive or leave there.
    pub mss_clamp: Option<MssClamp>,
}

impl InterfaceConfig {
    /// An untagged one on Ethernet, which serves nothing and leads nowhere so far.
    pub fn new(name: &str, port: PortId, mac: MacAddr) -> Self {
        Self {
            name: name.to_owned(),
            port,
            vlan: None,
            mac,
            mtu_bytes: 1500,
            addresses: vec![],
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

    /// Our link-local address, if there is IPv6.
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        (!self.addresses_ipv6.is_empty()).then(|| link_local_of(self.mac))
    }

    /// Stations that routes lead to.
    pub fn gateways(&self) -> impl Iterator<Item = IpAddr> {
        let ipv4 = self.routes.iter().map(|(_, via)| IpAddr::V4(*via));
        let ipv6 = self.routes_ipv6.iter().map(|(_, via)| IpAddr::V6(*via));
        ipv4.chain(ipv6)
    }

    /// True if an address is one of ours there, the link-local one apart.
    pub fn is_own(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.addresses.iter().any(|(own, _)| *own == address),
            IpAddr::V6(address) => self.addresses_ipv6.iter().any(|(own, _)| *own == address),
        }
    }

    /// True if an address lies on this link.
    pub fn is_on_link(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => {
                let links = self.addresses.iter();
                let mut links = links.filter_map(|(a, len)| Prefix::new(*a, *len));
                links.any(|link| link.contains(address.into()))
            }
            IpAddr::V6(address) if address.is_unicast_link_local() => {
                !self.addresses_ipv6.is_empty()
            }
            IpAddr::V6(address) => {
                let links = self.addresses_ipv6.iter();
                let mut links = links.filter_map(|(a, len)| PrefixIpv6::new(*a, *len));
                links.any(|link| link.contains(address.to_bits()))
            }
        }
    }
}

/// Role of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// Tunnels end here: N3, N9.
    Tunnels {
        /// On which side of the UPF.
        side: Side,
        /// Network instance; empty: all that have no tunnels of their own.
        instance: String,
        /// Some of the interface's addresses: one endpoint.
        addresses: TunnelAddresses,
    },
    /// Plain packets of a data network: N6.
    Plain {
        /// On which side of the UPF.
        side: Side,
        /// Network instances: all its names.
        instances: Vec<String>,
        /// Rules that name an unknown network instance mean it.
        is_default: bool,
        /// Number of the network instance on the path.
        id: InstanceId,
    },
    /// PFCP is served here: N4.
    N4 {
        /// One of the interface's addresses.
        address: Ipv4Addr,
    },
}
