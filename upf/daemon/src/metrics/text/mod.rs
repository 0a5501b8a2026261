//! Prometheus text format 0.0.4.

mod ledger;
mod n4;
mod node;
mod page;
mod ports;
mod reports;
mod stages;
mod workers;

use super::snapshot::Snapshot;
use page::Page;
use sluice_datapath::ledger::WorkerStats;
use std::sync::Arc;

/// All that there is to tell.
pub fn text(snapshot: &Snapshot, stats: &[Arc<WorkerStats>]) -> String {
    let mut page = Page::default();
    node::process(&mut page, snapshot);
    ports::ports(&mut page, snapshot);
    ledger::packets(&mut page, stats);
    workers::workers(&mut page, snapshot, stats);
    stages::stages(&mut page, snapshot, stats);
    n4::n4(&mut page, snapshot);
    reports::reports(&mut page, snapshot, stats);
    node::node(&mut page, snapshot);
    page.out
}

/// A family of metrics, for the operator's reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FamilyInfo {
    /// Its name.
    pub name: String,
    /// `counter` or `gauge`.
    pub kind: String,
    /// What it tells.
    pub help: String,
    /// The names of its labels.
    pub labels: Vec<String>,
}

/// All families, as the page of a UPF with one port and one worker has them.
pub fn families() -> Vec<FamilyInfo> {
    let page = text(&Snapshot::example(), &[Arc::new(WorkerStats::default())]);
    let mut families: Vec<FamilyInfo> = Vec::new();
    for line in page.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|l| l.split_once(' ')) {
            families.push(FamilyInfo {
                name: name.to_owned(),
                kind: String::new(),
                help: help.to_owned(),
                labels: Vec::new(),
            });
            continue;
        }
        let Some(family) = families.last_mut() else {
            continue;
        };
        if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|l| l.split_once(' ')) {
            kind.clone_into(&mut family.kind);
        } else if let Some((_, labels)) = line.split_once('{')
            && family.labels.is_empty()
        {
            let named = labels
                .split("=\"")
                .map(|part| part.rsplit([',', '{', ' ']).next());
            let names = named.flatten().filter(|name| !name.contains('"'));
            family.labels = names
                .filter(|n| n.parse::<f64>().is_err())
                .map(str::to_owned)
                .collect();
        }
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_datapath::drop::DropReason;
    use std::collections::HashSet;

    #[test]
    fn every_sample_belongs_to_the_family_before_it_and_stands_there_once() {
        let stats = [Arc::new(WorkerStats::default())];
        stats[0].busy_ns.add(1_500_000_000);
        stats[0].count_drop(DropReason::GateClosed);
        let text = text(&Snapshot::example(), &stats);
        let (mut families, mut samples) = (HashSet::new(), HashSet::new());
        let mut family = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, family, "HELP comes first");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                family = rest.split(' ').next().unwrap();
                assert!(families.insert(family), "{family} twice");
            } else {
                let (sample, value) = line.rsplit_once(' ').unwrap();
                assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
                let name = sample.split('{').next().unwrap();
                assert_eq!(name, family, "{line}");
                assert!(samples.insert(sample), "{sample} twice");
            }
        }
        for line in [
            "sluice_worker_busy_seconds_total{worker=\"0\"} 1.5",
            "sluice_packets_dropped_total{reason=\"gate_closed\"} 1",
            "sluice_packets_dropped_total{reason=\"far_drop\"} 0",
            "sluice_port_up{port=\"n3\"} 1",
            "sluice_n4_messages_total{direction=\"receive\",type=\"heartbeat_request\"} 4",
            "sluice_n4_retransmissions_total 2",
            "sluice_n4_port_events_total{event=\"received\"} 12",
            "sluice_n4_port_events_total{event=\"unsent\"} 3",
            "sluice_port_steering{port=\"n3\",by=\"software\"} 1",
            "sluice_n4_events_total{event=\"peer_lost\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    /// All that the expressions of the rules name of ours, with its labels: `name{label="a|b",...}`.
    fn named(expression: &str) -> Vec<(String, Vec<(String, String)>)> {
        let mut all = Vec::new();
        for part in expression.split("sluice_").skip(1) {
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
            let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let inside = rest.strip_prefix('{').and_then(|r| r.split_once('}'));
            let labels = inside.map_or("", |(labels, _)| labels).split(',');
            let pair = |label: &str| {
                let (label, values) = label.split_once('=')?;
                let values = values.trim_start_matches('~').trim_matches('"');
                Some((label.to_owned(), values.to_owned()))
            };
            all.push((format!("sluice_{name}"), labels.filter_map(pair).collect()));
        }
        all
    }

    #[test]
    fn every_metric_and_label_that_the_alerts_name_exists() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../packaging/sluice-alerts.yaml"
        );
        let rules = std::fs::read_to_string(file).unwrap();
        let rules: serde_json::Value = serde_yaml_ng::from_str(&rules).unwrap();
        let page = text(&Snapshot::example(), &[Arc::new(WorkerStats::default())]);
        let has = |name: &str, labels: &[(&str, &str)]| {
            page.lines().any(|line| {
                let sample = line
                    .strip_prefix(name)
                    .filter(|rest| rest.starts_with(['{', ' ']));
                let with = |(label, value): &(&str, &str)| {
                    sample.is_some_and(|s| s.contains(&format!("{label}=\"{value}\"")))
                };
                sample.is_some() && labels.iter().all(with)
            })
        };
        let alerts = rules["groups"][0]["rules"].as_array().unwrap();
        let mut names = HashSet::new();
        for alert in alerts {
            let name = alert["alert"].as_str().unwrap();
            assert!(names.insert(name), "{name} twice");
            let expression = alert["expr"].as_str().unwrap();
            let metrics = named(expression);
            assert!(!metrics.is_empty(), "{name}: {expression}");
            for (metric, labels) in metrics {
                assert!(has(&metric, &[]), "{name}: no {metric}");
                for (label, values) in labels {
                    for value in values.split('|') {
                        assert!(
                            has(&metric, &[(&label, value)]),
                            "{name}: no {metric} {label}={value}"
                        );
                    }
                }
            }
            let severity = alert["labels"]["severity"].as_str().unwrap();
            assert!(
                ["info", "warning", "critical"].contains(&severity),
                "{name}"
            );
            assert!(alert["for"].is_string(), "{name}");
            assert!(alert["annotations"]["summary"].is_string(), "{name}");
            let help = include_str!("../../../../../docs/operator/troubleshooting.md");
            assert!(
                help.contains(name),
                "troubleshooting.md says nothing of {name}"
            );
        }
        // Held packets, reports, paging sent and answered, and what sessions were given have one at least.
        for metric in [
            "sluice_held_packets",
            "sluice_session_reports",
            "sluice_session_reports_sent_total",
            "sluice_paging_answered_total",
            "sluice_resources_in_use",
        ] {
            let names = |alert: &serde_json::Value| named(alert["expr"].as_str().unwrap());
            let mut all = alerts.iter().flat_map(names);
            assert!(all.any(|(name, _)| name == metric), "no alert of {metric}");
        }
    }
}
