//! QoS Enforcement Rules.

use sluice_datapath::session::rule::BucketRef;
use sluice_wire::ids::QerId;
use sluice_wire::pfcp::value::{BitRate, GateStatus};

/// A QoS Enforcement Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Qer {
    /// QER ID.
    pub id: QerId,
    /// Gate Status.
    pub gate: GateStatus,
    /// Maximum Bitrate.
    pub mbr: Option<BitRate>,
    /// Guaranteed Bitrate: kept, nothing is reserved for it.
    pub gbr: Option<BitRate>,
    /// QFI that packets are marked with.
    pub qfi: Option<u8>,
    /// Shared buckets, uplink and downlink.
    pub buckets: [BucketRef; 2],
    /// It came with the message at hand.
    pub is_new: bool,
}

impl Qer {
    /// It guarantees a bit rate, which only a GBR flow has (TS 23.501, 5.7.2.5).
    pub fn is_of_gbr_flow(&self) -> bool {
        self.gbr
            .is_some_and(|rate| rate.uplink_kbps > 0 || rate.downlink_kbps > 0)
    }

    /// It has no shared buckets any more.
    pub fn drop_buckets(&mut self) {
        self.buckets = [BucketRef::NONE; 2];
    }
}
