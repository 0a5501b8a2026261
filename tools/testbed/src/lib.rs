//! Testbed: what tests and benchmarks put around the code that they look at, put together once.
//!
//! | module | |
//! |---|---|
//! | [`upf`] | a UPF in process, at any ports |
//! | [`core`] | a 5G core in process, with subscribers, and the SIMs, UEs and gNBs that it serves |
//! | [`apart`] | wirings of its functions |
//! | [`between`] | two cores whose AMFs ask each other for contexts of UEs |
//! | [`flows`] | flows that operators and applications want |
//! | [`lossy`] | faults of what carries messages to it |
//! | [`services`] | its functions as services by HTTP, and faults of these |
//! | [`network`] | that core with a gNB and UEs, and a clock that only moves when it is told to |
//! | [`outside`] | functions that are no part of it, which ask it and are told by it |
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the tests and benchmarks beside it; what is public is used by no one else"
)]

pub mod apart;
pub mod between;
pub mod core;
pub mod flows;
pub mod lossy;
pub mod network;
pub mod outside;
pub mod services;
pub mod upf;
