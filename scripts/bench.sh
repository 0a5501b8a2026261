#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench.sh [ARGUMENTS of `sluice bench`]; without any, all that it lists, one
# after the other. Built for the CPU of this machine, in a folder of its own.
#
# Figures are kept in SLUICE_BENCH_HISTORY (bench-history.jsonl in the folder target; empty: nowhere) and
# compared with the last comparable run there, or that of SLUICE_BENCH_WITH, a line or a commit. What
# became slower ends with 1; with SLUICE_BENCH_WARN_ONLY=1, or if ARGUMENTS name no --history of their
# own, it is only told.
set -euo pipefail
. "$(dirname "$0")/env.sh"

export CARGO_TARGET_DIR="$TARGET_DIR/native" SLUICE_NATIVE=1
export RUSTFLAGS="${RUSTFLAGS:-} -C target-cpu=native"
scripts/build.sh release bench
sluice=$CARGO_TARGET_DIR/release/sluice

# What was built, for the history.
if commit=$(git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null); then
    export SLUICE_COMMIT=$commit
fi
watch=()
history=${SLUICE_BENCH_HISTORY-$TARGET_DIR/bench-history.jsonl}
if [ -n "$history" ]; then
    watch=(--history "$history")
    [ -z "${SLUICE_BENCH_WITH:-}" ] || watch+=(--with "$SLUICE_BENCH_WITH")
    [ -z "${SLUICE_BENCH_WARN_ONLY:-}" ] || watch+=(--warn-only)
fi

# Those that measure; what only looks at figures is not run by itself.
mapfile -t benches < <("$sluice" bench --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -vx -e help -e compare)
[ "${#benches[@]}" -gt 0 ] || { echo "sluice: \`sluice bench --help\` lists no benchmark" >&2; exit 1; }

if [ $# -gt 0 ]; then
    case " ${benches[*]} " in *" $1 "*) ;; *) watch=() ;; esac
    case " $* " in *" --history"* | *" --help "* | *" -h "*) watch=() ;; esac
    [ "${#watch[@]}" -eq 0 ] || case " ${watch[*]} $* " in
        *" --warn-only "*) ;;
        *) watch+=(--warn-only) ;;
    esac
    exec "$sluice" bench "$@" "${watch[@]}"
fi
failed=0
for bench in "${benches[@]}"; do
    say "sluice bench $bench"
    "$sluice" bench "$bench" "${watch[@]}" || failed=1
done
exit "$failed"
