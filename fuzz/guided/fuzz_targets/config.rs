//! Coverage-guided fuzz target `config`.
#![no_main]
sluice_fuzz_guided::guided!();
