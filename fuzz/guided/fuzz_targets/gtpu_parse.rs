#![no_main]
sluice_fuzz_guided::guided!(gtpu_parse);
