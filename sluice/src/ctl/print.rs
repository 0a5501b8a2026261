//! Text output: tables for lists, a tree for the rest.

use super::session;
use crate::cli::args::CtlQuery as Question;
use serde_json::{Map, Value, json};
use sluice_datapath::drop::DropReason;
use sluice_datapath::stage_timer::Stage;

/// The answer for people; with `all`, also what is zero or a default.
pub fn text(question: &Question, answer: &Value, all: bool) -> String {
    match question {
        Question::Sessions => session::list(answer, all),
        Question::Applications => table_from(answer, "applications", "id source pdrs flows"),
        Question::Ports => ports(answer),
        Question::Workers => workers(answer),
        Question::Drops => drops(answer),
        Question::Refusals if is_of_core(answer) => super::core::refusals(answer),
        Question::Refusals => refusals(answer),
        Question::Peers => titled(answer, &PEERS),
        Question::Rules { .. } => titled(&answer["session"], &RULES),
        Question::Session { .. } => session::page(&answer["session"], all),
        Question::Counters if !all => counters(answer),
        Question::Core(query) => super::core::text(query, answer),
        Question::Status
        | Question::Counters
        | Question::Nat { .. }
        | Question::Move { .. }
        | Question::Reload
        | Question::Scale { .. }
        | Question::Trace(_)
        | Question::Subscribers(_)
        | Question::Hnkey(_)
        | Question::Users(_) => tree(answer, 0),
    }
}

/// Lists of the answer to `peers`, and the columns that come first.
const PEERS: [(&str, &str); 4] = [
    ("associations", "node_id address state silent sessions"),
    ("gtpu_peers", "address local users"),
    (
        "gtpu_paths",
        "address local state failed_for_s round_trip_us",
    ),
    ("neighbours", "interface address mac"),
];

/// Lists of rules, and the columns that come first.
const RULES: [(&str, &str); 4] = [
    (
        "pdr",
        "id precedence source network_instance teid tunnel_address ue_address qfi far qer urr",
    ),
    (
        "far",
        "id action apply_action destination network_instance teid peer",
    ),
    ("qer", "id uplink_open downlink_open mbr_kbps gbr_kbps qfi"),
    (
        "urr",
        "id measurement_method reporting_triggers uplink downlink",
    ),
];

/// Lists one below the other, each with its name.
fn titled(answer: &Value, lists: &[(&str, &str)]) -> String {
    let list = |(key, first): &(&str, &str)| {
        format!("{key}:\n{}", indented(&table_from(answer, key, first)))
    };
    lists.iter().map(list).collect::<Vec<_>>().join("\n")
}

/// Counters that have counted something, and how many have not.
fn counters(answer: &Value) -> String {
    let mut counted = answer.clone();
    let zeros = without_zeros(&mut counted);
    let note = format!("{zeros} more are 0: --all shows them");
    match (has_value(&counted), zeros) {
        (_, 0) => tree(answer, 0),
        (false, _) => format!("all {zeros} counters are 0: --all shows them"),
        (true, _) => format!("{}\n\n{note}", tree(&counted, 0)),
    }
}

/// Takes zeros out of objects, and objects that have nothing else. Returns how many zeros there were.
fn without_zeros(value: &mut Value) -> usize {
    let Value::Object(map) = value else {
        return 0;
    };
    let mut zeros = 0;
    map.retain(|_, value| match value {
        Value::Object(inner) if !inner.is_empty() => {
            zeros += without_zeros(value);
            has_value(value)
        }
        _ => {
            let is_zero = value.as_f64() == Some(0.0);
            zeros += usize::from(is_zero);
            !is_zero
        }
    });
    zeros
}

/// A row for each port, and behind them what takes more words.
fn ports(answer: &Value) -> String {
    let mut rows = answer.clone();
    let ports = rows["ports"].as_array_mut();
    let mut more = Map::new();
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        let words = ["steering", "waiting"].map(|key| (key, port.remove(key)));
        let name = port.get("name").map_or_else(String::new, scalar);
        let words = words.into_iter();
        let words: Map<_, _> = words
            .filter_map(|(key, words)| Some((key.to_owned(), words?)))
            .collect();
        if !words.is_empty() {
            more.insert(name, Value::Object(words));
        }
    }
    let table = table(&rows, "ports");
    match more.is_empty() {
        true => table,
        false => format!("{table}\n\n{}", branches(&more, 0)),
    }
}

