//! Session state of a shard: entries, rules, token buckets, usage records, and the transactions that change
//! them.

use entry::SessionEntry;
use rule::ExtBlock;
use sluice_mem::shard::{Owned, ShardOwner};
use usage_record::UsageRecord;

pub mod entry;
pub mod filter_hint;
pub mod flow_filter;
pub(crate) mod grant;
pub mod rule;
pub mod token_bucket;
pub mod txn;
pub(crate) mod txn_apply;
pub mod usage_record;

/// The sessions that a worker may write.
pub type SessionState = Owned<SessionEntry, ExtBlock, UsageRecord>;

/// The right to write the sessions of a shard.
pub type SessionShard = ShardOwner<SessionEntry, ExtBlock, UsageRecord>;
