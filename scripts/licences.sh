#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if a dependency has a licence that may not be shipped in an Apache-2.0 program.
# An SPDX expression passes if one alternative of each OR, and every part of each AND, is listed.
set -euo pipefail
. "$(dirname "$0")/env.sh"

ALLOWED='["Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD",
    "Unlicense", "BSL-1.0", "CC0-1.0", "NCSA", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]'

# Parts of an AND first, then alternatives; "/" is an old way to write OR.
# shellcheck disable=SC2016 # the dollars are jq's
REFUSED='
def fine: gsub("[()]"; "") | gsub("^ +| +$"; "") as $id | $allowed | index([$id]) != null;
def allowed_expression:
    gsub(" */ *"; " OR ") | split(" AND ") | all(split(" OR ") | any(fine));
.packages[] | select(.source != null)
    | select((.license // "") | allowed_expression | not)
    | "\(.name) \(.version): \(.license // "no licence named")"'

# What is built for this platform: other systems' crates need not even be fetched.
metadata=$(cargo metadata --format-version 1 --locked --filter-platform "$(rustc -vV | sed -n 's/^host: //p')")
refused=$(jq -r --argjson allowed "$ALLOWED" "$REFUSED" <<<"$metadata")
[ -z "$refused" ] || { printf 'not an allowed licence: %s\n' "$refused" >&2; exit 1; }
