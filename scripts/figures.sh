#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: figures.sh [--list] [--only PATTERN] [--again] [--pgo] [--table] [--check]
#
# Measures the rows of bench/figures.rows one after the other on this machine, and writes their figures into
# SPECIFICATION.md and README.md, and their results into bench/results/figures.json. What a row printed is kept in
# target/figures/PROGRAM, and a row that is there is not measured again: after Ctrl-C the same command goes on.
#
#   --list          tells the rows and whether they are measured
#   --only PATTERN  measures the rows whose names match, such as "path-*|pfcp-*", and prints their figures alone
#   --again         measures what was measured
#   --pgo           builds by `make pgo` as well and measures its row
#   --table         measures nothing and writes the tables again: of the results of this program, else of the last run
#   --check         fails if SPECIFICATION.md or README.md has other figures than bench/results/figures.json
set -euo pipefail
. "$(dirname "$0")/env.sh"

ROWS=${SLUICE_FIGURES_ROWS:-bench/figures.rows}
KEPT=${SLUICE_FIGURES_KEPT:-bench/results/figures.json}
DOCUMENTS=(SPECIFICATION.md README.md)
[ -z "${SLUICE_FIGURES_DOCUMENT:-}" ] || DOCUMENTS=("$SLUICE_FIGURES_DOCUMENT")
# What changes no figure of the program.
NO_PROGRAM=(':!*.md' ':!docs' ':!bench' ':!scripts' ':!tests' ':!Makefile' ':!.ci' ':!.github')
HUGE=/proc/sys/vm/nr_hugepages
PAGES=1500
PROFILE=${SLUICE_FIGURES_PROFILE:-release}

only='*' again=no with_pgo=no mode=measure
pages_before='' running=''

main() {
    arguments "$@"
    command -v jq >/dev/null || lacking "jq is missing: apt-get install jq"
    rows=$(read_rows)
    case $mode in
        check) check; return ;;
    esac
    program=$(program_commit)
    results=${SLUICE_FIGURES_RESULTS:-$TARGET_DIR/figures/$program}
    mkdir -p "$results"
    case $mode in
        list) list ;;
        table) write_document ;;
        measure) measure ;;
    esac
}

arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
            --only) only=${2:?--only takes a pattern}; shift ;;
            --again) again=yes ;;
            --pgo) with_pgo=yes ;;
            --list) mode=list ;;
            --table) mode=table ;;
            --check) mode=check ;;
            *) sed -n '/^# Usage/,/^set/{s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
        esac
        shift
    done
}

# The table as JSON: [{name, command, takes, pages, figures: [{figure, value, goals: [{goal, judge}]}]}].
read_rows() {
    jq -Rn --argjson pages "$PAGES" '
        def lack($what): error("row \(.name) has no \($what)");
        def words: capture("^(?<deep> *)(?<key>[^ ]+) *(?<rest>.*)$");
        reduce (inputs | select(test("^ *(#|$)") | not)) as $line ([];
            if $line | test("^   ") then .[-1].last as $at | .[-1] |= setpath($at; getpath($at) + " " + ($line | ltrimstr(" " * 10)))
            else ($line | words) as $w
                | if $w.key == "row" then . + [{name: $w.rest, pages: $pages, figures: []}]
                  elif $w.key == "command" then .[-1] += {command: $w.rest, last: ["command"]}
                  elif $w.key == "takes" or $w.key == "pages" then .[-1][$w.key] = ($w.rest | tonumber)
                  elif $w.key == "figure" then .[-1].figures += [{figure: $w.rest, goals: []}]
                      | .[-1].last = ["figures", (.[-1].figures | length) - 1, "figure"]
                  elif $w.key == "value" then .[-1].figures[-1].value = $w.rest
                      | .[-1].last = ["figures", (.[-1].figures | length) - 1, "value"]
                  elif $w.key == "goal" then .[-1].figures[-1].goals += [{goal: $w.rest}]
                  elif $w.key == "judge" then .[-1].figures[-1].goals[-1].judge = $w.rest
                      | .[-1].last = ["figures", (.[-1].figures | length) - 1, "goals", (.[-1].figures[-1].goals | length) - 1, "judge"]
                  else error("\($w.key) is no key of a row: \($line)") end
            end)
        | map(del(.last)
            | if .command == null then lack("command") elif .takes == null then lack("takes")
              elif .figures == [] then lack("figure") elif any(.figures[]; .value == null) then lack("value of a figure")
              elif any(.figures[].goals[]; .judge == null) then lack("judge of a goal") else . end)
        | if (map(.name) | unique | length) != length then error("two rows have one name") else . end' "$ROWS"
}

