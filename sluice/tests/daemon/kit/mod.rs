//! What the tests stand on: a laboratory of namespaces, the daemon in it, and UEs.

mod config;
mod daemon;
mod lab;
mod pfcp;
mod ue;
mod web;

use std::time::{Duration, Instant};

pub use config::Config;
pub use daemon::{Daemon, SLUICE, Said, ctl_at};
pub use lab::Lab;
pub use pfcp::{PfcpSocket, association_release, association_setup, padded, pfd_management};
pub use ue::{Ue, endpoint};
pub use web::{download, pages, pings, said, talks};

use std::net::{Ipv4Addr, Ipv6Addr};

pub const N3_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 1);
pub const N3_GNB: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 11);
pub const N4_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 1);
/// SMFs; the allow-list of [`Config`] has the first two.
pub const N4_SMFS: [Ipv4Addr; 3] = [
    Ipv4Addr::new(198, 18, 4, 2),
    Ipv4Addr::new(198, 18, 4, 3),
    Ipv4Addr::new(198, 18, 4, 4),
];
pub const N6_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 1);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 2);

/// The same of IPv6.
pub const N3_UPF_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1);
pub const N3_GNB_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 0x11);
pub const N6_UPF_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 2);

/// How long anything may take that is not meant to wait: on a busy machine, a second is nothing.
pub const SOON: Duration = Duration::from_secs(30);

/// The address of a UE, by its number from 0.
pub fn ue_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 60, 0, 2 + number)
}

/// The IPv6 address of a UE, in a prefix of its own.
pub fn ue_ipv6(number: u8) -> Ipv6Addr {
    Ipv6Addr::new(
        0x2001,
        0xdb8,
        0x60,
        0x100 * (1 + u16::from(number)),
        0,
        0,
        0,
        0x100,
    )
}

/// Waits until `condition` holds, at most [`SOON`]; fails with `what` otherwise.
pub fn eventually(what: &str, condition: impl FnMut() -> bool) {
    eventually_within(SOON, what, condition);
}

/// The same of what takes its time.
pub fn eventually_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}
