#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests: those of the workspace, then scripts/test.d/*.sh. The last line is
# "N passed, N failed". What each test said is in target/test.log.
#
# A test that cannot run here prints a line "skipped: REASON" and counts as not run.
# A step in test.d prints "ok NAME" or "not ok NAME" for each of its checks (with "# SKIP reason"
# behind what could not run here).
set -uo pipefail
. "$(dirname "$0")/env.sh"

LOG=$TARGET_DIR/test.log
passed=0 failed=0 ignored=0

main() {
    if ! { mkdir -p "$TARGET_DIR" && : >"$LOG"; }; then lacking "$LOG cannot be written"; fi
    set_up || { echo "0 passed, 1 failed"; exit 3; }
    run_workspace
    local step
    for step in scripts/test.d/*.sh; do
        [ -e "$step" ] && run_step "$step"
    done
    [ "$failed" -eq 0 ] || tell_failures
    [ "$ignored" -eq 0 ] || echo "$ignored not run here (see $LOG)"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

run_workspace() {
    say "building the tests"
    # Cargo's own progress goes to the terminal.
    # shellcheck disable=SC2094 # both append
    if ! cargo test --workspace --no-run >>"$LOG" 2> >(tee -a "$LOG" >&2); then
        echo "not ok: the tests do not compile"
        failed=$((failed + 1))
        return
    fi
    say "running the tests of the workspace"
    local results status
    results=$(mktemp)
    runner_variable=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER
    export "$runner_variable=$ROOT/scripts/run-test-binary.sh"
    cargo test --workspace --no-fail-fast -- --show-output 2>&1 | tee -a "$LOG" "$results" | show_progress
    status=${PIPESTATUS[0]}
    count_libtest "$results"
    # Cargo failed, yet no test did: that must not look like success.
    if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    rm -f "$results"
}

# One line for each test binary; of single tests only those that failed, and why.
show_progress() {
    awk '/^failures:$/ { failures = 1 }
        /^test result: / { failures = 0 }
        failures || /^test result: |^ +Running |^ +Doc-tests |^skipped: |^error: (could|test|doctest|[0-9])|FAILED/ { print; fflush() }'
}

# Adds up lines such as "test result: ok. 9 passed; 0 failed; 1 ignored; ...".
count_libtest() { # file
    local sums
    read -r -a sums < <(awk '
        /^---- .* stdout ----$/ { counted = 0 }
        /^skipped: / && !counted { skipped++; counted = 1 }
        /^test result: / {
            for (i = 2; i <= NF; i++) {
                if ($i == "passed;") passed += $(i - 1)
                if ($i == "failed;") failed += $(i - 1)
                if ($i == "ignored;") ignored += $(i - 1)
            }
        }
        END { print passed - skipped, failed + 0, ignored + skipped }' "$1")
    passed=$((passed + sums[0])) failed=$((failed + sums[1])) ignored=$((ignored + sums[2]))
}

# What failed, once more at the end, where it is seen: the first and the last lines of what each
# test said (a seed among them), and the checks of the steps.
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

run_step() { # script
    say "running $1"
    local output status good bad skipped
    output=$(mktemp)
    timeout "${STEP_TIMEOUT_S:-1800}" "$1" 2>&1 | tee -a "$LOG" "$output"
    status=${PIPESTATUS[0]}
    skipped=$(grep -cE '^ok .*# SKIP' "$output")
    good=$(($(grep -cE '^ok( |$)' "$output") - skipped))
    bad=$(grep -cE '^not ok( |$)' "$output")
    if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((good + skipped)) -eq 0 ]; }; then
        echo "not ok $1: ended with status $status and $good results" | tee -a "$LOG"
        bad=1
    fi
    passed=$((passed + good)) failed=$((failed + bad)) ignored=$((ignored + skipped))
    rm -f "$output"
}

main
