#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: lab.sh [ARGUMENTS of `sluice lab run`]; without any, all experiments with few points (`all
# --quick`). Built for the CPU of this machine, as for `make bench`. Results and the report lie in the
# folder `lab` of the target folder, if ARGUMENTS name no --out; the same command goes on where the last
# one was interrupted.
set -euo pipefail
. "$(dirname "$0")/env.sh"

export CARGO_TARGET_DIR="$TARGET_DIR/native" SLUICE_NATIVE=1
export RUSTFLAGS="${RUSTFLAGS:-} -C target-cpu=native"
scripts/build.sh release lab core ran upf load

[ $# -gt 0 ] || set -- all --quick
case " $* " in *" --out"* | *" --help "* | *" -h "*) ;; *) set -- "$@" --out "$TARGET_DIR/lab" ;; esac
lab=("$CARGO_TARGET_DIR/release/sluice" lab run "$@")
# A container of namespaces and a cgroup needs root. Where nobody can become root that experiment says so.
[ "$(id -u)" -eq 0 ] || ! can_be_root || exec sudo "${lab[@]}"
exec "${lab[@]}"
