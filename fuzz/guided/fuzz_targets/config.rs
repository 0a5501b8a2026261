#![no_main]
sluice_fuzz_guided::guided!(config);
