//! Sans-IO PFCP endpoint, both ends of N4 (TS 29.244, Release 17).
//!
//! [`Endpoint`] is one CP or UP function as its PFCP peers see it. It delivers requests and
//! responses reliably ([`transport`]), keeps the associations with its peers ([`association`]),
//! and hands session related messages to the layer above. It has no clock, socket, thread or
//! random number inside: bytes and the time go in, datagrams and events come out. All memory is
//! taken at the start and none per message.
#![forbid(unsafe_code)]

pub mod association;
mod associations;
mod bundle;
pub mod cidr;
mod codec;
pub mod config;
pub mod counters;
pub mod endpoint;
pub mod event;
mod fingerprint;
mod node_id;
mod rate_limit;
mod time;
pub mod transport;

pub use association::{Association, AssociationId, Features, State};
pub use bundle::messages;
pub use cidr::Cidr;
pub use config::{Config, Limits, PeerPort, Role};
pub use counters::{Counter, Counters};
pub use endpoint::{Change, Endpoint, Request, RequestError};
pub use event::{
    DownReason, Event, FailReason, Input, ReplyTo, Response, Retention, SessionRequest,
};
pub use node_id::{Fqdn, FqdnError, NodeId};
pub use time::Instant;
pub use transport::Outbox;
