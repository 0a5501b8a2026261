# SPDX-License-Identifier: Apache-2.0
# The tables of SPECIFICATION.md, from the rows of bench/figures.rows, what is told of each of their programs, and the
# results with their machine.

include "figures";

def cell: gsub("\\|"; "\\|");
def line: "| " + (map(cell) | join(" | ")) + " |";

# Programs are told in the order of the rows: each figure's value, then its goals'.
def with_told($told):
    reduce .[] as $row ({at: 0, rows: []};
        reduce $row.figures[] as $figure (.rows += [$row | .figures = []];
            .at as $at | ($figure.goals | length) as $goals
            | .rows[-1].figures += [$figure + {told: $told[$at],
                goals: [range($goals) as $g | $figure.goals[$g] + {told: $told[$at + 1 + $g]}]}]
            | .at = $at + 1 + $goals))
    | .rows;

def value: if .is and .why then "\(.is) (\(.why))" else .is // .why end;
def state:
    if .is == null then (if .why | startswith("failed") then "not measured: \(.why)" else .why end)
    elif .is.reached then "reached: \(.is.is)" else "not reached: \(.is.is)" end;

def goals:
    ["| goal | state |", "| --- | --- |"] + [.[].figures[].goals[] | [.goal, (.told | state)] | line] | .[];
def figures:
    ["| figure | value | command |", "| --- | --- | --- |"]
    + [.[] as $row | $row.figures | to_entries[]
        | [.value.figure, (.value.told | value), (if .key == 0 then "`\($row.command | rtrimstr(" --json"))`" else "the same" end)] | line] | .[];

# README.md's: the default path, up and down.
def readme($all):
    def both($of): [$of[0, 1]] | join(" / ");
    ["| sessions | up / down, ns a packet | up / down, Mpps | up / down, ratio to the cheapest loop on the same machine |",
        "| --- | --- | --- | --- |"]
    + [["1,000", "path-1k"], ["1,000,000", "path-1m"] | . as [$sessions, $row] | $all.rows[$row].results | select(. != null)
        | on_path("default") | [$sessions, both(map(number("ns_median"))), both(map(number("mpps_median"))),
            both(map(number("ratio_to_limit")))] | line] | .[];

def machine($all):
    $all.machine | [.cpu, (.cpus | if . then "\(.) CPUs" else null end), (.l2_cache | if . then "L2 \(.)" else null end),
        (.l3_cache | if . then "L3 \(.)" else null end), (.kernel | if . then "Linux \(.)" else null end)]
    | map(select(. != null and . != "")) | join(", ");

def tables($rows; $told; $all):
    ($rows | with_told($told)) as $rows
    | "<!-- figures: goals -->", ($rows | goals),
      "<!-- figures: current -->",
      "Measured on \($all.recorded) with the program of commit \($all.program), built by `make build` (for \($all.machine.built_for // "?")), on: \(machine($all)).",
      "", ($rows | figures),
      "<!-- figures: readme -->",
      "One core of \($all.machine.cpu) forwards 64-byte packets from memory to memory, measured on \($all.recorded):", "", readme($all), "";
