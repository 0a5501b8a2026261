//! Indices and arenas by number: hash tables, slabs, slots by shard, in parts by key.

pub mod hash_index;
pub mod partitions;
pub mod remote_fteid_index;
pub mod slab;
pub mod slot_allocator;
