//! The small unsafe crate: prefetch, arenas, rings, quiescence.
//!
//! Everything on the packet path that the borrow checker cannot see through is
//! here, behind interfaces that safe code cannot misuse:
//!
//! - [`ring`]: bounded ring between one producer and one consumer
//! - [`arena`]: tables of fixed length on huge pages, zero at the start
//! - [`shard`]: tables divided into shards, each with one owner who may write
//! - [`publish`]: values that one thread replaces and many read without waiting
//! - [`slots`]: small values that one thread replaces one by one and many read
//! - [`counter`]: counts with one writer that anybody may read
//! - [`prefetch`]: hints to the cache
//! - [`ticks`]: the processor's own clock
//!
//! Proofs beside the arguments in the module docs:
//!
//! ```text
//! cargo test -p sluice-mem                                                # real memory
//! cargo +nightly miri test -p sluice-mem                                  # undefined behaviour
//! RUSTFLAGS="--cfg loom" cargo test -p sluice-mem --release --test loom   # all interleavings
//! ```

pub mod arena;
pub mod counter;
mod map;
pub mod prefetch;
pub mod publish;
pub mod ring;
pub mod shard;
pub mod slots;
mod sync;
pub mod ticks;
mod zeroable;

pub use zeroable::Zeroable;
