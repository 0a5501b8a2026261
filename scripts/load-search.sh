#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: load-search.sh [--json]
#
# Finds the highest rate without loss (RFC 2544) of `sluice upf` with one worker over memif, 10,000 sessions, by
# `sluice load --search`, with the files of docs/load.md. Worker and generator have a CPU each. Needs the programs of
# `make build`.
set -euo pipefail
. "$(dirname "$0")/env.sh"

[ $# -eq 0 ] || [ "$*" = --json ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
sluice=$TARGET_DIR/release/sluice
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The block of docs/load.md that begins with this name.
file_of_document() { # name
    awk -v head="# $1" '$0 == "```" { inside = 0 } inside { print } $0 == head { inside = 1; print }' docs/load.md |
        sed "s,/run/,$folder/," >"$folder/$1"
    [ -s "$folder/$1" ] || { echo "load-search: docs/load.md has no block $1" >&2; exit 1; }
}

file_of_document upf.yaml
file_of_document scenario.yaml
printf "%s\n" "workers: {cores: [1]}" "control_socket: $folder/upf.sock" >>"$folder/upf.yaml"
"$sluice" upf -c "$folder/upf.yaml" >"$folder/upf.log" 2>&1 &
upf=$!
trap 'kill "$upf" 2>/dev/null || true; wait "$upf" 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in {1..100}; do
    [ ! -S "$folder/n6.sock" ] || break
    kill -0 "$upf" 2>/dev/null || { tail -n 5 "$folder/upf.log" >&2; exit 1; }
    sleep 0.1
done
"$sluice" load -c "$folder/scenario.yaml" --cpu 0 --rate 8Mpps --search --duration 2s --repeats 3 "$@"
