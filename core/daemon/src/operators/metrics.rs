//! Metrics of the core for Prometheus (text format 0.0.4).

use crate::daemon::Daemon;
use crate::operators::mobility::AmfPart;
use crate::operators::nfs;
use crate::operators::part::Part;
use crate::operators::request::told;
use crate::operators::view;
use serde_json::Value;
use sluice_sbi::tally::{BOUNDS_MS, Times};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a family is.
#[derive(Clone, Copy)]
enum Kind {
    Gauge,
    Counter,
    Histogram,
}

/// A page that is being written. Writing to a string cannot fail.
#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A gauge of what the AMF alone knows; without a sample while it is not reached.
    fn of_amf<T: std::fmt::Display>(
        &mut self,
        name: &str,
        help: &str,
        amf: Option<&AmfPart>,
        value: impl FnOnce(&AmfPart) -> T,
    ) {
        self.family(name, Kind::Gauge, help);
        if let Some(amf) = amf {
            self.sample(name, &[], value(amf));
        }
    }

    fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

/// All that there is to tell.
pub(crate) fn text(daemon: &Daemon, part: &Part) -> String {
    let mut page = Page::default();
    process(&mut page, daemon, part);
    gnbs(&mut page, part.amf.as_ref());
    upfs(&mut page, part);
    functions(&mut page, part);
    selections(&mut page, part.amf.as_ref());
    stores(&mut page, daemon, part);
    refusals(&mut page, daemon, part);
    procedures(&mut page, part);
    events(&mut page, &told(view::counters(daemon, part)));
    page.0
}

fn process(page: &mut Page, daemon: &Daemon, part: &Part) {
    let name = "sluice_core_build_info";
    page.family(name, Kind::Gauge, "The core's version; always 1.");
    page.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let uptime_s = daemon.started.elapsed().as_secs_f64();
    let help = "Seconds since the core's start.";
    page.single("sluice_core_uptime_seconds", Kind::Gauge, help, uptime_s);
    let name = "sluice_core_ues";
    page.family(
        name,
        Kind::Gauge,
        "UEs by state: registered, connected, and of these unauthenticated.",
    );
    if let Some(amf) = &part.amf {
        page.sample(name, &[("state", "registered")], amf.registered);
        page.sample(name, &[("state", "connected")], amf.connected);
        page.sample(name, &[("state", "unauthenticated")], amf.unauthenticated);
    }
    overload(page, part.amf.as_ref());
    let of_amf = part.amf.as_ref().map_or(0, |amf| amf.procedures);
    let procedures = of_amf + part.smf.as_ref().map_or(0, |smf| smf.procedures);
    let help = "Procedures under way.";
    page.single("sluice_core_procedures", Kind::Gauge, help, procedures);
}

fn overload(page: &mut Page, amf: Option<&AmfPart>) {
    let name = "sluice_core_busy_ratio";
    let help =
        "Share of the time that the AMF's loop had something to do, of the last half second.";
    page.of_amf(name, help, amf, |amf| amf.busy_percent as f64 / 100.0);
    let name = "sluice_core_overload_percent";
    let help = "Share of UEs that gNBs are to keep away (Overload Start), in percent.";
    page.of_amf(name, help, amf, |amf| {
        let kept_away = amf.overload.as_ref();
        kept_away.map_or(0, |overload| overload.percent.unwrap_or(100))
    });
}

fn gnbs(page: &mut Page, amf: Option<&AmfPart>) {
    let help = "SCTP associations with gNBs, also of those that are not set up.";
    page.of_amf("sluice_core_n2_associations", help, amf, |amf| {
        amf.associations
    });
    let help = "gNBs that are set up.";
    page.of_amf("sluice_core_gnbs", help, amf, |amf| amf.gnbs.len());
    let name = "sluice_core_gnb_ues";
    page.family(name, Kind::Gauge, "UEs that are connected, by gNB.");
    for gnb in amf.into_iter().flat_map(|amf| &amf.gnbs) {
        page.sample(name, &[("gnb", &gnb.id)], gnb.ues);
    }
}

fn upfs(page: &mut Page, part: &Part) {
    let smf = part.smf.as_ref();
    let upfs = smf.map_or(&[][..], |smf| &smf.upfs);
    let help = "PDU sessions.";
    let sessions = smf.map_or(0, |smf| smf.sessions);
    page.single("sluice_core_sessions", Kind::Gauge, help, sessions);
    let name = "sluice_core_upf_associated";
    page.family(
        name,
        Kind::Gauge,
        "Whether the PFCP association with a UPF is up.",
    );
    for upf in upfs {
        let up = u8::from(upf.associated);
        page.sample(name, &[("upf", &upf.n4)], up);
    }
    let name = "sluice_core_upf_sessions";
    page.family(name, Kind::Gauge, "PDU sessions, by UPF.");
    for upf in upfs {
        page.sample(name, &[("upf", &upf.n4)], upf.sessions);
    }
}

