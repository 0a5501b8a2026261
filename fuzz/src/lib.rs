//! Fuzzing: no input may panic, leak or hang.
//!
//! [`targets`] are plain functions of bytes that assert what must hold for every input. They run
//! in three ways: `make test` feeds each its kept [`corpus`] and a bounded number of mutants
//! ([`mutate`], [`runner`]) on stable Rust; the same with other seeds and counts by environment
//! variables; and `make fuzz` runs them coverage-guided (`guided/`).
//!
//! ```
//! use sluice_fuzz::{runner::Plan, targets};
//!
//! let target = targets::find("gtpu_parse").expect("a target");
//! Plan::new(target, 100).seeded(1).run().expect("nothing found");
//! ```
#![forbid(unsafe_code)]

pub mod corpus;
pub mod mutate;
pub mod random;
pub mod runner;
pub mod script;
#[path = "../targets/mod.rs"]
pub mod targets;
