#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A step of `make test`: the suites of the core once more, in virtual time: with AUSF and UDM as another host, all by rings in
# shared memory and a sample by sockets, and a sample with all functions by HTTP (with SLUICE_LONG all of both).
set -uo pipefail
. "$(dirname "$0")/../env.sh"

binary() { # package target
    jq -r --arg name "$2" 'select(.reason == "compiler-artifact" and .profile.test and .executable
        and .target.name == $name) | [.manifest_path, .executable] | @tsv' "$WORK/artifacts" |
        awk -v folder="/$1/" 'index($1, folder) { print $2; exit }'
}

suite() { # package folder target wiring [test...]
    local file name="$1 $3 by ${4}s" as_ours
    file=$(binary "$2" "$3")
    if [ -z "$file" ]; then
        echo "not ok $1 $3: its tests are not built"
        return
    fi
    as_ours="s|^test (.*) \.\.\. ok.*|ok $name: \1|; s|^test (.*) \.\.\. FAILED.*|not ok $name: \1|"
    cd "$ROOT/$2" || return
    SLUICE_WIRING=$4 CARGO_MANIFEST_DIR=$ROOT/$2 "$file" --show-output "${@:5}" 2>&1 | sed -E "$as_ours"
    [ "${PIPESTATUS[0]}" -eq 0 ] || echo "not ok $name: ended with a failure"
    cd "$ROOT" || return
}

if [ -z "${WORK:-}" ]; then
    echo "not ok: this is a step of scripts/test.sh"
    exit 1
fi
# What is stored, paging, mobility and flows.
SAMPLE=(contexts:: paging:: path_switch:: modification::)
[ -z "${SLUICE_LONG:-}" ] || SAMPLE=()
suite sluice-wiring core/wiring all ring
suite sluice-wiring core/wiring all socket
suite sluice-tests tests core_sessions ring
suite sluice-tests tests core_sessions socket "${SAMPLE[@]}"
# Functions outside of the core ask it by messages, which only the other wirings carry.
suite sluice-tests tests core_sessions http2 "${SAMPLE[@]}" --skip between_amfs::
[ -z "${SLUICE_LONG:-}" ] || suite sluice-wiring core/wiring all http2 --skip exposure:: --skip between_amfs:: \
    --skip deregistration::a_notification_of_udm --skip deregistration::a_phone_that_another \
    --skip deregistration::reasons_of_an_smf
