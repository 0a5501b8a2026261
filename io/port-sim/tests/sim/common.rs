//! Numbered frames, and what several test files do with them.

use std::ops::Range;

use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};
use sluice_port_sim::hash::RssHash;
use sluice_port_sim::{HeapPacket, HeapPool, LinkConfig, SimIo, SimNet, SimPortConfig};

pub const P0: PortId = PortId(0);
pub const P1: PortId = PortId(1);
pub const Q0: QueueId = QueueId(0);
pub const Q1: QueueId = QueueId(1);

pub const BAD_LINK: LinkConfig = LinkConfig {
    delay_ns: 500,
    loss_ppm: 100_000,
    duplicate_ppm: 50_000,
    reorder_ppm: 50_000,
    reorder_delay_ns: 3_000,
};

/// Carries its number in the first four bytes and is hashed by the fifth.
pub fn frame(number: u32, hash: u8) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[hash; 60]].concat()
}

pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(*frame.first_chunk().unwrap())
}

/// A port with two queues each way, spread by the fifth byte.
pub fn config(name: &str) -> SimPortConfig {
    let hash = RssHash::Custom(|frame| frame.get(4).map(|&byte| byte.into()));
    SimPortConfig {
        rx_queues: 2,
        tx_queues: 2,
        hash,
        ..SimPortConfig::named(name)
    }
}

/// Receives, and frees, all that a queue holds.
pub fn rx(io: &mut SimIo, port: PortId, queue: QueueId) -> Vec<u32> {
    let mut burst = Burst::new();
    let mut numbers = Vec::new();
    while io.rx(port, queue, &mut burst, 64) > 0 {
        numbers.extend(burst.iter().map(|packet| number(packet.data())));
        burst.free();
    }
    numbers
}

pub fn burst(io: &mut SimIo, numbers: Range<u32>) -> Burst<HeapPacket> {
    let mut burst = Burst::new();
    for number in numbers {
        let mut packet = io.alloc().unwrap();
        packet
            .append(64)
            .unwrap()
            .copy_from_slice(&frame(number, 0));
        burst.push(packet).unwrap();
    }
    burst
}

/// For when the test itself holds no packet.
pub fn assert_accounted(net: &SimNet, pool: &HeapPool) {
    let ledger = net.ledger();
    assert!(ledger.is_balanced(), "{ledger:?}");
    assert_eq!(pool.live() as u64, ledger.in_tx_queues);
    assert_eq!(pool.leaked(), 0);
}
