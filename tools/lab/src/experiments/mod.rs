//! The papers' experiments as data, and everything about them that needs no packet: plans (a YAML
//! file each), results that survive an interruption, expectations, plots, and the report.
//!
//! [`plan`] reads experiments and refuses what makes no sense, with file and line; [`run`] walks
//! through their points and asks a [`Runner`] to measure what is missing; [`store`] keeps each
//! point in a file of its own; [`expect`] judges; [`plot`] draws; [`report`] tells. Who measures,
//! and with what, is the business of the runners.

pub mod expect;
pub mod plan;
pub mod plot;
pub mod point;
pub mod report;
pub mod run;
pub mod store;

pub use plan::Experiment;
pub use point::{At, Measured, Scalar};
pub use run::{Job, Problem, Runner};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
