//! Coverage-guided fuzz target `ngap_parse`.
#![no_main]
sluice_fuzz_guided::guided!();
