//! PFCP, Packet Forwarding Control Protocol: the codec of TS 29.244, Release 17.
//!
//! Read in this order: [`Header`] and [`write_message`] frame a message; [`Ies`] walks its
//! information elements; [`message`] has one table for each message, [`group`] one for each grouped
//! IE, [`mod@value`] the contents of the plain ones; `table` says what a table does, and on receipt
//! of what it refuses a message with a [`Reject`]. [`crate::limits`] bounds the lists.
//!
//! Nothing is copied or allocated: texts borrow from the datagram.

mod cause;
pub mod element;
pub mod group;
mod header;
pub mod ie;
mod ie_type;
pub mod message;
mod reject;
mod table;
#[cfg(test)]
mod testing;
mod types;
pub mod value;
mod writer;

pub use cause::Cause;
pub use header::{Header, HeaderError, write_message};
pub use ie::{Ie, Ies};
pub use ie_type::IeType;
pub use reject::Reject;
pub use types::{MessageType, SequenceNumber};
pub use writer::{Full, Writer};

/// The UDP port of PFCP (6.4.2 of TS 29.244 and the IANA registry).
pub const PORT: u16 = 8805;
