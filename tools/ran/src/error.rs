//! Errors of gNBs, and of a network of them.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use sluice_host::HostError;
use sluice_program::exit::Exit;
use sluice_smf_emulator::SmfError;
use sluice_wire::ids::Teid;

use crate::UeId;

/// A request to a gNB that was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum RanError {
    /// The kernel refused something.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The descriptors of the gNB's thread could not be watched.
    #[error("gNB {gnb}: {source}")]
    Poll {
        /// The gNB.
        gnb: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The gNB's thread has ended.
    #[error("gNB {0} is stopped")]
    Stopped(String),
    /// The UE is not attached to this gNB.
    #[error("gNB {gnb} does not serve {ue}")]
    UnknownUe {
        /// The gNB.
        gnb: String,
        /// The UE.
        ue: UeId,
    },
    /// The gNB has no tunnel endpoint of that number.
    #[error("gNB {gnb} has no tunnel endpoint {teid}")]
    UnknownTunnel {
        /// The gNB.
        gnb: String,
        /// TEID of the tunnel.
        teid: Teid,
    },
    /// Another UE has this downlink TEID.
    #[error("gNB {gnb}: downlink TEID {teid} is taken")]
    TeidTaken {
        /// The gNB.
        gnb: String,
        /// The TEID.
        teid: Teid,
    },
    /// A UE's device sends longer packets than the gNB has room for.
    #[error("gNB {gnb}: the MTU {mtu} of the UE's TUN device is above {largest}")]
    MtuTooLarge {
        /// The gNB.
        gnb: String,
        /// Of the device, in bytes.
        mtu: u16,
        /// Of the gNB, in bytes.
        largest: u16,
    },
    /// No Echo Response came.
    #[error("gNB {gnb}: no Echo Response from {peer} within {timeout:?}")]
    NoEcho {
        /// The gNB.
        gnb: String,
        /// Peer that did not answer.
        peer: IpAddr,
        /// How long was waited.
        timeout: Duration,
    },
}

/// Why the script does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Halt {
    /// Somebody wants the end.
    #[error("interrupted")]
    Interrupted,
    /// `--for` is over.
    #[error("the time is up")]
    TimeUp,
    /// The scenario ends here.
    #[error("the scenario ends here")]
    End,
}

/// Why there is no network, or no result.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Failure {
    pub(crate) exit: Exit,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn lacking(why: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Lacking,
            why: why.to_string(),
        }
    }

    pub(crate) fn failed(why: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Failed,
            why: why.to_string(),
        }
    }
}

/// A call that did not do what it is for.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Somebody wants the end, or the time is up.
    #[error(transparent)]
    Halted(#[from] Halt),
    /// Something did not happen in time.
    #[error("{what}: did not happen within {limit:?}")]
    TooLate {
        /// Event that was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
    /// The network refused it, or something failed meanwhile.
    #[error("{0}")]
    Failed(String),
    /// A gNB refused it.
    #[error(transparent)]
    Gnb(#[from] RanError),
    /// The kernel refused it.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The UPF refused it.
    #[error(transparent)]
    Smf(#[from] SmfError),
}
