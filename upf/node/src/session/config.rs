//! What the session machine is told at its start.

use core::net::Ipv4Addr;
use sluice_path::layout::Layout;

/// How sessions are served, and how many.
#[derive(Clone, Debug)]
pub struct Config {
    /// Sessions at one time; one more is refused with cause 75.
    pub sessions: usize,
    /// Extension blocks of the path's arena.
    pub blocks: u32,
    /// Where the path's lines lie.
    pub layout: Layout,
    /// Our N4 address, for the UP F-SEID.
    pub n4_address: Ipv4Addr,
    /// F-TEIDs that the CP function chose are admitted; otherwise refused with cause 71.
    pub accept_cp_fteid: bool,
    /// How long sessions outlive a CP function that does not answer, in seconds.
    pub peer_loss_keep_s: u32,
    /// Transactions under way at one time; a request beyond is refused with cause 74. At most
    /// [`RESERVED`](sluice_path::limits::RESERVED) for each worker.
    pub transactions: usize,
    /// Seed of the random bits in TEIDs and SEIDs; draw it from the system at start.
    pub seed: [u64; 2],
}

impl Config {
    /// Defaults for a layout: as many sessions as half the endpoints (a session has two at a
    /// handover), CP-chosen F-TEIDs admitted, sessions kept for an hour.
    pub fn new(layout: Layout, blocks: u32, n4_address: Ipv4Addr, seed: [u64; 2]) -> Self {
        Self {
            sessions: layout.endpoints() as usize / 2,
            blocks,
            layout,
            n4_address,
            accept_cp_fteid: true,
            peer_loss_keep_s: 3600,
            transactions: sluice_path::limits::RESERVED,
            seed,
        }
    }
}