/// Tables of `ctl workers`: load, packets, cost, and the policy of scaling.
fn workers(answer: &Value) -> String {
    let workers = answer["workers"].as_array().map_or(&[][..], Vec::as_slice);
    let stages: Vec<Value> = workers.iter().flat_map(stages).collect();
    [
        columns(
            workers,
            "id core busy_share asleep_share away_share shards rx_queues ring_waiting packets_per_turn \
             ns_per_packet cycles_per_packet",
        ),
        columns(
            workers,
            "id received transmitted handed_in handed_out transactions busy_turns idle_turns hottest",
        ),
        slow_paths(workers),
        columns(
            &stages,
            "id stage ns_per_packet cycles_per_packet packets_per_batch batches_timed",
        ),
        tree(&answer["elastic"], 0),
        tree(&answer["waiting"], 0),
    ]
    .join("\n\n")
}

/// How many packets left the fast path, and why.
fn slow_paths(workers: &[Value]) -> String {
    let told = workers.iter().filter_map(|worker| {
        let reasons = worker["slow_path"].as_object()?;
        let reasons: Vec<_> = reasons
            .iter()
            .map(|(reason, packets)| format!("{reason} {packets}"))
            .collect();
        (!reasons.is_empty()).then(|| format!("  {}: {}", worker["id"], reasons.join(", ")))
    });
    let told: Vec<_> = told.collect();
    match told.is_empty() {
        true => "slow path: no packet".to_owned(),
        false => format!("slow path, by worker and reason:\n{}", told.join("\n")),
    }
}

/// A row for each stage of a worker, in the order of a turn.
fn stages(worker: &Value) -> Vec<Value> {
    let of = |stage: Stage| {
        let Value::Object(mut row) = worker["stages"].get(stage.name())?.clone() else {
            return None;
        };
        row.insert("id".to_owned(), worker["id"].clone());
        row.insert("stage".to_owned(), json!(stage.name()));
        Some(Value::Object(row))
    };
    Stage::ALL.into_iter().filter_map(of).collect()
}

/// A row for each, the newest first, and all since the start by cause.
fn refusals(answer: &Value) -> String {
    let rows = answer["refusals"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<Value> = rows.iter().map(in_words).collect();
    let strangers = strangers(answer);
    if rows.is_empty() {
        return strangers.unwrap_or_else(|| "(none)".to_owned());
    }
    let newest = columns(
        &rows,
        "number age_s peer request cause offending_ie rule cp_seid up_seid holder",
    );
    let strangers = strangers.map_or_else(String::new, |text| format!("{text}\n\n"));
    let by_cause = answer["by_cause"].as_array().map_or(&[][..], Vec::as_slice);
    let by_cause: Vec<Value> = by_cause.iter().map(in_words).collect();
    let total = scalar(&answer["total"]);
    format!(
        "{newest}\n\n{}{strangers}{total} refused since the start\n{}",
        explanations(&rows),
        columns(&by_cause, "count cause")
    )
}

/// Each cause and Offending IE of the rows once, with the reason and the remedy.
fn explanations(rows: &[Value]) -> String {
    let mut all: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row["why"].is_string()) {
        let [cause, why, remedy] = ["cause", "why", "remedy"].map(|key| scalar(&row[key]));
        let ie = row["offending_ie"].as_str();
        let ie = ie.map_or_else(String::new, |ie| format!(", IE {ie}"));
        let told = format!("{cause}{ie}\n     why: {why}\n     remedy: {remedy}\n\n");
        if !all.contains(&told) {
            all.push(told);
        }
    }
    all.concat()
}

/// Addresses that `n4.peers` does not name, the newest first; none if nobody tried.
fn strangers(answer: &Value) -> Option<String> {
    let rows = rows_of(answer, "strangers");
    let shown = columns(rows, "age_s peer request messages");
    (!rows.is_empty()).then(|| {
        format!(
            "not answered: none of n4.peers in upf.yaml (name them there and restart, if they are your SMFs)\n{}",
            indented(&shown)
        )
    })
}

/// The row with its cause by name and number.
fn in_words(row: &Value) -> Value {
    let mut row = row.clone();
    let name = row["cause_name"].as_str().unwrap_or("cause");
    row["cause"] = json!(format!("{name} ({})", scalar(&row["cause"])));
    row
}

fn drops(answer: &Value) -> String {
    let Some(ledger) = answer.get("ledger") else {
        return tree(answer, 0);
    };
    let mut lines = vec![scalar(&ledger["equation"])];
    if let Some(Value::Object(dropped)) = ledger.get("dropped") {
        let line = |(reason, n): (&String, &Value)| {
            let known = DropReason::ALL.iter().find(|known| known.name() == reason);
            let meaning = known.map_or("", |known| known.meaning());
            format!("  {:>12}  {reason:<20}  {meaning}", scalar(n))
                .trim_end()
                .to_owned()
        };
        lines.extend(dropped.iter().map(line));
        if !dropped.is_empty() {
            lines.push("Remedies: `sluice reference drops`".to_owned());
        }
    }
    lines.join("\n")
}

