//! Messages between hosts of network functions: the envelope, its octets, and the trait of what carries it.
//!
//! A network function knows no host and no transport: it calls a [`Place`](sluice_sbi::Place), and its host finds out
//! whether that is its own or another's.
#![forbid(unsafe_code)]

mod envelope;
mod transport;

pub use envelope::{Envelope, HEAD, Kind, LONGEST};
pub use transport::{Event, Transport, Unsent};
