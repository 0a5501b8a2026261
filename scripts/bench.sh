#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench.sh [ARGUMENTS of `sluice bench`]; without any, all of them one after the other.
# Built for the CPU of this machine, in a folder of its own.
set -euo pipefail
. "$(dirname "$0")/env.sh"

export CARGO_TARGET_DIR="$TARGET_DIR/native" SLUICE_NATIVE=1
export RUSTFLAGS="${RUSTFLAGS:-} -C target-cpu=native"
scripts/build.sh release
sluice=$CARGO_TARGET_DIR/release/sluice
[ $# -eq 0 ] || exec "$sluice" bench "$@"
failed=0
for bench in path pfcp port elastic; do
    say "sluice bench $bench"
    "$sluice" bench "$bench" || failed=1
done
exit "$failed"