/// Refusals of a core tell who was refused, by SUPI or gNB; those of a UPF from which address.
fn is_of_core(answer: &Value) -> bool {
    rows_of(answer, "refusals")
        .iter()
        .any(|row| row.get("who").is_some())
}

/// A list of the answer.
pub(super) fn rows_of<'a>(answer: &'a Value, key: &str) -> &'a [Value] {
    answer[key].as_array().map_or(&[][..], Vec::as_slice)
}

/// A list of objects as columns, in the order of the first one's keys.
pub(super) fn table(answer: &Value, key: &str) -> String {
    table_from(answer, key, "")
}

/// A list of objects as columns: `first` in this order, and then the other keys.
fn table_from(answer: &Value, key: &str, first: &str) -> String {
    let Some(Value::Array(rows)) = answer.get(key) else {
        return tree(answer, 0);
    };
    let Some(Value::Object(row)) = rows.first() else {
        return "(none)".to_owned();
    };
    let ahead: Vec<&str> = first
        .split_whitespace()
        .filter(|key| row.contains_key(*key))
        .collect();
    let others = row
        .keys()
        .map(String::as_str)
        .filter(|key| !ahead.contains(key));
    let keys: Vec<&str> = ahead.iter().copied().chain(others).collect();
    columns(rows, &keys.join(" "))
}

/// These keys of all rows, side by side.
pub(super) fn columns(rows: &[Value], keys: &str) -> String {
    let keys: Vec<&str> = keys.split_whitespace().collect();
    let head = keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let cells = rows
        .iter()
        .map(|row| keys.iter().map(|key| scalar(&row[*key])).collect());
    aligned(&std::iter::once(head).chain(cells).collect::<Vec<_>>())
}

/// Cells of rows in columns.
pub(super) fn aligned(cells: &[Vec<String>]) -> String {
    let columns = cells.first().map_or(0, Vec::len);
    let width = |i: usize| {
        cells
            .iter()
            .map(|r| r[i].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn tree(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => branches(map, depth),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::Object(_) => format!("{indent}-\n{}", tree(item, depth + 1)),
                _ => format!("{indent}- {}", scalar(item)),
            })
            .collect::<Vec<_>>()
            .join("\n"),
        _ => format!("{indent}{}", scalar(value)),
    }
}

