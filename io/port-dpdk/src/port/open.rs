//! Port start-up: from device arguments to a started ethdev port.

use std::ffi::CString;
use std::sync::atomic::AtomicBool;

use sluice_port::{PortId, PortInfo};

use super::packet_sockets::{Known, PacketSockets};
use super::{Attached, PortConfig, Promiscuous};
use crate::devargs::device_name;
use crate::error::{Errno, PortError, PortStep};
use crate::pool::{HEADROOM_BYTES, MbufPool};
use crate::sys;

/// Ethernet header, one VLAN tag and FCS: what a frame adds to the MTU.
const FRAME_OVERHEAD_BYTES: u32 = 14 + 4 + 4;

/// Drivers that copy or free a packet before they return from sending it: it is on its way then,
/// in order over all queues.
const SENDING_AT_ONCE: [&str; 5] = [
    "net_null",
    "net_ring",
    "net_pcap",
    "net_tap",
    "net_af_packet",
];

pub(super) fn open(pool: &MbufPool, config: &PortConfig) -> Result<Attached, PortError> {
    // From here on, an error detaches the port by dropping this.
    let mut port = attach(pool, config)?;
    let caps = inspect(&port)?;
    describe(&mut port, config, &caps);
    configure(&port, config, &caps)?;
    set_up_queues(&mut port, config, &caps)?;
    set_mtu(&port, config)?;
    // SAFETY: the port is configured with all its queues.
    port.check(PortStep::Start, unsafe {
        sys::rte_eth_dev_start(port.number)
    })?;
    filter_addresses(&port, config, &caps)?;
    port.info.mtu_bytes = match config.link_mtu_bytes {
        Some(carried) => carried,
        None => port.mtu_bytes()?,
    };
    port.rx_taken = free_flags(port.info.rx_queues);
    port.tx_taken = free_flags(port.info.tx_queues);
    Ok(port)
}

/// Finds the port, probing its device if DPDK does not know it yet.
fn attach(pool: &MbufPool, config: &PortConfig) -> Result<Attached, PortError> {
    let bad = || PortError::BadDevargs(config.devargs.clone());
    let name = device_name(&config.devargs).ok_or_else(bad)?;
    let name = CString::new(name).map_err(|_| bad())?;
    let devargs = CString::new(config.devargs.as_str()).map_err(|_| bad())?;
    let (mut number, mut probed) = (0, None);
    let _alone = pool.eal().control();
    // SAFETY: `name` is a C string, `number` a place to write to.
    let mut find = || unsafe { sys::rte_eth_dev_get_port_by_name(name.as_ptr(), &mut number) };
    if find() != 0 {
        let before = Known::before(&config.devargs).map_err(|e| of_sockets(config, &e))?;
        // SAFETY: `devargs` is a C string, which DPDK copies.
        let rc = unsafe { sys::rte_dev_probe(devargs.as_ptr()) };
        Errno::check(rc).map_err(|errno| PortError::Refused {
            devargs: config.devargs.clone(),
            step: PortStep::Probe,
            errno,
        })?;
        if find() != 0 {
            return Err(PortError::NoSuchPort(config.devargs.clone()));
        }
        probed = Some(before);
    }
    if !pool.eal().claim_port(number) {
        return Err(PortError::InUse(config.devargs.clone()));
    }
    let mut port = Attached {
        number,
        devargs: config.devargs.clone(),
        driver: String::new(),
        info: PortInfo {
            id: PortId(number),
            name: config.name.clone(),
            mac: [0; 6],
            mtu_bytes: 0,
            rx_queues: 0,
            tx_queues: 0,
            rx_queue_packets: 0,
            tx_queue_packets: 0,
        },
        sends_at_once: false,
        rx_taken: Box::default(),
        tx_taken: Box::default(),
        sockets: PacketSockets::default(),
        pool: pool.clone(),
    };
    if let Some(before) = probed {
        let replaced = PacketSockets::replace(&config.devargs, &before);
        port.sockets = replaced.map_err(|error| of_sockets(config, &error))?;
    }
    Ok(port)
}

fn of_sockets(config: &PortConfig, error: &std::io::Error) -> PortError {
    PortError::Refused {
        devargs: config.devargs.clone(),
        step: PortStep::PacketSockets,
        errno: Errno(error.raw_os_error().unwrap_or(libc::EPROTO)),
    }
}

fn inspect(port: &Attached) -> Result<sys::sdp_port_caps, PortError> {
    let mut caps = sys::sdp_port_caps::default();
    // SAFETY: the port exists; `caps` is a place to write to.
    let rc = unsafe { sys::sdp_port_caps(port.number, &mut caps) };
    port.check(PortStep::Inspect, rc).map(|_| caps)
}

