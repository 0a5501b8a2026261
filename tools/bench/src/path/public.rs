//! Public addresses and ports of the benchmark's UEs (NAPT44): a block each, in the order of their sessions.

use super::topology::{INTERNET_ID, number_of};
use super::traffic::Flow;
use sluice_datapath::limits::NAT_UNIT_PORTS;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::{Filtering, NatPool, NatPoolError, NatPools, NatTimeouts};
use sluice_datapath::tables::Prefix;
use std::net::Ipv4Addr;

/// A /22 (RFC 2544's addresses): with 1,008 UEs each, more than a million.
const BASE: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const PREFIX_LEN: u8 = 22;
const ADDRESSES: u32 = 1 << (32 - PREFIX_LEN);
const FIRST_PORT: u16 = 1_024;
const BLOCK_PORTS: u32 = NAT_UNIT_PORTS as u32;

/// Translation in the data network, without an end of mappings while it is measured.
pub fn pools() -> Result<NatPools, NatPoolError> {
    let prefix = Prefix::new(Ipv4Addr::from(BASE), PREFIX_LEN);
    let pool = NatPool {
        inside: INTERNET_ID,
        outside: InstanceId(u8::MAX),
        prefixes: prefix.into_iter().collect(),
        first_port: FIRST_PORT,
        block_ports: BLOCK_PORTS as u16,
        blocks_per_ue: 1,
        filtering: Filtering::EndpointIndependent,
        hairpins: true,
        timeouts: NatTimeouts {
            udp_s: 86_400,
            ..NatTimeouts::default()
        },
    };
    NatPools::new(vec![pool])
}

/// Public address and port of a session's UE with this port: each session has the next address, and in its
/// block a port has the place that its low bits tell.
#[inline(always)]
pub fn of(flow: &Flow, ue_port: u16) -> (u32, u16) {
    let number = number_of(flow.gnb_teid);
    let block = FIRST_PORT.wrapping_add((number / ADDRESSES * BLOCK_PORTS) as u16);
    (BASE + number % ADDRESSES, in_block(block, ue_port))
}

/// The port of a block that has the place of another block's port.
#[inline(always)]
pub fn in_block(port: u16, of: u16) -> u16 {
    port - port % BLOCK_PORTS as u16 + of % BLOCK_PORTS as u16
}

/// The number of the session that has a public address and port.
#[inline(always)]
pub fn session_of(address: u32, port: u16) -> u32 {
    let block = u32::from(port.wrapping_sub(FIRST_PORT)) / BLOCK_PORTS;
    block * ADDRESSES + address % ADDRESSES
}
