#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: test-task.sh NAME<tab>FOLDER<tab>FILE<tab>TESTS-AT-A-TIME. Runs one test binary or step for test.sh, with a time limit: counts its
# results, keeps its seconds, and says in one line what came of it.
#
# A test that cannot run here prints a line "skipped: REASON" and counts as not run. A step prints "ok NAME" or
# "not ok NAME" for each of its checks (with "# SKIP reason" behind what could not run here).
set -uo pipefail

IFS=$'\t' read -r name folder file at_a_time <<<"$1"
[ "${at_a_time:-0}" -eq 0 ] || export RUST_TEST_THREADS=$at_a_time
own=$WORK/$(tr -c 'a-z0-9\n' - <<<"$name")
said=$own.said

main() {
    local TIMEFORMAT='%R %U %S' status seconds passed failed ignored
    case $file in
    *.sh) { time run_step >"$said" 2>&1; } 2>"$own.seconds" ;;
    *) { time run_binary >"$said" 2>&1; } 2>"$own.seconds" ;;
    esac
    case $file in *.sh) count_step ;; *) count_libtest ;; esac >"$own.sums"
    read -r passed failed ignored <"$own.sums"
    seconds=$(awk '{ printf "%.1f\t%.1f", $1, $2 + $3 }' "$own.seconds")
    sed -nE "s/^test (.*) \.\.\. ok <([0-9.]+)s>$/$name: \1\t\2/p" "$said" | sort -t $'\t' -k2,2rn | head -n 40 >"$own.tests"
    exec 9>>"$LOG"
    flock 9
    { printf '==> %s\n' "$name"; cat "$said"; } >&9
    printf '%s\t%s\n' "$name" "$seconds" >>"$TIMES"
    [ "$failed" -eq 0 ] || complaints
    printf '%s %-34s %5d passed, %d failed, %d not run; %s s, CPU %s s\n' "$([ "$failed" -eq 0 ] && echo "  ok  " || echo "not ok")" \
        "$name" "$passed" "$failed" "$ignored" "${seconds%$'\t'*}" "${seconds#*$'\t'}"
}

# One that crashes or hangs prints no result of its own, so it is counted here, in the words of libtest. The variable
# lets a stable libtest tell the seconds of each test.
run_binary() {
    cd "$folder" || return
    CARGO_MANIFEST_DIR=$folder RUSTC_BOOTSTRAP=1 timeout "${TEST_TIMEOUT_S:-1800}" "$file" --show-output \
        -Z unstable-options --report-time
    status=$?
    # 0: all passed; 101: libtest counted the failures, or did not come to begin.
    case $status in 0 | 101) ! grep -q '^test result: ' "$said" || return 0 ;; esac
    local reason="crashed with status $status"
    [ "$status" -ne 124 ] || reason="did not end in time"
    echo "test $name ... FAILED: $reason"
    echo "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"
}

run_step() {
    timeout "${STEP_TIMEOUT_S:-1800}" "$file"
    status=$?
}

# Adds up lines such as "test result: ok. 9 passed; 0 failed; 1 ignored; ...".
count_libtest() {
    awk '
        /^---- .* stdout ----$/ { counted = 0 }
        /^skipped: / && !counted { skipped++; counted = 1 }
        /^test result: / {
            for (i = 2; i <= NF; i++) {
                if ($i == "passed;") passed += $(i - 1)
                if ($i == "failed;") failed += $(i - 1)
                if ($i == "ignored;") ignored += $(i - 1)
            }
        }
        END { print passed - skipped, failed + 0, ignored + skipped }' "$said"
}

count_step() {
    local skipped good bad
    skipped=$(grep -cE '^ok .*# SKIP' "$said")
    good=$(($(grep -cE '^ok( |$)' "$said") - skipped))
    bad=$(grep -cE '^not ok( |$)' "$said")
    if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((good + skipped)) -eq 0 ]; }; then
        echo "not ok $name: ended with status $status and $good results" >>"$said"
        bad=1
    fi
    echo "$good $bad $skipped"
}

# What failed, and why; for a step also its last words.
complaints() {
    awk '/^failures:$/ { failures = 1 }
        /^test result: / { failures = 0 }
        failures || /^not ok|FAILED|^error: (could|test|doctest|[0-9])/ { print substr($0, 1, 600) }' "$said" | head -n 120
}

main