fn describe(port: &mut Attached, config: &PortConfig, caps: &sys::sdp_port_caps) {
    port.driver = sys::text(&caps.driver);
    port.sends_at_once = SENDING_AT_ONCE.contains(&port.driver.as_str());
    port.info.mac = config.mac.unwrap_or(caps.mac);
    port.info.rx_queues = config.rx_queues.clamp(1, caps.max_rx_queues.max(1));
    port.info.tx_queues = config.tx_queues.clamp(1, caps.max_tx_queues.max(1));
}

fn configure(
    port: &Attached,
    config: &PortConfig,
    caps: &sys::sdp_port_caps,
) -> Result<(), PortError> {
    // SAFETY: constants of the shim.
    let (scatter, multi_segs, rss_ip) =
        unsafe { (sys::sdp_rx_scatter, sys::sdp_tx_multi_segs, sys::sdp_rss_ip) };
    let room = u32::from(port.pool.data_room_bytes() - HEADROOM_BYTES);
    let frame = u32::from(config.mtu_bytes.unwrap_or(0)) + FRAME_OVERHEAD_BYTES;
    let wanted_scatter = if frame > room { scatter } else { 0 };
    let setup = sys::sdp_port_setup {
        rx_offloads: caps.rx_offloads & wanted_scatter,
        tx_offloads: caps.tx_offloads & multi_segs,
        rss_types: caps.rss_types & rss_ip,
        rx_queues: port.info.rx_queues,
        tx_queues: port.info.tx_queues,
        mtu: 0,
    };
    // SAFETY: the port exists and is stopped; `setup` is read only.
    let rc = unsafe { sys::sdp_port_configure(port.number, &setup) };
    port.check(PortStep::Configure, rc).map(drop)
}

fn set_up_queues(
    port: &mut Attached,
    config: &PortConfig,
    caps: &sys::sdp_port_caps,
) -> Result<(), PortError> {
    let (mut rx, mut tx) = (config.rx_descriptors, config.tx_descriptors);
    // SAFETY: the port exists; both numbers are places to write to.
    let rc = unsafe { sys::rte_eth_dev_adjust_nb_rx_tx_desc(port.number, &mut rx, &mut tx) };
    port.check(PortStep::Inspect, rc)?;
    for queue in 0..port.info.rx_queues {
        let pool = port.pool.as_ptr();
        // SAFETY: the port is configured; the pool lives as long as the port, which holds it.
        let rc = unsafe { sys::sdp_port_rx_queue(port.number, queue, rx, caps.socket, pool) };
        port.check(PortStep::RxQueue(queue), rc)?;
    }
    for queue in 0..port.info.tx_queues {
        // SAFETY: the port is configured.
        let rc = unsafe { sys::sdp_port_tx_queue(port.number, queue, tx, caps.socket) };
        port.check(PortStep::TxQueue(queue), rc)?;
    }
    (port.info.rx_queue_packets, port.info.tx_queue_packets) = (rx, tx);
    Ok(())
}

/// After the queues: some drivers check the MTU against their buffers.
fn set_mtu(port: &Attached, config: &PortConfig) -> Result<(), PortError> {
    match config.mtu_bytes {
        Some(mtu) if port.mtu_bytes()? != mtu => port.set_mtu_bytes(mtu),
        _ => Ok(()),
    }
}

fn filter_addresses(
    port: &Attached,
    config: &PortConfig,
    caps: &sys::sdp_port_caps,
) -> Result<(), PortError> {
    let promiscuous = match config.promiscuous {
        Promiscuous::On => true,
        Promiscuous::Off => false,
        Promiscuous::WhenNeeded => port.info.mac != caps.mac && !add_address(port),
    };
    if !promiscuous {
        if config.all_multicast {
            hear_groups(port, config.promiscuous);
        }
        return Ok(());
    }
    // SAFETY: the port exists.
    let rc = unsafe { sys::rte_eth_promiscuous_enable(port.number) };
    port.check(PortStep::Promiscuous, rc).map(drop)
}

/// Drivers without a mode for groups may have promiscuous mode alone, or filter nothing at all: what they
/// refuse is no error.
fn hear_groups(port: &Attached, promiscuous: Promiscuous) {
    // SAFETY: the port exists.
    let refused = unsafe { sys::rte_eth_allmulticast_enable(port.number) } != 0;
    if refused && promiscuous != Promiscuous::Off {
        // SAFETY: the port exists.
        unsafe { sys::rte_eth_promiscuous_enable(port.number) };
    }
}

fn add_address(port: &Attached) -> bool {
    // SAFETY: the port exists; six bytes are read.
    unsafe { sys::sdp_port_add_mac(port.number, port.info.mac.as_ptr()) == 0 }
}

fn free_flags(count: u16) -> Box<[AtomicBool]> {
    (0..count).map(|_| AtomicBool::new(false)).collect()
}
