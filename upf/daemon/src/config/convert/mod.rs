//! Conversion of the configuration to start-up parameters.

mod dpdk;

use super::interfaces::{Interface, SegmentClamp, Tunnel};
use super::ip::Prefix;
use super::{Allocation, N6, Nat, Prefix4, Prefix6, UpfConfig};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_control::config::{ControlConfig, InterfaceConfig, Role, RouterAdvertisementConfig};
use sluice_datapath::builder::Plan;
use sluice_datapath::forward::marking::DscpByQfi;
use sluice_datapath::forward::mss_clamp::MssClamp;
use sluice_datapath::lookup::layout::{InstanceId, Layout, LayoutError, Pool, PrefixPool};
use sluice_datapath::nat::pool::{NatPool, NatPools};
use sluice_datapath::tables::{self, PrefixIpv6};
use sluice_n4::{Config as N4Config, Features, Limits as N4Limits};
use sluice_port::PortId;
use sluice_session::network::Side;
use sluice_session::{AllocationPool, ConfiguredApplications, PoolAddresses, PredefinedRules};
use sluice_wire::eth::MacAddr;
use sluice_wire::ipv6::MIN_MTU;
use sluice_wire::pfcp::value::NtpTime;
use std::collections::HashMap;

/// What the usual tunnel takes of a packet's room: IPv4, UDP, GTP-U with PDU Session Container.
const TUNNEL_OVERHEAD_BYTES: u16 = 44;
/// The same over IPv6.
const TUNNEL_OVERHEAD_IPV6_BYTES: u16 = 64;
/// More is not met on the way to anybody.
const ETHERNET_MTU: u16 = 1500;

/// An opened port, as far as interfaces need to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenedPort {
    /// Its number.
    pub id: PortId,
    /// Its MAC address.
    pub mac: MacAddr,
    /// Largest IP packet, in bytes.
    pub mtu_bytes: u16,
}

/// What the N4 endpoint is told beside the configuration.
#[derive(Clone, Copy, Debug)]
pub struct N4Start {
    /// When the UPF started (TS 29.244, 8.2.65).
    pub recovery_time_stamp: NtpTime,
    /// A random number.
    pub hash_seed: u64,
    /// What the UPF can do.
    pub features: Features,
    /// Whether sessions outlive a new association (TS 29.244, 6.2.6.2.2).
    pub retains_sessions: bool,
}

/// Why interfaces cannot be brought onto the opened ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConvertError {
    /// The port of an interface was not opened.
    NotOpened {
        /// The interface.
        interface: String,
        /// Its port.
        port: String,
    },
    /// The port carries less than the interface is configured for.
    Mtu {
        /// The interface.
        interface: String,
        /// Its MTU.
        wanted_bytes: u16,
        /// The port's.
        port_bytes: u16,
    },
    /// A tunnel whose address is not clear; checked files have none.
    TunnelAddress {
        /// The interface.
        interface: String,
    },
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened { interface, port } => {
                write!(f, "interface {interface}: port {port} is not open")
            }
            Self::Mtu {
                interface,
                wanted_bytes,
                port_bytes,
            } => write!(
                f,
                "interface {interface}: MTU {wanted_bytes}, but its port carries {port_bytes} bytes"
            ),
            Self::TunnelAddress { interface } => {
                write!(f, "interface {interface}: a tunnel without an address")
            }
        }
    }
}

impl std::error::Error for ConvertError {}

impl UpfConfig {
    /// For the control core, with the ports that were opened, by name.
    ///
    /// # Errors
    /// When a port is missing or carries less than an interface wants.
    pub fn control(
        &self,
        ports: &HashMap<String, OpenedPort>,
    ) -> Result<ControlConfig, ConvertError> {
        let interfaces = self.interfaces.iter();
        Ok(ControlConfig {
            interfaces: interfaces
                .map(|interface| self.interface(interface, ports))
                .collect::<Result<_, _>>()?,
            pools: self.path_pools(),
            nat: self.nat_pools().unwrap_or_default(),
            router_advertisement: RouterAdvertisementConfig {
                lifetime_s: self.router_advertisement.lifetime_s,
                mtu_bytes: self.ue_mtu(ports),
                dns: self.router_advertisement.dns.clone(),
            },
            dscp: self.dscp_by_qfi(),
            echo: self.echo.0,
            shaping: self.shaping.of_path(),
        })
    }

    fn dscp_by_qfi(&self) -> DscpByQfi {
        let mut by_qfi = DscpByQfi::default();
        for marking in &self.dscp {
            // Both were read within their bounds.
            by_qfi.set(marking.qfi.value, marking.dscp);
        }
        by_qfi
    }

