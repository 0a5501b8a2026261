#![no_main]
sluice_fuzz_guided::guided!(packet_path);
