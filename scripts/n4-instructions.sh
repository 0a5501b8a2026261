#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: n4-instructions.sh
#
# Counts the instructions that a message of PFCP takes from its datagram to its answer (session machine
# and endpoint; not the rings, the socket and the packet path's part), by valgrind. Unlike times this does not depend on the machine.
set -euo pipefail
. "$(dirname "$0")/env.sh"

if ! command -v valgrind >/dev/null; then
    echo "n4-instructions: valgrind is missing: apt-get install valgrind" >&2
    exit 3
fi
test=a_message_of_a_known_kind_takes_no_memory
binary=$(cargo test --release -p sluice-session --lib --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*sluice_session-[^"]*\)".*/\1/p' | tail -1)
counted=$(mktemp)
trap 'rm -f "$counted"' EXIT

# Instructions in a function while so many sessions live, one after the other.
count() {
    SLUICE_LIVES=$2 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect="*::$1" "$binary" "$test" --test-threads=1 >"$counted" 2>&1 ||
        { tail -n 5 "$counted" >&2; exit 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$counted"
}

for kind in establishment path_switch deletion; do
    each=1
    [ $kind != path_switch ] || each=3
    few=$(count deal_with_$kind 50)
    many=$(count deal_with_$kind 150)
    echo "$kind: $(((many - few) / (100 * each))) instructions"
done
