//! Path dimensions and their checks.

use crate::limits::WORKERS;
use crate::lookup::layout::Layout;
use core::fmt;
use sluice_mem::arena::ArenaError;

/// What a path is made for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where entries lie.
    pub layout: Layout,
    /// Extension blocks; block 0 of the arena is never used.
    pub blocks: u32,
    /// Workers.
    pub workers: usize,
}

/// What a path cannot be made of.
#[derive(Debug)]
pub enum PlanError {
    /// No worker, or more than [`WORKERS`].
    Workers(usize),
    /// The memory cannot be had.
    Arena(ArenaError),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers(n) => write!(f, "{n} workers: expected 1 to {WORKERS}"),
            Self::Arena(e) => write!(f, "memory for sessions: {e}"),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<ArenaError> for PlanError {
    fn from(e: ArenaError) -> Self {
        Self::Arena(e)
    }
}
