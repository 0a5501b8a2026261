//! Groups about applications: what tells their packets, and that they were seen.

use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{FlowInformation, PfdContents, Raw, Text};

ie_table! {
    /// Application ID's PFDs (Table 7.4.3.1-2): all packet flow descriptions of an application;
    /// none, and the application has none any more.
    pub struct ApplicationIdsPfds<'a> {
        /// The application.
        required application_id: Text<'a> = APPLICATION_ID,
        /// Its packet flow descriptions.
        list[limits::PFDS_PER_APPLICATION] pfd_context: PfdContext<'a> = PFD_CONTEXT,
    }
}

ie_table! {
    /// PFD Context (Table 7.4.3.1-3): one packet flow description.
    pub struct PfdContext<'a> {
        /// What tells packets; one of them is enough.
        some[limits::CONTENTS_PER_PFD] pfd_contents: PfdContents<'a> = PFD_CONTENTS,
    }
}

ie_table! {
    /// Application Detection Information (Table 7.5.8.3-2): the application whose traffic was seen.
    pub struct ApplicationDetectionInformation<'a> {
        /// The application.
        required application_id: Text<'a> = APPLICATION_ID,
        /// Application Instance ID: the same in start and stop of the same traffic.
        optional application_instance_id: Raw<'a> = APPLICATION_INSTANCE_ID,
        /// The flow, if one is all of the application.
        optional flow_information: FlowInformation<'a> = FLOW_INFORMATION,
    }
}
