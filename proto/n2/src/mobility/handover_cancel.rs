//! Handover Cancel (TS 38.413, 8.4.5): the UE is not to go after all.

use crate::cause::Cause;
use crate::table::message;

message! {
    /// Handover Cancel (9.2.3.11).
    pub struct HandoverCancel = HandoverCancel, "Handover Cancel", of ids {
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// Handover Cancel Acknowledge (9.2.3.12).
    pub struct HandoverCancelAcknowledge =
        HandoverCancelAcknowledge, "Handover Cancel Acknowledge", of ids {}
}
