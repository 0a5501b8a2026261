//! Coverage-guided fuzz target `gtpu_parse`.
#![no_main]
sluice_fuzz_guided::guided!();
