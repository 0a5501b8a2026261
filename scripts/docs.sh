#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the reference of all crates.
set -euo pipefail
. "$(dirname "$0")/env.sh"

set_up
cargo doc --workspace --no-deps
say "open $TARGET_DIR/doc/sluice/index.html"
