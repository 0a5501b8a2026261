#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: demo.sh [ARGUMENTS of `sluice demo`]
set -euo pipefail
. "$(dirname "$0")/env.sh"

scripts/build.sh dev demo upf core
demo=("$TARGET_DIR/debug/sluice" demo "$@")
# Only the demo itself needs root. Where nobody can become root it says what it needs.
[ "$(id -u)" -eq 0 ] || ! can_be_root || exec sudo "${demo[@]}"
exec "${demo[@]}"
