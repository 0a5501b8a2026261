//! PFD Management and Session Set Deletion, as far as they are answered.

use crate::limits;
use crate::pfcp::Cause;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{FqCsid, NodeId, OffendingIe, Raw};

ie_table! {
    /// PFD Management Request (7.4.3.1).
    pub struct PfdManagementRequest<'a> {
        /// Application IDs' PFDs, uninterpreted.
        list[limits::RAW_REPEATED] application_ids_pfds: Raw<'a> = APPLICATION_IDS_PFDS,
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
