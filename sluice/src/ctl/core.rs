//! Questions to a core, and its answers for people.

use super::print::{columns, rows_of, scalar, table, tree};
use super::time;
use crate::cli::core_args::{CoreQuery, GnbsWhat, InstanceArgs, OverloadWhat, QosRule, QosWhat};
use serde_json::{Value, json};
use std::time::Duration;

/// The request line of a query.
pub fn request(query: &CoreQuery) -> Value {
    match query {
        CoreQuery::Ues { from, count } => json!({ "cmd": "ues", "from": from, "count": count }),
        CoreQuery::Ue { imsi } => json!({ "cmd": "ue", "imsi": imsi }),
        CoreQuery::Gnbs { what: None } => json!({ "cmd": "gnbs" }),
        CoreQuery::Gnbs {
            what: Some(GnbsWhat::Update),
        } => json!({ "cmd": "update_gnbs" }),
        CoreQuery::Overload {
            what: OverloadWhat::Start { action, percent },
        } => json!({ "cmd": "overload_start", "action": action.name(), "percent": percent }),
        CoreQuery::Overload {
            what: OverloadWhat::Stop,
        } => json!({ "cmd": "overload_stop" }),
        CoreQuery::Nfs => json!({ "cmd": "nfs" }),
        CoreQuery::Drain(one) => instance("drain", one),
        CoreQuery::Undrain(one) => instance("undrain", one),
        CoreQuery::Procedures => json!({ "cmd": "procedures" }),
        CoreQuery::Flow { imsi } => json!({ "cmd": "flow", "imsi": imsi }),
        CoreQuery::Deregister {
            imsi,
            register_again,
        } => json!({ "cmd": "deregister", "imsi": imsi, "registers_again": register_again }),
        CoreQuery::Qos {
            what: QosWhat::Start(rule),
        } => qos_start(rule),
        CoreQuery::Qos {
            what:
                QosWhat::Stop {
                    imsi,
                    name,
                    session,
                },
        } => json!({ "cmd": "qos_stop", "imsi": imsi, "name": name, "session": session }),
    }
}

fn instance(cmd: &str, one: &InstanceArgs) -> Value {
    json!({ "cmd": cmd, "function": one.function, "instance": one.instance })
}

fn qos_start(rule: &QosRule) -> Value {
    json!({
        "cmd": "qos_start",
        "imsi": rule.imsi,
        "session": rule.session,
        "rule": {
            "name": rule.name,
            "filters": rule.filter,
            "five_qi": rule.five_qi,
            "precedence": rule.precedence,
            "priority": rule.priority,
            "guaranteed_down_bps": rule.guaranteed_down_bps,
            "guaranteed_up_bps": rule.guaranteed_up_bps,
            "maximum_down_bps": rule.maximum_down_bps,
            "maximum_up_bps": rule.maximum_up_bps,
            "rating_group": rule.rating_group,
        },
    })
}

/// The answer for people.
pub fn text(query: &CoreQuery, answer: &Value) -> String {
    match query {
        CoreQuery::Ues { .. } => ues(answer),
        CoreQuery::Ue { .. } => tree(&answer["ue"], 0),
        CoreQuery::Gnbs { what: None } => match rows_of(answer, "gnbs") {
            [] => "(none)".to_owned(),
            rows => columns(rows, "id name address ues areas"),
        },
        CoreQuery::Nfs => nfs(answer),
        CoreQuery::Procedures => table(answer, "procedures"),
        CoreQuery::Flow { .. } => flow(answer),
        CoreQuery::Gnbs { .. }
        | CoreQuery::Overload { .. }
        | CoreQuery::Drain(_)
        | CoreQuery::Undrain(_)
        | CoreQuery::Deregister { .. }
        | CoreQuery::Qos { .. } => tree(answer, 0),
    }
}

fn ues(answer: &Value) -> String {
    let rows = rows_of(answer, "ues");
    let shown = match rows {
        [] => "(none)".to_owned(),
        rows => columns(rows, "imsi state gnb sessions addresses waits_at"),
    };
    let counts = ["registered", "connected"].map(|key| scalar(&answer[key]));
    let [registered, connected] = counts;
    let known = scalar(&answer["known"]);
    format!(
        "{shown}\n\n{} of {known} shown; {registered} registered, {connected} connected",
        rows.len()
    )
}

