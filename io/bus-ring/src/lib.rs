//! Envelopes by reference: rings in shared memory between the programs of a core, and the manager that hands them over.
//!
//! Each program has an arena for each other one: a sealed memfd that it alone writes. A message is written into a slot
//! of it, a reference to the slot goes onto a ring, and the receiver copies it out once, then checks it. Who waits
//! sleeps on an eventfd.

mod arena;
mod frame;
mod link;
mod manager;
mod member;

pub use manager::{Manager, News};
pub use member::{Member, MemberError, SharedMember, Told};
