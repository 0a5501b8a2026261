//! Fields that messages between network functions have in common: each an octet that is checked, or
//! a few.

use std::fmt;

use sluice_ids::{Suci, Supi, UpProtection, UpSecurity};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// Most slices of a subscription that a message has.
pub const SLICES: usize = 16;

/// Most slices that a UE asks for, or may use (TS 24.501, 9.11.3.37).
pub const REQUESTED: usize = 8;

/// Most slices of a UE that its gNB offers: those that it asks for, and those of its subscription.
pub const OFFERED: usize = REQUESTED + SLICES;

/// Most data networks of a slice that a message has.
pub const DNNS: usize = 8;

/// A kind of network function. There is one of each in a box.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    TryFromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(u8)]
pub enum Nf {
    /// Access and mobility.
    Amf = 1,
    /// Authentication server.
    Ausf = 2,
    /// Unified data management.
    Udm = 3,
    /// Unified data repository.
    Udr = 4,
    /// Session management.
    Smf = 5,
    /// Network slice selection.
    Nssf = 6,
    /// Policy control.
    Pcf = 7,
    /// Network repository.
    Nrf = 8,
}

impl Nf {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Amf,
        Self::Ausf,
        Self::Udm,
        Self::Udr,
        Self::Smf,
        Self::Nssf,
        Self::Pcf,
        Self::Nrf,
    ];
}

impl fmt::Display for Nf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Amf => "AMF",
            Self::Ausf => "AUSF",
            Self::Udm => "UDM",
            Self::Udr => "UDR",
            Self::Smf => "SMF",
            Self::Pcf => "PCF",
            Self::Nssf => "NSSF",
            Self::Nrf => "NRF",
        })
    }
}

/// Why a request failed.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum Problem {
    /// There is no such subscriber.
    UserNotFound = 1,
    /// The identity cannot be read: unknown key, changed, no digits.
    IdentityUnreadable = 2,
    /// The UE did not prove who it is.
    AuthenticationRejected = 3,
    /// What is referred to is not known, or not any more.
    ContextNotFound = 4,
    /// Nobody answered in time.
    Timeout = 5,
    /// Too much is under way.
    Overload = 6,
    /// The answer does not fit the request.
    Protocol = 7,
    /// The serving network may not ask.
    ServingNetworkNotAuthorized = 8,
    /// No data network of this name, or it is not subscribed in the slice.
    DnnNotSupported = 9,
    /// The subscriber is barred for now.
    ServiceNotAllowed = 10,
    /// The UE has not been authenticated for the serving network.
    NotAuthenticated = 11,
    /// None of the type that is looked for lets itself be discovered by the one that asks (403).
    DiscoveryForbidden = 12,
    /// The function is not reached: nobody has it, or its program is gone.
    NotReached = 13,
    /// The MAC of a UE's message is not right.
    IntegrityCheckFailed = 14,
    /// The policy has no such flow for the subscriber.
    QosNotAuthorized = 20,
    /// The policy has no flow of this 5QI for the subscriber.
    FiveQiNotAuthorized = 21,
    /// There is no room for one more.
    NoResources = 22,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserNotFound => "user not found",
            Self::IdentityUnreadable => "identity unreadable",
            Self::AuthenticationRejected => "authentication rejected",
            Self::ContextNotFound => "context not found",
            Self::Timeout => "no answer in time",
            Self::Overload => "overload",
            Self::Protocol => "the answer does not fit the request",
            Self::ServingNetworkNotAuthorized => "serving network not authorized",
            Self::DnnNotSupported => "DNN not supported",
            Self::ServiceNotAllowed => "service not allowed",
            Self::NotReached => "function not reached",
            Self::IntegrityCheckFailed => "integrity check failed",
            Self::NotAuthenticated => "not authenticated",
            Self::DiscoveryForbidden => "403 Forbidden: not allowed to discover",
            Self::QosNotAuthorized => "QoS not authorized",
            Self::FiveQiNotAuthorized => "5QI not authorized",
            Self::NoResources => "no resources",
        })
    }
}

