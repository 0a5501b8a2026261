//! Parameters and results of a measurement.

use std::net::Ipv4Addr;

use super::SideConfig;
use crate::source::{Plan, Popularity, Sizes};

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Port on the side of the gNBs; none: no uplink is sent, and no downlink seen.
    pub n3: Option<SideConfig>,
    /// Port on the side of the servers; none: no downlink is sent, and uplink is seen only if a mirror elsewhere sends
    /// it back.
    pub n6: Option<SideConfig>,
    /// The address with which UEs speak.
    pub server: Ipv4Addr,
    /// Whether packets must arrive for whom they were sent: off where nothing is between both
    /// sides, or where the UPF translates addresses.
    pub check_delivery: bool,
}

/// Traffic of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePlan {
    pub plan: Plan,
    /// How long packets are.
    pub sizes: Sizes,
    /// Choice of flows for packets.
    pub popularity: Popularity,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub uplink: Option<LanePlan>,
    pub downlink: Option<LanePlan>,
    /// Whether uplink packets are sent back where they arrive, at our own N6.
    pub mirror: bool,
    /// Whether uplink packets come back at all, by our mirror or by another: what is on its way in
    /// closed loops is counted by returns.
    pub expect_returns: bool,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Later than this after its due time, a packet counts as late.
    pub late_after_ns: u64,
    /// How long a port may have no room for a packet.
    pub patience_ns: u64,
    /// Packets are lost if they have not arrived when none has come for this time after the last one was sent.
    pub settle_ns: u64,
    /// From one line of the timeline to the next.
    pub interval_ns: u64,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            uplink: None,
            downlink: None,
            mirror: false,
            expect_returns: false,
            seed: 1,
            late_after_ns: 100_000,
            patience_ns: 1_000_000,
            settle_ns: 300_000_000,
            interval_ns: 1_000_000_000,
        }
    }
}
