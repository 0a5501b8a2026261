#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: build.sh PROFILE [PROGRAM...]. Builds the sluice command and those of its tools that are named
# (bench, box, core, demo, lab, load, ran; without any, all of them); says where they are.
set -euo pipefail
. "$(dirname "$0")/env.sh"

profile=${1:-release}
shift || true
[ $# -gt 0 ] || set -- bench box core demo lab load ran
# The tests have built what their steps start; Cargo's lock is another's meanwhile.
[ "${SLUICE_BUILT:-}" != "$profile" ] || exit 0
set_up
[ "$profile" != dev ] || lint_while_compiling
packages=(-p sluice)
for tool; do
    case $tool in
        core) packages+=(-p sluice-core-daemon) ;;
        *) packages+=(-p "sluice-$tool") ;;
    esac
done
say "building sluice and its tools $* (profile $profile)"
cargo build --profile "$profile" "${packages[@]}"
folder=$profile
[ "$profile" != dev ] || folder=debug
say "built $TARGET_DIR/$folder/sluice"
