//! Sans-IO PFCP endpoint, both ends of N4 (TS 29.244, Release 17).
//!
//! [`Endpoint`] is one CP or UP function as its PFCP peers see it. It delivers requests and
//! responses reliably ([`transport`]), keeps the associations with its peers ([`association`]),
//! and hands session related messages to the layer above. It has no clock, socket, thread or
//! random number inside: bytes and the time go in, datagrams and events come out. All memory is
//! taken at the start and none per message.
//!
//! ```
//! use sluice_n4::{Config, Endpoint, Event, Instant, NodeId, Outbox, Role};
//! use sluice_wire::pfcp::value::NtpTime;
//! use std::net::SocketAddr;
//!
//! #[derive(Default)]
//! struct Datagrams(Vec<(SocketAddr, Vec<u8>)>);
//!
//! impl Outbox for Datagrams {
//!     fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
//!         self.0.push((to, bytes.to_vec()));
//!     }
//! }
//!
//! let config = |n| Config::new(NodeId::v4([192, 0, 2, n].into()), NtpTime(3_900_000_000));
//! let address = |n| SocketAddr::from(([192, 0, 2, n], 8805));
//! let mut smf = Endpoint::new(Role::Cp, config(1));
//! let mut upf = Endpoint::new(Role::Up, config(2));
//! let (mut to_upf, mut to_smf) = (Datagrams::default(), Datagrams::default());
//!
//! let now = Instant(0);
//! smf.associate(now, address(2), false, &mut to_upf)?;
//! upf.handle(now, address(1), &to_upf.0[0].1, &mut to_smf);
//! assert!(matches!(upf.next_event(), Some(Event::AssociationUp { .. })));
//! smf.handle(now, address(2), &to_smf.0[0].1, &mut to_upf);
//! assert!(matches!(smf.next_event(), Some(Event::AssociationUp { .. })));
//! # Ok::<(), sluice_n4::RequestError>(())
//! ```
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
pub mod refusals;
mod strangers;
mod time;
pub mod transport;

pub use association::{Association, AssociationId, Features, State, UserPlaneResource};
pub use bundle::messages;
pub use cidr::Cidr;
pub use config::{Config, Limits, PeerPort, Role};
pub use counters::{Counter, Counters};
pub use endpoint::{Change, Endpoint, Request, RequestError};
pub use event::{
    DownReason, Event, FailReason, Input, ReplyTo, Response, Retention, SessionRequest,
};
pub use node_id::{Fqdn, FqdnError, NodeId};
pub use refusals::{Refusals, Refused};
pub use strangers::{Stranger, Strangers};
pub use time::Instant;
pub use transport::Outbox;
