//! Flows by filter: SDF filters, predefined rules and applications, and the runs that sessions share.

pub mod applications;
pub mod flow_filter_runs;
pub mod predefined;
pub mod sdf;
