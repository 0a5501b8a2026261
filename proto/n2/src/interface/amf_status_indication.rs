//! AMF Status Indication (TS 38.413, 8.7.6): an AMF is about to go (TS 23.501, 5.21.2.2.2).

use sluice_ids::Guami;

use crate::table::message;

message! {
    /// AMF Status Indication (9.2.6.10).
    pub struct AmfStatusIndication = AMFStatusIndication, "AMF Status Indication" {
        /// Identities that are served no more.
        required unavailable: Vec<Guami> = UnavailableGUAMIList,
    }
}
