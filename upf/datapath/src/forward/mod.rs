//! Forwarding: session, PDR, outer header removal, QER, URR, FAR, outer header creation (TS 29.244, 5.2).

pub mod extension_headers;
pub mod far;
pub(crate) mod fast_path;
mod fast_path_ipv6;
pub(crate) mod fast_path_rules;
mod fast_path_translated;
pub mod flow;
pub mod marking;
pub mod mss_clamp;
pub mod outer_header_creation;
pub mod outer_header_removal;
pub(crate) mod path;
pub mod pdr;
pub mod qer;
pub(crate) mod rules;
pub(crate) mod shaping;
mod slow_path;
pub mod slow_reason;
pub mod urr;
