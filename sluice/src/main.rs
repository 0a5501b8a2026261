//! The `sluice` command.
#![forbid(unsafe_code)]

fn main() {}
