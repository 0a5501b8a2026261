#![no_main]
sluice_fuzz_guided::guided!(n4_endpoint);
