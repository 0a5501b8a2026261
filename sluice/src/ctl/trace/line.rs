//! One-line text of a traced packet's step.

use super::super::time;
use serde_json::Value;

/// The line: whose packet, how it came, what each stage said, how it ended.
pub fn text(step: &Value) -> String {
    if let Some(what) = step.get("following") {
        let what = pairs(what, " ");
        return format!("following {what}; times are {}", time::HEAD);
    }
    if let Some(done) = step.get("done") {
        return format!(
            "ended {}: {} packets, {} steps lost",
            word(&done["ended"]),
            word(&done["packets"]),
            word(&done["lost"])
        );
    }
    let time = time::seconds(step["time"].as_str().unwrap_or_default());
    let time = time::of_day(time);
    format!("#{} {} {}", step["packet"], time, verdict(step))
}

/// The same without number and time.
pub fn verdict(step: &Value) -> String {
    let mut parts = vec![came(step)];
    parts.extend(place(step));
    parts.extend(
        step.get("session")
            .map(|seid| format!("session {}", word(seid))),
    );
    parts.extend(step.get("rule").map(rule));
    parts.push(end(step));
    parts.join("; ")
}

fn came(step: &Value) -> String {
    let worker = &step["worker"];
    match &step["came"] {
        Value::Object(at) => format!(
            "{}/{} worker {worker}, {} bytes",
            word(&at["port"]),
            at["queue"],
            step["received"]["bytes"]
        ),
        other => format!("worker {worker} {}", word(other)),
    }
}

fn place(step: &Value) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(teid) = step.get("teid") {
        parts.push(format!("TEID {} from {}", word(teid), word(&step["from"])));
    }
    if let Some(ue) = step.get("ue") {
        parts.push(format!("to UE {}", word(ue)));
    }
    parts.extend(step.get("end_marker").map(|_| "End Marker".to_owned()));
    parts.extend(step.get("qfi").map(|qfi| format!("QFI {qfi}")));
    parts.extend(step.get("shard").map(|shard| format!("shard {shard}")));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn rule(rule: &Value) -> String {
    let name = |what: &str, key: &str| match &rule[key] {
        Value::Null => what.to_owned(),
        id => format!("{what} {id}"),
    };
    let mut text = format!(
        "{}, gate {}, rate {}, {} {}",
        name("PDR", "pdr"),
        word(&rule["gate"]),
        word(&rule["rate"]),
        name("FAR", "far"),
        word(&rule["action"]),
    );
    if let Some(to) = rule.get("to") {
        text += &format!(" to {} TEID {}", word(&to["peer"]), word(&to["teid"]));
    }
    text
}

fn end(step: &Value) -> String {
    let verdict = word(&step["verdict"]);
    match verdict.as_str() {
        "sent" => {
            let sent = &step["sent"];
            format!(
                "sent by {}/{}, {} bytes",
                word(&sent["port"]),
                sent["queue"],
                sent["bytes"]
            )
        }
        "dropped" => format!("dropped: {}", word(&step["reason"])),
        "handed over" => format!("handed over to worker {}", step["to_worker"]),
        _ => verdict,
    }
}

fn pairs(value: &Value, between: &str) -> String {
    let all = value.as_object().into_iter().flatten();
    let all: Vec<String> = all
        .map(|(k, v)| format!("{k}{between}{}", word(v)))
        .collect();
    all.join(", ")
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_is_a_line_from_the_port_to_the_verdict() {
        let step = json!({
            "packet": 3, "time": "12.000000001", "worker": 1,
            "came": { "port": "n3", "queue": 2 }, "received": { "bytes": 150 },
            "teid": "0x80000001", "from": "192.0.2.9", "qfi": 9, "shard": 7, "session": "0x1f",
            "rule": { "pdr": 1, "far": 2, "gate": "open", "rate": "within", "action": "forward" },
            "verdict": "sent", "sent": { "port": "n6", "queue": 1, "bytes": 98 },
        });
        assert_eq!(
            text(&step),
            "#3 00:00:12.000000 n3/2 worker 1, 150 bytes; TEID 0x80000001 from 192.0.2.9, QFI 9, \
             shard 7; session 0x1f; PDR 1, gate open, rate within, FAR 2 forward; \
             sent by n6/1, 98 bytes"
        );
        let step = json!({
            "packet": 4, "time": "12.5", "worker": 0, "came": "from another worker",
            "ue": "10.0.0.1", "verdict": "dropped", "reason": "unknown_ue",
        });
        assert_eq!(
            text(&step),
            "#4 00:00:12.500000 worker 0 from another worker; to UE 10.0.0.1; dropped: unknown_ue"
        );
    }
}
