//! PDU Session Resource Release (TS 38.413, 8.2.2).

use oxirush_ngap::ngap;

use crate::table::{causes, lists, message};
use crate::value::{Transfers, written};

message! {
    /// PDU Session Resource Release Command (9.2.1.3).
    pub struct PduSessionReleaseCommand =
        PDUSessionResourceReleaseCommand, "PDU Session Resource Release Command", of ids
    {
        /// A message for the UE.
        ignorable nas: Vec<u8> = NAS_PDU,
        /// At least one.
        required sessions: Transfers = PDUSessionResourceToReleaseListRelCmd,
    }
}

message! {
    /// PDU Session Resource Release Response (9.2.1.4).
    pub struct PduSessionReleaseResponse =
        PDUSessionResourceReleaseResponse, "PDU Session Resource Release Response", of ids
    {
        /// Sessions that are released.
        expected sessions: Transfers = PDUSessionResourceReleasedListRelRes,
    }
}

lists! {
    PDUSessionResourceToReleaseListRelCmd of PDUSessionResourceToReleaseItemRelCmd,
        pdu_session_resource_release_command_transfer;
    PDUSessionResourceReleasedListRelRes of PDUSessionResourceReleasedItemRelRes,
        pdu_session_resource_release_response_transfer;
}

causes! {
    PDUSessionResourceReleaseCommandTransfer(None):
        /// PDU Session Resource Release Command Transfer (9.3.4.12).
        release_command;
}

/// PDU Session Resource Release Response Transfer (9.3.4.21), which says nothing.
pub fn release_response() -> Vec<u8> {
    written(&ngap::PDUSessionResourceReleaseResponseTransfer::new(None))
}
