//! Errors of the load generator.

use std::net::Ipv4Addr;

use sluice_smf_emulator::SmfError;

use crate::source::IP_BYTES_MAX;
use crate::stamp::{FLOWS_MAX, IP_BYTES_MIN};

/// Why there is no load, or no measurement.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A packet that cannot be made.
    #[error(
        "a packet of {bytes} octets cannot be sent: expected {IP_BYTES_MIN} to {IP_BYTES_MAX} octets of IP"
    )]
    Size { bytes: u16 },
    #[error("there are no packet lengths")]
    NoSizes,
    #[error("weights must be numbers from 0, of which one at least is not 0")]
    Weights,
    #[error("a Zipf exponent of {0}: expected 0 to 10")]
    Exponent(f64),
    #[error("a share of {0}: expected 0 to 1")]
    Share(f64),
    #[error("there is no UE that sends")]
    NoFlows,
    #[error("{0} flows: a stamp can name {FLOWS_MAX}")]
    TooManyFlows(usize),
    #[error("there is no UE {ue}: they are numbered from 0 to {}", flows - 1)]
    NoSuchUe { ue: u32, flows: u32 },
    #[error("a rate of {0}: expected a number above 0")]
    Rate(f64),
    #[error("a step without length")]
    NoTime,
    #[error("{file}: {what}")]
    Capture { file: String, what: String },
    #[error("no answer to ARP for {address} on {port}: is it there, and in the same network?")]
    NoNeighbour {
        /// Address whose neighbour was sought.
        address: Ipv4Addr,
        port: String,
    },
    #[error("flow {flow} has tunnel {tunnel} of {tunnels}")]
    NoSuchTunnel {
        flow: usize,
        tunnel: u16,
        tunnels: usize,
    },
    /// The UPF or our SMF would not.
    #[error(transparent)]
    Smf(#[from] SmfError),
}
