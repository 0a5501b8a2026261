//! Envelopes between hosts of network functions as services over HTTP/2 (TS 29.500): a call is requests to the instance that
//! the NRF names, and requests of others are calls of the functions of the host.
#![forbid(unsafe_code)]

mod directory;
mod guard;
mod load;
mod overload;
mod scp;
mod services;
mod wallet;

pub use directory::Directory;
pub use guard::{Counters as GuardCounters, Guard, Issuer};
pub use scp::Scp;
pub use services::{NrfRequest, Services, SharedServices};
pub use wallet::{Counters as WalletCounters, Wallet};
