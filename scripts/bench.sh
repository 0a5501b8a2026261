#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench.sh [ARGUMENTS of `sluice bench`]; without any, all that it lists, one
# after the other. Built for the CPU of this machine, in a folder of its own.
set -euo pipefail
. "$(dirname "$0")/env.sh"

export CARGO_TARGET_DIR="$TARGET_DIR/native" SLUICE_NATIVE=1
export RUSTFLAGS="${RUSTFLAGS:-} -C target-cpu=native"
scripts/build.sh release
sluice=$CARGO_TARGET_DIR/release/sluice
[ $# -eq 0 ] || exec "$sluice" bench "$@"
failed=0
mapfile -t benches < <("$sluice" bench --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -vx help)
[ "${#benches[@]}" -gt 0 ] || { echo "sluice: \`sluice bench --help\` lists no benchmark" >&2; exit 1; }
for bench in "${benches[@]}"; do
    say "sluice bench $bench"
    "$sluice" bench "$bench" || failed=1
done
exit "$failed"
