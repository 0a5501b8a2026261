//! From the configuration to what the parts of the UPF are started with.

use super::UpfConfig;
use super::dpdk::HugePages;
use super::interfaces::{Interface, Tunnel};
use super::ports::Port;
use core::fmt;
use sluice_n4::{Config as N4Config, Features, Limits as N4Limits};
use sluice_node::control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_node::network::Side;
use sluice_path::assembly::Plan;
use sluice_path::layout::{InstanceId, Layout, LayoutError, Pool};
use sluice_port::PortId;
use sluice_port_dpdk::{DATA_ROOM_HUGE_PAGES, EalConfig, Memory, PoolConfig, PortConfig, devargs};
use sluice_wire::eth::MacAddr;
use sluice_wire::pfcp::value::NtpTime;
use std::collections::HashMap;

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
    /// For the EAL. Its main thread stays on housekeeping's core.
    pub fn eal(&self) -> EalConfig {
        let mib = self.dpdk.memory_mb.value;
        let pci = self.ports.iter().filter(|port| port.is_pci());
        EalConfig {
            memory: match self.dpdk.huge_pages {
                HugePages::Auto => Memory::Auto { mib },
                HugePages::Never => Memory::NormalPages { mib },
                HugePages::Required => Memory::HugePages { mib },
            },
            main_cpus: Some(self.placement.housekeeping.to_string()),
            pci_devices: pci.map(|port| port.device.value.clone()).collect(),
            log_level: self.dpdk.log_level,
        }
    }

    /// For the pool of packets.
    pub fn pool(&self) -> PoolConfig {
        PoolConfig {
            packets: self.dpdk.mbufs.value,
            data_room_bytes: self.dpdk.data_room_for(self.largest_mtu()),
            numa_node: None,
        }
    }

    /// For the ports, in the order of the file.
    pub fn port_configs(&self) -> Vec<PortConfig> {
        self.ports
            .iter()
            .map(|port| self.port_config(port))
            .collect()
    }

    fn port_config(&self, port: &Port) -> PortConfig {
        let workers = u16::try_from(self.placement.workers.len()).unwrap_or(u16::MAX);
        let rx_queues = port.rx_queues.unwrap_or(workers);
        let tx_queues = port.tx_queues.unwrap_or(workers);
        PortConfig {
            rx_queues,
            tx_queues,
            rx_descriptors: port.rx_descriptors,
            tx_descriptors: port.tx_descriptors,
            mtu_bytes: port.mtu.map(|at| at.value),
            mac: port.mac.map(|mac| mac.0),
            promiscuous: port.promiscuous,
            ..PortConfig::new(
                &port.name.value,
                completed_devargs(port, rx_queues.max(tx_queues)),
            )
        }
    }

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
        })
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
        let addresses = interface.addresses.iter().map(|at| at.value);
        let neighbours = interface.neighbours.iter();
        Ok(InterfaceConfig {
            name,
            port: port.id,
            vlan: interface.vlan.map(|at| at.value),
            mac: port.mac,
            mtu_bytes,
            addresses: addresses.map(|a| (a.address, a.prefix_len)).collect(),
            roles: self.roles(interface)?,
            routes: interface
                .all_routes()
                .map(|(to, via)| (to.for_path(), via))
                .collect(),
            neighbours: neighbours.map(|n| (n.address.value, n.mac)).collect(),
            proxy_arp: interface
                .proxy_arp
                .iter()
                .map(|at| at.value.for_path())
                .collect(),
            allowed_peers: interface.peers.iter().map(|p| p.for_path()).collect(),
        })
    }

    fn roles(&self, interface: &Interface) -> Result<Vec<Role>, ConvertError> {
        let tunnels = interface.tunnels.iter().map(|t| tunnel_role(interface, t));
        let mut roles: Vec<Role> = tunnels.collect::<Result<_, _>>()?;
        roles.extend(interface.n6.as_ref().map(|n6| Role::Plain {
            side: Side::Core,
            instance: n6.network_instance.value.clone(),
            id: self.instance_id(&n6.network_instance.value),
        }));
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
        Layout::new(
            limits.tunnel_endpoints.value,
            &self.path_pools(),
            limits.foreign_lines.value,
        )
    }

    /// What the packet path is made for.
    ///
    /// # Errors
    /// See [`layout`](Self::layout).
    pub fn plan(&self) -> Result<Plan, LayoutError> {
        Ok(Plan {
            layout: self.layout()?,
            // Block 0 is never used.
            blocks: self.limits.rule_blocks.value + 1,
            workers: self.placement.workers.len(),
        })
    }

    /// The network instances that UEs are looked up in, by their numbers on the path.
    pub fn instances(&self) -> Vec<&str> {
        let n6 = self.interfaces.iter().filter_map(|i| i.n6.as_ref());
        let n6 = n6.map(|n6| n6.network_instance.value.as_str());
        let pools = self.pools.iter().map(|p| p.network_instance.value.as_str());
        let mut names: Vec<&str> = Vec::new();
        for name in n6.chain(pools) {
            // As DNS names are compared (TS 23.003, 9.1).
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
        names
    }

    /// Packet memory that is needed at least, in MiB.
    pub(super) fn packet_memory_mb(&self) -> u64 {
        let room = self.dpdk.data_room_for(self.largest_mtu());
        let buffer = u64::from(room.unwrap_or(DATA_ROOM_HUGE_PAGES)) + MBUF_BYTES;
        // A buffer does not lie across the edge of a page, unless it is larger.
        let share = (PAGE_BYTES / buffer).max(1);
        let taken = buffer.max(PAGE_BYTES / share);
        (taken * u64::from(self.dpdk.mbufs.value)).div_ceil(1 << 20)
    }

    fn largest_mtu(&self) -> u16 {
        let mtus = self.ports.iter().filter_map(|port| port.mtu);
        mtus.map(|at| at.value).max().unwrap_or(0)
    }

    fn path_pools(&self) -> Vec<Pool> {
        let pools = self.pools.iter();
        pools
            .map(|pool| Pool {
                instance: self.instance_id(&pool.network_instance.value),
                base: pool.prefix.value.base(),
                prefix_len: pool.prefix.value.prefix_len(),
            })
            .collect()
    }

    fn instance_id(&self, name: &str) -> InstanceId {
        let names = self.instances();
        let at = names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        InstanceId(at.and_then(|i| u8::try_from(i).ok()).unwrap_or(u8::MAX))
    }
}

