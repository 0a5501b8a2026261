#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that a reviewer should not have to say. All checks run; fails if one did.
set -uo pipefail
. "$(dirname "$0")/env.sh"

set_up || exit
failed=()

# Says "ok" or "not ok" of each, as steps of `make test` do.
check() { # name command...
    say "$1"
    if "${@:2}" >&2; then
        echo "ok lint: $1"
    else
        echo "not ok lint: $1"
        failed+=("$1")
    fi
}

shell_scripts() {
    local file bad=0
    command -v shellcheck >/dev/null || say "only their syntax: apt-get install shellcheck for more"
    while read -r file; do
        bash -n "$file" || bad=1
        if command -v shellcheck >/dev/null; then
            shellcheck -x -e SC1091 "$file" || bad=1
        fi
    done < <(find scripts .ci -type f \( -name '*.sh' -o -path '.ci/run' \))
    return "$bad"
}

# What clippy's compiler said of each target when it was built (env.sh). Cargo says it again of what is fresh.
clippy() {
    [ -n "${RUSTC_WORKSPACE_WRAPPER:-}" ] || { echo "clippy-driver is needed: rustup component add clippy"; return 1; }
    cargo test --workspace --no-run --quiet --message-format json >"$BUILT" || return
    local said
    said=$(jq -r 'select(.reason == "compiler-message") | .message.rendered // empty' "$BUILT")
    [ -z "$said" ] || { printf '%s\n' "$said"; return 1; }
    every_target_was_built
}

# A target that no test needs would be linted by nobody. Those that need a feature are built for that feature.
every_target_was_built() {
    local missing
    missing=$(comm -23 \
        <(cargo metadata --no-deps --format-version 1 | jq -r '.packages[].targets[] | select(.kind[0] != "custom-build"
            and (."required-features" // []) == []) | .src_path' | sort -u) \
        <(jq -r 'select(.reason == "compiler-artifact") | .target.src_path' "$BUILT" | sort -u))
    [ -z "$missing" ] || { printf 'no test builds this target, so it is not linted: %s\n' "$missing"; return 1; }
}

# As each library was compiled (rustc.sh). Only links and lints: `make docs` writes pages.
rustdoc_of_libraries() {
    jq -r 'select(.reason == "compiler-artifact" and .target.kind[0] == "lib" and (.profile.test | not)
        and (.package_id | startswith("path+"))) | .filenames[] | select(endswith(".rlib"))' "$BUILT" |
        sed -E 's,/lib([^/]*)\.rlib$,/\1.rustdoc,' |
        RUSTC_BOOTSTRAP=1 xargs -P 2 -I {} sh -c 'xargs -0 env <"{}"'
}

lint_while_compiling
BUILT=$(mktemp)
trap 'rm -f "$BUILT"' EXIT
check "format" cargo fmt --all --check
check "clippy" clippy
check "rustdoc" rustdoc_of_libraries
check "shell scripts" shell_scripts
check "licences of dependencies" scripts/licences.sh
[ "${#failed[@]}" -eq 0 ] || { printf 'lint: failed: %s\n' "${failed[@]}" >&2; exit 1; }
say "lint: clean"
