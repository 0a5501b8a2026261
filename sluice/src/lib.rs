//! The `sluice` command: a 5G user plane, and what is needed to try, drive and measure it.
//!
//! [`cli`] is the command line; each subcommand is one room with a `run` function.
#![forbid(unsafe_code)]

pub mod check;
pub mod cli;
pub mod config;
pub mod ctl;
pub mod reference;
pub mod screen;
pub mod subscribers;
pub mod upf;

pub use sluice_program::{exit, logging};
