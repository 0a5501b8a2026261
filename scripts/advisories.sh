#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Known vulnerabilities of dependencies, where they come from, and their licences, by cargo-deny and
# deny.toml. Says "ok", "not ok" or "ok ... # SKIP why" of each: the tool or its data may not be at hand.
#
# SLUICE_DENY=install builds the tool where it is missing (some minutes). The advisories are a git
# repository, which cargo-deny fetches; where it cannot, a copy in CARGO_HOME/advisory-dbs serves.
set -uo pipefail
. "$(dirname "$0")/env.sh"

have_tool() { cargo deny --version >/dev/null 2>&1; }

install_tool() {
    say "installing cargo-deny"
    CARGO_TARGET_DIR=$TARGET_DIR/tool cargo install cargo-deny --locked --quiet
    rm -rf "$TARGET_DIR/tool"
}

check() { # name arguments...
    local said
    if said=$(cargo deny --log-level error "${@:2}" 2>&1); then
        echo "ok dependencies: $1"
    else
        printf '%s\n' "$said" >&2
        echo "not ok dependencies: $1"
    fi
}

# True if the advisories are here, or can be fetched.
have_advisories() {
    [ -d "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs" ] && return
    timeout 60 cargo deny --log-level error fetch db >/dev/null 2>&1
}

have_tool || [ "${SLUICE_DENY:-}" != install ] || install_tool
if ! have_tool; then
    for name in licences advisories bans sources; do
        echo "ok dependencies: $name by cargo-deny # SKIP cargo-deny is not here: cargo install cargo-deny --locked"
    done
    exit 0
fi
for name in licenses bans sources; do
    check "$name" check "$name"
done
if have_advisories; then
    check "advisories" check --disable-fetch advisories
else
    echo "ok dependencies: advisories # SKIP the advisories are not at hand and cannot be fetched here"
fi
