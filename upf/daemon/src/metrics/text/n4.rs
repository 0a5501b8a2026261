//! N4 metrics: associations, messages, responses.

use super::page::Page;
use crate::metrics::snapshot::Snapshot;

pub(super) fn n4(page: &mut Page, s: &Snapshot) {
    let [up, silent] = s.associations;
    let mut associations = page.gauge("sluice_n4_associations", "PFCP associations by state.");
    associations.sample(&[("state", &"answers")], up);
    associations.sample(&[("state", &"silent")], silent);
    messages(page, s);
    responses(page, s);
    events(page, s);
    on_ports(page, s);
}

fn messages(page: &mut Page, s: &Snapshot) {
    let mut messages = page.counter("sluice_n4_messages_total", "PFCP messages by type.");
    for (name, n) in &s.n4 {
        if let Some((way, kind)) = message(name) {
            messages.sample(&[("direction", &way), ("type", &kind)], n);
        }
    }
}

/// Direction and type of the messages that a counter of this name counts; nothing if it counts
/// something else.
fn message(name: &str) -> Option<(&'static str, &str)> {
    let ways = [("received_", "receive"), ("sent_", "transmit")];
    ways.into_iter()
        .find_map(|(prefix, way)| Some((way, name.strip_prefix(prefix)?)))
}

fn responses(page: &mut Page, s: &Snapshot) {
    let help = "PFCP responses sent by type and cause (TS 29.244, 8.2.1), repetitions left out.";
    let mut causes = page.counter("sluice_n4_responses_total", help);
    for (kind, cause, n) in &s.n4_causes {
        let name = cause.name().unwrap_or("?");
        let kind = kind.name().unwrap_or("?");
        causes.sample(&[("type", &kind), ("cause", &cause.0), ("name", &name)], n);
    }
}

/// Two events have families of their own.
fn events(page: &mut Page, s: &Snapshot) {
    let events: Vec<_> = s.n4.iter().filter(|(n, _)| message(n).is_none()).collect();
    let event = |name: &str| events.iter().find(|(n, _)| *n == name).map_or(0, |e| e.1);
    let help = "PFCP requests sent again after T1.";
    page.counter("sluice_n4_retransmissions_total", help)
        .sample(&[], event("retransmitted"));
    let help = "PFCP requests given up after N1 retransmissions.";
    page.counter("sluice_n4_timeouts_total", help)
        .sample(&[], event("timed_out"));
    let mut others = page.counter("sluice_n4_events_total", "Whatever else happened on N4.");
    for (name, n) in events {
        if !["retransmitted", "timed_out"].contains(name) {
            others.sample(&[("event", name)], n);
        }
    }
}

fn on_ports(page: &mut Page, s: &Snapshot) {
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
