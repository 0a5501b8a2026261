#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A step of `make test`: h2spec, a judge of HTTP/2 (RFC 9113, RFC 7541), against the carrier of service-based interfaces.
# Needs h2spec, or a Go that builds it (Debian's does not); SLUICE_H2SPEC=no leaves it out.
set -uo pipefail
. "$(dirname "$0")/../env.sh"

MODULE=github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible
# Later versions of what it is built from need this one.
GO_WANTED=1.23
CHECK="HTTP/2 of service-based interfaces is as h2spec wants it"
# A judge waits this long for each answer.
PATIENCE_S=5

main() {
    local judge
    judge=$(find_judge) || { echo "ok $CHECK # SKIP $judge"; return; }
    WORK=$(mktemp -d)
    trap clean_up EXIT
    trap 'exit 1' INT TERM HUP
    if ! start_echo; then
        echo "not ok $CHECK: the server does not start"
        cat "$WORK/said" >&2
        return
    fi
    "$judge" --host 127.0.0.1 --port "$PORT" --timeout "$PATIENCE_S" --strict >"$WORK/judged" 2>&1
    local status=$? counted
    counted=$(grep -E '^[0-9]+ tests' "$WORK/judged" | tail -n 1)
    if [ "$status" -eq 0 ] && [[ $counted == *" 0 failed"* ]]; then
        echo "ok $CHECK ($counted)"
    else
        echo "not ok $CHECK (${counted:-no result})"
        sed -n '/Failures/,$p' "$WORK/judged" | head -n 80 >&2
    fi
}

# Prints the path of h2spec, which is built where it is missing; or what is missing, and fails.
find_judge() {
    local built=$TARGET_DIR/h2spec/h2spec found
    [ "${SLUICE_H2SPEC:-}" != no ] || { echo "SLUICE_H2SPEC=no"; return 1; }
    command -v h2spec && return
    [ -x "$built" ] && { echo "$built"; return; }
    command -v go >/dev/null || { echo "neither h2spec nor go is there"; return 1; }
    found=$(go env GOVERSION)
    version_at_least "${found#go}" "$GO_WANTED" || { echo "$found is older than $GO_WANTED"; return 1; }
    GOBIN=$TARGET_DIR/h2spec timeout 300 nice go install "$MODULE" >"$TARGET_DIR/h2spec.log" 2>&1 ||
        { echo "h2spec cannot be built"; return 1; }
    echo "$built"
}

# The server chooses its port, and says which.
start_echo() {
    local tries
    "$TARGET_DIR/debug/examples/echo" 127.0.0.1:0 >"$WORK/said" 2>&1 &
    ECHO=$!
    for ((tries = 0; tries < 300; tries++)); do
        PORT=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$WORK/said")
        [ -z "$PORT" ] || return 0
        kill -0 "$ECHO" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

clean_up() {
    [ -z "${ECHO:-}" ] || kill "$ECHO" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$WORK"
}

main