    /// Largest packet of a UE that fits everywhere, unless the file says another: into a tunnel on the
    /// access side, and onto a data network with IPv6. IPv6 allows no less than 1280 (RFC 8200, 5).
    fn ue_mtu(&self, ports: &HashMap<String, OpenedPort>) -> u16 {
        let is_plain = |i: &&Interface| i.n6.is_some() && i.ipv6().next().is_some();
        let plain = self.interfaces.iter().filter(is_plain);
        let plain = plain.filter_map(|i| mtu(i, ports));
        let fits = self.access_mtus(ports).chain(plain).chain([ETHERNET_MTU]);
        let auto = fits.min().unwrap_or(ETHERNET_MTU).max(MIN_MTU as u16);
        self.router_advertisement.mtu.map_or(auto, |at| at.value)
    }

    /// Largest packets that fit into the tunnels of each interface towards the RAN.
    fn access_mtus(&self, ports: &HashMap<String, OpenedPort>) -> impl Iterator<Item = u16> {
        let is_access = |i: &&Interface| i.tunnels.iter().any(|t| t.side == Side::Access);
        let access = self.interfaces.iter().filter(is_access);
        access.filter_map(|i| Some(mtu(i, ports)?.saturating_sub(tunnel_overhead_bytes(i))))
    }

    /// What TCP segments are clamped to at an interface. What it finds itself: of tunnels that end there, what fits
    /// into them; of a data network, what fits its link and all tunnels to the RAN.
    fn mss_clamp(
        &self,
        interface: &Interface,
        mtu_bytes: u16,
        ports: &HashMap<String, OpenedPort>,
    ) -> Option<MssClamp> {
        match interface.mss_clamp {
            SegmentClamp::Off => None,
            SegmentClamp::Segments(bytes) => MssClamp::of_ipv4_segments(bytes),
            SegmentClamp::Auto => {
                let in_tunnels = mtu_bytes.saturating_sub(tunnel_overhead_bytes(interface));
                let in_tunnels = (!interface.tunnels.is_empty()).then_some(in_tunnels);
                let plain = interface.n6.is_some().then_some(mtu_bytes);
                let to_ran = plain.and_then(|_| self.access_mtus(ports).min());
                let fits = [in_tunnels, plain, to_ran].into_iter().flatten().min()?;
                MssClamp::of_packets(fits)
            }
        }
    }

    fn interface(
        &self,
        interface: &Interface,
        ports: &HashMap<String, OpenedPort>,
    ) -> Result<InterfaceConfig, ConvertError> {
        let name = interface.name.value.clone();
        let Some(port) = ports.get(&interface.port.value) else {
            return Err(ConvertError::NotOpened {
                interface: name,
                port: interface.port.value.clone(),
            });
        };
        let mtu_bytes = interface.mtu.map_or(port.mtu_bytes, |at| at.value);
        if mtu_bytes > port.mtu_bytes {
            return Err(ConvertError::Mtu {
                interface: name,
                wanted_bytes: mtu_bytes,
                port_bytes: port.mtu_bytes,
            });
        }
        let (routes, routes_ipv6) = routes(interface);
        let neighbours = interface.neighbours.iter();
        Ok(InterfaceConfig {
            name,
            port: port.id,
            vlan: interface.vlan.map(|at| at.value),
            mac: port.mac,
            mtu_bytes,
            addresses: interface
                .ipv4()
                .map(|at| (at.value.address, at.value.prefix_len))
                .collect(),
            addresses_ipv6: interface
                .ipv6()
                .map(|at| (at.value.address, at.value.prefix_len))
                .collect(),
            roles: self.roles(interface)?,
            routes,
            routes_ipv6,
            neighbours: neighbours.map(|n| (n.address.value, n.mac)).collect(),
            proxy_arp: interface
                .proxy_arp
                .iter()
                .map(|at| for_path(&at.value))
                .collect(),
            proxy_nd: interface
                .proxy_nd
                .iter()
                .map(|at| for_path_ipv6(&at.value))
                .collect(),
            allowed_peers: peers_ipv4(interface).collect(),
            allowed_peers_ipv6: peers_ipv6(interface).collect(),
            verifies_udp: interface.verifies_udp,
            mss_clamp: self.mss_clamp(interface, mtu_bytes, ports),
        })
    }

    fn roles(&self, interface: &Interface) -> Result<Vec<Role>, ConvertError> {
        let tunnels = interface.tunnels.iter().map(|t| tunnel_role(interface, t));
        let mut roles: Vec<Role> = tunnels.collect::<Result<_, _>>()?;
        roles.extend(interface.n6.as_ref().map(|n6| Role::Plain {
            side: Side::Core,
            instances: n6.names().map(|name| name.value.clone()).collect(),
            is_default: n6.is_default,
            id: self.instance_id(&n6.network_instance.value),
        }));
        let n4 = interface.n4_addresses();
        roles.extend(n4.map(|address| Role::N4 { address }));
        Ok(roles)
    }

