//! Tests of the house as a whole: see the `[[test]]` entries of `Cargo.toml`.
#![forbid(unsafe_code)]
