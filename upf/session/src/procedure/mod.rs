//! PFCP procedures, a file each: functions of the node and a message, whose result is a transaction
//! to launch or an answer. None starts another.

pub mod association;
pub mod association_release;
pub mod deletion;
pub mod duplicate_establishment;
pub mod establishment;
pub mod modification;
pub mod report;
