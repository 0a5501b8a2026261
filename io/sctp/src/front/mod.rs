//! SCTP of another program: a front has the associations, and hands events and messages over a Unix socket to the
//! program that speaks NGAP, which may end and come back meanwhile.
//!
//! | module | what it gives |
//! |---|---|
//! | `frame` | frames between the two |
//! | [`channel`] | an end of the socket |
//! | [`listener`] | the front's socket |
//! | [`remote`] | the trait of an endpoint, by a front |

pub mod channel;
mod frame;
pub mod listener;
pub mod remote;

pub use channel::{Channel, Received};
pub use frame::Frame;
pub use listener::Listener;
pub use remote::{FrontNews, Remote};
