//! Coverage-guided fuzz target `api_request`.
#![no_main]
sluice_fuzz_guided::guided!();
