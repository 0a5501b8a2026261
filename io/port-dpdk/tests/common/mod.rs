//! Shared parts of the tests: one EAL per test process, and packets with known bytes.
#![allow(dead_code, reason = "not every test file uses everything")]

use std::sync::OnceLock;

use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};
use sluice_port_dpdk::*;

pub const QUEUE: QueueId = QueueId(0);
pub const PORT: PortId = PortId(0);

/// The EAL of this test process, started by whichever test comes first.
pub fn eal() -> Eal {
    static EAL: OnceLock<Eal> = OnceLock::new();
    EAL.get_or_init(|| Eal::init(&config()).expect("DPDK starts"))
        .clone()
}

pub fn config() -> EalConfig {
    EalConfig {
        memory: Memory::NormalPages { mib: 128 },
        ..EalConfig::default()
    }
}

pub fn pool(packets: u32) -> MbufPool {
    MbufPool::create(
        &eal(),
        PoolConfig {
            packets,
            ..PoolConfig::default()
        },
    )
    .expect("a pool")
}

/// A worker with queue 0 of one port.
pub fn worker(pool: &MbufPool, port: &Port) -> DpdkIo {
    let mut io = DpdkIo::new(pool, std::slice::from_ref(port));
    io.attach_rx(port.rx_queue(0).expect("receive queue 0"))
        .expect("taken");
    io.attach_tx(port.tx_queue(0).expect("transmit queue 0"))
        .expect("taken");
    io
}

/// A packet of `bytes` bytes, all of them `fill`.
pub fn packet(pool: &MbufPool, bytes: usize, fill: u8) -> Mbuf {
    let mut packet = pool.alloc().expect("a packet");
    packet.append(bytes).expect("room").fill(fill);
    packet
}

/// Sends all, however many calls it takes.
pub fn send(io: &mut impl PortIo<Packet = Mbuf>, burst: &mut Burst<Mbuf>) {
    while !burst.is_empty() {
        assert!(io.tx(PORT, QUEUE, burst) > 0, "the port takes packets");
    }
}
