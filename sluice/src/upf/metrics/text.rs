//! Prometheus' text format, 0.0.4: families with HELP and TYPE, samples with labels.
//!
//! The format has three kinds of lines; a library for it would bring more code than it saves.

use super::snapshot::Snapshot;
use sluice_path::drop::DropReason;
use sluice_path::ledger::{Ledger, WorkerStats};
use sluice_path::probe::Stage;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// What a family's samples do.
#[derive(Clone, Copy)]
enum Kind {
    /// They only grow.
    Counter,
    /// They come and go.
    Gauge,
}

/// The exposition being written.
#[derive(Default)]
struct Page {
    out: String,
}

/// Names and values of labels.
type Labels<'a> = &'a [(&'a str, &'a dyn Display)];

impl Page {
    /// Begins a family.
    fn family(&mut self, kind: Kind, name: &'static str, help: &str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family {
            out: &mut self.out,
            name,
        }
    }

    fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(Kind::Counter, name, help)
    }

    fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(Kind::Gauge, name, help)
    }
}

/// A family whose samples are being written.
struct Family<'p> {
    out: &'p mut String,
    name: &'static str,
}

impl Family<'_> {
    fn sample(&mut self, labels: Labels<'_>, value: impl Display) -> &mut Self {
        self.out.push_str(self.name);
        for (i, (name, label)) in labels.iter().enumerate() {
            let open = if i == 0 { '{' } else { ',' };
            let _ = write!(self.out, "{open}{name}=\"{}\"", escaped(&label.to_string()));
        }
        if !labels.is_empty() {
            self.out.push('}');
        }
        let _ = writeln!(self.out, " {value}");
        self
    }
}

fn escaped(label: &str) -> String {
    let plain = label.replace('\\', "\\\\").replace('"', "\\\"");
    plain.replace('\n', "\\n")
}

/// All that there is to tell.
pub fn text(snapshot: &Snapshot, stats: &[Arc<WorkerStats>]) -> String {
    let mut page = Page::default();
    process(&mut page, snapshot);
    ports(&mut page, snapshot);
    queues(&mut page, snapshot);
    packets(&mut page, stats);
    workers(&mut page, stats);
    shares(&mut page, snapshot, stats);
    stages(&mut page, snapshot, stats);
    n4(&mut page, snapshot);
    node(&mut page, snapshot);
    page.out
}

fn process(page: &mut Page, s: &Snapshot) {
    let version: Labels<'_> = &[("version", &env!("CARGO_PKG_VERSION"))];
    page.gauge("sluice_build_info", "The version that runs; always 1.")
        .sample(version, 1);
    page.gauge("sluice_uptime_seconds", "Time since the UPF started.")
        .sample(&[], s.uptime_s);
    let mut buffers = page.gauge("sluice_packet_buffers", "Packet buffers by state.");
    let [all, free] = s.buffers;
    buffers.sample(&[("state", &"free")], free);
    buffers.sample(&[("state", &"used")], all.saturating_sub(free));
}

fn ports(page: &mut Page, s: &Snapshot) {
    let mut up = page.gauge(
        "sluice_port_up",
        "1 if the link carries packets, 0 if it does not.",
    );
    for port in &s.ports {
        if let Some(is_up) = port.is_up {
            up.sample(&[("port", &port.name)], u8::from(is_up));
        }
    }
    let help = "How a port chooses receive queues for packets of UEs; always 1.";
    let mut steering = page.gauge("sluice_port_steering", help);
    for (port, by) in s.ports.iter().zip(&s.steering) {
        steering.sample(&[("port", &port.name), ("by", by)], 1);
    }
    type Pick = fn(&sluice_port::PortStats) -> [u64; 2];
    let families: [(&'static str, &str, Pick); 3] = [
        ("sluice_port_packets_total", "Packets of a port.", |s| {
            [s.rx_packets, s.tx_packets]
        }),
        (
            "sluice_port_bytes_total",
            "Bytes of those, without checksum.",
            |s| [s.rx_bytes, s.tx_bytes],
        ),
        (
            "sluice_port_errors_total",
            "Packets refused as damaged, or lost while sent.",
            |s| [s.rx_errors, s.tx_errors],
        ),
    ];
    for (name, help, pick) in families {
        let mut family = page.counter(name, help);
        for port in &s.ports {
            for (way, n) in ["receive", "transmit"].iter().zip(pick(&port.stats)) {
                family.sample(&[("port", &port.name), ("direction", way)], n);
            }
        }
    }
    let help = "Packets lost because a receive queue was full.";
    let mut missed = page.counter("sluice_port_missed_packets_total", help);
    for port in &s.ports {
        missed.sample(&[("port", &port.name)], port.stats.rx_missed);
    }
    let help = "Times that no buffer was free for a packet.";
    let mut none = page.counter("sluice_port_no_buffer_total", help);
    for port in &s.ports {
        none.sample(&[("port", &port.name)], port.stats.rx_no_buffer);
    }
}

fn queues(page: &mut Page, s: &Snapshot) {
    let families = [
        (
            "sluice_port_queue_packets_total",
            "Packets of a queue, as the driver counts.",
            false,
        ),
        (
            "sluice_port_queue_bytes_total",
            "Bytes of a queue, as the driver counts.",
            true,
        ),
    ];
    for (name, help, bytes) in families {
        let mut family = page.counter(name, help);
        for port in &s.ports {
            for queue in port.queues.iter().filter(|q| q.bytes == bytes) {
                let way = if queue.receives {
                    "receive"
                } else {
                    "transmit"
                };
                let labels: Labels<'_> = &[
                    ("port", &port.name),
                    ("direction", &way),
                    ("queue", &queue.number),
                ];
                family.sample(labels, queue.count);
            }
        }
    }
}

