//! Coverage-guided fuzz target `packets`.
#![no_main]
sluice_fuzz_guided::guided!();
