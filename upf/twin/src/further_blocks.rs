//! Further blocks of ports on demand (RFC 7422 calls them dynamic), as the twin's user has them given.
//!
//! The UP function gives a block when its control core has heard that a UE found no free port. Until then packets
//! of new flows are dropped. The twin knows no moment at which the control core hears of it: whoever drives
//! both says when the UP function came to rest, and sends packets one by one while ports are short, so that both
//! give the same block before the same packet.

use crate::twin::Twin;

impl Twin {
    /// The UP function came to rest: sessions that found no free port since the last time get a further block.
    /// Says how many did, and how many may have no more or found none.
    pub fn give_ports(&mut self) -> (u64, u64) {
        self.nats.give_more(&self.config)
    }

    /// True if a session may be without a free port before so many packets have passed.
    pub fn may_lack_ports(&self, packets: usize) -> bool {
        self.nats.may_fill(packets)
    }
}