/// A line for each function: what it serves is one text, of lists of which one without an entry is all.
fn nfs(answer: &Value) -> String {
    let text = |part: &Value, key: &str, what: &str| {
        let all = part[key].as_array().into_iter().flatten().map(scalar);
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then(|| format!("{what} {}", all.join(" ")))
    };
    let part = |part: &Value| {
        let lists = [
            text(part, "slices", "slices"),
            text(part, "data_networks", "networks"),
            text(part, "tracking_areas", "areas"),
        ];
        lists.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let row = |row: &Value| {
        let served = row["serves"].as_array().into_iter().flatten().map(part);
        let served: Vec<_> = served.filter(|text| !text.is_empty()).collect();
        let mut row = row.clone();
        row["serves"] = served.join("; ").into();
        row
    };
    let rows: Vec<_> = rows_of(answer, "nfs").iter().map(row).collect();
    if rows.is_empty() {
        return "(none)".to_owned();
    }
    let known = "type instance status load_percent heard_s_ago missed serves";
    let known = columns(&rows, known);
    match rows_of(answer, "instances") {
        [] => known,
        rows => {
            let of_programs =
                "type instance pid reached drains priority capacity load_percent answered";
            format!("{known}\n\n{}", columns(rows, of_programs))
        }
    }
}

/// A ladder: time of day, step, who to whom, what.
fn flow(answer: &Value) -> String {
    let lines = rows_of(answer, "lines").iter().map(|line| {
        let [step, from, to, what] = ["step", "from", "to", "what"].map(|key| scalar(&line[key]));
        format!("{}  {step:<6} {from:<4} -> {to:<4}  {what}", when(line))
    });
    let lines: Vec<_> = lines.collect();
    match lines.is_empty() {
        true => "(nothing was said)".to_owned(),
        false => format!("{:<15}  step\n{}", time::HEAD, lines.join("\n")),
    }
}

/// The time of day of a line of the ladder.
pub(super) fn when(line: &Value) -> String {
    let unix_ms = line["unix_ms"].as_u64().unwrap_or_default();
    time::of_day(Duration::from_millis(unix_ms))
}

/// Refusals of a core: each with the reason and the remedy on a line of its own.
pub fn refusals(answer: &Value) -> String {
    let rows = rows_of(answer, "refusals").iter().map(|row| {
        let [number, who, request, cause, why, remedy] =
            ["number", "who", "request", "cause", "why", "remedy"].map(|key| scalar(&row[key]));
        format!("{number}  {request} of {who}: {cause}\n     why: {why}\n     remedy: {remedy}")
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return "(none)".to_owned();
    }
    let total = scalar(&answer["total"]);
    let sums = columns(rows_of(answer, "by_cause"), "count request cause");
    format!(
        "{}\n\n{total} refused since the start\n{sums}",
        rows.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_a_line_with_all_that_it_serves() {
        let row = |kind, serves| {
            json!({ "type": kind, "instance": "1-2", "status": "REGISTERED", "load_percent": 3,
                "heard_s_ago": 4, "missed": 0, "serves": serves })
        };
        let part = |networks: &[&str]| json!({ "slices": ["1", "2-00000a"], "data_networks": networks, "tracking_areas": [] });
        let smf = row("SMF", json!([part(&["internet", "ims"]), part(&["lab"])]));
        let answer = json!({ "nfs": [row("UDM", json!([])), smf] });
        let shown = text(&CoreQuery::Nfs, &answer);
        let lines: Vec<Vec<&str>> = shown
            .lines()
            .map(|line| {
                line.split("  ")
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .collect()
            })
            .collect();
        assert_eq!(lines.len(), 3, "{shown}");
        let served = "slices 1 2-00000a, networks internet ims; slices 1 2-00000a, networks lab";
        let expected = ["SMF", "1-2", "REGISTERED", "3", "4", "0", served];
        assert_eq!(lines[2], expected, "{shown}");
        let mut answer = answer;
        answer["instances"] = json!([{ "type": "UDM", "instance": 1, "pid": 77, "reached": true,
            "drains": false, "priority": 0, "capacity": 100, "load_percent": 2, "answered": 5 }]);
        let shown = text(&CoreQuery::Nfs, &answer);
        let last: Vec<&str> = shown.lines().last().unwrap().split_whitespace().collect();
        let expected = ["UDM", "1", "77", "true", "false", "0", "100", "2", "5"];
        assert_eq!(last, expected, "{shown}");
        assert_eq!(text(&CoreQuery::Nfs, &json!({ "nfs": [] })), "(none)");
    }

    #[test]
    fn a_flow_is_a_ladder_with_times() {
        let line = |ms, step, what| json!({ "unix_ms": ms, "step": step, "from": "UE", "to": "AMF", "what": what });
        let lines = [
            line(3_723_004_u64, "1", "Registration Request"),
            line(86_399_999, "9b", "Identity"),
        ];
        let text = flow(&json!({ "lines": lines }));
        let shown: Vec<_> = text.lines().collect();
        assert_eq!(
            shown[1],
            "01:02:03.004000  1      UE   -> AMF   Registration Request"
        );
        assert!(shown[2].starts_with("23:59:59.999000  9b"), "{text}");
        assert_eq!(flow(&json!({ "lines": [] })), "(nothing was said)");
    }

    #[test]
    fn a_refusal_tells_why_and_what_to_do() {
        let answer = json!({
            "total": 2,
            "by_cause": [{ "count": 2, "request": "Registration", "cause": "#3 (illegal UE)" }],
            "refusals": [{
                "number": 2, "unix_s": 9, "who": "imsi-001010000000001", "request": "Registration",
                "cause": "#3 (illegal UE)", "why": "there is no subscriber", "remedy": "add it",
            }],
        });
        let text = refusals(&answer);
        assert!(
            text.contains("Registration of imsi-001010000000001: #3 (illegal UE)"),
            "{text}"
        );
        assert!(
            text.contains("why: there is no subscriber\n     remedy: add it"),
            "{text}"
        );
        assert!(
            text.ends_with("2      Registration  #3 (illegal UE)"),
            "{text}"
        );
    }

    #[test]
    fn ues_are_rows_with_a_sum() {
        let answer = json!({ "known": 7, "registered": 6, "connected": 1, "ues": [
            { "imsi": "001010000000001", "state": "idle", "gnb": null, "sessions": 1,
              "addresses": "10.45.0.1", "waits_at": null },
        ]});
        let text = ues(&answer);
        assert!(
            text.contains("001010000000001  idle   -    1         10.45.0.1  -"),
            "{text}"
        );
        assert!(
            text.ends_with("1 of 7 shown; 6 registered, 1 connected"),
            "{text}"
        );
    }
}
