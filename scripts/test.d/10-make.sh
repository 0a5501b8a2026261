#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The promised targets of the Makefile, and a setup that has nothing to do and is quick about it.
. "$(dirname "$0")/../env.sh"

result() { # status name
    if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fi
}

for target in setup build demo test test-long bench figures lab lint docs fuzz help; do
    make --no-print-directory -n "$target" >/dev/null
    result $? "make has the target $target"
done

[[ $(make --no-print-directory) == *'make demo'* ]]
result $? "make alone explains itself"

# Of CPU: others may have it meanwhile.
TIMEFORMAT='%U %S'
took=$({ time scripts/setup.sh >/dev/null 2>&1; } 2>&1)
status=$?
[ "$status" -eq 0 ] && awk '{ exit !($1 + $2 < 1) }' <<<"$took"
result $? "setup with nothing to do takes less than a second of CPU (user and system: $took s)"