# The commit that changed the program last; with a hash of what is not committed.
program_commit() {
    local commit changed
    commit=$(git log -1 --format=%h --abbrev=12 -- . "${NO_PROGRAM[@]}") || { echo unknown; return; }
    changed=$(git diff HEAD -- . "${NO_PROGRAM[@]}" | sha1sum | cut -c1-8)
    [ -z "$(git diff HEAD --name-only -- . "${NO_PROGRAM[@]}")" ] || commit+=-$changed
    echo "$commit"
}

field() { # row key
    jq -r --arg name "$1" --arg key "$2" '.[] | select(.name == $name)[$key]' <<<"$rows"
}

# Rows that were asked for, the shortest first: an interruption leaves most rows measured. That of `make pgo` takes a
# build of its own.
chosen() {
    local name
    jq -r 'sort_by(.takes)[].name' <<<"$rows" | while read -r name; do
        [ "$name" != pgo ] || [ "$with_pgo" = yes ] || continue
        ! matches "$name" || echo "$name"
    done
}

matches() { # name
    local pattern patterns
    IFS='|' read -ra patterns <<<"$only"
    for pattern in "${patterns[@]}"; do
        # shellcheck disable=SC2053 # It is a pattern.
        [[ $1 != $pattern ]] || return 0
    done
    return 1
}

