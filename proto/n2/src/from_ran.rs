//! Messages of a gNB to the AMF (TS 38.413, 9.2).

use crate::cause::Cause;
use crate::faulty::{self, Faulty};
use crate::interface::amf_configuration_update::{
    AmfConfigurationUpdateAcknowledge, AmfConfigurationUpdateFailure,
};
use crate::interface::configuration_transfer::UplinkConfigurationTransfer;
use crate::interface::error_indication::ErrorIndication;
use crate::interface::ng_reset::{NgReset, NgResetAcknowledge};
use crate::interface::ng_setup::NgSetupRequest;
use crate::interface::ran_configuration_update::RanConfigurationUpdate;
use crate::mobility::HandoverFromRan;
use crate::nas_transport::{InitialUeMessage, NasNonDelivery, UplinkNasTransport};
use crate::procedures;
use crate::session::modify_indication::PduSessionModifyIndication;
use crate::session::notify::PduSessionNotify;
use crate::session::resource_modify::PduSessionModifyResponse;
use crate::session::resource_release::PduSessionReleaseResponse;
use crate::session::resource_setup::PduSessionSetupResponse;
use crate::table::{self, Message, messages};
use crate::ue_context::initial_context_setup::{
    InitialContextSetupFailure, InitialContextSetupResponse,
};
use crate::ue_context::modification::{
    UeContextModificationFailure, UeContextModificationResponse,
};
use crate::ue_context::release::{UeContextReleaseComplete, UeContextReleaseRequest};
use crate::ue_radio_capability::UeRadioCapability;

messages! {
    /// A message from a gNB.
    pub enum FromRan {
        /// 9.2.6.1
        NgSetupRequest(NgSetupRequest),
        /// 9.2.5.1
        InitialUeMessage(InitialUeMessage),
        /// 9.2.5.3
        UplinkNasTransport(UplinkNasTransport),
        /// 9.2.5.4
        NasNonDelivery(NasNonDelivery),
        /// 9.2.2.2
        InitialContextSetupResponse(InitialContextSetupResponse),
        /// 9.2.1.2
        PduSessionSetupResponse(PduSessionSetupResponse),
        /// 9.2.1.6
        PduSessionModifyResponse(PduSessionModifyResponse),
        /// 9.2.1.4
        PduSessionReleaseResponse(PduSessionReleaseResponse),
        /// 9.2.1.7
        PduSessionNotify(PduSessionNotify),
        /// 9.2.1.8
        PduSessionModifyIndication(PduSessionModifyIndication),
        /// 9.2.2.3
        InitialContextSetupFailure(InitialContextSetupFailure),
        /// 9.2.2.4
        UeContextReleaseRequest(UeContextReleaseRequest),
        /// 9.2.2.6
        UeContextReleaseComplete(UeContextReleaseComplete),
        /// 9.2.13.1
        UeRadioCapability(UeRadioCapability),
        /// 9.2.2.8
        UeContextModificationResponse(UeContextModificationResponse),
        /// 9.2.2.9
        UeContextModificationFailure(UeContextModificationFailure),
        /// 9.2.6.4
        RanConfigurationUpdate(RanConfigurationUpdate),
        /// 9.2.6.8
        AmfConfigurationUpdateAcknowledge,
        /// 9.2.6.9
        AmfConfigurationUpdateFailure(AmfConfigurationUpdateFailure),
        /// 9.2.6.11
        NgReset(NgReset),
        /// 9.2.6.12
        NgResetAcknowledge(NgResetAcknowledge),
        /// 9.2.7.1
        ConfigurationTransfer(UplinkConfigurationTransfer),
        /// 9.2.3
        Handover(HandoverFromRan),
        /// 9.2.6.13
        ErrorIndication(ErrorIndication),
    }
}

impl FromRan {
    /// Reads a message, or says what the gNB is to be told.
    pub fn decode(octets: &[u8]) -> Result<Self, Faulty> {
        Self::decode_and_notify(octets).map(|(message, _)| message)
    }

    /// The same, and what the gNB is to be told of IEs that are left out of a message that is processed all the
    /// same (criticality "notify", 10.3.4.2).
    pub fn decode_and_notify(octets: &[u8]) -> Result<(Self, Option<Faulty>), Faulty> {
        let pdu = faulty::open(octets)?;
        if !procedures::is_for_amf(&pdu) {
            return Err(faulty::not_served(&pdu));
        }
        let left_out = faulty::check(&pdu)?;
        match Self::read(&pdu) {
            Ok(Some(message)) => Ok((message, faulty::notice(&pdu, &left_out))),
            Ok(None) => Err(faulty::refused(&pdu, Cause::ABSTRACT_SYNTAX_REJECT, &[])),
            Err(error) => {
                let deviation = oxirush_ngap::Deviation::of(&error);
                let why = deviation.as_ref().map(oxirush_ngap::Deviation::cause);
                let why = match why {
                    Some(Some(why)) => Cause::Protocol(why as u8),
                    // An IE may be missing by its criticality, but nothing can be done without it.
                    Some(None) => Cause::ABSTRACT_SYNTAX_NOTIFY,
                    None => Cause::TRANSFER_SYNTAX,
                };
                Err(faulty::refused(&pdu, why, deviation.as_slice()))
            }
        }
    }

    /// The message's octets.
    pub fn encode(&self) -> Vec<u8> {
        table::encode(self)
    }
}
