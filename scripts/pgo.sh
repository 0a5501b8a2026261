#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: pgo.sh. Builds the sluice command for production, optimised by a profile of its own work: once
# with counters in it, which short benchmarks train, and once more for what they counted. With
# SLUICE_NATIVE=1 for the CPU of this machine alone. Takes over twice as long as `make build`.
set -euo pipefail
. "$(dirname "$0")/env.sh"

set_up
host=$(rustc -vV | sed -n 's/^host: //p')
out=$TARGET_DIR/pgo
counts=$out/counts
profile=$out/sluice.profdata
[ "${SLUICE_NATIVE:-}" != 1 ] || RUSTFLAGS="${RUSTFLAGS:-} -C target-cpu=native"

# Of the compiler's own LLVM: another version may not read what it writes.
merger() { echo "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata"; }

if [ ! -x "$(merger)" ]; then
    say "installing llvm-tools, which read profiles"
    { command -v rustup >/dev/null && rustup component add llvm-tools >&2; } ||
        lacking "llvm-profdata of this Rust is needed: rustup component add llvm-tools"
fi

# A profile tells which calls are worth to be inlined, also across crates: with link-time optimisation, as no other build.
# With --target, or build scripts and macros would count as well.
build() { # what is said, flags
    say "building sluice $1"
    CARGO_PROFILE_RELEASE_LTO=fat CARGO_TARGET_DIR=$out RUSTFLAGS="${RUSTFLAGS:-} $2" cargo build --release --target "$host" -p sluice -p sluice-upf-daemon -p sluice-bench
}
built=$out/$host/release/sluice

# What the daemon does: the packet path, handing over and moving, N4 on sockets and ports.
# What one of them cannot do here is not trained; figures do not matter.
train() { # arguments of sluice bench
    say "training: sluice bench $*"
    "$built" bench "$@" --json >/dev/null || say "it ended with $?; what it counted is used all the same"
}

rm -rf "$counts"
build "with counters" "-Cprofile-generate=$counts"
train path --sessions 1000,100000 --reps 5 --seconds 0.02
train pfcp --sessions 20000 --messages 50000 --reps 5
train elastic --sessions 20000 --moves 500 --reps 5 --seconds 0.05
train port --sessions 1000,100000 --reps 5 --seconds 0.05
"$(merger)" merge -o "$profile" "$counts"
build "for what was counted" "-Cprofile-use=$profile"
cp -f "$built" "$built-upf" "$out/"
rm -rf "$counts"
say "built $out/sluice and $out/sluice-upf"
