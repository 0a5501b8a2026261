//! The session machine with a real packet path behind it: CP functions send bytes, transactions
//! go through a worker and come back.

mod again;
mod allocations;
pub mod bench;
mod default_session;
mod direction;
mod farewell;
mod lifecycle;
mod many_flows;
mod oracle;
mod property;
mod refusals;
pub mod requests;
mod tolerance;
mod usage;
