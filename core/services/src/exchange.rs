//! Exchange: the HTTP requests that one call of a function takes, and the calls that one HTTP request takes.

use bytes::Bytes;
use sluice_sbi::{Message, Nf, Slot};

use crate::names::Memory;

/// HTTP request. Of one that leaves, the URI has path and query alone; [`To`] says where it goes.
pub type Request = http::Request<Bytes>;

/// HTTP response.
pub type Response = http::Response<Bytes>;

/// Response that refuses a request.
pub type Refusal = Box<Response>;

/// Receiver of a request that leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum To {
    /// The instance that the call names, by its API root.
    Function,
    /// The NRF, whichever function the call names: it says where that is.
    Nrf,
    /// The API root `http://host:port` of whoever gave the URI of a resource or of a callback.
    Root(String),
}

/// Request that leaves.
#[derive(Debug)]
pub struct Outgoing {
    /// Receiver.
    pub to: To,
    /// Request.
    pub request: Request,
}

/// Consumer's side of a call: the next request, or the message that answers the call.
pub enum Consumer {
    /// The request leaves, and its response goes on.
    Send(Box<Outgoing>, OnResponse),
    /// All of these leave, each for itself: whoever does not answer keeps nothing from the others. The call is done.
    Tell(Vec<Outgoing>),
    /// The call is answered.
    Done(Slot),
}

/// Goes on with the response to a request. Without one (the peer is not reached, or the time is over) the carrier answers the
/// call itself.
pub type OnResponse = Box<dyn FnOnce(Came, &mut Memory) -> Consumer + Send>;

/// Response that came.
pub struct Came {
    /// Number of the instance that was asked ([`Place::instance`](sluice_sbi::Place::instance)).
    pub from: u8,
    /// Response.
    pub response: Response,
}

/// Producer's side of a request: the next message for a function, or the response.
pub enum Producer {
    /// This function is asked, and its answer goes on.
    Ask(Nf, Slot, OnAnswer),
    /// The request is answered.
    Done(Response),
}

/// Goes on with the answer of a function, which may be a failure.
pub type OnAnswer = Box<dyn FnOnce(&Message, &mut Memory) -> Producer + Send>;