list() {
    local name state
    chosen | while read -r name; do
        state="not measured"
        [ ! -f "$results/$name.json" ] || state=$(jq -r '"\(.at) in \(.seconds) s"
            + if .failed then ", failed: \(.failed)" else "" end + if .disturbed then ", disturbed" else "" end' "$results/$name.json")
        printf '%-20s %4d s  %s\n%26s  %s\n' "$name" "$(field "$name" takes)" "$state" "" "$(field "$name" command)"
    done
}

measure() {
    local name number=0 todo
    mapfile -t todo < <(chosen | while read -r name; do is_measured "$name" || echo "$name"; done)
    build
    trap 'interrupted' INT TERM
    trap 'return_pages' EXIT
    for name in ${todo[@]+"${todo[@]}"}; do
        number=$((number + 1))
        say "row $number of ${#todo[@]}, $name: about $(seconds_of "$name") s; all that is left about $(minutes_left "${todo[@]:number-1}") min"
        measure_row "$name"
    done
    if [ "$only" = '*' ]; then write_document; else print_chosen; fi
}

is_measured() { # row
    [ "$again" = no ] && [ -f "$results/$1.json" ] && jq -e '.failed | not' "$results/$1.json" >/dev/null
}

# All programs, as users build them: of some alone libraries would have other features. Scripts that count instructions
# build the tests that they run.
build() {
    scripts/build.sh "$PROFILE"
    [ "$with_pgo" = no ] || scripts/pgo.sh
}

seconds_of() { # row
    local last=''
    [ ! -f "$results/$1.json" ] || last=$(jq -r '.seconds | floor' "$results/$1.json")
    echo "${last:-$(field "$1" takes)}"
}

minutes_left() { # rows
    local row sum=0
    for row; do sum=$((sum + $(seconds_of "$row"))); done
    echo $(((sum + 59) / 60))
}

interrupted() {
    trap '' INT TERM
    [ -z "$running" ] || kill -- "-$running" 2>/dev/null || true
    wait
    rm -f "$results"/*.out "$results"/*.said "$results"/*.again
    say "interrupted: what is measured stays in $results; the same command goes on"
    exit 130
}

# Once more if it failed or was disturbed by others; the better one of both stays.
measure_row() { # row
    local kept=$results/$1.json
    attempt "$1" 1 "$kept"
    ! is_fine "$kept" || return 0
    say "$1: $(jq -r '.failed // "disturbed"' "$kept"); once more"
    attempt "$1" 2 "$kept.again"
    if [ "$(worth "$kept.again")" -ge "$(worth "$kept")" ]; then mv "$kept.again" "$kept"; else rm "$kept.again"; fi
    is_fine "$kept" || say "$1: $(jq -r '.failed // "disturbed"' "$kept") again"
}

is_fine() { jq -e '(.failed or .disturbed) | not' "$1" >/dev/null; }

# Failed ones are worth less than any other, each disturbed result takes one from the others.
worth() {
    jq 'if .failed then -1e6 else 0 end - ([.. | objects | select(.disturbed? == true)] | length)' "$1"
}

attempt() { # row number file
    local command status=0 began out=$results/$1.out
    command=$(program_of "$1")
    pages "$(field "$1" pages)"
    began=$(date +%s)
    # A process group of its own, so that an interruption ends all of it.
    set -m
    bash -c "$command" >"$out" 2>"$out.said" &
    running=$!
    set +m
    wait "$running" || status=$?
    running=''
    keep "$1" "$2" "$status" "$(($(date +%s) - began))" "$out" "$3"
    rm -f "$out" "$out.said"
}

program_of() { # row
    local program=$TARGET_DIR/${PROFILE/#dev/debug}/sluice
    [ "$1" != pgo ] || program=$TARGET_DIR/pgo/sluice
    field "$1" command | sed "s,^sluice ,$program ,"
}

keep() { # row number status seconds output file
    local results_of failed=''
    results_of=$(jq -c . "$5" 2>/dev/null) || results_of=''
    [ "$3" -eq 0 ] || failed=$(tail -n 1 "$5.said")
    [ -n "$results_of" ] || { results_of=null; failed=${failed:-printed nothing}; }
    jq -n --arg command "$(field "$1" command)" --arg at "$(date -u +%FT%TZ)" --argjson attempts "$2" --argjson seconds "$4" \
        --arg failed "$failed" --argjson results "$results_of" '
        {command: $command, at: $at, seconds: $seconds, attempts: $attempts, failed: (if $failed == "" then null else $failed end),
         disturbed: ([$results | .. | objects | select(.disturbed? == true)] != []),
         results: $results}' >"$6.new"
    mv "$6.new" "$6"
}

# Free pages of 2 MiB, as far as this machine lets us.
pages() { # count
    [ "${SLUICE_FIGURES_PAGES:-}" != no ] && [ "$(cat $HUGE)" -ne "$1" ] || return 0
    pages_before=${pages_before:-$(cat $HUGE)}
    if can_be_root; then echo "$1" | as_root tee $HUGE >/dev/null || true; fi
    [ "$(cat $HUGE)" -eq "$1" ] || say "vm.nr_hugepages is $(cat $HUGE) in place of $1"
}

return_pages() {
    [ -z "$pages_before" ] || echo "$pages_before" | as_root tee "$HUGE" >/dev/null
}

# All results as one object, and what they were measured on.
gather() {
    local name
    for name in $(jq -r '.[].name' <<<"$rows"); do
        [ ! -f "$results/$name.json" ] || jq -c --arg name "$name" '{($name): .}' "$results/$name.json"
    done | jq -s --arg program "$program" 'add // {} | {
        program: $program,
        recorded: ([.[].at] | max // "" | .[:10]),
        machine: (first(.[].results.machine? // empty) // {} | del(.load_average, .huge_pages)),
        rows: .}'
}

has_results() { compgen -G "$results/*.json" >/dev/null; }

print_chosen() {
    local rows=$rows
    rows=$(jq --arg names "$(chosen)" 'map(select(.name | IN($names | split("\n")[])))' <<<"$rows")
    gather | render | grep '^|'
}

write_document() {
    local tables
    # Of a program with no results of its own the tables stay those of the last run.
    if has_results; then gather; else cat "$KEPT"; fi >"$KEPT.new"
    tables=$(render <"$KEPT.new")
    mv "$KEPT.new" "$KEPT"
    local document
    for document in "${DOCUMENTS[@]}"; do put_into_document "$tables" "$document"; done
    say "written: ${DOCUMENTS[*]}, $KEPT"
}

check() {
    local copy document tables status=0
    copy=$(mktemp)
    tables=$(render <"$KEPT")
    for document in "${DOCUMENTS[@]}"; do
        cp "$document" "$copy"
        put_into_document "$tables" "$copy"
        diff "$document" "$copy" >&2 || status=1
    done
    rm "$copy"
    [ "$status" -eq 0 ] || { echo "sluice: ${DOCUMENTS[*]} have other figures than $KEPT: scripts/figures.sh --table" >&2; exit 1; }
}

# Replaces what stands between the comments `figures: NAME` and `/figures` by the part of that name.
put_into_document() { # tables file
    parts=$1 awk '
        BEGIN { count = split(ENVIRON["parts"], lines, "\n"); for (i = 1; i <= count; i++) {
            if (lines[i] ~ /^<!-- figures: /) { name = lines[i] } else { part[name] = part[name] lines[i] "\n" } } }
        /^<!-- figures: / { print; printf "%s", part[$0]; inside = 1; next }
        /^<!-- \/figures -->/ { inside = 0 }
        !inside { print }' "$2" >"$2.new"
    mv "$2.new" "$2"
}

# Both tables, each behind the comment that names it. Every value and judgement is a jq program over the results of its row.
render() {
    local all rows=$rows
    all=$(mktemp -d)
    cat >"$all/gathered.json"
    rows=$(jq --slurpfile all "$all/gathered.json" 'map(select(.name != "pgo" or $all[0].rows.pgo))' <<<"$rows")
    jq -c '.[] | .name as $row | .figures[] | {row: $row, program: .value, kind: "value"},
        (.goals[] | {row: $row, program: .judge, kind: "judge"})' <<<"$rows" | while read -r asked; do
        judged "$asked" "$all/gathered.json" || exit
    done | jq -s . >"$all/told.json" || return
    jq -rn --argjson rows "$rows" --slurpfile told "$all/told.json" --slurpfile all "$all/gathered.json" -L scripts \
        'include "figures-table"; tables($rows; $told[0]; $all[0])'
    rm -r "$all"
}

# One value or judgement: {is} or {why}.
judged() { # what is asked, results
    local name program said status=0
    name=$(jq -r .row <<<"$1")
    program=$(jq -r .program <<<"$1")
    said=$(jq -c -L scripts --arg name "$name" "include \"figures\"; (.rows | map_values(.results)) as \$rows
        | .rows[\$name] | if . == null then {why: \"not measured\"} elif .results == null then {why: \"failed: \\(.failed)\"}
          else .failed as \$failed | .results as \$row | \$row | {is: ($program)} + if \$failed then {why: \"failed: \\(\$failed)\"} else {} end end" "$2" 2>&1) || status=$?
    case $status in
        0) echo "$said" ;;
        5) jq -nc --arg why "${said#jq: error (at *): }" '{why: $why}' ;;
        *) printf 'sluice: %s: %s is no jq: %s\n' "$name" "$program" "$said" >&2; return 1 ;;
    esac
}

main "$@"
