//! The screen of the core: its pages, and who may use them. HTTP is the daemon's; the network functions are unknown here.
//!
//! | module | content |
//! |---|---|
//! | [`assets`] | built pages, embedded by `build.rs`; a plain page where they were not built |
//! | [`users`] | users file: names, roles, hashes of passwords |
//! | [`password`] | argon2id hashes of passwords |
//! | [`browsers`] | sessions of browsers that are logged in: cookie, CSRF token, expiry |
//! | [`attempts`] | rate of log-ins |
//! | [`door`] | log-in and log-out, and changes of users while the core runs |
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a failed step is a failed test")
)]

pub mod assets;
pub mod attempts;
pub mod browsers;
pub mod door;
pub mod password;
pub mod users;

pub use assets::{Asset, asset};
pub use browsers::Browser;
pub use door::{Door, Opened, Refused};
pub use users::{Role, UsersError, UsersFile};
