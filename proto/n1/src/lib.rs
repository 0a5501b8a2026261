//! NAS messages of 5GS mobility and session management (TS 24.501), both ends of N1.
//!
//! [`Uplink`] and [`Downlink`] are what a UE and an AMF say; [`SecurityContext`] protects it on the
//! way. [`SessionUplink`] and [`SessionDownlink`] are what a UE and an SMF say inside of them. The octets are read and written by `oxirush-nas`, which no other crate names: what it
//! reads is checked here and becomes values of the house. Nothing here has a state but the counts
//! of a security context, and no octets make it panic.
#![forbid(unsafe_code)]

mod back_off;
mod cause;
mod codec;
mod downlink;
mod eap;
mod establishment;
mod identity;
mod lists;
mod modification;
mod network_time;
pub mod options;
pub mod protection;
mod qos;
mod qos_flows;
mod qos_rules;
mod reactivation;
mod reject;
mod session;
mod session_cause;
mod uplink;

pub use back_off::{SESSION_BACK_OFF_MOST_S, told_session_back_off_s};
pub use cause::Cause;
pub use codec::Unreadable;
pub use downlink::{
    AuthenticationRequest, ConfigurationUpdate, Downlink, IdentityKind, RegistrationAccept,
    SecurityModeCommand,
};
pub use eap::EapRequest;
pub use establishment::{EstablishmentAccept, EstablishmentRequest, PduAddress};
pub use establishment::{IntegrityRate, IntegrityRates};
pub use identity::MobileIdentity;
pub use lists::{RejectedIn, told_t3512_s};
pub use modification::{ModificationCommand, ModificationRequest};
pub use network_time::NetworkTime;
pub use protection::{Envelope, Header, Protected, SecurityContext, Side};
pub use qos::Ambr;
pub use qos_flows::{FlowDescription, FlowOperation};
pub use qos_rules::{FilterDirection, PacketFilter, QosRule, RuleOperation};
pub use reactivation::Reactivation;
pub use reject::{Reject, T3346_MOST_S, told_t3346_s};
pub use session::{N1_SM, SessionDownlink, SessionType, SessionUplink, Transaction, transaction};
pub use session_cause::SessionCause;
pub use uplink::{
    DeregistrationRequest, NO_KEY, RegistrationKind, RegistrationRequest, RequestType,
    ServiceRequest, Uplink, UplinkPayload,
};
