//! Envelopes between the programs of a core on one machine: the manager of these, and the links that it hands over.
//!
//! A link is a pair of rings or a socket. *Rings*: each program has an arena for each other one, a sealed memfd that it
//! alone writes. A message is written into a slot of it, a reference to the slot goes onto a ring, and the receiver
//! copies it out once, then checks it. Who waits sleeps on an eventfd. *Sockets*: a message goes as a frame, and the
//! kernel keeps it until the receiver takes it.
#![forbid(unsafe_code)]

mod back_off;
mod core_watch;
mod frame;
mod link;
mod manager;
mod member;
mod socket;
#[cfg(test)]
mod tests;

pub use back_off::BackOff;
pub use core_watch::CoreWatch;
pub use link::Carrier;
pub use manager::{Manager, News};
pub use member::{Member, MemberError, SharedMember, Told};
