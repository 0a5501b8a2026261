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

# The coverage-guided fuzz targets are a workspace of their own, whose lock follows the house's.
GUIDED=(--manifest-path fuzz/guided/Cargo.toml)

check "format" cargo fmt --all --check
check "format of fuzz/guided" cargo fmt "${GUIDED[@]}" --check
check "clippy" cargo clippy --workspace --all-targets --keep-going -- -D warnings
check "clippy of fuzz/guided" \
    cargo clippy "${GUIDED[@]}" --target-dir "$TARGET_DIR" --all-targets -- -D warnings
# By clippy's own wrapper, with its arguments, rustdoc finds what clippy has read of the crates and reads none again.
check "rustdoc" env RUSTDOCFLAGS="-D warnings" RUSTC_WORKSPACE_WRAPPER="$(rustc --print sysroot)/bin/clippy-driver" \
    CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__" cargo doc --workspace --no-deps --quiet
check "shell scripts" shell_scripts
check "licences of dependencies" scripts/licences.sh
[ "${#failed[@]}" -eq 0 ] || { printf 'lint: failed: %s\n' "${failed[@]}" >&2; exit 1; }
say "lint: clean"
