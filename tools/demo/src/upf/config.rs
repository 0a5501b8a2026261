//! The configuration file of the demo's UPF.

use std::path::Path;

use sluice_port_dpdk::devargs::{self, MemifRole, PacketRings};
use sluice_port_dpdk::free_huge_mib;

use crate::args::Driver;
use crate::workdir::WorkDir;
use crate::{bridge, plan};

/// For packet buffers, in MiB: a demo must not need half a small machine.
const MEMORY_MIB: u32 = 256;
/// Both ports' rings almost four times over; with those for idle UEs they fill the memory.
const MBUFS: u32 = 61_439;
/// The demo sends some 30,000 packets a second.
const RING_SLOTS: u32 = 32_768;

/// Missing requirement of a driver, if any: packet buffers become the kernel's own only on huge pages, as normal ones
/// are not contiguous.
pub(crate) fn lacks(driver: Driver) -> Option<String> {
    let free_mib = free_huge_mib();
    (driver == Driver::AfXdp && free_mib < MEMORY_MIB).then(|| {
        format!(
            "--driver af_xdp needs {MEMORY_MIB} MiB of free huge pages, and there are {free_mib}: \
             sysctl vm.nr_hugepages={}, or use af_packet, which needs none",
            MEMORY_MIB / 2
        )
    })
}

/// As it stands on the command line.
pub(crate) fn driver_name(driver: Driver) -> &'static str {
    match driver {
        Driver::AfPacket => "af_packet",
        Driver::AfXdp => "af_xdp",
        Driver::Memif => "memif",
    }
}

/// A kernel interface by a packet socket, whose rings hold a second of the demo's traffic: so long a
/// busy machine may let a worker wait.
pub(crate) fn deep_rings(number: u16, interface: &str) -> String {
    let slots = RING_SLOTS;
    devargs::af_packet_with(
        number,
        interface,
        PacketRings {
            slots,
            ..PacketRings::new(1)
        },
    )
}

/// Allocation of UE addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Addresses {
    Smf,
    Upf,
}

/// The file's text: two ports, N4 on a kernel socket, its control socket at `socket`.
pub(crate) fn text(driver: Driver, addresses: Addresses, work: &WorkDir, socket: &Path) -> String {
    let memifs = bridge::sockets(work);
    let device = |number: u16, interface| match driver {
        Driver::AfPacket => deep_rings(number, interface),
        Driver::AfXdp => devargs::af_xdp(number, interface, 1),
        Driver::Memif => {
            let socket = &memifs[usize::from(number)];
            devargs::memif(number, MemifRole::Client, socket, 0)
        }
    };
    // Of drivers with rings of their own: a worker may have to wait for its CPU.
    let queues =
        "rx_queues: 1\n    tx_queues: 1\n    rx_descriptors: 4096\n    tx_descriptors: 4096";
    let (n3, n6, socket) = (device(0, "n3"), device(1, "n6"), socket.display());
    let chosen_here = match addresses {
        Addresses::Smf => String::new(),
        Addresses::Upf => format!(
            "    allocate: true\n  - network_instance: {}\n    prefix: '{}/{}'\n    allocate: true\n",
            plan::NETWORK_CORE,
            plan::UE_PREFIXES,
            plan::UE_PREFIXES_PREFIX
        ),
    };
    format!(
        "# Written by `sluice demo`.\n\
         control_socket: {socket}\n\
         n4:\n  listen: {N4_UPF}\n  peers: {N4_SMF}/32\n\
         ports:\n\
         \x20 - name: n3\n    device: {n3}\n    {queues}\n\
         \x20 - name: n6\n    device: {n6}\n    {queues}\n\
         interfaces:\n\
         \x20 - name: n3\n    port: n3\n    addresses: {N3_UPF}/{LINK_PREFIX}\n\
         \x20   n3:\n      network_instance: {NETWORK_ACCESS}\n\
         \x20 - name: n6\n    port: n6\n    addresses: [{N6_UPF}/{LINK_PREFIX}, '{N6_UPF_V6}/{LINK_PREFIX_V6}']\n\
         \x20   gateway: {N6_SERVER}\n\
         \x20   n6:\n      network_instance: {NETWORK_CORE}\n\
         pools:\n  - network_instance: {NETWORK_CORE}\n    prefix: {UE_POOL}/{UE_POOL_PREFIX}\n{chosen_here}\
         limits:\n  sessions: 1024\n\
         dpdk:\n  memory_mb: {MEMORY_MIB}\n  mbufs: {MBUFS}\n",
        N4_UPF = plan::N4_UPF,
        N4_SMF = plan::N4_SMF,
        N3_UPF = plan::N3_UPF,
        N6_UPF = plan::N6_UPF,
        N6_SERVER = plan::N6_SERVER,
        N6_UPF_V6 = plan::N6_UPF_V6,
        LINK_PREFIX_V6 = plan::LINK_PREFIX_V6,
        LINK_PREFIX = plan::LINK_PREFIX,
        NETWORK_ACCESS = plan::NETWORK_ACCESS,
        NETWORK_CORE = plan::NETWORK_CORE,
        UE_POOL = plan::UE_POOL,
        UE_POOL_PREFIX = plan::UE_POOL_PREFIX,
    )
}
