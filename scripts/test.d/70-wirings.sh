#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A step of `make test`: the suites of the core once more, with AUSF and UDM as another host that is reached by rings in shared
# memory, in virtual time.
set -uo pipefail
. "$(dirname "$0")/../env.sh"

binary() { # package target
    jq -r --arg name "$2" 'select(.reason == "compiler-artifact" and .profile.test and .executable
        and .target.name == $name) | [.manifest_path, .executable] | @tsv' "$WORK/artifacts" |
        awk -v folder="/$1/" 'index($1, folder) { print $2; exit }'
}

suite() { # package folder target
    local file
    file=$(binary "$2" "$3")
    if [ -z "$file" ]; then
        echo "not ok $1 $3: its tests are not built"
        return
    fi
    cd "$ROOT/$2" || return
    SLUICE_WIRING=ring CARGO_MANIFEST_DIR=$ROOT/$2 "$file" --show-output 2>&1 |
        sed -E "s|^test (.*) \.\.\. ok.*|ok $1 $3 by rings: \1|; s|^test (.*) \.\.\. FAILED.*|not ok $1 $3 by rings: \1|"
    [ "${PIPESTATUS[0]}" -eq 0 ] || echo "not ok $1 $3 by rings: ended with a failure"
    cd "$ROOT" || return
}

if [ -z "${WORK:-}" ]; then
    echo "not ok: this is a step of scripts/test.sh"
    exit 1
fi
suite sluice-wiring core/wiring all
suite sluice-tests tests core_sessions
