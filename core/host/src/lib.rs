//! Host of network functions: those of one thread, the queue between them, and the way to those of other hosts.
//!
//! A call goes through the queue, also between functions of one thread, so that order and stack
//! are the same in every wiring. What is to be stored is stored together when the queue is empty;
//! what follows from it leaves after that.
#![forbid(unsafe_code)]

mod choice;
mod context_store;
mod faults;
mod held;
mod host;
mod journal;
mod log;
mod registrar;
mod remote;

pub use context_store::{ContextStore, StoreState};
pub use held::Held;
pub use host::{Functions, Host, ToRan, ToUpf};
pub use journal::{JournalWriter, Record, Rejected, Storing};
pub use log::{LINES, Log, REFUSALS, SEEN};
pub use registrar::{Home, Instances};
pub use remote::{Counters, Reached};
