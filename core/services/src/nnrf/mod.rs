//! Services of the NRF (TS 29.510), as its consumers ask for them; the NRF itself serves them from its own documents.

mod discovery;
mod management;
mod news;
mod profile;
mod services;

use sluice_sbi::Message;

use crate::exchange::Consumer;
use crate::names::Memory;

pub(crate) use discovery::amf_of;
pub use discovery::{NoProfile, query};
pub use news::{STATUS, notified, subscribe, subscribed, unsubscribe};
pub use profile::{document, more};
pub use services::{served, services_of, with_roots};

/// Collection of profiles.
pub const INSTANCES: &str = "/nnrf-nfm/v1/nf-instances";

/// Collection that is searched.
pub const DISCOVERY: &str = "/nnrf-disc/v1/nf-instances";

/// Type of a body with operations that change a document (RFC 6902).
pub const JSON_PATCH: &str = "application/json-patch+json";

/// A request of a function.
pub(crate) fn begin(message: &Message, memory: &Memory) -> Option<Consumer> {
    Some(match message {
        Message::RegisterNf(request) => management::register(request, memory),
        Message::ServeMore(request) => management::serve_more(request, memory),
        Message::HeartBeat(request) => management::heart_beat(request),
        Message::DeregisterNf(request) => management::deregister(request),
        Message::DiscoverNfs(request) => discovery::discover(request),
        _ => return None,
    })
}
