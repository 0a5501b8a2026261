//! `sluice bench`: figures, each with the limit of this machine measured in the same run.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a library for the commands beside it; what is public is used by no one else"
)]

pub mod args;
pub mod elastic;
pub mod machine;
pub mod path;
pub mod pfcp;
pub mod port;
pub mod report;
pub mod stats;
pub mod watch;

use args::{BenchArgs, BenchKind};
use sluice::exit::Exit;
use watch::run::RunArguments;
use watch::{Failed, Measured, Watch, WatchArgs, command};

/// Measures and reports. Progress goes to standard error.
pub fn run(args: &BenchArgs) -> Exit {
    match &args.kind {
        BenchKind::Path(a) => watched(&a.watch, a.asked(), || path::run(a)),
        BenchKind::Pfcp(a) => watched(&a.watch, a.asked(), || pfcp::run(a)),
        BenchKind::Port(a) => watched(&a.watch, a.asked(), || port::run(a)),
        BenchKind::Elastic(a) => watched(&a.watch, a.asked(), || elastic::run(a)),
        BenchKind::Peer(peer) => port::run_peer(peer),
        BenchKind::Compare(compare) => command::run(compare),
    }
}

/// Measures, shows what came of it, and compares it with earlier runs if there is a history.
fn watched(
    args: &WatchArgs,
    asked: RunArguments,
    measure: impl FnOnce() -> Result<Measured, Failed>,
) -> Exit {
    let bench = asked.bench;
    let told = |why: String, exit: Exit| {
        eprintln!("sluice bench {bench}: {why}");
        exit
    };
    let watch = match Watch::open(args) {
        Ok(watch) => watch,
        Err(why) => return told(why, Exit::Usage),
    };
    match measure() {
        Ok(measured) => watch.end(asked, measured),
        Err(Failed::Usage(why)) => told(why, Exit::Usage),
        Err(Failed::Lacking(why)) => told(why, Exit::Lacking),
        Err(Failed::Midway(why)) => told(why, Exit::Failed),
    }
}
