//! Coverage-guided fuzz target `eap_parse`.
#![no_main]
sluice_fuzz_guided::guided!();
