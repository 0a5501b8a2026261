//! Simulated ports as the packet path meets them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod burst;
mod common;
mod links;
mod queues;
mod tap;
