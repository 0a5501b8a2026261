//! Coverage-guided fuzz target `control_core`.
#![no_main]
sluice_fuzz_guided::guided!();
