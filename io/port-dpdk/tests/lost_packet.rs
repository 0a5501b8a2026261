//! A packet that outlives everything.

mod common;

use common::packet;
use sluice_port::Packet;
use sluice_port_dpdk::*;

#[test]
fn a_packet_that_outlives_the_eal_still_has_its_bytes() {
    let eal = Eal::init(&common::config()).unwrap();
    let config = PoolConfig {
        packets: 63,
        ..PoolConfig::default()
    };
    let pool = MbufPool::create(&eal, config).unwrap();
    let lost = packet(&pool, 1000, 42);
    drop((pool, eal));
    assert_eq!(lost.data(), [42; 1000]);
    lost.free();
}
