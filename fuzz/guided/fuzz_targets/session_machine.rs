#![no_main]
sluice_fuzz_guided::guided!(session_machine);