fn branches(map: &Map<String, Value>, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    map.iter()
        .map(|(key, value)| match value {
            Value::Object(m) if m.is_empty() => format!("{indent}{key}: (none)"),
            Value::Array(a) if a.is_empty() => format!("{indent}{key}: (none)"),
            Value::Object(_) | Value::Array(_) => {
                format!("{indent}{key}:\n{}", tree(value, depth + 1))
            }
            _ => format!("{indent}{key}: {}", scalar(value)),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether there is something to show.
pub(super) fn has_value(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(s) => s.clone(),
        Value::Number(n) if n.is_f64() => format!("{:.3}", n.as_f64().unwrap_or_default()),
        Value::Array(items) => joined(items.iter().map(scalar), ","),
        Value::Object(map) => joined(map.iter().map(|(k, v)| format!("{k} {}", scalar(v))), ", "),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// An empty list is shown like a value that is not there.
fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    let parts: Vec<_> = parts.collect();
    match parts.is_empty() {
        true => "-".to_owned(),
        false => parts.join(separator),
    }
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|l| format!("  {l}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_becomes_columns() {
        let answer =
            json!({ "ports": [{ "mtu": 1500, "name": "n3" }, { "mtu": 9000, "name": "n6-long" }] });
        assert_eq!(
            text(&Question::Ports, &answer, false),
            "mtu   name\n1500  n3\n9000  n6-long"
        );
        assert_eq!(
            text(&Question::Ports, &json!({ "ports": [] }), false),
            "(none)"
        );
    }

    #[test]
    fn refusals_are_rows_and_sums() {
        let answer = json!({
            "total": 7,
            "by_cause": [{ "cause": 75, "cause_name": "No resources available", "count": 7 }],
            "refusals": [{
                "number": 7, "age_s": 1.5, "unix_s": 9, "peer": "10.0.0.1:8805",
                "request": "Session Establishment Request", "cause": 75,
                "cause_name": "No resources available", "offending_ie": null, "rule": "PDR 3",
                "cp_seid": "0x7", "up_seid": null, "holder": null,
                "why": "sessions are used up", "remedy": "raise `limits`",
            }, {
                "number": 6, "cause": 75, "cause_name": "No resources available",
                "why": "sessions are used up", "remedy": "raise `limits`",
            }],
        });
        let told = text(&Question::Refusals, &answer, false);
        let explained = "No resources available (75)\n     why: sessions are used up\n     remedy: raise `limits`\n";
        assert_eq!(told.matches(explained).count(), 1, "{told}");
        let lines: Vec<Vec<&str>> = told
            .lines()
            .map(|l| {
                l.split("  ")
                    .filter(|c| !c.is_empty())
                    .map(str::trim)
                    .collect()
            })
            .collect();
        assert_eq!(
            lines[1],
            [
                "7",
                "1.500",
                "10.0.0.1:8805",
                "Session Establishment Request",
                "No resources available (75)",
                "-",
                "PDR 3",
                "0x7",
                "-",
                "-"
            ]
        );
        assert_eq!(lines[8], ["7 refused since the start"]);
        assert_eq!(lines[10], ["7", "No resources available (75)"]);
        assert_eq!(
            text(&Question::Refusals, &json!({ "refusals": [] }), false),
            "(none)"
        );
    }

    #[test]
    fn how_ports_steer_stands_behind_their_columns() {
        let steering = json!({ "by": "software", "refused": { "hash": "no table" } });
        let answer = json!({ "ports": [{ "name": "n3", "steering": steering }] });
        assert_eq!(
            text(&Question::Ports, &answer, false),
            "name\nn3\n\nn3:\n  steering:\n    by: software\n    refused:\n      hash: no table"
        );
    }

    #[test]
    fn rules_are_tables_with_lists_in_their_cells() {
        let session = json!({
            "pdr": [{ "id": 1, "qer": [1, 2], "qfi": [] }],
            "far": [], "qer": [],
            "urr": [{ "id": 1, "uplink": { "bytes": 8, "packets": 1 } }],
        });
        let question = Question::Rules {
            which: crate::cli::args::WhichSession::Seid(sluice_wire::ids::Seid(7)),
        };
        assert_eq!(
            text(&question, &json!({ "session": session }), false),
            "pdr:\n  id  qfi  qer\n  1   -    1,2\nfar:\n  (none)\nqer:\n  (none)\n\
             urr:\n  id  uplink\n  1   bytes 8, packets 1"
        );
    }

    #[test]
    fn drops_begin_with_the_equation() {
        let answer = json!({ "ledger": { "equation": "a = b", "dropped": { "far_drop": 3 } } });
        assert_eq!(
            text(&Question::Drops, &answer, false),
            "a = b\n             3  far_drop              The FAR says drop.\n\
             Remedies: `sluice reference drops`"
        );
    }

    #[test]
    fn counters_that_are_zero_are_left_out_and_counted() {
        let answer = json!({
            "control": { "rate": 0.0, "ends": 1 }, "n4": { "not_allowed": 4, "malformed": 0 }, "nat": { "used": 0 },
        });
        assert_eq!(
            text(&Question::Counters, &answer, false),
            "control:\n  ends: 1\nn4:\n  not_allowed: 4\n\n3 more are 0: --all shows them"
        );
        let all = text(&Question::Counters, &answer, true);
        assert!(
            all.contains("malformed: 0") && all.contains("nat:\n  used: 0"),
            "{all}"
        );
        let nothing = text(&Question::Counters, &json!({ "nat": { "used": 0 } }), false);
        assert_eq!(nothing, "all 1 counters are 0: --all shows them");
    }

    #[test]
    fn strangers_are_listed_with_what_to_do() {
        let stranger = json!({
            "peer": "192.0.2.9:8805", "age_s": 2.0, "unix_s": 9, "request": "Association Setup Request", "messages": 4,
        });
        let answer = json!({ "refusals": [], "by_cause": [], "total": 0, "strangers": [stranger] });
        let told = text(&Question::Refusals, &answer, false);
        assert!(told.contains("none of n4.peers"), "{told}");
        assert!(
            told.contains("192.0.2.9:8805  Association Setup Request  4"),
            "{told}"
        );
    }

    #[test]
    fn tables_begin_with_what_names_a_row() {
        let answer =
            json!({ "associations": [{ "address": "a", "id": "0.1", "node_id": "n", "new": 1 }] });
        let told = text(&Question::Peers, &answer, false);
        assert!(
            told.starts_with("associations:\n  node_id  address  id   new\n"),
            "{told}"
        );
    }
}
