//! What the tests stand on: SMFs, a whole UPF on simulated ports, gNBs and a data network, all in
//! one thread and in virtual time.
#![allow(dead_code, reason = "every test uses another part")]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

pub mod frames;
pub mod judged;
pub mod n4_link;
pub mod ue;
pub mod upf;
pub mod world;

use std::net::{Ipv4Addr, Ipv6Addr};

use sluice_smf_emulator::Tunnel;
use sluice_wire::ids::Teid;

/// The UPF on N4, N3 and N6.
pub const N4: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
pub const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// A server of the data network.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 80);
/// The server of a dedicated flow that a live SMF asked for, and our address on its link.
pub const SECOND_SERVER: Ipv4Addr = Ipv4Addr::new(10, 100, 6, 2);
pub const N6_SECOND: Ipv4Addr = Ipv4Addr::new(10, 100, 6, 1);
/// The same of IPv6, on N6 alone.
pub const N6_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 0x80);
/// How many gNBs there are.
pub const GNBS: u8 = 4;

pub const N3_MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub const N4_MAC: [u8; 6] = [2, 0, 0, 0, 0, 4];
pub const N6_MAC: [u8; 6] = [2, 0, 0, 0, 0, 6];
pub const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 1, 6];

/// The address of the gNB with this number, from 1.
pub fn gnb_address(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 50 + n)
}

/// Its MAC address.
pub fn gnb_mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 2, n]
}

/// A tunnel to a UE through a gNB.
pub fn gnb(n: u8, ue: u16) -> Tunnel {
    let teid = 0x0d00_0000 | u32::from(n) << 16 | u32::from(ue);
    tunnel(teid, gnb_address(n))
}

pub fn tunnel(teid: u32, ipv4: Ipv4Addr) -> Tunnel {
    let teid = Teid::new(teid).unwrap();
    Tunnel::v4(teid, ipv4)
}

/// The address of a UE; those with even numbers belong to worker 0 of two, the others to 1.
pub fn ue_address(n: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 0, 0)) + u32::from(n))
}
