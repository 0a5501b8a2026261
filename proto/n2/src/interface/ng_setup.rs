//! NG Setup (TS 38.413, 8.7.1): a gNB and an AMF introduce themselves.

use oxirush_ngap::{ie, ngap};
use sluice_ids::Guami;

use crate::cause::Cause;
use crate::table::message;
use crate::value::{Gnb, PlmnSlices, SupportedArea};

message! {
    /// NG Setup Request (9.2.6.1).
    pub struct NgSetupRequest = NGSetupRequest, "NG Setup Request" {
        /// Identity of the gNB.
        required gnb: Gnb = GlobalRANNodeID,
        /// RAN Node Name, or the Extended RAN Node Name that counts instead of it.
        ignorable name: String = RANNodeName,
        /// Areas where it serves UEs.
        required areas: Vec<SupportedArea> = SupportedTAList,
        [DefaultPagingDRX = ngap::PagingDRX::v128]
        /// It has the contexts of its UEs still, and wants to keep them (UE Retention Information, 9.3.1.117).
        default retains_ues: bool = UERetentionInformation,
    }
    then = extended_name;
}

message! {
    /// NG Setup Response (9.2.6.2).
    pub struct NgSetupResponse = NGSetupResponse, "NG Setup Response" {
        /// Name of the AMF.
        required name: String = AMFName,
        /// Identities of the AMF.
        required guamis: Vec<Guami> = ServedGUAMIList,
        /// Weight among other AMFs.
        expected capacity: u8 = RelativeAMFCapacity,
        /// Networks and slices that it serves.
        required plmns: Vec<PlmnSlices> = PLMNSupportList,
        /// It has the contexts of the gNB's UEs still (UE Retention Information, 9.3.1.117).
        default retains_ues: bool = UERetentionInformation,
    }
}

message! {
    /// NG Setup Failure (9.2.6.3).
    pub struct NgSetupFailure = NGSetupFailure, "NG Setup Failure" {
        /// Why.
        expected cause: Cause = Cause,
    }
}

fn extended_name(pdu: &ngap::NGAP_PDU, mut request: NgSetupRequest) -> Option<NgSetupRequest> {
    request.name = read_extended_name(pdu).or(request.name);
    Some(request)
}

/// A name that counts instead of the RAN Node Name (8.7.1.2); none that a terminal would take for commands.
pub(crate) fn read_extended_name(pdu: &ngap::NGAP_PDU) -> Option<String> {
    let name = pdu.ie::<ie::Extended_RANNodeName>()?.ok()?;
    let visible = name.ran_node_name_visible_string.map(|name| name.0);
    let utf8 = name.ran_node_name_utf8_string.map(|name| name.0);
    let name = utf8.or(visible)?;
    (!name.chars().any(char::is_control)).then(|| name.into_owned())
}
