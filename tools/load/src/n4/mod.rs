//! Sessions at a UPF, by PFCP: established before the traffic, changed under it, released after.

mod agent;
mod churn;
mod report;

pub use agent::{Agent, AgentConfig, Plans};
pub use churn::Rates;
pub use report::{N4Report, ProcedureReport};
