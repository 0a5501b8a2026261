//! Coverage-guided fuzz target `sctp_input`.
#![no_main]
sluice_fuzz_guided::guided!();
