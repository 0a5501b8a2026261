//! What the tests stand on: a laboratory of namespaces, the daemon in it, and UEs.

mod config;
mod daemon;
mod lab;
mod pfcp;
mod ue;

use std::time::{Duration, Instant};

pub use config::Config;
pub use daemon::{Daemon, SLUICE, Said, ctl_at};
pub use lab::Lab;
pub use pfcp::{PfcpSocket, association_release, association_setup, padded};
pub use ue::Ue;

use std::net::Ipv4Addr;

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

/// How long anything may take that is not meant to wait: on a busy machine, a second is nothing.
pub const SOON: Duration = Duration::from_secs(30);

/// The address of a UE, by its number from 0.
pub fn ue_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 60, 0, 2 + number)
}

/// Waits until `condition` holds, at most [`SOON`]; fails with `what` otherwise.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}
