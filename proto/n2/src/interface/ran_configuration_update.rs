//! RAN Configuration Update (TS 38.413, 8.7.2): a gNB tells of changes.

use oxirush_ngap::ngap;

use crate::cause::Cause;
use crate::interface::ng_setup::read_extended_name;
use crate::table::message;
use crate::value::SupportedArea;

message! {
    /// RAN Configuration Update (9.2.6.4).
    pub struct RanConfigurationUpdate = RANConfigurationUpdate, "RAN Configuration Update" {
        /// Name of the gNB; none if that has not changed.
        ignorable name: String = RANNodeName,
        /// Areas where it serves UEs; none if these have not changed.
        optional areas: Vec<SupportedArea> = SupportedTAList,
    }
    then = extended_name;
}

message! {
    /// RAN Configuration Update Acknowledge (9.2.6.5).
    pub struct RanConfigurationUpdateAcknowledge =
        RANConfigurationUpdateAcknowledge, "RAN Configuration Update Acknowledge" {}
}

message! {
    /// RAN Configuration Update Failure (9.2.6.6).
    pub struct RanConfigurationUpdateFailure =
        RANConfigurationUpdateFailure, "RAN Configuration Update Failure"
    {
        /// Why.
        expected cause: Cause = Cause,
    }
}

fn extended_name(
    pdu: &ngap::NGAP_PDU,
    mut update: RanConfigurationUpdate,
) -> Option<RanConfigurationUpdate> {
    update.name = read_extended_name(pdu).or(update.name);
    Some(update)
}
