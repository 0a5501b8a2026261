//! Coverage-guided fuzz target `nas_parse`.
#![no_main]
sluice_fuzz_guided::guided!();
