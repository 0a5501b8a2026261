//! Heartbeat and Version Not Supported.

use crate::pfcp::table::ie_table;
use crate::pfcp::value::{NtpTime, Raw};

ie_table! {
    /// Heartbeat Request (7.4.2.1).
    pub struct HeartbeatRequest<'a> {
        /// When the sender was started.
        required recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
        /// Source IP Address, uninterpreted.
        ignorable source_ip_address: Raw<'a> = SOURCE_IP_ADDRESS,
    }
}

ie_table! {
    /// Heartbeat Response (7.4.2.2).
    pub struct HeartbeatResponse {
        /// When the sender was started.
        required recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
    }
}

ie_table! {
    /// Version Not Supported Response (7.4.4.7): a header alone, of the version that is supported.
    pub struct VersionNotSupportedResponse {
    }
}
