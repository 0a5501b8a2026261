//! Emulated SMF: an N4 client with dialects.
#![forbid(unsafe_code)]

pub mod dialect;
pub mod encode;
pub mod names;
pub mod plan;

pub use dialect::Dialect;
pub use names::{Imsi, Network, NetworkName};
pub use plan::{GateStatus, SessionPlan, Tunnel, UplinkTeid};
