//! The core at work: its network functions with real time and random numbers, SCTP towards gNBs, and
//! UDP towards UPFs.
//!
//! | module | what it gives |
//! |---|---|
//! | [`front`] | associations of gNBs for an AMF of another program |
//! | [`load`] | whether there is more to do than can be done |
//! | [`n2`] | SCTP towards gNBs |
//! | [`n4`] | UDP towards UPFs |
//! | [`runtime`] | the loop that joins a core with both |
//! | [`charging`] | charging records as JSON lines |
//! | [`context_thread`] | a store of contexts beside the loop |
//! | [`system`] | the host's clocks and random numbers as the core takes them |
#![forbid(unsafe_code)]

pub mod charging;
pub mod context_thread;
pub mod front;
pub mod load;
pub mod n2;
pub mod n4;
mod ng_setup_memory;
pub mod runtime;
pub mod system;

pub use context_thread::ContextThread;
pub use front::Front;
pub use load::Load;
pub use n2::N2;
pub use n4::N4;
pub use runtime::Runtime;
pub use sluice_sctp::Node;
