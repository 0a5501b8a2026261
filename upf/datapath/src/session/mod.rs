//! Session state of a shard: entries, rules, token buckets, and the transactions that change them.

pub mod entry;
pub mod flow_filter;
pub mod rule;
pub mod token_bucket;
pub mod txn;
pub(crate) mod txn_apply;
