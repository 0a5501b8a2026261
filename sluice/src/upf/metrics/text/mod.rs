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
}
