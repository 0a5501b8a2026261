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
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("gNB {gnb}: {source}")]
    Poll { gnb: String, source: std::io::Error },
    #[error("gNB {0} is stopped")]
    Stopped(String),
    #[error("gNB {gnb} does not serve {ue}")]
    UnknownUe { gnb: String, ue: UeId },
    #[error("gNB {gnb} has no tunnel endpoint {teid}")]
    UnknownTunnel { gnb: String, teid: Teid },
    #[error("gNB {gnb}: downlink TEID {teid} is taken")]
    TeidTaken { gnb: String, teid: Teid },
    /// A UE's device sends longer packets than the gNB has room for.
    #[error("gNB {gnb}: the MTU {mtu} of the UE's TUN device is above {largest}")]
    MtuTooLarge {
        gnb: String,
        /// Of the device, in bytes.
        mtu: u16,
        /// Of the gNB, in bytes.
        largest: u16,
    },
    #[error("gNB {gnb}: no Echo Response from {peer} within {timeout:?}")]
    NoEcho {
        gnb: String,
        /// Peer that did not answer.
        peer: IpAddr,
        timeout: Duration,
    },
}

/// Why the script does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Halt {
    #[error("interrupted")]
    Interrupted,
    #[error("the time is up")]
    TimeUp,
    #[error("the scenario ends here")]
    End,
}

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
    #[error("{what}: did not happen within {limit:?}")]
    TooLate {
        /// Event that was waited for.
        what: String,
        limit: Duration,
    },
    #[error("{0}")]
    Failed(String),
    /// A gNB refused it.
    #[error(transparent)]
    Gnb(#[from] RanError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Smf(#[from] SmfError),
}
