//! SCTP (RFC 9260) by usrsctp without threads, sans-IO, and the sockets that carry it; or by the kernel.
//!
//! | module | what it gives |
//! |---|---|
//! | [`transport`] | the trait: datagrams and time go in; datagrams, messages, associations come out |
//! | [`endpoint`] | the trait by usrsctp, one port with all its associations |
//! | [`allow`] | addresses that may speak to an endpoint, asked before any parser |
//! | [`carrier`] | datagrams over IP protocol 132 or over UDP (RFC 6951) |
//! | [`node`] | an endpoint and its socket, with the host's clock |
//! | [`kernel`] | the trait by the kernel's SCTP, and what that says beside its messages |
//! | [`front`] | the trait by the endpoint of another program, which keeps associations while its user is replaced |
//! | [`Opening`] | which of the two, and its opening |
//! | [`limits`] | every limit |

pub mod allow;
pub mod carrier;
pub mod endpoint;
pub mod front;
pub mod kernel;
pub mod limits;
pub mod node;
mod opening;
mod peers;
mod shim;
pub mod transport;

pub use allow::{AllowList, Prefix};
pub use carrier::Carrier;
pub use endpoint::{Config, Counters, Endpoint, OpenError};
pub use kernel::{KernelEndpoint, KernelError, kernel_has_sctp};
pub use node::{Node, Stack};
pub use opening::{Choice, Opening, OpeningError};
pub use transport::{Association, Event, Loss, Peer, Sctp, SendError};

/// Port of NGAP (TS 38.412, 7).
pub const NGAP_PORT: u16 = 38_412;

/// Payload protocol identifier of NGAP (TS 38.412, 7).
pub const NGAP_PPID: u32 = 60;

/// UDP port of SCTP inside UDP (RFC 6951, 5.1).
pub const UDP_PORT: u16 = 9899;
