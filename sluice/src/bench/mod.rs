//! `sluice bench`: figures, each with the limit of this machine measured in the same run.

pub mod args;
pub mod elastic;
pub(crate) mod machine;
pub mod path;
pub mod pfcp;
pub mod port;
mod stats;

use crate::exit::Exit;
use args::{BenchArgs, BenchKind};

/// Measures and reports. Progress goes to standard error.
pub fn run(args: &BenchArgs) -> Exit {
    match &args.kind {
        BenchKind::Path(path) => path::run(path),
        BenchKind::Pfcp(pfcp) => pfcp::run(pfcp),
        BenchKind::Port(port) => port::run(port),
        BenchKind::Peer(peer) => port::run_peer(peer),
        BenchKind::Elastic(elastic) => elastic::run(elastic),
    }
}
