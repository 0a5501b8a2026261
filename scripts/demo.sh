#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: demo.sh [ARGUMENTS of `sluice demo`]
set -euo pipefail
. "$(dirname "$0")/env.sh"

scripts/build.sh fast
exec "$TARGET_DIR/fast/sluice" demo "$@"
