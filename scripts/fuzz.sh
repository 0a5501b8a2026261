#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: fuzz.sh [TARGET...]. Runs each fuzz target (all, if none is named) coverage-guided for
# FUZZ_SECONDS (60). What is found lies in target/fuzz/artifacts; with FUZZ_KEEP=1 it is copied to
# fuzz/regressions, where `make test` repeats it. Inputs that reached new code lie in
# target/fuzz/corpus and are used again.
set -uo pipefail
. "$(dirname "$0")/env.sh"

GUIDED=fuzz/guided
WORK=$TARGET_DIR/fuzz

main() {
    scripts/setup.sh || exit 3
    look_for_tools
    local targets=("$@") found=()
    [ $# -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list --fuzz-dir "$GUIDED")
    [ "${#targets[@]}" -gt 0 ] || lacking "no fuzz targets in $GUIDED"
    local target
    for target in "${targets[@]}"; do
        say "fuzzing $target for ${FUZZ_SECONDS:=60} s"
        run "$target" || found+=("$target")
    done
    [ "${#found[@]}" -eq 0 ] || { tell "${found[@]}"; exit 1; }
    say "nothing found in ${#targets[@]} targets"
}

look_for_tools() {
    rustup run nightly cargo --version >/dev/null 2>&1 ||
        lacking "nightly Rust is needed: rustup toolchain install nightly --profile minimal"
    cargo fuzz --version >/dev/null 2>&1 ||
        lacking "cargo-fuzz is needed: cargo install cargo-fuzz --locked"
}

run() { # target
    local seen=$WORK/corpus/$1 artifacts=$WORK/artifacts/$1
    mkdir -p "$seen" "$artifacts" "fuzz/regressions/$1"
    cargo +nightly fuzz run --fuzz-dir "$GUIDED" --target-dir "$WORK" "$1" \
        "$seen" "fuzz/corpus/$1" "fuzz/regressions/$1" -- \
        -max_total_time="$FUZZ_SECONDS" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -verbosity="${FUZZ_VERBOSITY:-1}" -artifact_prefix="$artifacts/"
    local status=$?
    rmdir --ignore-fail-on-non-empty "fuzz/regressions/$1"
    return "$status"
}

# What was found, and how to keep it.
tell() { # targets
    local target artifact
    for target in "$@"; do
        for artifact in "$WORK/artifacts/$target"/*; do
            [ -f "$artifact" ] || continue
            say "found: $artifact"
            say "repeat: SLUICE_INPUT=$artifact cargo test -p sluice-fuzz --test targets $target"
            [ "${FUZZ_KEEP:-0}" = 1 ] || continue
            mkdir -p "fuzz/regressions/$target"
            cp "$artifact" "fuzz/regressions/$target/"
            say "kept in fuzz/regressions/$target: rename it to the rule that it broke"
        done
    done
}

main "$@"
