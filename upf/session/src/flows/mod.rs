//! Flows by filter: SDF filters, predefined rules and applications, and the runs that sessions share.

pub mod applications;
pub mod filter_text;
pub mod flow_filter_runs;
pub mod flow_walk;
pub mod predefined;
pub mod sdf;
