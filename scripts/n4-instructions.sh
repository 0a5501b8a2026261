#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: n4-instructions.sh [--json]
#
# Counts the instructions that a message of PFCP takes from its datagram to its answer (session machine and endpoint; not
# the rings, the socket and the packet path's part), by valgrind, for four shapes of sessions: IPv4, an IPv6 prefix,
# three flows with SDF filters and GBR, usage with thresholds, quota and a BAR. There are 200 bit rates, 5,000 gNBs, and
# 100,000 sessions meanwhile. Unlike times this does not depend on the machine.
set -euo pipefail
. "$(dirname "$0")/env.sh"
# Lints while compiling would take optimisation away, and more instructions be counted.
unset RUSTC_WORKSPACE_WRAPPER

[ $# -eq 0 ] || [ "$*" = --json ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
command -v valgrind >/dev/null || lacking "valgrind is missing: apt-get install valgrind"
test=a_message_of_a_known_kind_takes_no_memory
binary=$(cargo test --release -p sluice-session --lib --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*sluice_session-[^"]*\)".*/\1/p' | tail -1)
[ -n "$binary" ] || exit 1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The test establishes the sessions that are there meanwhile, which nobody counts, and says so. Then it deals with a wave
# of messages for each shape and kind; each wave ends with a profile of its own.
mkfifo "$folder/go"
SLUICE_SESSIONS=100000 SLUICE_LIVES=200 SLUICE_WAITS=1 valgrind --tool=callgrind --instr-atstart=no \
    --callgrind-out-file="$folder/profile" --toggle-collect='*::counted_*' --zero-before='*::allocations::wave' \
    --dump-after='*::allocations::wave' "$binary" "$test" --test-threads=1 --nocapture \
    <"$folder/go" >"$folder/said" 2>&1 &
counting=$!
trap 'kill "$counting" 2>/dev/null || true; rm -rf "$folder"' EXIT
exec 3>"$folder/go"
until grep -q 'sessions are present' "$folder/said"; do
    kill -0 "$counting" 2>/dev/null || { tail -n 5 "$folder/said" >&2; exit 1; }
    sleep 0.2
done
callgrind_control --instr=on "$counting" >/dev/null
echo >&3
wait "$counting" || { tail -n 5 "$folder/said" >&2; exit 1; }

mapfile -t waves < <(sed -n 's/.*\bwave \([a-z0-9_]*\/.*\)/\1/p' "$folder/said")
counted=()
while [ -f "$folder/profile.$((${#counted[@]} + 1))" ]; do
    counted+=("$(sed -n 's/^totals: //p' "$folder/profile.$((${#counted[@]} + 1))")")
done
if [ ${#waves[@]} -eq 0 ] || [ ${#waves[@]} -ne ${#counted[@]} ]; then
    echo "n4-instructions: ${#counted[@]} profiles of ${#waves[@]} waves" >&2
    exit 1
fi

rows=()
for at in "${!waves[@]}"; do
    read -r name messages <<<"${waves[at]}"
    rows+=("$name $(((counted[at] + messages / 2) / messages))")
done
if [ "${1:-}" = --json ]; then
    printf '%s\n' "${rows[@]}" |
        jq -Rn '{results: [inputs | split(" ") | {name: .[0], instructions: (.[1] | tonumber)}]}'
else
    printf '%s\n' "${rows[@]}" | awk '{ printf "%-20s %6d instructions\n", $1, $2 }'
fi
