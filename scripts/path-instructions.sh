#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: path-instructions.sh [--json]
#
# Counts the instructions that a packet takes on the packet path, by valgrind, for shapes of traffic: plain IPv4, the
# same counted by a URR with a threshold of a mebibyte, IPv6, ten rules uplink, translated, and packets with options on
# the general way. Unlike times this does not depend on the machine.
set -euo pipefail
. "$(dirname "$0")/env.sh"
# Lints while compiling would take optimisation away, and more instructions be counted.
unset RUSTC_WORKSPACE_WRAPPER

[ $# -eq 0 ] || [ "$*" = --json ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
command -v valgrind >/dev/null || lacking "valgrind is missing: apt-get install valgrind"
test=every_shape_passes_on_its_path
binary=$(cargo test --release -p sluice-datapath --test all --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*all-[^"]*\)".*/\1/p' | tail -1)
[ -n "$binary" ] || exit 1
profile=$(mktemp)
trap 'rm -f "$profile" "$profile.said"' EXIT

# Instructions of the packet path alone with so many bursts of 64 packets. The simulated ports and their packets' memory
# are left out.
count() { # shape bursts
    SLUICE_SHAPE=$1 SLUICE_BURSTS=$2 valgrind --tool=callgrind --callgrind-out-file="$profile" \
        "$binary" "$test" --test-threads=1 >"$profile.said" 2>&1 || { tail -n 5 "$profile.said" >&2; exit 1; }
    callgrind_annotate --auto=no --threshold=100 "$profile" | awk '
        /sluice_datapath::/ { gsub(",", "", $1); sum += $1 }
        END { print sum }'
}

# What is there once, and what a burst takes beside its packets, is the same for both and falls out.
each() { # shape
    local few many
    few=$(count "$1" 50)
    many=$(count "$1" 150)
    echo $(((many - few + 3200) / 6400))
}

rows=()
for shape in ipv4 counted ipv6 rules translated general; do
    instructions=$(each "$shape")
    rows+=("$shape $instructions")
    [ "${1:-}" = --json ] || echo "$shape: $instructions instructions a packet"
done
[ "${1:-}" != --json ] || printf '%s\n' "${rows[@]}" |
    jq -Rn '{results: [inputs | split(" ") | {name: .[0], instructions: (.[1] | tonumber)}]}'
