//! NGAP messages (TS 38.413), both ends of N2.
//!
//! [`FromRan`] and [`FromAmf`] are the messages of a gNB and of an AMF. Each elementary procedure has a file with its messages
//! of both directions, each message a table of its IEs. The octets are read and written by `oxirush-ngap`, which no other
//! crate names. A message that breaks the rules of clause 10 comes back as [`Faulty`] with the answer that the clause wants.
//! Nothing here has a state, and no octets make it panic.
#![forbid(unsafe_code)]

mod cause;
mod faulty;
mod first_message;
mod from_amf;
mod from_ran;
mod interface;
pub mod mobility;
mod nas_transport;
mod paging;
mod procedures;
pub mod session;
mod table;
mod ue_context;
mod ue_radio_capability;
mod value;

pub use session::{modify_indication, notify};

pub use cause::Cause;
pub use faulty::{Ended, Faulty, LONGEST};
pub use first_message::FirstMessage;
pub use from_amf::FromAmf;
pub use from_ran::FromRan;
pub use interface::amf_configuration_update::AmfStatusIndication;
pub use interface::amf_configuration_update::{
    AmfConfigurationUpdate, AmfConfigurationUpdateFailure,
};
pub use interface::configuration_transfer::{
    DownlinkConfigurationTransfer, UplinkConfigurationTransfer, xn_addresses_wanted,
};
pub use interface::error_indication::ErrorIndication;
pub use interface::ng_reset::{NgReset, NgResetAcknowledge};
pub use interface::ng_setup::{NgSetupFailure, NgSetupRequest, NgSetupResponse};
pub use interface::overload::{Overload, OverloadAction};
pub use interface::ran_configuration_update::{
    RanConfigurationUpdate, RanConfigurationUpdateFailure,
};
pub use mobility::handover_preparation::{HandoverCancel, HandoverCancelAcknowledge};
pub use mobility::handover_preparation::{
    HandoverCommand, HandoverPreparationFailure, HandoverRequired,
};
pub use mobility::handover_resource_allocation::HandoverNotify;
pub use mobility::handover_resource_allocation::{
    Admitted, HandoverFailure, HandoverRequest, HandoverRequestAcknowledge,
};
pub use mobility::path_switch::{
    PathSwitch, PathSwitchAcknowledge, PathSwitchRequest, PathSwitchRequestAcknowledge,
    PathSwitchRequestFailure,
};
pub use mobility::ran_status_transfer::{DownlinkStatus, RanStatus, UplinkStatus};
pub use mobility::{HandoverFromAmf, HandoverFromRan};
pub use nas_transport::{
    DownlinkNasTransport, InitialUeMessage, NasNonDelivery, UplinkNasTransport,
};
pub use paging::Paging;
pub use procedures::{PROCEDURES, Procedure, Side};
pub use session::modify_indication::{
    ModifyConfirm, ModifyIndication, PduSessionModifyConfirm, PduSessionModifyIndication,
};
pub use session::notify::PduSessionNotify;
pub use session::qos_flow::{FlowRates, QosFlow};
pub use session::resource_modify::{
    ModifyRequest, ModifyResponse, PduSessionModifyRequest, PduSessionModifyResponse,
    SessionModification,
};
pub use session::resource_release::{PduSessionReleaseCommand, PduSessionReleaseResponse};
pub use session::resource_setup::{
    PacketType, PduSessionSetupRequest, PduSessionSetupResponse, SessionSetup, SetupRequest,
    SetupResponse, first_twice,
};
pub use session::tunnel::Tunnel;
pub use session::up_security::{
    ProtectedRate, SecurityIndication, SecurityResult, UpSecurityInformation,
};
pub use ue_context::initial_context_setup::{
    InitialContext, InitialContextSetupFailure, InitialContextSetupResponse,
};
pub use ue_context::modification::{
    ContextModification, UeContextModificationFailure, UeContextModificationResponse,
};
pub use ue_context::release::{
    UeContextReleaseCommand, UeContextReleaseComplete, UeContextReleaseRequest,
};
pub use ue_radio_capability::{PagingCapability, UeRadioCapability};
pub use value::{
    AmfUeId, Connection, Gnb, Ids, Location, PlmnSlices, RadioCapability, RanUeId, Rfsp,
    SessionResults, SupportedArea, Transfers,
};

/// PPID of NGAP over SCTP (TS 38.412, 7).
pub const PPID: u32 = 60;
