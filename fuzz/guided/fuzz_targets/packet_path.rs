//! Coverage-guided fuzz target `packet_path`.
#![no_main]
sluice_fuzz_guided::guided!();
