//! Runs a target on its kept inputs and on mutants of them, on stable Rust.
//!
//! Every case depends on its seed and number alone. What fails is made smaller and reported with
//! the command that repeats it; what hangs is shown by a watchdog, which then ends the process.

mod caught;
mod found;
mod plan;
mod shrink;
mod watchdog;

pub use found::{Found, Origin};
pub use plan::{FIXED_SEED, Plan, Report};
pub use shrink::shrink;
