//! Inputs and effects of a network function.

use crate::call::CallId;
use crate::call_flow::Line;
use crate::nrf::{NfInstance, Served};
use crate::place::Place;
use crate::refused::Refused;
use crate::slot::Slot;
use crate::time::{Instant, Now};
use crate::traced_message::TracedMessage;
use core::net::SocketAddr;
use sluice_ids::Snssai;

/// A gNB's association, as whoever has the sockets names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AssociationId(pub u32);

/// A request as its receiver names it: who asked, and which call of theirs it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId {
    /// Who asked.
    pub from: Place,
    /// Their call.
    pub call: CallId,
}

/// A change of what is stored, as the function that made it names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommitId(pub u64);

/// Why a change is not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotStored<'a> {
    /// The store has not answered in time; it may be stored after all.
    Late,
    /// The store does not answer.
    Unanswered,
    /// Somebody else has stored this since, in the form in which the function commits it.
    Instead(&'a [u8]),
}

/// What reaches a network function.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Another function asks.
    Request {
        /// To be named in the answer.
        id: RequestId,
        /// What it asks.
        message: Slot,
    },
    /// The answer to a call.
    Reply {
        /// Which call.
        call: CallId,
        /// The answer.
        message: Slot,
    },
    /// A message of a gNB.
    N2 {
        /// From where.
        association: AssociationId,
        /// The stream that it came on.
        stream: u16,
        /// NGAP.
        octets: &'a [u8],
    },
    /// A gNB is gone.
    AssociationLost(AssociationId),
    /// A message of a UPF.
    N4 {
        /// From where.
        from: SocketAddr,
        /// PFCP.
        octets: &'a [u8],
    },
    /// A change has been stored.
    Committed(CommitId),
    /// A change has not been stored.
    NotCommitted {
        /// Which.
        id: CommitId,
        /// Why not.
        why: NotStored<'a>,
    },
    /// A deadline may have come.
    Time,
}

/// What a network function wants done, in this order.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Ask another function.
    Call {
        /// Whom.
        to: Place,
        /// To be named in the answer.
        call: CallId,
        /// After this, the answer is not waited for any more.
        deadline: Instant,
        /// What.
        message: Slot,
    },
    /// Answer a request.
    Answer {
        /// Which.
        id: RequestId,
        /// The answer.
        message: Slot,
    },
    /// Send a message to a gNB.
    N2 {
        /// Where to.
        association: AssociationId,
        /// On which stream: 0 for the gNB itself, others for UEs.
        stream: u16,
        /// NGAP.
        octets: Vec<u8>,
    },
    /// Send a message to a UPF.
    N4 {
        /// Where to.
        to: SocketAddr,
        /// PFCP.
        octets: Vec<u8>,
    },
    /// Store this under this key; effects that follow from it wait until that is done.
    Commit {
        /// To be named when it is done.
        id: CommitId,
        /// Whose.
        key: Vec<u8>,
        /// What; none deletes it.
        value: Option<Vec<u8>>,
    },
    /// What an operator sees of the procedure.
    CallFlow(Line),
    /// What an operator is told of a request that was refused.
    Refused(Box<Refused>),
    /// Octets of a message, for whoever follows its UE.
    TracedMessage(Box<TracedMessage>),
}

/// A network function: one deterministic function.
pub trait NetworkFunction {
    /// Takes an input and appends what it wants done.
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>);

    /// When it wants [`Input::Time`] at the latest.
    fn next_deadline(&self) -> Instant;

    /// Served parts of its profile at the NRF (TS 29.510, 6.1.6.2.2) in a network that has these slices; none of a
    /// function that serves all there is.
    fn serves(&self, _slices: &[Snssai]) -> Vec<Served> {
        Vec::new()
    }

    /// Tells the function who it is, once and whenever that changes: the identity with which it registers at others.
    fn identify(&mut self, _instance: NfInstance) {}

    /// Percent of what it has room for.
    fn load(&self) -> u8 {
        0
    }

    /// Procedures under way, and others that a caller comes back to.
    fn open(&self) -> usize {
        0
    }
}
