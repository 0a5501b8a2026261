//! Session state of a shard: entries, rules, token buckets, and the transactions that change them.

pub mod bucket;
pub mod line;
pub mod rule;
pub(crate) mod transact;
pub mod txn;
