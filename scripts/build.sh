#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: build.sh PROFILE. Builds the sluice command; says where it is.
set -euo pipefail
. "$(dirname "$0")/env.sh"

profile=${1:-release}
set_up
say "building sluice (profile $profile)"
cargo build --profile "$profile" -p sluice
folder=$profile
[ "$profile" != dev ] || folder=debug
say "built $TARGET_DIR/$folder/sluice"
