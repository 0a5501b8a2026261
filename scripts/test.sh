#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: test.sh [NAME...]. Runs all tests, or those of the packages and steps of scripts/test.d that are named.
# The last line is "N passed, N failed". target/test.log has what each test said; target/test-times.tsv the seconds
# (wall, CPU) of each test binary and step, and of the slowest tests.
#
# Two lanes run side by side: tests that wait (scripts/lanes), and tests that compute.
set -uo pipefail
. "$(dirname "$0")/env.sh"

LOG=$TARGET_DIR/test.log
TIMES=$TARGET_DIR/test-times.tsv
# Tests at a time: of the binary that waits, and of each of the two that compute.
WAITING_THREADS=${SLUICE_WAITING_THREADS:-5}
COMPUTING_THREADS=${SLUICE_COMPUTING_THREADS:-2}
# Binaries and steps with more CPU than this are listed at the end: the next ones to make cheaper.
MUCH_CPU_S=120

main() {
    if ! { mkdir -p "$TARGET_DIR" && : >"$LOG" && : >"$TIMES"; }; then lacking "$LOG cannot be written"; fi
    set_up || { echo "0 passed, 1 failed"; exit 3; }
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    trap 'trap - INT TERM HUP; kill 0; exit 130' INT TERM HUP
    if build; then
        tasks "$@" >"$WORK/tasks"
        check_lanes "$@"
        run_lanes
    else
        echo "not ok: the tests do not compile" | tee -a "$LOG"
        echo "0 1 0" >"$WORK/build.sums"
    fi
    summary
}

# All that tests and steps start is built before any of them runs: beside tests of packages Cargo builds their programs.
# Asked for the programs alone it would build libraries again that have fewer features then.
build() {
    lint_while_compiling
    scripts/screen.sh
    say "building the tests and the programs that they start"
    timed "build of tests" cargo test --workspace --no-run --message-format json-render-diagnostics \
        >"$WORK/artifacts" 2> >(tee -a "$LOG" >&2)
}

# Runs a command and writes its seconds into the times.
timed() { # name command...
    local TIMEFORMAT='%R %U %S' status
    { time "${@:2}" 2>&3; } 3>&2 2>"$WORK/seconds"
    status=$?
    awk -v name="$1" '{ printf "%s\t%.1f\t%.1f\n", name, $1, $2 + $3 }' "$WORK/seconds" >>"$TIMES"
    return "$status"
}

# A line for each wanted binary and step: lane, place in it, name, folder, file, tests at a time (0: as its lane has it).
tasks() { # [name...]
    jq -r 'select(.reason == "compiler-artifact" and .profile.test and .executable)
        | [.manifest_path, (if .target.kind[0] == "test" then .target.name else .target.kind[0] end), .executable] | @tsv' \
        "$WORK/artifacts" | while IFS=$'\t' read -r manifest target file; do
        package=$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -n 1)
        wanted "$package" "$@" && task "$package $target" "$(dirname "$manifest")" "$file"
    done
    local step
    for step in scripts/test.d/*.sh; do
        wanted "$(basename "$step")" "$@" && task "$(basename "$step")" "$ROOT" "$step"
    done
}

wanted() { # name [wanted names...]
    [ $# -eq 1 ] || printf '%s\n' "${@:2}" | grep -qxF -- "$1"
}

task() { # name folder file
    local at=9999 lane=computes at_a_time=0
    IFS=': ' read -r at lane _ < <(grep -nE "^[a-z]+ $1\$" scripts/lanes || echo "9999:computes")
    [ "$lane" != serial ] || { lane=waits at_a_time=1; }
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$lane" "$at" "$@" "$at_a_time"
}

# A name in scripts/lanes that is nobody's would move a test into the other lane unseen.
check_lanes() { # [name...]
    [ $# -eq 0 ] || return 0
    local name
    while read -r _ name; do
        cut -f3 "$WORK/tasks" | grep -qxF -- "$name" && continue
        echo "not ok scripts/lanes: no test binary or step is called \"$name\"" | tee -a "$LOG"
        echo "0 1 0" >"$WORK/lanes.sums"
    done < <(grep -v '^#' scripts/lanes)
}

run_lanes() {
    say "running $(wc -l <"$WORK/tasks") test binaries and steps (what they say: $LOG)"
    # The session machine's drafts are large values, which code that is hardly optimised copies from frame to frame.
    export LOG TIMES WORK SLUICE_BUILT=dev RUST_MIN_STACK=8388608
    lane waits 1 "$WAITING_THREADS" 0 &
    lane computes 2 "$COMPUTING_THREADS" 5
    wait
}

lane() { # name binaries-at-a-time tests-at-a-time nice
    grep "^$1"$'\t' "$WORK/tasks" | sort -t $'\t' -k2,2n | cut -f3- | tr '\n' '\0' |
        RUST_TEST_THREADS=$3 nice -n "$4" xargs -0 -r -P "$2" -I {} scripts/test-task.sh {}
}

summary() {
    local passed failed ignored
    read -r passed failed ignored < <(cat "$WORK"/*.sums | awk '{ p += $1; f += $2; i += $3 } END { print p + 0, f + 0, i + 0 }')
    sort -t $'\t' -k2,2rn "$WORK"/*.tests 2>/dev/null | head -n 40 >>"$TIMES"
    [ "$failed" -eq 0 ] || tell_failures
    awk -F '\t' -v most=$MUCH_CPU_S '$3 > most { printf "    %s: %d s of CPU\n", $1, $3 }' "$TIMES" >&2
    say "all of it took $SECONDS s (each binary, step and slow test: $TIMES)"
    [ "$ignored" -eq 0 ] || echo "$ignored not run here (see $LOG)"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# Once more at the end, where it is seen: the first and the last lines of what each failed test said (a seed among
# them), and failed checks of steps.
tell_failures() {
    say "what failed"
    awk -v ends=15 '
        function tell(i) {
            for (i = 1; i <= n; i++) {
                if (i <= ends || i > n - ends) print line[i]
                else if (i == ends + 1) print "    ... (see " FILENAME ")"
            }
            n = 0
        }
        /^failures:$/ { tell(); of_failures = 1; next }
        /^test result: / { n = of_names ? 0 : n; tell(); of_failures = of_names = 0 }
        /^---- .* stdout ----$/ { tell(); of_names = 0 }
        of_failures && !n && /^    / { of_names = 1 }
        of_failures && !of_names && (n || NF) { line[++n] = substr($0, 1, 600) }
        /^not ok|^error: test failed|^test .* FAILED: / { print }
        END { tell() }' "$LOG"
}

main "$@"
