//! Shard numbers, and the shard of an index.

use core::fmt;

/// One of the shards, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub u16);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Into how many shards the tables are divided: a power of two up to 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCount(u32);

impl ShardCount {
    /// 4096: a table of owners takes 4 KiB, and a move about 250 of a million
    /// sessions.
    pub const DEFAULT: Self = Self(4096);

    /// The most that a [`ShardId`] can name.
    pub const MAX: u32 = 1 << 16;

    /// Checks the count.
    ///
    /// # Errors
    /// [`BadShardCount`] if it is no power of two or above [`Self::MAX`].
    pub const fn new(count: u32) -> Result<Self, BadShardCount> {
        if count.is_power_of_two() && count <= Self::MAX {
            Ok(Self(count))
        } else {
            Err(BadShardCount(count))
        }
    }

    /// The count.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The shard of element `index` of either arena.
    #[inline(always)]
    pub const fn shard_of(self, index: u32) -> ShardId {
        ShardId((index & (self.0 - 1)) as u16)
    }

    /// All shards.
    pub fn all(self) -> impl Iterator<Item = ShardId> {
        (0..self.0).map(|shard| ShardId(shard as u16))
    }
}

impl Default for ShardCount {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Not a number of shards: it must be a power of two up to 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadShardCount(
    /// The number given.
    pub u32,
);

impl fmt::Display for BadShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} shards: must be a power of two up to {}",
            self.0,
            ShardCount::MAX
        )
    }
}

impl std::error::Error for BadShardCount {}
