//! Concerns beside the core, each with a turn of its own.

pub(crate) mod charging;
pub(crate) mod contexts;
pub(crate) mod flow;
pub(crate) mod home_keys;
pub(crate) mod identities;
pub(crate) mod instances;
pub(crate) mod news;
pub(crate) mod programs;
pub(crate) mod refusals;
pub(crate) mod repository;
pub(crate) mod services;
pub(crate) mod store;
pub(crate) mod subscriber_sync;
pub(crate) mod tokens;
pub(crate) mod trace;
pub(crate) mod ways;
