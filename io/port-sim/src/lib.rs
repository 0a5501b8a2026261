//! Simulated ports and heap packets.
//!
//! A [`SimNet`] holds ports, links between them and a virtual clock that only
//! the caller moves; the same calls with the same seed give the same frames at
//! the same times. A worker reaches ports by a [`SimIo`], which is a
//! [`PortIo`](sluice_port::PortIo) like any other. What real network cards do
//! to an elastic packet path is modelled: several receive and transmit queues
//! of bounded length, an indirection table and masked flow rules whose changes
//! take effect late ([`steer`]), links that delay, lose, double and reorder
//! ([`LinkConfig`]).
//!
//! ```
//! use sluice_port::{Burst, PortId, PortIo, QueueId};
//! use sluice_port_sim::{HeapPool, LinkConfig, SimNet, SimPortConfig};
//!
//! let net = SimNet::new(1);
//! let (a, b) = (net.add_port(SimPortConfig::named("a")), net.add_port(SimPortConfig::named("b")));
//! net.connect(&a, &b, LinkConfig { delay_ns: 1_000, ..LinkConfig::default() });
//! let pool = HeapPool::default();
//! let mut io = net.io(&[a.clone(), b], pool.clone());
//!
//! a.inject(b"a frame that arrives at port a");
//! let mut burst = Burst::new();
//! assert_eq!(io.rx(PortId(0), QueueId(0), &mut burst, 32), 1);
//! assert_eq!(io.tx(PortId(0), QueueId(0), &mut burst), 1);
//! net.advance_to(1_000);
//! assert_eq!(io.rx(PortId(1), QueueId(0), &mut burst, 32), 1);
//! drop(burst);
//! assert!(net.ledger().is_balanced() && pool.live() == 0 && pool.leaked() == 0);
//! ```
#![forbid(unsafe_code)]

mod fields;
pub mod hash;
mod io;
mod ledger;
mod link;
mod net;
mod packet;
mod pcap;
mod pool;
mod port;
mod rng;
mod state;
pub mod steer;
mod steer_caps;

pub use io::SimIo;
pub use ledger::Ledger;
pub use link::LinkConfig;
pub use net::{SimNet, SimPort};
pub use packet::HeapPacket;
pub use pcap::PcapWriter;
pub use pool::{HeapPool, PoolConfig};
pub use port::SimPortConfig;
