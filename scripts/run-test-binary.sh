#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one test binary for `cargo test`, with a time limit. One that crashes or hangs prints no
# result of its own, so it is counted here, in the words of libtest.
timeout "${TEST_TIMEOUT_S:-900}" "$@"
status=$?
# 0: all passed; 101: libtest counted the failures.
if [ "$status" -ne 0 ] && [ "$status" -ne 101 ]; then
    [ "$status" -eq 124 ] && reason="did not end in time" || reason="crashed with status $status"
    echo "test $(basename "$1") ... FAILED: $reason"
    echo "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"
fi
exit "$status"
