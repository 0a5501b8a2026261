//! The UP function: N4 sessions to compiled transactions; the control core around it.
#![forbid(unsafe_code)]

pub mod control;
pub mod core;
pub mod elastic;
mod hash;
mod marks;
pub mod n4;
pub mod network;
mod partitions;
pub mod session;
