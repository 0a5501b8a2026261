//! Records that are encrypted where they lie, and the keys for it, each in a file that only its owner can read.
//!
//! | module | what it gives |
//! |---|---|
//! | [`key_file`] | a key of 32 octets in a file of mode 0600, for subscribers or for contexts |
//! | [`sealer`] | encryption of a record that is bound to its place, and names that tell nothing |
//! | [`hex`] | hexadecimal digits of keys |
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a failed step is a failed test")
)]

pub mod hex;
pub mod key_file;
pub mod sealer;

pub use key_file::{KeyError, KeyUse, StoreKey};
pub use sealer::{NameKey, Sealer};
