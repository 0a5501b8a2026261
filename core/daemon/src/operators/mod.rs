//! Questions of operators, and the answers to them.

pub mod answers;
pub(crate) mod control;
pub(crate) mod counters;
pub(crate) mod ended;
pub(crate) mod metrics;
pub(crate) mod mobility;
pub(crate) mod nfs;
pub(crate) mod part;
pub(crate) mod qos;
pub mod qos_rule;
pub mod request;
pub(crate) mod sessions;
pub(crate) mod subscribers;
pub(crate) mod view;
