//! Events of the endpoint for the layer above.

use core::fmt;
use std::net::{IpAddr, SocketAddr};

use arrayvec::ArrayVec;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Cause, Header, MessageType};

use crate::association::AssociationId;
use crate::transport::RequestTicket;

/// Addresses in one Session Retention Information that are kept; a peer that names more has all
/// its sessions retained.
pub const RETENTION_ADDRESSES: usize = 8;

/// Meaning of one message for the layer above.
#[derive(Debug)]
pub enum Input<'a> {
    /// Nothing for the layer above.
    Nothing,
    /// A request for the layer above; answer it by `Endpoint::reply`.
    Session(SessionRequest<'a>),
    /// The response to a request of the layer above.
    Response(Response<'a>),
}

/// A request of an associated peer: one of the session related ones, or PFD Management, Node
/// Report, Session Set Deletion, Session Set Modification.
#[derive(Clone, Copy, Debug)]
pub struct SessionRequest<'a> {
    /// Association of the sender. A session may only be changed by the association that it belongs to, or by a message
    /// that names a new Node ID (TS 29.244, 5.22): check that.
    pub association: AssociationId,
    /// Whether it comes from an address of the association's own. From one that was learned of a session's request
    /// it may act on sessions of that address alone: check that, too.
    pub is_of_holder: bool,
    /// To be handed to `Endpoint::reply`.
    pub reply: ReplyTo,
    /// The message's IEs.
    pub body: &'a [u8],
    /// Of the message's IEs, under a key of this endpoint's: two requests of one are the same but
    /// for the header.
    pub fingerprint: u64,
}

impl SessionRequest<'_> {
    /// The message's header.
    pub fn header(&self) -> &Header {
        &self.reply.header
    }
}

/// The response to a request of the layer above.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// Association of the sender.
    pub association: AssociationId,
    /// The tag of the request.
    pub tag: u64,
    /// The message's header.
    pub header: Header,
    /// The message's IEs.
    pub body: &'a [u8],
}

/// The right to answer one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyTo {
    pub(crate) ticket: RequestTicket,
    pub(crate) peer: SocketAddr,
    pub(crate) header: Header,
}

impl ReplyTo {
    /// Source of the request, to which the response goes.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Message type of the request.
    pub fn request_type(&self) -> MessageType {
        self.header.message_type
    }

    /// The SEID in the request's header.
    pub fn request_seid(&self) -> Option<Seid> {
        self.header.seid
    }
}

/// Event of an association, or of a request of the layer above.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The association is set up; sessions may be established.
    AssociationUp {
        /// Which one.
        association: AssociationId,
        /// Whether the peer says that it retained the sessions of the association before
        /// (PSREI, TS 29.244, 8.2.134).
        sessions_retained: bool,
    },
    /// The peer set up its association anew; the sessions of the one before end, but for those
    /// to be retained (TS 29.244, 6.2.6.2.2). The identifier stays.
    AssociationReplaced {
        /// Which one.
        association: AssociationId,
        /// The sessions that stay.
        retain: Retention,
    },
    /// A set-up came from another address than the association's, and the holder was silent for T1:
    /// the set-up is accepted. [`Event::AssociationReplaced`] or [`Event::AssociationUp`] follows.
    TakenOver {
        /// Which one.
        association: AssociationId,
        /// Address of the peer before.
        holder: SocketAddr,
        /// New address of the peer.
        peer: SocketAddr,
    },
    /// A set-up from another address than the association's was refused: the holder answers.
    TakeoverRefused {
        /// Which one.
        association: AssociationId,
        /// Address of the peer, which does not change.
        holder: SocketAddr,
        /// Address of the rejected sender.
        peer: SocketAddr,
    },
    /// A session request from an unknown address, as a rule an establishment, named the peer's Node ID:
    /// session requests from there count as the peer's from now on, for sessions whose CP F-SEID has that address.
    AddressLearned {
        /// Which one.
        association: AssociationId,
        /// Address from which the peer associated.
        holder: SocketAddr,
        /// The further address.
        peer: SocketAddr,
    },
    /// The peer changed its features, resources or addresses.
    AssociationUpdated {
        /// Which one.
        association: AssociationId,
    },
    /// The peer answered our update.
    UpdateAnswered {
        /// Which one.
        association: AssociationId,
        /// The peer's cause; none if it did not answer or could not be understood.
        cause: Option<Cause>,
    },
    /// The peer, a UP function, asks for the release of the association (SARR), or has sent the
    /// usage reports that had to come first (URSS). The endpoint releases it when the graceful
    /// period is over, or at once if there is none.
    ReleaseRequested {
        /// Which one.
        association: AssociationId,
        /// How long sessions may stay, in seconds.
        graceful_period_s: Option<u32>,
    },
    /// The peer is about to release the association (PARPS, TS 29.244, 5.18): a UP function now
    /// reports the usage of all its sessions and then calls `Endpoint::update` with
    /// `Change::UsageReportsSent`; a CP function establishes no further sessions.
    ReleasePreparation {
        /// Which one.
        association: AssociationId,
    },
    /// The graceful period that we asked for is over and the peer has not released.
    GracefulPeriodOver {
        /// Which one.
        association: AssociationId,
    },
    /// The association has ended and all its sessions with it; its identifier is void.
    AssociationDown {
        /// Which one.
        association: AssociationId,
        /// Why.
        reason: DownReason,
    },
    /// The peer rejected our association set-up, which is tried again later.
    SetupRejected {
        /// Which one.
        association: AssociationId,
        /// The peer's cause.
        cause: Cause,
    },
    /// The peer restarted and has lost its sessions (TS 23.527, 4.2); ours with it are void. If
    /// we set up the association, that is done anew.
    PeerRestarted {
        /// Which one.
        association: AssociationId,
    },
    /// The peer does not answer heartbeats any more.
    PeerLost {
        /// Which one.
        association: AssociationId,
    },
    /// The peer answers heartbeats again and has not restarted.
    PeerRecovered {
        /// Which one.
        association: AssociationId,
    },
    /// A request of the layer above ended without response.
    RequestFailed {
        /// To whom it was.
        association: AssociationId,
        /// The tag of the request.
        tag: u64,
        /// Why.
        reason: FailReason,
    },
}

/// Why an association ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DownReason {
    /// The CP function released it.
    Released,
    /// The layer above gave it up without telling the peer.
    Forgotten,
    /// The association turned out to be with the same function as another one, which continues.
    SameNode(AssociationId),
}

/// Why a request ended without response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailReason {
    /// N1 retransmissions were not answered.
    TimedOut,
    /// The peer does not know PFCP version 1.
    VersionNotSupported,
    /// The association ended or was replaced, or the peer restarted.
    AssociationEnded,
}

/// Which sessions outlive a new set-up of their association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Retention {
    /// None.
    None,
    /// All.
    All,
    /// Sessions whose CP F-SEID has one of these addresses.
    Addresses(ArrayVec<IpAddr, RETENTION_ADDRESSES>),
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released => f.write_str("released by the CP function"),
            Self::Forgotten => f.write_str("given up"),
            Self::SameNode(id) => write!(f, "with the same function as association {id}"),
        }
    }
}

impl fmt::Display for FailReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "no response after N1 retransmissions (TS 29.244, 6.4)",
            Self::VersionNotSupported => "the peer does not support PFCP version 1",
            Self::AssociationEnded => "the association ended",
        })
    }
}
