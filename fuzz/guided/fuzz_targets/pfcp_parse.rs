//! Coverage-guided fuzz target `pfcp_parse`.
#![no_main]
sluice_fuzz_guided::guided!();
