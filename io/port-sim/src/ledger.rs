//! Accounting of every simulated frame: where it is and how it ended.

/// Counts of frames over a whole [`SimNet`](crate::SimNet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Put in front of a port by `inject`.
    pub injected: u64,
    /// Accepted by a transmit queue.
    pub accepted: u64,
    /// Made by links that double frames.
    pub duplicated: u64,
    /// Given to a worker by `rx`.
    pub delivered: u64,
    /// Left by a port without a link.
    pub output: u64,
    /// Dropped in front of a full receive queue.
    pub missed: u64,
    /// Lost by links, or at ports that are down.
    pub lost: u64,
    /// Waiting in receive queues now.
    pub in_rx_queues: u64,
    /// On links now.
    pub in_flight: u64,
    /// Waiting in transmit queues now.
    pub in_tx_queues: u64,
}

impl Ledger {
    /// Whether every frame that came to be is somewhere.
    pub fn is_balanced(&self) -> bool {
        let begun = self.injected + self.accepted + self.duplicated;
        let ended = self.delivered + self.output + self.missed + self.lost;
        begun == ended + self.in_rx_queues + self.in_flight + self.in_tx_queues
    }
}
