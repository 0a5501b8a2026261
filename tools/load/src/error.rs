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
    Size {
        /// Length of the frame.
        bytes: u16,
    },
    /// No lengths at all.
    #[error("there are no packet lengths")]
    NoSizes,
    /// A distribution that is none.
    #[error("weights must be numbers from 0, of which one at least is not 0")]
    Weights,
    /// A law that is none.
    #[error("a Zipf exponent of {0}: expected 0 to 10")]
    Exponent(f64),
    /// A part that is none.
    #[error("a share of {0}: expected 0 to 1")]
    Share(f64),
    /// Nobody sends.
    #[error("there is no UE that sends")]
    NoFlows,
    /// More than a stamp can name.
    #[error("{0} flows: a stamp can name {FLOWS_MAX}")]
    TooManyFlows(usize),
    /// A UE that is not there.
    #[error("there is no UE {ue}: they are numbered from 0 to {}", flows - 1)]
    NoSuchUe {
        /// Number of the UE.
        ue: u32,
        /// How many there are.
        flows: u32,
    },
    /// A rate that is none.
    #[error("a rate of {0}: expected a number above 0")]
    Rate(f64),
    /// A time that is none.
    #[error("a step without length")]
    NoTime,
    /// A capture without packets that could be followed.
    #[error("{file}: {what}")]
    Capture {
        /// The file.
        file: String,
        /// The fault.
        what: String,
    },
    /// Nobody answers ARP.
    #[error("no answer to ARP for {address} on {port}: is it there, and in the same network?")]
    NoNeighbour {
        /// Address whose neighbour was sought.
        address: Ipv4Addr,
        /// On which port.
        port: String,
    },
    /// Flows lead to a tunnel that is not in the list.
    #[error("flow {flow} has tunnel {tunnel} of {tunnels}")]
    NoSuchTunnel {
        /// The flow.
        flow: usize,
        /// Number of the tunnel.
        tunnel: u16,
        /// How many there are.
        tunnels: usize,
    },
    /// The UPF or our SMF would not.
    #[error(transparent)]
    Smf(#[from] SmfError),
}
