//! Forwarding: session, PDR, outer header removal, QER, URR, FAR, outer header creation (TS 29.244, 5.2).

pub mod far;
pub mod ohc;
pub mod ohr;
pub(crate) mod path;
pub mod pdr;
pub mod qer;
pub mod relay;
pub mod session;
pub mod urr;
pub(crate) mod usual;
