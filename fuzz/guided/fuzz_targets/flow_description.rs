//! Coverage-guided fuzz target `flow_description`.
#![no_main]
sluice_fuzz_guided::guided!();
