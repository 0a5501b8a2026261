//! Coverage-guided fuzz target `n4_endpoint`.
#![no_main]
sluice_fuzz_guided::guided!();
