//! Control core configuration: interfaces, roles, gateways.

use core::net::Ipv4Addr;
use sluice_datapath::lookup::layout::{InstanceId, Pool};
use sluice_datapath::tables::Prefix;
use sluice_port::PortId;
use sluice_session::network::Side;
use sluice_wire::eth::{MacAddr, VlanId};

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct ControlConfig {
    /// Logical interfaces; the order gives their ids.
    pub interfaces: Vec<InterfaceConfig>,
    /// UE pools; the control core answers errors for addresses in them through their sessions.
    pub pools: Vec<Pool>,
}

/// One logical interface: a port, a VLAN, its addresses and roles.
#[derive(Clone, Debug)]
pub struct InterfaceConfig {
    /// Its name, for people.
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
    /// What it serves.
    pub roles: Vec<Role>,
    /// Static routes; the default route is `0.0.0.0/0`.
    pub routes: Vec<(Prefix, Ipv4Addr)>,
    /// Stations that need no ARP.
    pub neighbours: Vec<(Ipv4Addr, MacAddr)>,
    /// Addresses that we answer ARP for, beside our own.
    pub proxy_arp: Vec<Prefix>,
    /// Outer sources allowed; empty allows all.
    pub allowed_peers: Vec<Prefix>,
    /// UDP checksums of tunnel packets are verified where there are any.
    pub verifies_udp: bool,
}

/// What an interface serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// Tunnels end here: N3, N9.
    Tunnels {
        /// On which side of the UPF.
        side: Side,
        /// Network instance; empty: all that have no tunnels of their own.
        instance: String,
        /// One of the interface's addresses.
        address: Ipv4Addr,
    },
    /// Plain packets of a data network: N6.
    Plain {
        /// On which side of the UPF.
        side: Side,
        /// Network instances: all its names.
        instances: Vec<String>,
        /// Rules that name an unknown network instance mean it.
        is_default: bool,
        /// Its number on the path.
        id: InstanceId,
    },
    /// PFCP is served here: N4.
    N4 {
        /// One of the interface's addresses.
        address: Ipv4Addr,
    },
}
