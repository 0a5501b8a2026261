#![no_main]
sluice_fuzz_guided::guided!(pfcp_parse);
