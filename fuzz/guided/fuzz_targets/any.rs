//! A coverage-guided fuzz target: that of the name under which it is built (`[[bin]]` in Cargo.toml).
#![no_main]
sluice_fuzz_guided::guided!();
