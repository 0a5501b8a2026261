//! Metrics for Prometheus, over HTTP.
//!
//! The control core only copies its counters into a [`Snapshot`] when asked; what a client is told,
//! and how slowly it listens, is the business of threads of their own. Workers are not asked at
//! all: their counters are read where they stand.

mod http;
mod snapshot;
mod text;

pub use snapshot::Snapshot;
pub use text::{FamilyInfo, families, text};

use http::Server;
use sluice_datapath::ledger::WorkerStats;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel};

/// The control core's end.
pub struct Metrics {
    asked: Receiver<SyncSender<Snapshot>>,
}

impl Metrics {
    /// Serves on `listen` from now on, until the process ends.
    pub fn serve(listen: SocketAddr, stats: Vec<Arc<WorkerStats>>) -> io::Result<Self> {
        let (asks, asked) = channel();
        Server::start(listen, asks, stats)?;
        Ok(Self { asked })
    }

    /// Somebody who waits for a snapshot.
    pub fn next(&self) -> Option<SyncSender<Snapshot>> {
        self.asked.try_recv().ok()
    }
}
