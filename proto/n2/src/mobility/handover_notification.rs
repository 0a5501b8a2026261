//! Handover Notification (TS 38.413, 8.4.3): the UE has come.

use crate::table::message;
use crate::value::Location;

message! {
    /// Handover Notify (9.2.3.7).
    pub struct HandoverNotify = HandoverNotify, "Handover Notify", of ids {
        /// Place of the UE.
        ignorable location: Location = UserLocationInformation,
    }
}
