#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of figures: its commands take their arguments, its values are in real results, and SPECIFICATION.md has
# those of the last run.
. "$(dirname "$0")/../env.sh"

result() { # status name
    if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fi
}

# Figures of other files than the repository's, by the development build.
figures() { # arguments
    SLUICE_FIGURES_ROWS=$WORK/rows SLUICE_FIGURES_KEPT=$WORK/kept.json SLUICE_FIGURES_DOCUMENT=$WORK/document.md \
        SLUICE_FIGURES_RESULTS=$WORK/results SLUICE_FIGURES_PROFILE=dev SLUICE_FIGURES_PAGES=no scripts/figures.sh "$@" 2>"$WORK/said"
}

every_command() {
    local command status=0
    while read -ra command; do
        case ${command[0]} in
            sluice) "$TARGET_DIR/debug/sluice" "${command[@]:1}" --help ;;
            *) [ -x "${command[0]}" ] && grep -q -- --json "${command[0]}" ;;
        esac >/dev/null 2>"$WORK/said" || { echo "${command[*]}: $(cat "$WORK/said")"; status=1; }
    done < <(sed -n 's/^  command //p' bench/figures.rows)
    result "$status" "the command of each row takes its arguments"
}

# The first row of all with next to no repetitions, and a row that fails.
quick_rows() {
    sed -n '/^row path-1k/,/^$/p' bench/figures.rows | sed 's/--reps 9/--reps 5 --seconds 0.001/' >"$WORK/rows"
    printf '%s\n' 'row fails' '  command false' '  takes 1' '  figure fails' '  value .' >>"$WORK/rows"
    printf '%s\n' '# A document' '<!-- figures: goals -->' 'old' '<!-- /figures -->' 'text' '<!-- figures: current -->' '<!-- /figures -->' 'end' \
        >"$WORK/document.md"
}

measured() {
    quick_rows
    figures
    # shellcheck disable=SC2016 # A word of the document.
    grep -qE '^\| `path/ul`.* \| [0-9.,† ]+ ns; ratio [0-9.,† ]+ \| `sluice bench path' "$WORK/document.md"
    result $? "a row is measured and written into the document"
    grep -q '^| fails | failed: printed nothing |' "$WORK/document.md"
    result $? "a row that fails says so"
    [ "$(grep -cE '^(old|text|end|# A document)$' "$WORK/document.md")" -eq 3 ]
    result $? "the rest of the document stays"
    local at
    at=$(jq -r '.rows["path-1k"].at' "$WORK/kept.json")
    figures
    [ "$(jq -r '.rows["path-1k"].at' "$WORK/kept.json")" = "$at" ]
    result $? "what is measured is not measured again"
    jq 'del(.results.results[0].ns_median)' "$WORK/results/path-1k.json" >"$WORK/less" && mv "$WORK/less" "$WORK/results/path-1k.json"
    figures --table
    grep -q 'no key ns_median in path/ul/default' "$WORK/document.md"
    result $? "a key that is missing is named"
    sed -i '/^  value/d' "$WORK/rows"
    ! figures --list && grep -q 'row path-1k has no value of a figure' "$WORK/said"
    result $? "a row that is not whole is refused"
}

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
scripts/build.sh dev bench || { echo "not ok the benchmarks can be built"; exit; }
every_command
measured
scripts/figures.sh --check
result $? "SPECIFICATION.md has the figures of bench/results/figures.json"
! sed -n '/^<!-- figures: goals/,$p' SPECIFICATION.md | grep -qE 'no (key|result) '
result $? "each value is in the results"
