//! Metrics of idle UEs and session reports.

use super::page::Page;
use crate::metrics::snapshot::Snapshot;
use sluice_datapath::ledger::WorkerStats;
use std::sync::Arc;

pub(super) fn reports(page: &mut Page, s: &Snapshot, stats: &[Arc<WorkerStats>]) {
    let mut packets = page.gauge("sluice_held_packets", "Packets held for idle UEs now.");
    for (id, worker) in stats.iter().enumerate() {
        packets.sample(&[("worker", &id)], worker.held_for_ues.get());
    }
    let mut ues = page.gauge(
        "sluice_held_ues",
        "Idle UEs (endpoints of theirs) with held packets now.",
    );
    for (id, worker) in stats.iter().enumerate() {
        ues.sample(&[("worker", &id)], worker.held_entries.get());
    }
    let r = &s.reports;
    let mut sent = page.counter(
        "sluice_session_reports_sent_total",
        "Session Report Requests by what they tell; one that tells two things counts twice.",
    );
    sent.sample(&[("reason", &"downlink_data")], r.sent_downlink_data);
    sent.sample(&[("reason", &"error_indication")], r.sent_error_indication);
    sent.sample(&[("reason", &"usage")], r.sent_usage);
    sent.sample(&[("reason", &"inactivity")], r.sent_inactivity);
    let mut ended = page.counter(
        "sluice_session_reports_ended_total",
        "Session Report Requests that were answered, and those that are to be told again.",
    );
    ended.sample(&[("end", &"answered")], r.answered);
    ended.sample(&[("end", &"returned")], r.failed);
    page.counter(
        "sluice_paging_answered_total",
        "Idle UEs (FARs of theirs) that were told of and to which packets are forwarded again.",
    )
    .sample(&[], r.paging_answered);
    let mut now = page.gauge(
        "sluice_session_reports",
        "Sessions with something to report now, and those of them with a request under way.",
    );
    now.sample(&[("state", &"pending")], r.pending);
    now.sample(&[("state", &"under_way")], r.under_way);
}