    /// For the N4 endpoint.
    pub fn n4_endpoint(&self, start: &N4Start) -> N4Config {
        let n4 = &self.n4;
        let limits = N4Limits::for_rate(n4.requests_per_s, n4.t1_ms, n4.n1);
        N4Config {
            hash_seed: start.hash_seed,
            features: start.features,
            retains_sessions: start.retains_sessions,
            allowed_peers: n4.peers.clone(),
            peer_port: n4.peer_port,
            t1_ms: n4.t1_ms,
            n1: n4.n1,
            heartbeat_interval_ms: n4.heartbeat_s * 1000,
            limits: N4Limits {
                associations: n4.associations_max,
                ..limits
            },
            ..N4Config::new(n4.node_id.clone(), start.recovery_time_stamp)
        }
    }

    /// Where lines lie.
    ///
    /// # Errors
    /// When they are more than 32 bits number; checked files never are.
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        let limits = &self.limits;
        let layout = Layout::new(
            limits.tunnel_endpoints.value,
            &self.path_pools(),
            limits.foreign_entries.value,
        )?;
        let layout = layout.with_blocks(limits.numbered_blocks());
        let layout = layout.with_prefixes(self.prefix_pools());
        Ok(layout.with_nat(self.nat_pools()?))
    }

    /// Translation, by the numbers of network instances on the path. What comes from outside has numbers of its
    /// own, from the last downwards.
    fn nat_pools(&self) -> Result<NatPools, LayoutError> {
        let pool = |(i, nat): (usize, &Nat)| NatPool {
            inside: self.instance_id(&nat.network_instance.value),
            outside: InstanceId(u8::MAX - i as u8),
            prefixes: nat.addresses.iter().map(|at| for_path(&at.value)).collect(),
            first_port: nat.first_port.value,
            block_ports: nat.block_ports,
            blocks_per_ue: nat.blocks_per_ue.value,
            filtering: nat.filtering,
            hairpins: nat.hairpins,
            timeouts: nat.timeouts,
        };
        let pools = self.nat.iter().enumerate().map(pool).collect();
        NatPools::new(pools).map_err(LayoutError::Nat)
    }

    /// What the packet path is made for.
    ///
    /// # Errors
    /// See [`layout`](Self::layout).
    pub fn plan(&self) -> Result<Plan, LayoutError> {
        Ok(Plan {
            layout: self.layout()?,
            blocks: self.limits.numbered_blocks(),
            workers: self.placement.workers.len(),
        })
    }

    /// The network instances that UEs are looked up in, by their numbers on the path.
    pub fn instances(&self) -> Vec<&str> {
        let n6 = self.interfaces.iter().filter_map(|i| i.n6.as_ref());
        let n6 = n6.map(|n6| n6.network_instance.value.as_str());
        let pools = self
            .pools
            .iter()
            .map(|p| self.first_name(&p.network_instance.value));
        let mut names: Vec<&str> = Vec::new();
        for name in n6.chain(pools) {
            // As DNS names are compared (TS 23.003, 9.1).
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
        names
    }

    /// The network instance of a pool by its number on the path.
    pub(in crate::config) fn pool_instance(&self, pool: &super::Pool) -> InstanceId {
        self.instance_id(&pool.network_instance.value)
    }

    fn path_pools(&self) -> Vec<Pool> {
        let placed = self
            .pools
            .iter()
            .filter_map(|pool| match pool.prefix.value {
                Prefix::V4(prefix) => Some(Pool {
                    instance: self.instance_id(&pool.network_instance.value),
                    base: prefix.base(),
                    prefix_len: prefix.prefix_len(),
                }),
                Prefix::V6(_) => None,
            });
        placed.collect()
    }

    /// Pools of prefixes that are found by their numbers.
    fn prefix_pools(&self) -> Vec<PrefixPool> {
        let pools = self.pools.iter();
        let pools = pools.filter_map(|pool| match pool.prefix.value {
            Prefix::V6(prefix) => Some(PrefixPool {
                instance: self.instance_id(&pool.network_instance.value).0,
                base: (prefix.base().to_bits() >> 64) as u64,
                len: prefix.prefix_len(),
            }),
            Prefix::V4(_) => None,
        });
        pools.collect()
    }

    /// UE addresses that the session machine gives.
    pub fn allocation(&self) -> Vec<AllocationPool> {
        let pools = self.pools.iter().filter_map(|pool| {
            let Allocation { identity, rest_s } = pool.allocation.clone()?;
            Some(AllocationPool {
                instance: self.instance_id(&pool.network_instance.value),
                addresses: match pool.prefix.value {
                    Prefix::V4(prefix) => PoolAddresses::Ipv4 {
                        base: prefix.base(),
                        prefix_len: prefix.prefix_len(),
                    },
                    Prefix::V6(prefix) => PoolAddresses::Ipv6 {
                        base: prefix.base(),
                        prefix_len: prefix.prefix_len(),
                    },
                },
                identity,
                rest_s,
            })
        });
        pools.collect()
    }

    /// Rules that SMFs activate by name.
    pub fn predefined_rules(&self) -> PredefinedRules {
        let rules: Vec<_> = self.predefined.iter().map(|p| p.rule.clone()).collect();
        // Checked files have none that cannot be.
        PredefinedRules::new(&rules).unwrap_or_default()
    }

    /// Flows by the Application ID that SMFs name.
    pub fn configured_applications(&self) -> ConfiguredApplications {
        let all = self.applications.iter().map(|of| of.application.clone());
        // Checked files have none that cannot be.
        ConfiguredApplications::new(&all.collect::<Vec<_>>()).unwrap_or_default()
    }

    /// The number of a data network's instance on the path.
    pub fn n6_instance(&self, n6: &N6) -> InstanceId {
        self.instance_id(&n6.network_instance.value)
    }

    /// The name that stands for a network instance which has several.
    pub(in crate::config) fn first_name<'a>(&'a self, name: &'a str) -> &'a str {
        let mut n6 = self.interfaces.iter().filter_map(|i| i.n6.as_ref());
        let of_it = n6.find(|n6| n6.is_called(name));
        of_it.map_or(name, |n6| n6.network_instance.value.as_str())
    }

    fn instance_id(&self, name: &str) -> InstanceId {
        let names = self.instances();
        let name = self.first_name(name);
        let at = names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        InstanceId(at.and_then(|i| u8::try_from(i).ok()).unwrap_or(u8::MAX))
    }
}

