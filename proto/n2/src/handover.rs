//! Handover on N2 as gNBs and AMF say it (TS 38.413, 8.4 and 9.2.3): what each message has.

use sluice_ids::{Guami, Snssai, Tai};
use sluice_security::{NextHop, SecurityCapability};

use crate::cause::Cause;
use crate::handover_transfer::RanStatus;
use crate::session::{SessionSetup, Transfers};
use crate::value::{AmfUeId, Gnb, Location, RanUeId};

/// Both names of a connection.
type Ids = (AmfUeId, RanUeId);

/// What a gNB says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HandoverFromRan {
    /// 9.2.3.8: the UE has come by Xn.
    PathSwitchRequest(Box<PathSwitchRequest>),
    /// 9.2.3.1: the UE is to go to another gNB.
    Required(Box<HandoverRequired>),
    /// 9.2.3.5: the target has room.
    RequestAcknowledge(Box<HandoverRequestAcknowledge>),
    /// 9.2.3.6: it has none. Only the AMF's name is told.
    Failure {
        /// The AMF's name of the connection.
        amf: AmfUeId,
        /// Why.
        cause: Cause,
    },
    /// 9.2.3.7: the UE has come.
    Notify {
        /// Both names of the connection.
        ids: Ids,
        /// Where it is.
        location: Option<Location>,
    },
    /// 9.2.3.11: it is not to go after all.
    Cancel {
        /// Both names of the connection.
        ids: Ids,
        /// Why.
        cause: Cause,
    },
    /// 9.2.3.13: counts of the radio bearers.
    UplinkStatus {
        /// Both names of the connection.
        ids: Ids,
        /// For the target.
        status: RanStatus,
    },
}

/// What an AMF says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HandoverFromAmf {
    /// 9.2.3.9
    PathSwitchRequestAcknowledge(Box<PathSwitchRequestAcknowledge>),
    /// 9.2.3.10
    PathSwitchRequestFailure {
        /// Both names of the connection.
        ids: Ids,
        /// Sessions that are not there, at least one.
        released: Transfers,
    },
    /// 9.2.3.4
    Request(Box<HandoverRequest>),
    /// 9.2.3.2
    Command(Box<HandoverCommand>),
    /// 9.2.3.3
    PreparationFailure {
        /// Both names of the connection.
        ids: Ids,
        /// Why.
        cause: Cause,
    },
    /// 9.2.3.12
    CancelAcknowledge {
        /// Both names of the connection.
        ids: Ids,
    },
    /// 9.2.3.14
    DownlinkStatus {
        /// Both names of the connection.
        ids: Ids,
        /// Of the source.
        status: RanStatus,
    },
}

/// Path Switch Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSwitchRequest {
    /// The target's name of the connection.
    pub ran: RanUeId,
    /// The AMF's name of the connection, as the source had it.
    pub source: AmfUeId,
    /// Where the UE is.
    pub location: Option<Location>,
    /// Algorithms of the UE, as the source told them: 5G-EA, 5G-IA, EEA, EIA without the null ones.
    pub capability: [u8; 4],
    /// Sessions that the target has, each with a [`PathSwitch`](crate::PathSwitch).
    pub switched: Transfers,
    /// Those that it has not, each with why.
    pub failed: Transfers,
}

/// Path Switch Request Acknowledge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSwitchRequestAcknowledge {
    /// Both names of the connection.
    pub ids: Ids,
    /// Algorithms of the UE; told where the target was told others.
    pub capability: Option<SecurityCapability>,
    /// For the next handover.
    pub next_hop: NextHop,
    /// That is the first key of a new 5G NAS security context (9.3.1.55): the UE is to be told so.
    pub is_new_context: bool,
    /// Sessions whose packets go to the target, at least one.
    pub switched: Transfers,
    /// Those that are not there any more, each with why.
    pub released: Transfers,
    /// Slices that the UE may use.
    pub allowed_nssai: Vec<Snssai>,
}

/// Handover Required.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandoverRequired {
    /// Both names of the connection.
    pub ids: Ids,
    /// Why.
    pub cause: Cause,
    /// To which gNB; none of a node that is none.
    pub target: Option<(Gnb, Tai)>,
    /// The source reaches the target: packets are forwarded without the UPF.
    pub is_direct: bool,
    /// Sessions, each with a [`handover_required`](crate::handover_transfer::handover_required).
    pub sessions: Transfers,
    /// For the target, unread by the AMF.
    pub container: Vec<u8>,
}

/// Handover Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandoverRequest {
    /// The AMF's name of the connection at the target.
    pub amf: AmfUeId,
    /// Why.
    pub cause: Cause,
    /// The UE's most, down and up.
    pub ambr_bps: (u64, u64),
    /// Algorithms of the UE.
    pub capability: SecurityCapability,
    /// What the target derives its key from.
    pub next_hop: NextHop,
    /// That is the first key of a new 5G NAS security context (9.3.1.55): the UE is to be told so.
    pub is_new_context: bool,
    /// Sessions, at least one, without messages for the UE.
    pub sessions: Vec<SessionSetup>,
    /// Slices that the UE may use.
    pub allowed_nssai: Vec<Snssai>,
    /// Which device it is, without its serial number.
    pub masked_imeisv: Option<[u8; 8]>,
    /// Of the source, unread by the AMF.
    pub container: Vec<u8>,
    /// Who serves the UE.
    pub guami: Guami,
}

/// Handover Request Acknowledge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandoverRequestAcknowledge {
    /// Both names of the connection.
    pub ids: Ids,
    /// Sessions for which the target has room, each with a [`Admitted`](crate::Admitted).
    pub admitted: Transfers,
    /// Those for which it has none, each with why.
    pub failed: Transfers,
    /// For the source, unread by the AMF.
    pub container: Vec<u8>,
}

/// Handover Command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandoverCommand {
    /// Both names of the connection.
    pub ids: Ids,
    /// Sessions that go along, each with where packets are forwarded to.
    pub sessions: Transfers,
    /// Those that do not, each with why.
    pub released: Transfers,
    /// Of the target, unread by the AMF.
    pub container: Vec<u8>,
}

impl HandoverFromRan {
    /// Its name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PathSwitchRequest(_) => "Path Switch Request",
            Self::Required(_) => "Handover Required",
            Self::RequestAcknowledge(_) => "Handover Request Acknowledge",
            Self::Failure { .. } => "Handover Failure",
            Self::Notify { .. } => "Handover Notify",
            Self::Cancel { .. } => "Handover Cancel",
            Self::UplinkStatus { .. } => "Uplink RAN Status Transfer",
        }
    }

    /// Both names of the connection that it is about; none of one that is about to be.
    pub fn ids(&self) -> Option<(AmfUeId, RanUeId)> {
        match self {
            Self::Required(m) => Some(m.ids),
            Self::Notify { ids, .. }
            | Self::Cancel { ids, .. }
            | Self::UplinkStatus { ids, .. } => Some(*ids),
            Self::PathSwitchRequest(_) | Self::RequestAcknowledge(_) | Self::Failure { .. } => None,
        }
    }
}

impl HandoverFromAmf {
    /// Its name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PathSwitchRequestAcknowledge(_) => "Path Switch Request Acknowledge",
            Self::PathSwitchRequestFailure { .. } => "Path Switch Request Failure",
            Self::Request(_) => "Handover Request",
            Self::Command(_) => "Handover Command",
            Self::PreparationFailure { .. } => "Handover Preparation Failure",
            Self::CancelAcknowledge { .. } => "Handover Cancel Acknowledge",
            Self::DownlinkStatus { .. } => "Downlink RAN Status Transfer",
        }
    }
}
