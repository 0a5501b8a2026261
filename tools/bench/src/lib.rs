//! `sluice bench`: figures, each with the limit of this machine measured in the same run.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; what is public is used by no one else"
)]

pub mod args;
pub mod elastic;
pub mod machine;
pub mod matching;
pub mod measure;
pub mod memory;
pub mod path;
pub mod pfcp;
pub mod port;
pub mod registrations;
pub mod report;
pub mod sbi;
pub mod stats;
pub mod watch;

use args::{BenchArgs, BenchKind};
use sluice_program::exit::Exit;
use watch::{command, watched};

/// Why something is not what it should be.
pub type Failure = String;

/// Measures and reports. Progress goes to standard error.
pub fn run(args: &BenchArgs) -> Exit {
    match &args.kind {
        BenchKind::Path(a) => watched(&a.watch, a.asked(), || path::run(a)),
        BenchKind::Pfcp(a) => watched(&a.watch, a.asked(), || pfcp::run(a)),
        BenchKind::Port(a) => watched(&a.watch, a.asked(), || port::run(a)),
        BenchKind::Elastic(a) => watched(&a.watch, a.asked(), || elastic::run(a)),
        BenchKind::Core(a) => watched(&a.watch, a.asked(), || registrations::run(a)),
        BenchKind::Filters(a) => watched(&a.watch, a.asked(), || matching::run(a)),
        BenchKind::Sbi(a) => watched(&a.watch, a.asked(), || sbi::run(a)),
        BenchKind::CoreRan(a) => registrations::run_ran(a),
        BenchKind::Peer(peer) => port::run_peer(peer),
        BenchKind::Compare(compare) => command::run(compare),
    }
}
