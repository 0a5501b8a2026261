//! Port metrics: links, traffic, loss, queues.

use super::page::{Labels, Page};
use crate::metrics::snapshot::Snapshot;

pub(super) fn ports(page: &mut Page, s: &Snapshot) {
    links(page, s);
    carried(page, s);
    lost(page, s);
    queues(page, s);
}

fn links(page: &mut Page, s: &Snapshot) {
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
}

fn carried(page: &mut Page, s: &Snapshot) {
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
}

fn lost(page: &mut Page, s: &Snapshot) {
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
