#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: fuzz.sh [TARGET...]. Runs each fuzz target (all, if none is named) for FUZZ_SECONDS.
set -euo pipefail
. "$(dirname "$0")/env.sh"

scripts/setup.sh
[ -f fuzz/Cargo.toml ] || lacking "there are no fuzz targets in fuzz/"
cargo fuzz --version >/dev/null 2>&1 ||
    lacking "cargo-fuzz is needed: cargo install cargo-fuzz && rustup toolchain install nightly"
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list)
for target in "${targets[@]}"; do
    say "fuzzing $target for ${FUZZ_SECONDS:=60} s"
    cargo +nightly fuzz run "$target" -- -max_total_time="$FUZZ_SECONDS"
done
