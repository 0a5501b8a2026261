//! Reports to CP functions (a queue of sessions, paths of the node, load), and events for the operator.

pub mod events;
pub mod load_control;
pub mod path_reports;
pub mod report_queue;
