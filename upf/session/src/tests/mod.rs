//! The session machine with a real packet path behind it: CP functions send bytes, transactions
//! go through a worker and come back.

mod address_allocation;
mod allocations;
mod association_release;
mod bars;
mod before_qos;
mod behind_ue;
pub mod bench;
mod conformance;
mod default_session;
mod direction;
mod duplicate_establishment;
mod inactivity;
mod lifecycle;
mod link_rules;
mod live_cores;
mod load_control;
mod many_flows;
mod monitoring_time;
mod n4u;
mod nat;
mod node_reports;
mod oracle;
mod outer_ipv6;
mod predefined;
mod property;
mod refusals;
mod reports;
pub mod requests;
mod sdf_filters;
mod set_deletion;
mod storm;
mod tolerance;
mod ue_addresses;
mod usage;
mod usage_reports;
mod usage_time;
