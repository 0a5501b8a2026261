//! Process and control core metrics.

use super::page::{Labels, Page};
use crate::metrics::snapshot::Snapshot;

pub(super) fn process(page: &mut Page, s: &Snapshot) {
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

pub(super) fn node(page: &mut Page, s: &Snapshot) {
    page.gauge("sluice_sessions", "PDU sessions.")
        .sample(&[], s.sessions);
    let [load, reduction] = s.load_percent;
    let help = "Load of the node that SMFs are told, in percent.";
    page.gauge("sluice_node_load_percent", help)
        .sample(&[], load);
    let help = "Share of their requests that SMFs are asked to leave out, in percent.";
    page.gauge("sluice_overload_reduction_percent", help)
        .sample(&[], reduction);
    page.gauge("sluice_applications", "Applications with flows, or in use.")
        .sample(&[], s.applications);
    let help = "Sessions that kept former flows of an application, as tables were full.";
    page.counter("sluice_flows_kept_total", help)
        .sample(&[], s.flows_kept);
    page.gauge(
        "sluice_transactions_under_way",
        "Transactions not yet applied.",
    )
    .sample(&[], s.transactions);
    in_use(page, s);
    nat(page, s);
    page.gauge("sluice_gtpu_peers", "Peers that tunnels lead to.")
        .sample(&[], s.gtpu_peers);
    gtpu_paths(page, s);
    page.gauge("sluice_neighbours", "Stations on our links.")
        .sample(&[], s.neighbours);
    control(page, s);
}

fn gtpu_paths(page: &mut Page, s: &Snapshot) {
    let p = &s.gtpu_paths;
    let help = "Paths to tunnel peers by whether these answer Echo Requests.";
    let mut paths = page.gauge("sluice_gtpu_paths", help);
    for (state, n) in [
        ("unknown", p.unknown),
        ("answers", p.answering),
        ("failed", p.failed),
    ] {
        paths.sample(&[("state", &state)], n);
    }
    let help = "Paths to tunnel peers that failed, and that recovered.";
    let mut changes = page.counter("sluice_gtpu_path_changes_total", help);
    changes.sample(&[("change", &"failed")], p.failures);
    changes.sample(&[("change", &"recovered")], p.recoveries);
}

fn in_use(page: &mut Page, s: &Snapshot) {
    let mut in_use = page.gauge("sluice_resources_in_use", "What sessions have been given.");
    let i = &s.in_use;
    let resources = [
        ("teids", i.teids),
        ("pool_entries", i.pool_entries),
        ("foreign_entries", i.foreign_entries),
        ("rule_blocks", i.blocks),
        ("flow_filters", i.flow_filters),
        ("nat_blocks", i.nat_blocks),
        ("meters", i.meters),
        ("clocks", i.clocks),
        ("inactivity_timers", i.inactivity_timers),
        ("usage_records", i.usage_records),
        ("ue_addresses", i.allocated),
        ("routes_behind_ues", i.routes),
        ("session_sets", i.session_sets),
        ("peers", i.peers),
    ];
    for (resource, n) in resources {
        in_use.sample(&[("resource", &resource)], n);
    }
}

fn nat(page: &mut Page, s: &Snapshot) {
    let nat = s.nat;
    let mut blocks = page.gauge("sluice_nat_blocks", "Blocks of public ports by state.");
    blocks.sample(&[("state", &"free")], nat.blocks - nat.used);
    blocks.sample(&[("state", &"used")], nat.used);
    page.counter(
        "sluice_nat_blocks_refused_total",
        "Blocks of public ports that UEs wanted and did not get.",
    )
    .sample(&[], nat.refused);
    page.counter(
        "sluice_nat_records_lost_total",
        "Lines of who has public ports that were lost, as too many came at a time.",
    )
    .sample(&[], nat.records_lost);
}

fn control(page: &mut Page, s: &Snapshot) {
    let c = &s.control;
    let frames = [
        ("arp_replies", c.arp_replies),
        ("arp_requests", c.arp_requests),
        ("icmp_echo_replies", c.icmp_echo_replies),
        ("icmp_errors", c.icmp_errors),
        ("neighbour_advertisements", c.neighbour_advertisements),
        ("neighbour_solicitations", c.neighbour_solicitations),
        ("icmpv6_echo_replies", c.icmpv6_echo_replies),
        ("icmpv6_errors", c.icmpv6_errors),
        ("router_advertisements", c.router_advertisements),
        (
            "router_solicitations_limited",
            c.router_solicitations_limited,
        ),
        ("gtpu_echo_responses", c.gtpu_echo_responses),
        ("gtpu_echo_limited", c.gtpu_echo_limited),
        ("gtpu_echo_requests", c.gtpu_echo_requests),
        ("gtpu_echo_answers", c.gtpu_echo_answers),
        ("error_indications_sent", c.error_indications_sent),
        ("error_indications_received", c.error_indications_received),
        ("end_markers", c.end_markers),
        ("extension_notifications", c.extension_notifications),
        (
            "extension_notifications_limited",
            c.extension_notifications_limited,
        ),
        ("ignored", c.ignored),
        ("limited", c.limited),
        ("lost", s.lost_frames),
    ];
    let mut control = page.counter("sluice_control_frames_total", "Frames of the control core.");
    for (kind, n) in frames {
        control.sample(&[("kind", &kind)], n);
    }
}
