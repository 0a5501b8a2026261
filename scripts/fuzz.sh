#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: fuzz.sh [TARGET...]. Runs each fuzz target (all, if none is named) coverage-guided for
# FUZZ_SECONDS (60). What libFuzzer says lies in target/fuzz/TARGET.log, what is found in
# target/fuzz/artifacts; with FUZZ_KEEP=1 it is copied to fuzz/regressions, where `make test`
# repeats it. Inputs that reached new code lie in target/fuzz/corpus and are used again.
# Ends with 0 if nothing was found, 1 if something was, 3 if it cannot run here.
set -uo pipefail
. "$(dirname "$0")/env.sh"

GUIDED=fuzz/guided
WORK=$TARGET_DIR/fuzz
SECONDS_EACH=${FUZZ_SECONDS:-60}

main() {
    set_up || exit 3
    install_nightly
    install_cargo_fuzz
    local all targets target found=()
    mapfile -t all < <(cargo +nightly fuzz list --fuzz-dir "$GUIDED")
    [ "${#all[@]}" -gt 0 ] || lacking "no fuzz targets in $GUIDED"
    targets=("${@:-"${all[@]}"}")
    check_names "${targets[@]}"
    mkdir -p "$WORK" || lacking "$WORK cannot be written"
    trap 'exit 130' INT
    say "building the targets with coverage and the address sanitizer"
    build "$@"
    PROGRAMS=$WORK/$(rustc +nightly -vV | sed -n 's/^host: //p')/release
    for target in "${targets[@]}"; do
        say "fuzzing $target for $SECONDS_EACH s"
        run "$target" || found+=("$target")
    done
    [ "${#found[@]}" -eq 0 ] || exit 1
    say "nothing found in ${#targets[@]} targets"
}

# Coverage and sanitizers are options of nightly Rust only.
install_nightly() {
    cargo +nightly --version >/dev/null 2>&1 && return
    command -v rustup >/dev/null || lacking "nightly Rust is needed, and rustup to install it:
    apt-get install rustup     (or, where there is no such package, https://rustup.rs)
    rustup toolchain install nightly --profile minimal"
    say "installing nightly Rust"
    rustup toolchain install nightly --profile minimal >&2 || lacking "nightly Rust is needed:
    rustup toolchain install nightly --profile minimal"
}

install_cargo_fuzz() {
    cargo fuzz --version >/dev/null 2>&1 && return
    say "installing cargo-fuzz"
    # In a folder of its own: it is a tool, and none of the instrumented build.
    CARGO_TARGET_DIR=$WORK/tool cargo install cargo-fuzz --locked --quiet || lacking "cargo-fuzz is needed:
    cargo install cargo-fuzz --locked"
    rm -rf "$WORK/tool"
}

check_names() { # targets; reads `all`
    local target
    for target in "$@"; do
        printf '%s\n' "${all[@]}" | grep -qxF -- "$target" && continue
        printf 'sluice: no fuzz target is called "%s"; expected one of: %s\n' "$target" "${all[*]}" >&2
        exit 2
    done
}

build() { # targets; all, if none is named
    local build=(cargo +nightly fuzz build --fuzz-dir "$GUIDED" --features libfuzzer --target-dir "$WORK") target
    # To generate code in one unit, as cargo-fuzz does by itself, takes longer than fourteen programs run.
    build+=(--codegen-units 16)
    # Who develops may have set scripts/rustc.sh: nightly's clippy has other lints.
    unset RUSTC_WORKSPACE_WRAPPER
    [ $# -gt 0 ] || set -- ""
    for target in "$@"; do
        "${build[@]}" ${target:+"$target"} ||
            lacking "${target:-a} fuzz target does not build (see above)"
    done
}

# Runs one target; tells how many inputs it had, or what was found.
run() { # target
    local log=$WORK/$1.log seen=$WORK/corpus/$1 artifacts=$WORK/artifacts/$1 inputs
    local begun=$WORK/$1.begun
    mkdir -p "$seen" "$artifacts"
    touch "$begun"
    # The commented example is a sample, too.
    [ "$1" != config ] || cp docs/upf.yaml "$seen/example"
    inputs=("$seen" "fuzz/corpus/$1")
    [ ! -d "fuzz/regressions/$1" ] || inputs+=("fuzz/regressions/$1")
    # Not by `cargo fuzz run`, which would build anew whatever is edited meanwhile.
    if ASAN_OPTIONS=detect_odr_violation=0 "$PROGRAMS/$1" "${inputs[@]}" \
        -max_total_time="$SECONDS_EACH" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$artifacts/" >"$log" 2>&1; then
        awk '/number_of_executed_units/ { runs = $2 } /new_units_added/ { new = $2 }
            END { printf "    %d inputs, %d of them reached something new\n", runs, new }' "$log" >&2
        return 0
    fi
    tell "$1" "$log" "$begun"
    return 1
}

# What was found, how to repeat it, and how to keep it.
tell() { # target log begun
    local artifact
    grep -E -m 3 -A 2 '^thread .* panicked|^==[0-9]+== ?ERROR|^SUMMARY' "$2" >&2 || tail -n 20 "$2" >&2
    say "the whole log: $2"
    while read -r artifact; do
        say "found: $artifact"
        say "repeat: SLUICE_INPUT=$artifact cargo test -p sluice-fuzz --test targets $1"
        [ "${FUZZ_KEEP:-0}" = 1 ] || continue
        mkdir -p "fuzz/regressions/$1"
        cp "$artifact" "fuzz/regressions/$1/"
        say "kept in fuzz/regressions/$1: rename it to the rule that it broke"
    done < <(find "$WORK/artifacts/$1" -type f -newer "$3")
}

main "$@"
