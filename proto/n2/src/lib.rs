//! NGAP messages (TS 38.413), both ends of N2.
//!
//! [`FromRan`] and [`FromAmf`] are what a gNB and an AMF say. The octets are read and written by
//! `oxirush-ngap`, which no other crate names. A message that breaks the rules of clause 10 comes
//! back as [`Faulty`] with the answer that the clause wants. Nothing here has a state, and no
//! octets make it panic.
#![forbid(unsafe_code)]

mod cause;
mod configuration;
mod configuration_of_ran;
mod configuration_transfer;
mod faulty;
mod first_message;
mod from_amf;
mod from_ran;
mod handover;
mod handover_of_amf;
mod handover_of_ran;
pub mod handover_transfer;
pub mod modify_indication;
pub mod notify;
mod paging;
mod procedures;
pub mod qos_flow;
pub mod session;
mod sessions_modified;
mod sessions_of_ran;
mod value;

pub use cause::Cause;
pub use configuration::{ContextModification, Overload, OverloadAction};
pub use configuration_transfer::xn_addresses_wanted;
pub use faulty::{Ended, Faulty, LONGEST};
pub use first_message::FirstMessage;
pub use from_amf::{FromAmf, InitialContext, NgSetupResponse};
pub use from_ran::{FromRan, InitialUeMessage, NgSetupRequest, SessionResults};
pub use handover::{
    HandoverCommand, HandoverFromAmf, HandoverFromRan, HandoverRequest, HandoverRequestAcknowledge,
    HandoverRequired, PathSwitchRequest, PathSwitchRequestAcknowledge,
};
pub use handover_transfer::{Admitted, PathSwitch, PathSwitchAcknowledge, RanStatus};
pub use modify_indication::{ModifyConfirm, ModifyIndication};
pub use paging::{Paging, PagingCapability};
pub use procedures::{PROCEDURES, Procedure, Side};
pub use qos_flow::{FlowRates, ModifyRequest, ModifyResponse, QosFlow};
pub use session::up_security::{
    ProtectedRate, SecurityIndication, SecurityResult, UpSecurityInformation,
};
pub use session::{
    PacketType, SessionSetup, SetupRequest, SetupResponse, Transfers, Tunnel, first_twice,
};
pub use sessions_modified::SessionModification;
pub use value::{
    AmfUeId, Connection, Gnb, Location, PlmnSlices, RadioCapability, RanUeId, SupportedArea,
};

/// PPID of NGAP over SCTP (TS 38.412, 7).
pub const PPID: u32 = 60;
