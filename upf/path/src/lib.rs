//! The packet path.
#![forbid(unsafe_code)]