/// Network functions as the NRF knows them; without samples while its program is not reached.
fn functions(page: &mut Page, part: &Part) {
    let nrf = part.nrf.as_ref();
    let nfs = nrf.map_or(&[][..], |nrf| &nrf.nfs.nfs);
    let name = "sluice_core_nfs";
    let help = "Network functions that the NRF knows, by type and status.";
    page.family(name, Kind::Gauge, help);
    for ((kind, status), count) in nfs::by_status(nfs) {
        page.sample(name, &[("type", kind), ("status", status)], count);
    }
    let name = "sluice_core_nf_discoveries_total";
    let help = "Discoveries of network functions at the NRF, by type and result.";
    page.family(name, Kind::Counter, help);
    if let Some(nrf) = nrf {
        let results = [
            ("found", &nrf.found),
            ("none", &nrf.none),
            ("forbidden", &nrf.forbidden),
        ];
        // The AMF asks for SMFs: all results are there from the start.
        let mut kinds = BTreeSet::from(["SMF"]);
        kinds.extend(
            results
                .iter()
                .flat_map(|(_, by)| by.keys())
                .map(String::as_str),
        );
        for kind in kinds {
            for (result, counts) in results {
                let count = counts.get(kind).copied().unwrap_or_default();
                page.sample(name, &[("type", kind), ("result", result)], count);
            }
        }
    }
    let name = "sluice_core_nf_heart_beats_missed_total";
    let help = "Heart-beats of network functions that did not come, by type.";
    page.family(name, Kind::Counter, help);
    if let Some(nrf) = nrf {
        let mut kinds: BTreeSet<&str> = nfs.iter().map(|one| one.r#type.as_str()).collect();
        kinds.extend(nrf.missed.keys().map(String::as_str));
        for kind in kinds {
            let count = nrf.missed.get(kind).copied().unwrap_or_default();
            page.sample(name, &[("type", kind)], count);
        }
    }
}

/// How the AMF came by its SMFs.
fn selections(page: &mut Page, amf: Option<&AmfPart>) {
    let name = "sluice_core_smf_selections_total";
    let help = "SMFs that the AMF chose for sessions, by where it knew them from.";
    page.family(name, Kind::Counter, help);
    let Some(amf) = amf.map(|amf| &amf.counters) else {
        return;
    };
    for (by, count) in [
        ("nrf", amf.smfs_by_nrf),
        ("cache", amf.smfs_by_cache),
        ("old_answer", amf.smfs_by_old_answer),
        ("default", amf.smfs_by_default),
        ("none", amf.no_smf),
    ] {
        page.sample(name, &[("by", by)], count);
    }
}

/// What outlives the core: its contexts, and its subscribers. A core without has no samples of it.
fn stores(page: &mut Page, daemon: &Daemon, part: &Part) {
    let contexts = part.contexts.as_ref();
    let name = "sluice_core_contexts_up";
    let help = "Whether all contexts of UEs and sessions are stored, and the store is this core's.";
    page.family(name, Kind::Gauge, help);
    if let Some(contexts) = contexts {
        page.sample(name, &[], u8::from(contexts.up));
    }
    let name = "sluice_core_contexts_failures_total";
    let help = "Attempts to store contexts that failed, or came to less safety than they should.";
    page.family(name, Kind::Counter, help);
    if let Some(contexts) = contexts {
        page.sample(name, &[], contexts.failures);
    }
    let name = "sluice_core_contexts_pending";
    let help = "Contexts that wait for their store.";
    page.family(name, Kind::Gauge, help);
    if let Some(contexts) = contexts {
        page.sample(name, &[], contexts.pending);
    }
    let name = "sluice_core_subscriber_database_up";
    let help = "Whether the database of subscribers answers.";
    page.family(name, Kind::Gauge, help);
    if let Some(is_up) = view::is_database_up(daemon, part) {
        page.sample(name, &[], u8::from(is_up));
    }
}

fn refusals(page: &mut Page, daemon: &Daemon, part: &Part) {
    let name = "sluice_core_refusals_total";
    page.family(
        name,
        Kind::Counter,
        "Requests of UEs and gNBs that were refused, by request and cause.",
    );
    for (request, cause, count) in daemon.refusals.by_cause() {
        page.sample(name, &[("request", request), ("cause", cause)], count);
    }
    let help = "Charging records that could not be written.";
    let lost = daemon.charging.lost() + part.records_lost;
    page.single(
        "sluice_core_charging_records_lost_total",
        Kind::Counter,
        help,
        lost,
    );
}

/// Procedures that ended, and how long they took: from the message that began one to its end.
fn procedures(page: &mut Page, part: &Part) {
    let of_amf = part.amf.as_ref().map_or(&[][..], |amf| &amf.ended);
    let of_smf = part.smf.as_ref().map_or(&[][..], |smf| &smf.ended);
    let all = of_amf.iter().map(|one| ("AMF", one));
    let all = all.chain(of_smf.iter().map(|one| ("SMF", one)));
    let name = "sluice_core_procedures_total";
    let help = "Procedures that ended, by function, procedure, cause, slice and gNB.";
    page.family(name, Kind::Counter, help);
    let mut times: BTreeMap<(&str, &str, &str), Times> = BTreeMap::new();
    for (function, end) in all {
        let labels = [
            ("function", function),
            ("procedure", end.procedure.as_str()),
            ("cause", end.cause.as_str()),
            ("slice", end.slice.as_str()),
            ("gnb", end.gnb.as_str()),
        ];
        let of_end = end.times();
        page.sample(name, &labels, of_end.count);
        let sum = times.entry((function, &end.procedure, &end.cause));
        let sum = sum.or_default();
        *sum = sum.and(&of_end);
    }
    let name = "sluice_core_procedure_duration_seconds";
    let help = "How long procedures took, those of UEs with the UE's answers.";
    page.family(name, Kind::Histogram, help);
    for ((function, procedure, cause), times) in times {
        let labels = [
            ("function", function),
            ("procedure", procedure),
            ("cause", cause),
        ];
        histogram(page, name, &labels, &times);
    }
}

fn histogram(page: &mut Page, name: &str, labels: &[(&str, &str)], times: &Times) {
    let bucket = format!("{name}_bucket");
    let with = |le: &str, page: &mut Page, count: u64| {
        let labels: Vec<_> = labels.iter().copied().chain([("le", le)]).collect();
        page.sample(&bucket, &labels, count);
    };
    let mut so_far = 0;
    for (bound_ms, within) in BOUNDS_MS.iter().zip(times.within) {
        so_far += within;
        let le = (*bound_ms as f64 / 1_000.0).to_string();
        with(&le, page, so_far);
    }
    with("+Inf", page, times.count);
    page.sample(&format!("{name}_sum"), labels, times.sum_ns as f64 / 1e9);
    page.sample(&format!("{name}_count"), labels, times.count);
}

/// What happened so often in each part, as `sluice ctl --core counters` has it.
fn events(page: &mut Page, counters: &Value) {
    let parts = [
        (
            "n2",
            "sluice_core_n2_events_total",
            "NGAP messages of gNBs and for them, and associations that were given up.",
        ),
        (
            "sctp",
            "sluice_core_sctp_events_total",
            "SCTP datagrams and messages, taken and not.",
        ),
        (
            "n4",
            "sluice_core_n4_events_total",
            "PFCP datagrams of UPFs and for them.",
        ),
        (
            "amf",
            "sluice_core_amf_events_total",
            "What happened in the AMF: registrations, refusals, faults.",
        ),
        (
            "smf",
            "sluice_core_smf_events_total",
            "What happened in the SMF: sessions, reports, faults.",
        ),
        (
            "wiring",
            "sluice_core_wiring_events_total",
            "Messages with functions of other programs: sent, received, held up, refused, late.",
        ),
        (
            "sbi",
            "sluice_core_sbi_events_total",
            "HTTP/2 of the programs of the core: connections, requests, and what was refused by which bound.",
        ),
        (
            "sbi_tokens",
            "sluice_core_sbi_tokens_total",
            "Access tokens that services were asked with and functions asked for, and requests that were refused for want of a right one.",
        ),
        (
            "sbi_deviations",
            "sluice_core_sbi_deviations_total",
            "Deviations of other cores from the TS that were taken.",
        ),
        (
            "nssf",
            "sluice_core_nssf_events_total",
            "Selections of slices, those with none, and slices that were rejected.",
        ),
        (
            "nrf",
            "sluice_core_nrf_events_total",
            "Registrations, heart-beats and discoveries of network functions.",
        ),
    ];
    for (part, name, help) in parts {
        page.family(name, Kind::Counter, help);
        for (event, count) in counters[part].as_object().into_iter().flatten() {
            page.sample(name, &[("event", event)], count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up_to_all() {
        let mut times = Times {
            count: 4,
            sum_ns: 1_500_000_000,
            ..Times::default()
        };
        (times.within[0], times.within[3]) = (1, 2);
        let mut page = Page::default();
        histogram(&mut page, "t", &[("a", "b")], &times);
        let lines: Vec<_> = page.0.lines().collect();
        assert_eq!(lines[0], "t_bucket{a=\"b\",le=\"0.001\"} 1");
        assert_eq!(lines[3], "t_bucket{a=\"b\",le=\"0.01\"} 3");
        assert_eq!(lines[13], "t_bucket{a=\"b\",le=\"30\"} 3");
        let end = [
            "t_bucket{a=\"b\",le=\"+Inf\"} 4",
            "t_sum{a=\"b\"} 1.5",
            "t_count{a=\"b\"} 4",
        ];
        assert_eq!(lines[14..], end);
    }

    #[test]
    fn labels_are_quoted() {
        let mut page = Page::default();
        page.single("a", Kind::Gauge, "Help.", 1);
        page.sample("b", &[("x", "a\"b\\c\nd"), ("y", "")], 2);
        let expected = "# HELP a Help.\n# TYPE a gauge\na 1\nb{x=\"a\\\"b\\\\c\\nd\",y=\"\"} 2\n";
        assert_eq!(page.0, expected);
    }
}
