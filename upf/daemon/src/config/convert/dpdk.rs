//! DPDK settings from the configuration: memory, packet buffers, ports.

use crate::config::Interface;
use crate::config::UpfConfig;
use crate::config::dpdk::{Dpdk, HugePages};
use crate::config::ports::Port;
use sluice_datapath::hold::HoldLimits;
use sluice_port_dpdk::devargs::{self, PacketRings};
use sluice_port_dpdk::{DATA_ROOM_HUGE_PAGES, EalConfig, Memory, PoolConfig, PortConfig};

/// `struct rte_mbuf` (two lines of 64 bytes) and the pool's header of each.
const MBUF_BYTES: u64 = 128 + 64;
/// A normal page.
const PAGE_BYTES: u64 = 4096;

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

    /// For the pool of packets, on a NUMA node where the machine has several.
    pub fn pool(&self, numa_node: Option<u16>) -> PoolConfig {
        PoolConfig {
            packets: self.dpdk.mbufs.value,
            data_room_bytes: self.dpdk.data_room_for(self.largest_mtu()),
            numa_node,
        }
    }

    /// For the pool of packets that are held for idle UEs.
    pub fn held_pool(&self, numa_node: Option<u16>) -> PoolConfig {
        PoolConfig {
            packets: self.limits.held_packets.value,
            ..self.pool(numa_node)
        }
    }

    /// How many packets are held for idle UEs, and for how long.
    pub fn hold_limits(&self) -> HoldLimits {
        HoldLimits {
            per_entry: self.limits.held_packets_of_ue.value,
            packets: self.limits.held_packets.value,
            wait_ns: u64::from(self.limits.held_s.value) * 1_000_000_000,
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
        let [rx_queues, tx_queues] = port.queues(workers);
        PortConfig {
            rx_queues,
            tx_queues,
            rx_descriptors: port.rx_descriptors,
            tx_descriptors: port.tx_descriptors,
            mtu_bytes: port.mtu.map(|at| at.value),
            mac: port.mac.map(|mac| mac.0),
            promiscuous: port.promiscuous,
            all_multicast: self.has_ipv6(port),
            ..PortConfig::new(
                &port.name.value,
                completed_devargs(port, rx_queues.max(tx_queues)),
            )
        }
    }

    /// Whether an interface on the port has IPv6 addresses.
    fn has_ipv6(&self, port: &Port) -> bool {
        let on_port = |i: &&Interface| i.port.value == port.name.value;
        let mut there = self.interfaces.iter().filter(on_port);
        there.any(|i| i.ipv6().next().is_some())
    }

    /// Largest MTU, in bytes, that rings and buffers have room for where the file gives none.
    pub fn mtu_by_default(&self) -> u16 {
        let buffers = Dpdk::mtu_in_buffers(self.pool(None).data_room_bytes);
        let slots = devargs::AF_PACKET_MAX_FRAME_BYTES - frame_bytes(0);
        buffers.min(u16::try_from(slots).unwrap_or(u16::MAX))
    }

    /// Packet memory that is needed at least, in MiB.
    pub(in crate::config) fn packet_memory_mb(&self) -> u64 {
        let room = self.dpdk.data_room_for(self.largest_mtu());
        let buffer = u64::from(room.unwrap_or(DATA_ROOM_HUGE_PAGES)) + MBUF_BYTES;
        // A buffer does not lie across the edge of a page, unless it is larger.
        let share = (PAGE_BYTES / buffer).max(1);
        let taken = buffer.max(PAGE_BYTES / share);
        (taken * u64::from(self.dpdk.mbufs.value + self.limits.held_packets.value))
            .div_ceil(1 << 20)
    }

    fn largest_mtu(&self) -> u16 {
        let mtus = self.ports.iter().filter_map(|port| port.mtu);
        mtus.map(|at| at.value).max().unwrap_or(0)
    }
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
        let usual = PacketRings::new(queues);
        let wanted = port.mtu.map_or(0, |mtu| frame_bytes(mtu.value));
        let deepest = port.rx_descriptors.max(port.tx_descriptors);
        let rings = PacketRings {
            max_frame_bytes: usual.max_frame_bytes.max(wanted),
            slots: usual.slots.max(deepest.into()),
            ..usual
        };
        return devargs::af_packet_with(n, interface, rings);
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
