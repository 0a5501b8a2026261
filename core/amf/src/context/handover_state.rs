//! State of a UE during a handover.

use sluice_n2::{AmfUeId, RanUeId, SessionResults, SessionSetup};
use sluice_sbi::{AssociationId, Container, N2Sm, TaskId};

use crate::context::ue::ConnectionId;

/// How far a handover is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// By Xn: the UE is at its new gNB, which waits until packets go there.
    Switching,
    /// By N2: the target is asked.
    Preparing,
    /// The UE is told to go, and may be at either gNB.
    Commanded,
    /// The UE is at its new gNB, and the previous one still forwards packets.
    Leaving,
}

/// A handover.
#[derive(Debug)]
pub(crate) struct Handover {
    pub stage: Stage,
    /// Handover procedure of the UE.
    pub task: Option<TaskId>,
    /// The connection that is not the UE's: at the target before it has come, at the source after that.
    pub other: Option<ConnectionId>,
    /// The source has lost the UE after it was told to go.
    pub is_source_lost: bool,
    /// All SMFs have heard that the UE has come.
    pub is_completed: bool,
    /// The target was told the first key of a new security context.
    pub is_new_context: bool,
}

/// Message that is held back during a handover.
#[derive(Debug)]
pub(crate) enum Held {
    /// A NAS message, which is protected when it is sent: counts follow the order in which the UE hears them.
    Nas(Vec<u8>),
    /// One that was sent before and not delivered: it comes before all others.
    Undelivered(Vec<u8>),
    /// Messages of an SMF.
    Sm(Box<HeldSm>),
    /// Sessions to be set up.
    Setups(&'static str, Vec<SessionSetup>),
}

/// Messages of an SMF for a UE and its gNB.
#[derive(Debug)]
pub(crate) struct HeldSm {
    pub session: u8,
    pub step: &'static str,
    pub n1: Container,
    pub n2_kind: N2Sm,
    pub n2: Container,
}

/// Role of a connection for its UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The UE is there.
    Current,
    /// Connection to the target gNB.
    Target,
    /// Connection to the source gNB.
    Source,
}

/// Sessions that a gNB wants at other tunnels, and of which SMFs have not wholly answered.
#[derive(Debug)]
pub(crate) struct Indication {
    /// gNB that gets the message: the UE may be at another by then.
    pub gnb: (AssociationId, (AmfUeId, RanUeId)),
    /// Sessions whose SMF has not answered, and the SMF's names of them.
    pub waits: Vec<(u8, u64)>,
    pub results: SessionResults,
}
