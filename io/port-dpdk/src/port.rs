//! An ethdev port.

mod open;
mod packet_sockets;
mod queue;
mod stats;

pub use queue::{RxQueue, TxQueue};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use packet_sockets::PacketSockets;
use sluice_port::{PortId, PortInfo};

use crate::error::{Errno, PortError, PortStep};
use crate::pool::MbufPool;
use crate::sys;

/// Configuration of a port.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Name by which configuration and people call the port.
    pub name: String,
    /// Device arguments: a PCI address, or what [`crate::devargs`] helps to write.
    pub devargs: String,
    /// Receive queues; the port gets fewer if the device has fewer.
    pub rx_queues: u16,
    /// Transmit queues; the port gets fewer if the device has fewer.
    pub tx_queues: u16,
    /// Descriptors of each receive queue, brought into the device's range.
    pub rx_descriptors: u16,
    /// Descriptors of each transmit queue, brought into the device's range.
    pub tx_descriptors: u16,
    /// MTU in bytes of layer 3. None: as the device has it.
    pub mtu_bytes: Option<u16>,
    /// MTU of the link, in bytes of layer 3, where DPDK does not know: it neither asks the kernel about interfaces nor
    /// lets most software devices go beyond 1500.
    pub link_mtu_bytes: Option<u16>,
    /// The address that frames to us carry. None: the device's own.
    pub mac: Option<[u8; 6]>,
    /// Which frames are received.
    pub promiscuous: Promiscuous,
    /// Frames to all groups are received: IPv6 stations ask for us at a group (RFC 4861, 7.2.1).
    pub all_multicast: bool,
}

impl PortConfig {
    /// One queue each way, 1024 descriptors, everything else as the device has it.
    #[must_use]
    pub fn new(name: impl Into<String>, devargs: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            devargs: devargs.into(),
            rx_queues: 1,
            tx_queues: 1,
            rx_descriptors: 1024,
            tx_descriptors: 1024,
            mtu_bytes: None,
            link_mtu_bytes: None,
            mac: None,
            promiscuous: Promiscuous::WhenNeeded,
            all_multicast: false,
        }
    }
}

/// Whether frames to foreign addresses are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promiscuous {
    /// Only if [`PortConfig::mac`] is not the device's and it has no filter to add it to.
    #[default]
    WhenNeeded,
    /// Always.
    On,
    /// Never.
    Off,
}

/// An open, started port; clones are handles to the same. It is stopped, closed and detached when
/// all of them and all queues taken from it are dropped.
#[derive(Clone, Debug)]
pub struct Port {
    attached: Arc<Attached>,
}

impl Port {
    /// Attaches, configures and starts a port whose received packets come from `pool`.
    ///
    /// # Errors
    /// See [`PortError`].
    pub fn open(pool: &MbufPool, config: &PortConfig) -> Result<Self, PortError> {
        open::open(pool, config).map(|attached| Self {
            attached: Arc::new(attached),
        })
    }

    /// Nobody else changes a port meanwhile.
    pub(crate) fn alone(&self) -> impl Drop + '_ {
        self.attached.pool.eal().control()
    }

    /// DPDK's number of the port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.attached.number
    }

    /// The right to receive from a queue; `None` while somebody has it, or out of range.
    #[must_use]
    pub fn rx_queue(&self, queue: u16) -> Option<RxQueue> {
        claim(&self.attached.rx_taken, queue).then(|| RxQueue::new(self.attached.clone(), queue))
    }

    /// The right to send by a queue; `None` while somebody has it, or out of range.
    #[must_use]
    pub fn tx_queue(&self, queue: u16) -> Option<TxQueue> {
        claim(&self.attached.tx_taken, queue).then(|| TxQueue::new(self.attached.clone(), queue))
    }

    /// Fixed properties of the port, as port `id` of a worker.
    #[must_use]
    pub fn info(&self, id: PortId) -> PortInfo {
        PortInfo {
            id,
            ..self.attached.info.clone()
        }
    }

    /// The name of its driver, such as `net_af_packet`.
    #[must_use]
    pub fn driver(&self) -> &str {
        &self.attached.driver
    }

    /// The present MTU, in bytes of layer 3.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn mtu_bytes(&self) -> Result<u16, PortError> {
        self.attached.mtu_bytes()
    }

    /// Changes the MTU, in bytes of layer 3. Many drivers refuse while the port is running.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn set_mtu_bytes(&self, mtu: u16) -> Result<(), PortError> {
        self.attached.set_mtu_bytes(mtu)
    }
}

/// Takes flag `index` if it is there and free.
fn claim(taken: &[AtomicBool], index: u16) -> bool {
    taken
        .get(usize::from(index))
        .is_some_and(|taken| !taken.swap(true, Ordering::AcqRel))
}

/// A probed port, owned by one [`Port`] and the queues taken from it.
#[derive(Debug)]
struct Attached {
    number: u16,
    devargs: String,
    driver: String,
    info: PortInfo,
    /// Whether the driver is done with a packet when it accepts it.
    sends_at_once: bool,
    rx_taken: Box<[AtomicBool]>,
    tx_taken: Box<[AtomicBool]>,
    /// Of an af_packet port.
    sockets: PacketSockets,
    pool: MbufPool,
}

impl Attached {
    fn mtu_bytes(&self) -> Result<u16, PortError> {
        let mut mtu = 0;
        // SAFETY: the port exists; `mtu` is a place to write to.
        let rc = unsafe { sys::rte_eth_dev_get_mtu(self.number, &mut mtu) };
        self.check(PortStep::Inspect, rc).map(|_| mtu)
    }

    fn set_mtu_bytes(&self, mtu: u16) -> Result<(), PortError> {
        let _alone = self.pool.eal().control();
        // SAFETY: the port exists.
        let rc = unsafe { sys::rte_eth_dev_set_mtu(self.number, mtu) };
        self.check(PortStep::Mtu(mtu), rc).map(drop)
    }

    fn check(&self, step: PortStep, rc: i32) -> Result<i32, PortError> {
        let refused = |errno| PortError::Refused {
            devargs: self.devargs.clone(),
            step,
            errno,
        };
        Errno::check(rc).map_err(refused)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _alone = self.pool.eal().control();
        // SAFETY: nobody else uses the port: its queues hold this value too. Refusals change
        // nothing for us.
        unsafe {
            sys::rte_eth_dev_stop(self.number);
            sys::sdp_port_detach(self.number);
        }
        self.pool.eal().release_port(self.number);
    }
}
