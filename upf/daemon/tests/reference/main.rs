//! The operator's pages of the UPF that are made from the code: drop reasons, refusals, metrics, N4.
#![forbid(unsafe_code)]

mod n4;

use sluice_datapath::drop::DropReason;
use sluice_datapath::forward::slow_reason::SlowReason;
use sluice_upf_daemon::metrics;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const MADE: &str = "<!-- Made from the code: `sluice reference";

fn drops() -> String {
    let mut page = format!(
        "{MADE} drops`. -->\n\n# Drop reasons\n\n\
         Every packet that does not leave is counted under exactly one reason: in `sluice ctl drops`, in the \
         metric `sluice_packets_dropped_total{{reason=\"...\"}}`, and for single packets in `sluice ctl trace`. \
         Names never change.\n\n\
         | reason | what it means | what to do |\n| --- | --- | --- |\n"
    );
    for reason in DropReason::ALL {
        let (name, meaning, advice) = (reason.name(), reason.meaning(), reason.advice());
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{name}` | {meaning} | {advice} |");
    }
    page += "\n# Reasons for the slow path\n\n\
             Packets of these kinds are forwarded just as rightly, but cost two to five times as much. `sluice \
             ctl workers` and `sluice_slow_path_packets_total` count them.\n\n\
             | reason | what it means |\n| --- | --- |\n";
    for reason in SlowReason::ALL {
        let _ = writeln!(page, "| `{}` | {} |", reason.name(), reason.meaning());
    }
    page
}

fn refusals() -> String {
    let mut page = format!(
        "{MADE} refusals`. -->\n\n# Refused requests\n\n\
         A refused request changes nothing. `sluice ctl refusals` shows the newest with peer, cause, Offending \
         IE, rule and CP F-SEID, why they were refused and what to do, and how often each cause was given; each is a \
         line of the log, too, as far as the limit on lines allows.\n\n\
         | cause | name in TS 29.244, 8.2.1, and Offending IE | why | what to do |\n| --- | --- | --- | --- |\n"
    );
    for words in sluice_session::refusal_words() {
        let (cause, why, remedy) = (words.cause, words.why, words.remedy);
        let ie = words
            .offending_ie
            .map_or_else(String::new, |ie| format!(", IE {ie}"));
        let name = cause.name().unwrap_or_default();
        let _ = writeln!(page, "| {} | {name}{ie} | {why} | {remedy} |", cause.0);
    }
    page
}

fn metrics_page() -> String {
    let mut page = format!(
        "{MADE} metrics`. -->\n\n# Metrics\n\n\
         `metrics.listen` of upf.yaml says where Prometheus finds them (text format 0.0.4); without it they are \
         served on 127.0.0.1:9469.\n\n\
         | metric | kind | labels | meaning |\n| --- | --- | --- | --- |\n"
    );
    for family in metrics::families() {
        let labels: Vec<_> = family.labels.iter().map(|l| format!("`{l}`")).collect();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            family.name,
            family.kind,
            labels.join(", "),
            family.help
        );
    }
    page
}

/// With SLUICE_WRITE_REFERENCE=1 they are written.
#[test]
fn the_operators_pages_are_those_of_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = [
        (drops(), "operator/drops.md"),
        (refusals(), "operator/refusals.md"),
        (metrics_page(), "operator/metrics.md"),
        (n4::page(), "conformance/n4.md"),
    ];
    for (made, file) in pages {
        let path = folder.join(file);
        if std::env::var_os("SLUICE_WRITE_REFERENCE").is_some() {
            fs::write(&path, &made).expect("the page can be written");
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == made,
            "docs/{file} is not what the code says: SLUICE_WRITE_REFERENCE=1 cargo test -p \
             sluice-upf-daemon --test reference"
        );
    }
}

#[test]
fn every_reason_has_its_sentence_and_its_advice() {
    for reason in DropReason::ALL {
        for text in [reason.meaning(), reason.advice()] {
            assert!(
                text.ends_with('.') && text.len() > 10,
                "{}: {text}",
                reason.name()
            );
        }
    }
}