/// What an AMF tells an SMF of a session (TS 29.502, 6.1.6.2.4).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum SmChange {
    /// A message of the UE.
    N1 = 1,
    /// The gNB has set the session up.
    SetUp = 2,
    /// The gNB has not.
    SetupFailed = 3,
    /// The gNB has released the session.
    Released = 4,
    /// The user plane is to be up.
    Activate = 5,
    /// The user plane is down.
    Deactivate = 6,
    /// The gNB has changed the session's flows.
    Modified = 7,
    /// The gNB has not.
    ModifyFailed = 8,
    /// The gNB has taken flows of the session away, or has not what it guaranteed.
    Notified = 9,
    /// The UE has come to another gNB by Xn, which has not taken the session (PATH_SWITCH_SETUP_FAIL).
    NotSwitched = 10,
    /// The same by N2 (HANDOVER_RES_ALLOC_FAIL).
    NotAdmitted = 11,
    /// The UE has come to another gNB by Xn, which has the session.
    PathSwitch = 16,
    /// The UE is to go to another gNB by N2.
    HandoverRequired = 17,
    /// That gNB has room for the session.
    HandoverPrepared = 18,
    /// The UE has come there.
    HandoverComplete = 19,
    /// It does not go there after all, or without the session.
    HandoverCancelled = 20,
    /// The gNB has the session's packets come to another of its nodes (PDU_RES_MOD_IND).
    ModifyIndicated = 21,
}

impl SmChange {
    /// Whether a handover is what changes, or the gNB's end of the tunnel: such a change does not wait for what UE and network have under
    /// way about the session.
    pub fn is_handover(self) -> bool {
        self as u8 >= Self::PathSwitch as u8
    }
}

/// What an SMF tells a PCF of (TS 29.512, 5.6.3.6).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum PolicyTrigger {
    /// UE_IP_CH: the UE has its address.
    UeAddress = 1,
    /// Rules could not be carried out.
    RulesFailed = 2,
    /// RES_MO_RE: the UE asks for a flow.
    ResourceRequested = 3,
    /// RES_MO_RE: the UE gives flows up.
    ResourceReleased = 4,
    /// RES_MO_RE: the UE wants a flow of its own to be otherwise.
    ResourceModified = 5,
}

/// What a gNB is to do with a transfer of an SMF (TS 29.502, 6.1.6.3.9).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum N2Sm {
    /// Nothing: there is none.
    None = 0,
    /// Set the session up.
    Setup = 1,
    /// Release it.
    Release = 2,
    /// Change its flows.
    Modify = 3,
    /// Its packets go to the gNB that the UE has come to (PATH_SWITCH_REQ_ACK).
    PathSwitched = 16,
    /// They do not (PATH_SWITCH_REQ_FAIL).
    NotSwitched = 17,
    /// Have room for it when the UE comes (PDU_RES_SETUP_REQ of a handover).
    HandoverRequest = 18,
    /// Forward its packets (HANDOVER_CMD).
    HandoverCommand = 19,
    /// Its packets go where the gNB wants them (PDU_RES_MOD_CFM).
    ModifyConfirmed = 20,
    /// They go where they went (PDU_RES_MOD_IND_FAIL).
    NotModified = 21,
}

/// Why a UE is not to be at an AMF any more (DeregistrationReason: TS 29.503, 6.2.6.3.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum Removal {
    /// There is no such subscriber any more.
    SubscriptionWithdrawn = 1,
    /// The UE has registered at another AMF, and knows nothing of before.
    InitialRegistration = 2,
    /// The UE has come to the area of another AMF.
    AreaChange = 3,
    /// The UE has come to an MME.
    MobilityToEps = 4,
    /// The UE has registered at an MME, and knows nothing of before.
    RegistrationInEps = 5,
    /// The UE is to register again.
    ReregistrationRequired = 6,
    /// Another SMF has the context of a session: this is said to SMFs.
    SmfContextTransferred = 7,
    /// Another SMF has a session of the same identity: this is said to SMFs.
    DuplicatePduSession = 8,
    /// The disaster is over for which a UE of another network was served.
    DisasterConditionTerminated = 9,
}

impl Removal {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::SubscriptionWithdrawn,
        Self::InitialRegistration,
        Self::AreaChange,
        Self::MobilityToEps,
        Self::RegistrationInEps,
        Self::ReregistrationRequired,
        Self::SmfContextTransferred,
        Self::DuplicatePduSession,
        Self::DisasterConditionTerminated,
    ];
}

/// News of a session of an application: it ends (TerminationCause: TS 29.514, 5.6.3.10), or an event (AfEvent: 5.6.3.7).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum AppSessionNews {
    /// PDU_SESSION_TERMINATION: its PDU session is over.
    SessionOver = 1,
    /// ALL_SDF_DEACTIVATION: none of its flows is left.
    FlowsOver = 2,
    /// FAILED_RESOURCES_ALLOCATION: there was no room for flows, or they were taken away.
    Failed = 3,
}

