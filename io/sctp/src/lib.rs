//! SCTP (RFC 9260) by usrsctp without threads, sans-IO, and the sockets that carry it.
//!
//! | module | what it gives |
//! |---|---|
//! | [`transport`] | the trait: datagrams and time go in; datagrams, messages, associations come out |
//! | [`endpoint`] | the trait by usrsctp, one port with all its associations |
//! | [`allow`] | addresses that may speak to an endpoint, asked before any parser |
//! | [`carrier`] | datagrams over IP protocol 132 or over UDP (RFC 6951) |
//! | [`limits`] | every limit |

pub mod allow;
pub mod carrier;
pub mod endpoint;
pub mod limits;
mod peers;
mod shim;
pub mod transport;

pub use allow::{AllowList, Prefix};
pub use carrier::Carrier;
pub use endpoint::{Config, Counters, Endpoint, OpenError};
pub use transport::{Association, Event, Loss, Peer, Sctp, SendError};

/// Port of NGAP (TS 38.412, 7).
pub const NGAP_PORT: u16 = 38_412;

/// Payload protocol identifier of NGAP (TS 38.412, 7).
pub const NGAP_PPID: u32 = 60;

/// UDP port of SCTP inside UDP (RFC 6951, 5.1).
pub const UDP_PORT: u16 = 9899;