/// The ledger, over all workers: what came in and was made equals what became of it.
fn packets(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    let ledger = Ledger::read(stats.iter().map(|s| &**s));
    let terms: [(&'static str, &str, u64); 5] = [
        (
            "sluice_packets_received_total",
            "Packets taken from receive queues.",
            ledger.received,
        ),
        (
            "sluice_packets_created_total",
            "Packets made here.",
            ledger.created,
        ),
        (
            "sluice_packets_transmitted_total",
            "Packets that a transmit queue took.",
            ledger.transmitted,
        ),
        (
            "sluice_packets_to_control_total",
            "Packets given to the control core.",
            ledger.to_control,
        ),
        (
            "sluice_packets_merged_total",
            "Fragments that became part of another packet.",
            ledger.merged,
        ),
    ];
    for (name, help, n) in terms {
        page.counter(name, help).sample(&[], n);
    }
    let help = "Packets that wait, or are between two workers.";
    // A moment's difference of two counters may be below 0.
    let held = ledger.held.cast_signed().max(0);
    page.gauge("sluice_packets_held", help).sample(&[], held);
    let mut dropped = page.counter(
        "sluice_packets_dropped_total",
        "Packets dropped, by reason.",
    );
    for reason in DropReason::ALL {
        let n = ledger.dropped_for(*reason);
        dropped.sample(&[("reason", &reason.name())], n);
    }
}

fn workers(page: &mut Page, stats: &[Arc<WorkerStats>]) {
    type Pick = fn(&WorkerStats) -> u64;
    let counters: [(&'static str, &str, Pick); 6] = [
        (
            "sluice_worker_received_packets_total",
            "Packets taken from receive queues.",
            |w| w.received.get(),
        ),
        (
            "sluice_worker_transmitted_packets_total",
            "Packets that a transmit queue took.",
            |w| w.transmitted.get(),
        ),
        (
            "sluice_worker_handed_out_packets_total",
            "Packets given to other workers.",
            |w| w.handed_out.get(),
        ),
        (
            "sluice_worker_handed_in_packets_total",
            "Packets taken from other workers.",
            |w| w.handed_in.get(),
        ),
        (
            "sluice_worker_transactions_total",
            "Transactions of rules applied.",
            |w| w.transactions.get(),
        ),
        (
            "sluice_worker_trace_lost_total",
            "Steps of followed packets that found no place.",
            |w| w.trace_lost.get(),
        ),
    ];
    for (name, help, pick) in counters {
        let mut family = page.counter(name, help);
        for (id, worker) in stats.iter().enumerate() {
            family.sample(&[("worker", &id)], pick(worker));
        }
    }
    let seconds: [(&'static str, &str, Pick); 3] = [
        (
            "sluice_worker_busy_seconds_total",
            "Time on turns that found work.",
            |w| w.busy_ns.get(),
        ),
        (
            "sluice_worker_asleep_seconds_total",
            "Time slept for lack of work.",
            |w| w.asleep_ns.get(),
        ),
        (
            "sluice_worker_away_seconds_total",
            "Time in which others had the worker's CPU in the middle of a turn.",
            |w| w.away_ns.get(),
        ),
    ];
    for (name, help, pick) in seconds {
        let mut family = page.counter(name, help);
        for (id, worker) in stats.iter().enumerate() {
            family.sample(&[("worker", &id)], pick(worker) as f64 / 1e9);
        }
    }
}

/// What workers do now, and what they have.
fn shares(page: &mut Page, s: &Snapshot, stats: &[Arc<WorkerStats>]) {
    let mut turns = page.counter(
        "sluice_worker_turns_total",
        "Turns by whether they found work.",
    );
    for (id, worker) in stats.iter().enumerate() {
        turns.sample(
            &[("worker", &id), ("work", &"yes")],
            worker.busy_turns.get(),
        );
        turns.sample(&[("worker", &id), ("work", &"no")], worker.idle_turns.get());
    }
    let help = "Packets that waited in a worker's rings from others in its last turn.";
    let mut waiting = page.gauge("sluice_worker_ring_packets", help);
    for (id, worker) in stats.iter().enumerate() {
        waiting.sample(&[("worker", &id)], worker.waiting.get());
    }
    let mut shards = page.gauge("sluice_worker_shards", "Shards that a worker owns.");
    for (id, (owned, _)) in s.shares.iter().enumerate() {
        shards.sample(&[("worker", &id)], owned);
    }
    let mut queues = page.gauge(
        "sluice_worker_receive_queues",
        "Queues that a worker polls.",
    );
    for (id, (_, polled)) in s.shares.iter().enumerate() {
        queues.sample(&[("worker", &id)], polled);
    }
    let (done, left) = s.moves;
    page.counter(
        "sluice_moves_total",
        "Moves of shards and queues that are over.",
    )
    .sample(&[], done);
    page.gauge("sluice_moves_under_way", "Moves that are not.")
        .sample(&[], left);
    let help = "Groups of shards that ports steer to another queue since.";
    page.counter("sluice_port_steering_changes_total", help)
        .sample(&[], s.resteers.0);
}

/// What stages take, by samples: seconds divided by packets is the cost of one.
fn stages(page: &mut Page, s: &Snapshot, stats: &[Arc<WorkerStats>]) {
    let help = "Time that sampled batches spent in a stage.";
    let mut seconds = page.counter("sluice_stage_sampled_seconds_total", help);
    for (id, worker) in stats.iter().enumerate() {
        for stage in Stage::ALL {
            let ticks = worker.stages.of(stage).ticks.get() as f64;
            let value = ticks / s.ticks_per_ns.max(f64::MIN_POSITIVE) / 1e9;
            seconds.sample(&[("worker", &id), ("stage", &stage.name())], value);
        }
    }
    let mut packets = page.counter("sluice_stage_sampled_packets_total", "Packets of those.");
    for (id, worker) in stats.iter().enumerate() {
        for stage in Stage::ALL {
            let n = worker.stages.of(stage).packets.get();
            packets.sample(&[("worker", &id), ("stage", &stage.name())], n);
        }
    }
    let mut batches = page.counter("sluice_stage_sampled_batches_total", "How many batches.");
    for (id, worker) in stats.iter().enumerate() {
        for stage in Stage::ALL {
            let n = worker.stages.of(stage).batches.get();
            batches.sample(&[("worker", &id), ("stage", &stage.name())], n);
        }
    }
}

fn n4(page: &mut Page, s: &Snapshot) {
    let [up, silent] = s.associations;
    let mut associations = page.gauge("sluice_n4_associations", "PFCP associations by state.");
    associations.sample(&[("state", &"answers")], up);
    associations.sample(&[("state", &"silent")], silent);
    let mut messages = page.counter("sluice_n4_messages_total", "PFCP messages by type.");
    let ways = [("received_", "receive"), ("sent_", "transmit")];
    let mut others = Vec::new();
    for (name, n) in &s.n4 {
        let found = ways
            .iter()
            .find_map(|(prefix, way)| Some((way, name.strip_prefix(prefix)?)));
        match found {
            Some((way, kind)) => {
                messages.sample(&[("direction", way), ("type", &kind)], n);
            }
            None => others.push((name, n)),
        }
    }
    let help = "PFCP responses sent by type and cause (TS 29.244, 8.2.1), repetitions left out.";
    let mut causes = page.counter("sluice_n4_responses_total", help);
    for (kind, cause, n) in &s.n4_causes {
        let name = cause.name().unwrap_or("?");
        let kind = kind.name().unwrap_or("?");
        causes.sample(&[("type", &kind), ("cause", &cause.0), ("name", &name)], n);
    }
    let event = |name: &str| {
        others
            .iter()
            .find(|(n, _)| **n == name)
            .map_or(0, |(_, n)| **n)
    };
    let help = "PFCP requests sent again after T1.";
    page.counter("sluice_n4_retransmissions_total", help)
        .sample(&[], event("retransmitted"));
    let help = "PFCP requests given up after N1 retransmissions.";
    page.counter("sluice_n4_timeouts_total", help)
        .sample(&[], event("timed_out"));
    let mut events = page.counter("sluice_n4_events_total", "Whatever else happened on N4.");
    for (name, n) in others
        .iter()
        .filter(|(n, _)| !["retransmitted", "timed_out"].contains(n))
    {
        events.sample(&[("event", name)], n);
    }
    let help = "Session requests carried out by a learned form, or by the long way.";
    let mut ways = page.counter("sluice_n4_session_requests_total", help);
    ways.sample(&[("way", &"learned")], s.learned.replayed);
    ways.sample(&[("way", &"long")], s.learned.long_way);
    let p = &s.n4_ports;
    let ports = [
        ("received", p.received),
        ("fragments", p.fragments),
        ("malformed", p.malformed),
        ("checksum", p.checksum),
        ("reassembly", p.reassembly),
        ("sent", p.sent),
        ("unresolved", p.unresolved),
        ("no_route", p.no_route),
        ("unsent", p.unsent),
    ];
    let mut on_ports = page.counter("sluice_n4_port_events_total", "N4 on ports: datagrams.");
    for (event, n) in ports {
        on_ports.sample(&[("event", &event)], n);
    }
}

fn node(page: &mut Page, s: &Snapshot) {
    page.gauge("sluice_sessions", "PDU sessions.")
        .sample(&[], s.sessions);
    page.gauge(
        "sluice_transactions_under_way",
        "Transactions not yet applied.",
    )
    .sample(&[], s.transactions);
    let mut in_use = page.gauge("sluice_resources_in_use", "What sessions have been given.");
    let i = &s.in_use;
    let resources = [
        ("teids", i.teids),
        ("pool_lines", i.pool_lines),
        ("foreign_lines", i.foreign_lines),
        ("rule_blocks", i.blocks),
        ("meters", i.meters),
        ("peers", i.peers),
    ];
    for (resource, n) in resources {
        in_use.sample(&[("resource", &resource)], n);
    }
    page.gauge("sluice_gtpu_peers", "Peers that tunnels lead to.")
        .sample(&[], s.gtpu_peers);
    page.gauge("sluice_neighbours", "Stations on our links.")
        .sample(&[], s.neighbours);
    let c = &s.control;
    let frames = [
        ("arp_replies", c.arp_replies),
        ("arp_requests", c.arp_requests),
        ("icmp_echo_replies", c.icmp_echo_replies),
        ("icmp_errors", c.icmp_errors),
        ("gtpu_echo_responses", c.gtpu_echo_responses),
        ("error_indications_sent", c.error_indications_sent),
        ("error_indications_received", c.error_indications_received),
        ("end_markers", c.end_markers),
        ("extension_notifications", c.extension_notifications),
        ("ignored", c.ignored),
        ("limited", c.limited),
        ("lost", s.lost_frames),
    ];
    let mut control = page.counter("sluice_control_frames_total", "Frames of the control core.");
    for (kind, n) in frames {
        control.sample(&[("kind", &kind)], n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upf::metrics::snapshot::{Queue, Reading};
    use std::collections::HashSet;

    fn snapshot() -> Snapshot {
        Snapshot {
            ports: vec![Reading {
                name: "n\"3\\".to_owned(),
                is_up: Some(true),
                stats: Default::default(),
                queues: vec![Queue {
                    receives: true,
                    number: 1,
                    bytes: false,
                    count: 5,
                }],
            }],
            n4: vec![
                ("received_heartbeat_request", 4),
                ("retransmitted", 2),
                ("peer_lost", 1),
            ],
            shares: vec![(4096, 2)],
            steering: vec!["software"],
            n4_ports: sluice_node::n4::PortN4Counters {
                received: 12,
                unsent: 3,
                ..Default::default()
            },
            ticks_per_ns: 2.0,
            ..Snapshot::default()
        }
    }

    #[test]
    fn every_sample_belongs_to_the_family_before_it_and_stands_there_once() {
        let stats = [Arc::new(WorkerStats::default())];
        stats[0].busy_ns.add(1_500_000_000);
        stats[0].count_drop(DropReason::GateClosed);
        let text = text(&snapshot(), &stats);
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
            "sluice_port_up{port=\"n\\\"3\\\\\"} 1",
            "sluice_n4_messages_total{direction=\"receive\",type=\"heartbeat_request\"} 4",
            "sluice_n4_retransmissions_total 2",
            "sluice_n4_port_events_total{event=\"received\"} 12",
            "sluice_n4_port_events_total{event=\"unsent\"} 3",
            "sluice_port_steering{port=\"n\\\"3\\\\\",by=\"software\"} 1",
            "sluice_n4_events_total{event=\"peer_lost\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
