//! Messages of an AMF to a gNB (TS 38.413, 9.2).

use crate::cause::Cause;
use crate::faulty::{self, Faulty};
use crate::interface::amf_configuration_update::AmfConfigurationUpdate;
use crate::interface::amf_configuration_update::AmfStatusIndication;
use crate::interface::configuration_transfer::DownlinkConfigurationTransfer;
use crate::interface::error_indication::ErrorIndication;
use crate::interface::ng_reset::{NgReset, NgResetAcknowledge};
use crate::interface::ng_setup::{NgSetupFailure, NgSetupResponse};
use crate::interface::overload::{Overload, OverloadStop};
use crate::interface::ran_configuration_update::{
    RanConfigurationUpdateAcknowledge, RanConfigurationUpdateFailure,
};
use crate::mobility::HandoverFromAmf;
use crate::nas_transport::DownlinkNasTransport;
use crate::paging::Paging;
use crate::session::modify_indication::PduSessionModifyConfirm;
use crate::session::resource_modify::PduSessionModifyRequest;
use crate::session::resource_release::PduSessionReleaseCommand;
use crate::session::resource_setup::PduSessionSetupRequest;
use crate::table::{self, Message, messages};
use crate::ue_context::initial_context_setup::InitialContext;
use crate::ue_context::modification::ContextModification;
use crate::ue_context::release::UeContextReleaseCommand;

messages! {
    /// A message from an AMF.
    pub enum FromAmf {
        /// 9.2.6.2
        NgSetupResponse(NgSetupResponse),
        /// 9.2.6.3
        NgSetupFailure(NgSetupFailure),
        /// 9.2.5.2
        DownlinkNasTransport(DownlinkNasTransport),
        /// 9.2.2.1
        InitialContextSetupRequest(Box<InitialContext>),
        /// 9.2.1.1
        PduSessionSetupRequest(PduSessionSetupRequest),
        /// 9.2.1.5
        PduSessionModifyRequest(PduSessionModifyRequest),
        /// 9.2.1.9
        PduSessionModifyConfirm(PduSessionModifyConfirm),
        /// 9.2.1.3
        PduSessionReleaseCommand(PduSessionReleaseCommand),
        /// 9.2.2.5
        UeContextReleaseCommand(UeContextReleaseCommand),
        /// 9.2.2.7
        UeContextModificationRequest(Box<ContextModification>),
        /// 9.2.3
        Handover(HandoverFromAmf),
        /// 9.2.4.1
        Paging(Box<Paging>),
        /// 9.2.6.7
        AmfConfigurationUpdate(AmfConfigurationUpdate),
        /// 9.2.6.5
        RanConfigurationUpdateAcknowledge,
        /// 9.2.6.6
        RanConfigurationUpdateFailure(RanConfigurationUpdateFailure),
        /// 9.2.6.10
        AmfStatusIndication(AmfStatusIndication),
        /// 9.2.6.14
        OverloadStart(Overload),
        /// 9.2.6.15
        OverloadStop,
        /// 9.2.6.11
        NgReset(NgReset),
        /// 9.2.6.12
        NgResetAcknowledge(NgResetAcknowledge),
        /// 9.2.7.2
        ConfigurationTransfer(DownlinkConfigurationTransfer),
        /// 9.2.6.13
        ErrorIndication(ErrorIndication),
    }
}

impl FromAmf {
    /// Reads a message.
    pub fn decode(octets: &[u8]) -> Result<Self, Faulty> {
        let pdu = faulty::open(octets)?;
        faulty::check(&pdu)?;
        match Self::read(&pdu) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(faulty::refused(&pdu, Cause::ABSTRACT_SYNTAX_REJECT, &[])),
            Err(_) => Err(faulty::refused(&pdu, Cause::TRANSFER_SYNTAX, &[])),
        }
    }

    /// The message's octets.
    pub fn encode(&self) -> Vec<u8> {
        table::encode(self)
    }
}
