//! Initial Context Setup (TS 38.413, 8.3.1): a gNB gets keys, capabilities and sessions of a UE.

use sluice_ids::{Guami, Snssai};
use sluice_security::{Kgnb, SecurityCapability};

use crate::cause::Cause;
use crate::session::resource_setup::SessionSetup;
use crate::table::{lists, message};
use crate::value::{RadioCapability, Rfsp, SessionResults};

message! {
    /// Initial Context Setup Request (9.2.2.1).
    pub struct InitialContext =
        InitialContextSetupRequest, "Initial Context Setup Request", of ids
    {
        /// UE Aggregate Maximum Bit Rate, down and up; sent where it has sessions.
        ignorable ambr_bps: (u64, u64) = UEAggregateMaximumBitRate,
        /// The AMF that serves the UE.
        required guami: Guami = GUAMI,
        /// Sessions whose user planes are to be up.
        default sessions: Vec<SessionSetup> = PDUSessionResourceSetupListCxtReq,
        /// Slices that it may use.
        required allowed_nssai: Vec<Snssai> = AllowedNSSAI,
        /// Algorithms that it has.
        required capability: SecurityCapability = UESecurityCapabilities,
        /// KgNB.
        required key: Kgnb = SecurityKey,
        /// The UE's radio capability as a gNB once told it.
        ignorable radio_capability: RadioCapability = UERadioCapability,
        /// RFSP index of the UE (TS 23.501, 5.3.4.3): how the gNB is to choose cells for it.
        ignorable rfsp: Rfsp = IndexToRFSP,
        /// The device, without its serial number.
        ignorable masked_imeisv: [u8; 8] = MaskedIMEISV,
        /// A message for the UE.
        ignorable nas: Vec<u8> = NAS_PDU,
    }
}

message! {
    /// Initial Context Setup Response (9.2.2.2).
    pub struct InitialContextSetupResponse =
        InitialContextSetupResponse, "Initial Context Setup Response", of ids
    {
        /// Sessions that are up, each with a [`SetupResponse`](crate::SetupResponse), and those that are not.
        results sessions: SessionResults =
            PDUSessionResourceSetupListCxtRes + PDUSessionResourceFailedToSetupListCxtRes,
    }
}

message! {
    /// Initial Context Setup Failure (9.2.2.3).
    pub struct InitialContextSetupFailure =
        InitialContextSetupFailure, "Initial Context Setup Failure", of ids
    {
        /// Why.
        expected cause: Cause = Cause,
    }
}

lists! {
    PDUSessionResourceSetupListCxtRes of PDUSessionResourceSetupItemCxtRes,
        pdu_session_resource_setup_response_transfer;
    PDUSessionResourceFailedToSetupListCxtRes of PDUSessionResourceFailedToSetupItemCxtRes,
        pdu_session_resource_setup_unsuccessful_transfer;
}
