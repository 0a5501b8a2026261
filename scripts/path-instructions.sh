#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: path-instructions.sh
#
# Counts by how many instructions a packet of a session whose URR has a threshold of a mebibyte is dearer on the
# packet path than one of a session without URR, by valgrind. Unlike times this does not depend on the machine.
set -euo pipefail
. "$(dirname "$0")/env.sh"

if ! command -v valgrind >/dev/null; then
    echo "path-instructions: valgrind is missing: apt-get install valgrind" >&2
    exit 3
fi
test=packets_of_an_armed_session_take_the_fast_path_between_grants
binary=$(cargo test --release -p sluice-datapath --test all --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*all-[^"]*\)".*/\1/p' | tail -1)
profile=$(mktemp)
trap 'rm -f "$profile" "$profile.said"' EXIT

# Instructions of the packet path alone with so many bursts of 64 packets, without (0) or with (1) a URR. The simulated
# ports and their packets' memory are left out.
count() {
    SLUICE_URR=$1 SLUICE_BURSTS=$2 valgrind --tool=callgrind --callgrind-out-file="$profile" \
        "$binary" "$test" --test-threads=1 >"$profile.said" 2>&1 || { tail -n 5 "$profile.said" >&2; exit 1; }
    callgrind_annotate --auto=no --threshold=100 "$profile" | awk '
        /sluice_datapath::/ { gsub(",", "", $1); sum += $1 }
        END { print sum }'
}

# What is there once, and what a burst takes beside its packets, is the same for both and falls out.
each() {
    local few many
    few=$(count "$1" 50)
    many=$(count "$1" 150)
    echo $((many - few))
}
without=$(each 0)
with=$(each 1)
awk -v without="$without" -v with="$with" 'BEGIN {
    packets = 100 * 64
    printf "a packet takes %.0f instructions, and %.1f more where a URR counts it\n", without / packets, (with - without) / packets
}'
