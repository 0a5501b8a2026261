//! The UP function: PFCP sessions compiled to transactions, and the control core around it.
#![forbid(unsafe_code)]

pub mod config;
pub mod core;
pub mod directory;
pub mod frame;
pub mod n4_port;
pub mod neighbours;
pub mod scaling;
pub mod signalling;
