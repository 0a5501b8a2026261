//! PFD Management and Session Set Deletion.

use crate::limits;
use crate::pfcp::Cause;
use crate::pfcp::group::ApplicationIdsPfds;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{FqCsid, NodeId, OffendingIe};

ie_table! {
    /// PFD Management Request (7.4.3.1).
    pub struct PfdManagementRequest<'a> {
        /// What tells the packets of applications; none, and no application has any of it any more.
        list[limits::APPLICATIONS_PER_MESSAGE] application_ids_pfds: ApplicationIdsPfds<'a> =
            APPLICATION_IDS_PFDS,
        /// Who asks.
        optional node_id: NodeId<'a> = NODE_ID,
    }
}

ie_table! {
    /// PFD Management Response (7.4.3.2).
    pub struct PfdManagementResponse<'a> {
        /// Whether the PFDs were taken over.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
        /// Who answers.
        optional node_id: NodeId<'a> = NODE_ID,
    }
}

ie_table! {
    /// Session Set Deletion Request (7.4.6.1).
    pub struct SessionSetDeletionRequest<'a> {
        /// Who asks.
        required node_id: NodeId<'a> = NODE_ID,
        /// The sets.
        list[limits::FQ_CSIDS] fq_csid: FqCsid<'a> = FQ_CSID,
    }
}

ie_table! {
    /// Session Set Deletion Response (7.4.6.2).
    pub struct SessionSetDeletionResponse<'a> {
        /// Who answers.
        required node_id: NodeId<'a> = NODE_ID,
        /// Whether the sessions will be deleted.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
    }
}
