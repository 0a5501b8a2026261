//! Ports and packets by DPDK: EAL, mempools, mbufs, ethdev ports.
//!
//! Start the [`Eal`] once, make an [`MbufPool`], open [`Port`]s, hand their queues to the
//! [`DpdkIo`] of each worker, and run the worker on a thread of its own after
//! [`register_thread`]:
//!
//! ```no_run
//! use sluice_port_dpdk::*;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let eal = Eal::init(&EalConfig::default())?;
//!     let pool = MbufPool::create(&eal, PoolConfig::default())?;
//!     let n3 = Port::open(&pool, &PortConfig::new("n3", devargs::af_packet(0, "n3", 1)))?;
//!     let mut io = DpdkIo::new(&pool, &[n3.clone()]);
//!     if let (Some(rx), Some(tx)) = (n3.rx_queue(0), n3.tx_queue(0)) {
//!         let _ = (io.attach_rx(rx), io.attach_tx(tx));
//!     }
//!     std::thread::spawn(move || {
//!         let _registered = register_thread(&eal);
//!         // receive and send by `io`
//!     });
//!     Ok(())
//! }
//! ```
//!
//! Nothing here needs an order of dropping: queues hold their port, ports their pool, pools the
//! EAL.

pub mod devargs;
mod eal;
mod error;
mod io;
mod mbuf;
mod pool;
mod port;
mod steer;
mod sys;
mod thread;
mod wait;

pub use eal::{Eal, EalConfig, LogLevel, Memory, free_huge_mib};
pub use error::{EalError, Errno, PoolError, PortError, PortStep};
pub use io::DpdkIo;
pub use mbuf::Mbuf;
pub use pool::{
    DATA_ROOM_HUGE_PAGES, DATA_ROOM_NORMAL_PAGES, HEADROOM_BYTES, MbufPool, PoolConfig,
};
pub use port::{Port, PortConfig, Promiscuous, RxQueue, TxQueue};
pub use steer::{DeviceRule, PortSteer};
pub use thread::{RegisteredThread, register_thread};
pub use wait::CpuWaits;