/// A prefix as the packet path has it.
fn for_path(prefix: &Prefix4) -> tables::Prefix {
    tables::Prefix {
        base: u32::from(prefix.base()),
        mask: prefix.mask(),
    }
}

/// The same of IPv6.
fn for_path_ipv6(prefix: &Prefix6) -> PrefixIpv6 {
    PrefixIpv6 {
        base: prefix.base().to_bits(),
        len: prefix.prefix_len(),
    }
}

fn peers_ipv4(interface: &Interface) -> impl Iterator<Item = tables::Prefix> {
    interface.peers.iter().filter_map(|prefix| match prefix {
        Prefix::V4(prefix) => Some(for_path(prefix)),
        Prefix::V6(_) => None,
    })
}

fn peers_ipv6(interface: &Interface) -> impl Iterator<Item = PrefixIpv6> {
    interface.peers.iter().filter_map(|prefix| match prefix {
        Prefix::V4(_) => None,
        Prefix::V6(prefix) => Some(for_path_ipv6(prefix)),
    })
}

/// What tunnels take of a packet's room at an interface: over IPv6 more, and any may go over it that can.
fn tunnel_overhead_bytes(interface: &Interface) -> u16 {
    match interface.has_ipv6_tunnels() {
        true => TUNNEL_OVERHEAD_IPV6_BYTES,
        false => TUNNEL_OVERHEAD_BYTES,
    }
}

/// Largest IP packet of an interface, if its port was opened.
fn mtu(interface: &Interface, ports: &HashMap<String, OpenedPort>) -> Option<u16> {
    let of_port = || ports.get(&interface.port.value).map(|port| port.mtu_bytes);
    interface.mtu.map(|at| at.value).or_else(of_port)
}

/// Routes of either family, whose prefix and station are of one.
type Routes = (Vec<(tables::Prefix, Ipv4Addr)>, Vec<(PrefixIpv6, Ipv6Addr)>);

fn routes(interface: &Interface) -> Routes {
    let mut routes = Routes::default();
    for route in interface.all_routes() {
        match route {
            (Prefix::V4(to), IpAddr::V4(via)) => routes.0.push((for_path(&to), via)),
            (Prefix::V6(to), IpAddr::V6(via)) => routes.1.push((for_path_ipv6(&to), via)),
            // Checked files have none.
            _ => {}
        }
    }
    routes
}

fn tunnel_role(interface: &Interface, tunnel: &Tunnel) -> Result<Role, ConvertError> {
    let instance = tunnel.network_instance.as_ref();
    let addresses = interface.tunnel_addresses(tunnel);
    Ok(Role::Tunnels {
        side: tunnel.side,
        instance: instance.map_or_else(String::new, |at| at.value.clone()),
        addresses: addresses.ok_or_else(|| ConvertError::TunnelAddress {
            interface: interface.name.value.clone(),
        })?,
    })
}
