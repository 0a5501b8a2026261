//! AMF Configuration Update and AMF Status Indication (TS 38.413, 8.7.3 and 8.7.6): an AMF tells of changes, and that it
//! is about to go (TS 23.501, 5.21.2.2.2).

use oxirush_ngap::{Error, ie, ngap};
use sluice_ids::Guami;

use crate::cause::Cause;
use crate::table::{Element, message};
use crate::value::PlmnSlices;

message! {
    /// AMF Configuration Update (9.2.6.7): parts of the NG Setup Response that have changed.
    pub struct AmfConfigurationUpdate = AMFConfigurationUpdate, "AMF Configuration Update" {
        /// Name of the AMF.
        ignorable name: String = AMFName,
        /// Identities of the AMF.
        ignorable guamis: Vec<Guami> = ServedGUAMIList,
        /// Weight among other AMFs.
        ignorable capacity: u8 = RelativeAMFCapacity,
        /// Networks and slices that it serves.
        optional plmns: Vec<PlmnSlices> = PLMNSupportList,
    }
}

message! {
    /// AMF Configuration Update Acknowledge (9.2.6.8).
    pub struct AmfConfigurationUpdateAcknowledge =
        AMFConfigurationUpdateAcknowledge, "AMF Configuration Update Acknowledge" {}
}

message! {
    /// AMF Configuration Update Failure (9.2.6.9).
    pub struct AmfConfigurationUpdateFailure =
        AMFConfigurationUpdateFailure, "AMF Configuration Update Failure"
    {
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// AMF Status Indication (9.2.6.10).
    pub struct AmfStatusIndication = AMFStatusIndication, "AMF Status Indication" {
        /// Identities that are served no more.
        required unavailable: Vec<Guami> = UnavailableGUAMIList,
    }
}

impl Element<ie::RelativeAMFCapacity> for u8 {
    fn read(value: ngap::RelativeAMFCapacity) -> Option<Self> {
        Some(value.0)
    }

    fn write(&self) -> Result<ngap::RelativeAMFCapacity, Error> {
        Ok(ngap::RelativeAMFCapacity(*self))
    }
}
