//! Subscribers of a core in a database (SQLite or PostgreSQL), their keys encrypted, and the keys of the home network.
//!
//! | module | what it gives |
//! |---|---|
//! | [`draft`] | a subscriber as people write it, and all checks of what they wrote |
//! | [`record`] | a subscriber as it is stored and as the UDR takes it |
//! | [`table`], [`json`] | subscribers as CSV and as JSON, each with its line |
//! | [`key_file`] | the key that subscribers' keys are encrypted with |
//! | [`store`] | the database |
//! | [`operation`] | what operators do with it: the same for command line, control socket and HTTP |
#![forbid(unsafe_code)]

pub mod draft;
pub mod json;
pub mod operation;
pub mod problem;
pub mod record;
pub mod store;
pub mod table;

pub use draft::Draft;
pub use operation::{Done, Operation};
pub use problem::{Problem, Problems};
pub use record::{Network, Profile, Record, Slice, SqnState};
pub use sluice_seal::StoreKey;
pub use sluice_seal::key_file;
use sluice_seal::{hex, sealer as seal};
pub use store::{Access, Error, Location, ServerAddress, Store};
