//! Coverage-guided fuzz target `session_machine`.
#![no_main]
sluice_fuzz_guided::guided!();
