//! Session events for the operator's log.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use sluice_n4::{AssociationId, DownReason};
use sluice_wire::pfcp::Cause;

/// An event for the log. At most one of each kind for an association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionEvent {
    /// A CP function associated itself.
    Up(AssociationId),
    /// The second address set up the association of the first, which had been silent for T1.
    TakenOver(AssociationId, SocketAddr, SocketAddr),
    /// A session request from the second address named the CP function at the first: both are its own.
    AddressLearned(AssociationId, SocketAddr, SocketAddr),
    /// A CP function does not want the association that we set up; it is asked again.
    SetupRejected(AssociationId, Cause),
    /// An association ended; so many sessions go with it.
    Down(AssociationId, DownReason, usize),
    /// A CP function restarted or set up its association anew; so many sessions go.
    Restarted(AssociationId, usize),
    /// A CP function does not answer; its sessions stay for so many seconds.
    Lost(AssociationId, u32),
    /// It answers again.
    Recovered(AssociationId),
    /// It did not come back in time; so many sessions go.
    GivenUp(AssociationId, usize),
    /// It deleted session sets; up to so many sessions go.
    SetsDeleted(AssociationId, u32),
    /// It did not release the association within the graceful period.
    NotReleased(AssociationId),
    /// It chooses TEIDs itself: they take the slower hash path.
    ChoosesTeids(AssociationId),
    /// It asks for usage reports by events or linked rules, which are not made yet.
    TriggersUnserved(AssociationId),
    /// It refused a Session Report Request, or did not answer (`None`).
    ReportFailed(AssociationId, Option<Cause>),
    /// It refused a Node Report Request, or did not answer (`None`).
    NodeReportFailed(AssociationId, Option<Cause>),
    /// The tunnel peer at this address does not answer Echo Requests, one of so many.
    PathsFailed(IpAddr, usize),
    /// It answers again, one of so many.
    PathsRecovered(IpAddr, usize),
    /// So many sessions kept the flows of an application that has others now, as tables are full.
    FlowsKept(u32),
    /// The caller's query with this token is done.
    Queried(u64),
}

impl SessionEvent {
    /// Whose doing it is; none for what no peer causes.
    pub fn association(&self) -> Option<AssociationId> {
        match self {
            Self::Up(id)
            | Self::TakenOver(id, ..)
            | Self::AddressLearned(id, ..)
            | Self::SetupRejected(id, _)
            | Self::Down(id, ..)
            | Self::Restarted(id, _)
            | Self::Lost(id, _)
            | Self::Recovered(id)
            | Self::GivenUp(id, _)
            | Self::SetsDeleted(id, _)
            | Self::NotReleased(id)
            | Self::ChoosesTeids(id)
            | Self::TriggersUnserved(id)
            | Self::ReportFailed(id, _)
            | Self::NodeReportFailed(id, _) => Some(*id),
            Self::Queried(_)
            | Self::PathsFailed(..)
            | Self::PathsRecovered(..)
            | Self::FlowsKept(_) => None,
        }
    }
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.naming("").fmt(f)
    }
}

impl SessionEvent {
    /// The event in words, with the peer's name beside the association's number; an empty name is none.
    pub fn naming<'a>(&'a self, peer: &'a str) -> impl fmt::Display + use<'a> {
        fmt::from_fn(move |f| self.write(peer, f))
    }

    fn write(&self, peer: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |id: &AssociationId| match peer {
            "" => id.to_string(),
            peer => format!("{id} ({peer})"),
        };
        let id = self.association().as_ref().map_or_else(String::new, named);
        match self {
            Self::Up(_) => write!(f, "N4 association {id} is up"),
            Self::TakenOver(_, holder, peer) => write!(
                f,
                "{peer} has set up N4 association {id} of {holder}, which did not answer for T1"
            ),
            Self::AddressLearned(_, holder, peer) => write!(
                f,
                "{peer} named N4 association {id} of {holder} in a session request: it may ask from there for sessions of that CP F-SEID"
            ),
            Self::SetupRejected(_, cause) => {
                write!(f, "N4 association {id} was rejected: {cause}")
            }
            Self::Down(_, reason, n) => {
                write!(
                    f,
                    "N4 association {id} ended ({reason}), {n} sessions with it"
                )
            }
            Self::Restarted(_, n) => {
                write!(
                    f,
                    "the CP of N4 association {id} started anew, {n} sessions end"
                )
            }
            Self::Lost(_, s) => write!(
                f,
                "the CP of N4 association {id} is silent, its sessions stay for {s} s"
            ),
            Self::Recovered(_) => write!(f, "the CP of N4 association {id} answers again"),
            Self::GivenUp(_, n) => write!(
                f,
                "the CP of N4 association {id} stayed silent, {n} sessions end"
            ),
            Self::SetsDeleted(_, n) => write!(
                f,
                "the CP of N4 association {id} deleted session sets, {n} sessions end"
            ),
            Self::NotReleased(_) => {
                write!(
                    f,
                    "N4 association {id} was not released in the graceful period"
                )
            }
            Self::Queried(token) => write!(f, "query {token} is done"),
            Self::FlowsKept(n) => write!(
                f,
                "{n} sessions keep the former flows of an application: flow filters or blocks are all in use"
            ),
            Self::PathsFailed(first, 1) => {
                write!(f, "GTP-U peer {first} does not answer Echo Requests")
            }
            Self::PathsFailed(first, n) => write!(
                f,
                "{n} GTP-U peers do not answer Echo Requests, {first} among them"
            ),
            Self::PathsRecovered(first, 1) => write!(f, "GTP-U peer {first} answers again"),
            Self::PathsRecovered(first, n) => {
                write!(f, "{n} GTP-U peers answer again, {first} among them")
            }
            Self::ChoosesTeids(_)
            | Self::TriggersUnserved(_)
            | Self::ReportFailed(..)
            | Self::NodeReportFailed(..) => self.write_remark(&id, f),
        }
    }

    /// What a CP function asks for and does not get.
    fn write_remark(&self, id: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChoosesTeids(_) => write!(
                f,
                "the CP of N4 association {id} chooses TEIDs itself: they are looked up by hash"
            ),
            Self::TriggersUnserved(_) => write!(
                f,
                "the CP of N4 association {id} asks for usage reports that are not made yet: \
                 by events or linked rules"
            ),
            Self::ReportFailed(_, Some(cause)) => {
                write!(
                    f,
                    "the CP of N4 association {id} refused a session report: {cause}"
                )
            }
            Self::ReportFailed(_, None) => {
                write!(
                    f,
                    "the CP of N4 association {id} did not answer a session report"
                )
            }
            Self::NodeReportFailed(_, Some(cause)) => write!(
                f,
                "the CP of N4 association {id} refused a Node Report Request: {cause}"
            ),
            Self::NodeReportFailed(_, None) => write!(
                f,
                "the CP of N4 association {id} did not answer a Node Report Request"
            ),
            _ => Ok(()),
        }
    }
}