/// `struct rte_mbuf` (two lines of 64 bytes) and the pool's header of each.
const MBUF_BYTES: u64 = 128 + 64;
/// A normal page.
const PAGE_BYTES: u64 = 4096;

fn tunnel_role(interface: &Interface, tunnel: &Tunnel) -> Result<Role, ConvertError> {
    let instance = tunnel.network_instance.as_ref();
    let address = interface.tunnel_address(tunnel);
    Ok(Role::Tunnels {
        side: tunnel.side,
        instance: instance.map_or_else(String::new, |at| at.value.clone()),
        address: address.ok_or_else(|| ConvertError::TunnelAddress {
            interface: interface.name.value.clone(),
        })?,
    })
}

/// Kernel interfaces named by `iface` alone get the rest that fits queues and MTU.
fn completed_devargs(port: &Port, queues: u16) -> String {
    let given = &port.device.value;
    let Some((device, interface)) = given.split_once(",iface=") else {
        return given.clone();
    };
    if interface.contains(',') {
        return given.clone();
    }
    let number = |driver: &str| device.strip_prefix(driver)?.parse::<u16>().ok();
    if let Some(n) = number("net_af_packet") {
        return match port.mtu {
            Some(mtu) if frame_bytes(mtu.value) > devargs::AF_PACKET_MAX_FRAME_BYTES => {
                devargs::af_packet_with_frames(n, interface, queues, frame_bytes(mtu.value))
            }
            _ => devargs::af_packet(n, interface, queues),
        };
    }
    match number("net_af_xdp") {
        Some(n) => devargs::af_xdp(n, interface, queues),
        None => given.clone(),
    }
}

/// A frame with an Ethernet header and a VLAN tag.
fn frame_bytes(mtu_bytes: u16) -> u32 {
    u32::from(mtu_bytes) + 14 + 4
}
