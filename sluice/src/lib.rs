//! The `sluice` command: daemons and tools are programs beside it, which it becomes; questions to daemons it asks itself.
#![forbid(unsafe_code)]

mod certificates;
pub mod cli;
pub mod ctl;
pub mod reference;
pub mod subscribers;
pub mod users;