/// Change of what the repository has of a subscriber.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum DataChange {
    /// The subscriber is gone.
    Withdrawn = 1,
    /// Rights of the subscriber are others: its UE is to register again.
    Access = 2,
    /// Rates of its sessions are others.
    SessionRates = 3,
}

/// What becomes of messages of an SMF for a UE and its gNB (TS 29.518, 6.1.6.3.5 and 6.1.7.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum TransferCause {
    /// 200 N1_N2_TRANSFER_INITIATED: they are on their way.
    Initiated = 1,
    /// 202 ATTEMPTING_TO_REACH_UE: the UE is paged.
    AttemptingToReachUe = 2,
    /// 409 TEMPORARY_REJECT_REGISTRATION_ONGOING: the UE is busy with what comes before.
    TemporaryReject = 3,
    /// 504 UE_NOT_REACHABLE: there is no use in trying, not before a while.
    UeNotReachable = 4,
}

impl fmt::Display for TransferCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initiated => "N1 N2 transfer initiated",
            Self::AttemptingToReachUe => "attempting to reach the UE",
            Self::TemporaryReject => "temporary reject, registration ongoing",
            Self::UeNotReachable => "UE not reachable",
        })
    }
}

/// How a subscriber is authenticated (TS 29.503, 6.3.6.3.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum AuthMethod {
    /// 5G_AKA
    FiveGAka = 1,
    /// EAP_AKA_PRIME
    EapAkaPrime = 2,
}

/// The algorithm of a SIM, and how long its key is (TS 29.505, 5.4.2.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum SimAlgorithm {
    /// Milenage, whose keys have 128 bits.
    Milenage = 1,
    /// TUAK with a key of 128 bits.
    Tuak128 = 2,
    /// TUAK with a key of 256 bits.
    Tuak256 = 3,
}

/// How an exchange of EAP stands (TS 29.509, 6.1.6.3.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum AuthResult {
    /// AUTHENTICATION_SUCCESS
    Success = 1,
    /// AUTHENTICATION_FAILURE
    Failure = 2,
    /// AUTHENTICATION_ONGOING: the UE is to be asked again.
    Ongoing = 3,
}

/// Whether a SUPI or a SUCI names a subscriber.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
enum IdentityKind {
    Supi = 0,
    Suci = 1,
}

/// A subscriber, concealed or not.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Identity {
    kind: IdentityKind,
    supi: Supi,
    suci: Suci,
}

impl Identity {
    /// The SUPI, or the SUCI.
    pub fn get(&self) -> Result<Supi, Suci> {
        match self.kind {
            IdentityKind::Supi => Ok(self.supi),
            IdentityKind::Suci => Err(self.suci),
        }
    }
}

impl From<Supi> for Identity {
    fn from(supi: Supi) -> Self {
        let suci = zerocopy::FromZeros::new_zeroed();
        Self {
            kind: IdentityKind::Supi,
            supi,
            suci,
        }
    }
}

impl From<Suci> for Identity {
    fn from(suci: Suci) -> Self {
        let supi = zerocopy::FromZeros::new_zeroed();
        Self {
            kind: IdentityKind::Suci,
            supi,
            suci,
        }
    }
}

/// How the user plane of sessions is to be protected, if a subscription says so (TS 29.503, 6.1.6.2.9).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SubscribedUpSecurity {
    is_told: bool,
    policy: UpSecurity,
}

impl SubscribedUpSecurity {
    /// The policy; none leaves it to the SMF.
    pub fn get(self) -> Option<UpSecurity> {
        self.is_told.then_some(self.policy)
    }
}

impl From<Option<UpSecurity>> for SubscribedUpSecurity {
    fn from(policy: Option<UpSecurity>) -> Self {
        let nothing = UpSecurity {
            integrity: UpProtection::NotNeeded,
            confidentiality: UpProtection::NotNeeded,
        };
        Self {
            is_told: policy.is_some(),
            policy: policy.unwrap_or(nothing),
        }
    }
}

/// What a SIM says when a sequence number is out of its range.
#[derive(
    Clone, Copy, PartialEq, Eq, Default, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Resynchronisation {
    /// Whether there is anything to say.
    pub wanted: bool,
    /// The challenge that it refused.
    pub rand: [u8; 16],
    /// What it said.
    pub auts: [u8; 14],
}
