#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: sizes.sh [--json]. Lines of Rust by crate: product, and tests.
#
# Tests are what lies in tests/, benches/ or examples/ of a crate, what only `cfg(test)` compiles, and the crate of tests
# as a whole; product is the rest, with its comments and empty lines. Sources are as rustfmt leaves them.
set -euo pipefail
. "$(dirname "$0")/env.sh"

[ $# -eq 0 ] || [ "$*" = --json ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }

# Files of modules that are declared behind `cfg(test)`, and what lies below them.
test_modules() {
    git ls-files --cached --others --exclude-standard '*.rs' | while read -r file; do
        local folder=${file%/*}
        case ${file##*/} in lib.rs | main.rs | mod.rs) ;; *) folder=${file%.rs} ;; esac
        awk -v folder="$folder" '
            /^ *#\[cfg\(test\)\]/ { behind = 1; next }
            behind && /^ *#\[/ { next }
            behind && match($0, /^ *(pub(\([a-z]+\))? )?mod [a-z0-9_]+;/) {
                sub(/^ *(pub(\([a-z]+\))? )?mod /, ""); sub(/;.*/, "")
                print folder "/" $0 ".rs"
                print folder "/" $0 "/"
            }
            { behind = 0 }' "$file"
    done
}

# file, product lines, test lines.
# shellcheck disable=SC2016 # Depths of lines are awk's.
lines() {
    git ls-files --cached --others --exclude-standard '*.rs' | xargs awk -v modules="$1" '
        BEGIN { while ((getline name < modules) > 0) { if (name ~ /\/$/) below[name]; else alone[name] } }
        function is_test_file(name,    at) {
            if (name ~ /^tests\// || name ~ /\/(tests|benches|examples)\// || name in alone) return 1
            for (at in below) if (index(name, at) == 1) return 1
            return 0
        }
        function told() { if (file != "") print file, product + 0, tests + 0 }
        FNR == 1 { told(); file = FILENAME; product = tests = item = inside = 0; whole = is_test_file(file) }
        whole { tests++; next }
        # An item behind `cfg(test)` ends with its line, or with the line that closes it at the same depth.
        inside { tests++; if ($0 ~ "^" depth "[})\\]]") inside = 0; next }
        /^ *#\[cfg\(test\)\]/ { item = 1; tests++; next }
        item && /^ *(#\[|\/\/)/ { tests++; next }
        item {
            tests++; item = 0
            match($0, /^ */); depth = substr($0, 1, RLENGTH)
            inside = $0 !~ /[;},]$/
            next
        }
        { product++ }
        END { told() }'
}

# The innermost folder with a Cargo.toml owns a file; what no crate owns stands by its top folder.
by_crate() {
    awk -v crates="$(git ls-files '*Cargo.toml' | sed -n 's,/Cargo.toml$,,p' | tr '\n' ' ')" '
        BEGIN { n = split(crates, all, " ") }
        {
            owner = $1; sub(/\/.*/, "", owner); longest = 0
            for (i = 1; i <= n; i++)
                if (index($1, all[i] "/") == 1 && length(all[i]) > longest) { owner = all[i]; longest = length(owner) }
            product[owner] += $2; tests[owner] += $3
        }
        END { for (one in product) print one, product[one], tests[one] }' | sort
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
test_modules >"$work/modules"
lines "$work/modules" | by_crate >"$work/crates"
# Rooms: the folders at the top that hold crates.
awk '{ room = $1; sub(/\/.*/, "", room); p[room] += $2; t[room] += $3 } END { for (one in p) print one, p[one], t[one] }' \
    "$work/crates" | sort >"$work/rooms"
if [ "${1:-}" = --json ]; then
    jq -n --rawfile crates "$work/crates" --rawfile rooms "$work/rooms" '
        def rows($text): [$text | split("\n")[] | select(. != "") | split(" ")
            | {name: .[0], product_lines: (.[1] | tonumber), test_lines: (.[2] | tonumber)}];
        {rooms: rows($rooms), crates: rows($crates)}
        | .product_lines = ([.rooms[].product_lines] | add) | .test_lines = ([.rooms[].test_lines] | add)'
    exit
fi
{
    echo "crate product tests"
    cat "$work/crates"
    echo "- - -"
    echo "room product tests"
    cat "$work/rooms"
    awk '{ p += $2; t += $3 } END { print "all", p, t }' "$work/rooms"
} | column -t -R 2,3
