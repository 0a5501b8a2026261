//! Buffering Action Rules.

use sluice_wire::ids::BarId;

/// A Buffering Action Rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// BAR ID.
    pub id: BarId,
    /// Downlink Data Notification Delay in units of 50 ms.
    pub delay: u8,
    /// Suggested Buffering Packets Count.
    pub packets: Option<u8>,
}
