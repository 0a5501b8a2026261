#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: build.sh PROFILE [PROGRAM...]. Builds the sluice command and those of its programs that are named
# (upf, core, box, demo, load, ran, bench, lab; without any, all of them); says where they are.
set -euo pipefail
. "$(dirname "$0")/env.sh"

profile=${1:-release}
shift || true
[ $# -gt 0 ] || set -- upf core box demo load ran bench lab
# The tests have built what their steps start; Cargo's lock is another's meanwhile.
[ "${SLUICE_BUILT:-}" != "$profile" ] || exit 0
set_up
[ "$profile" != dev ] || lint_while_compiling
scripts/screen.sh
packages=(-p sluice)
for program; do
    case $program in
        upf | core) packages+=(-p "sluice-$program-daemon") ;;
        *) packages+=(-p "sluice-$program") ;;
    esac
done
say "building sluice and its programs $* (profile $profile)"
cargo build --profile "$profile" "${packages[@]}"
folder=$profile
[ "$profile" != dev ] || folder=debug
say "built $TARGET_DIR/$folder/sluice"
