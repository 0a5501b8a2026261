#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rings and publication of `mem` under every interleaving that the memory model allows.
. "$(dirname "$0")/../env.sh"

# In a folder of its own: the flag is another build of all that it reaches.
said=$(RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" cargo test -p sluice-mem --profile loom --test loom \
    --target-dir "$TARGET_DIR/loom" 2>&1)
status=$?
echo "$said"
name="loom finds no interleaving of mem's rings and publication that is wrong"
if [ "$status" -eq 0 ] && grep -q '^test result: ok. [1-9]' <<<"$said"; then
    echo "ok $name"
else
    echo "not ok $name"
fi
