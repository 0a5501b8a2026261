//! Metrics of a core at work, and the alerts and the dashboard that are made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::api::{api, ask};
use crate::ending::with_session;
use crate::place::{KEY, Place, ue};
use crate::upf::Upf;
use serde_json::Value;

pub fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).expect(path)
}

/// What a metric without labels is; none if it has no value.
pub fn metric(place: &Place, name: &str) -> Option<f64> {
    let page = ask(place, "GET /metrics", "", "").body;
    let samples = page.lines().filter_map(|line| line.split_once(' '));
    let name = format!("sluice_core_{name}");
    let mut values = samples.filter(|(sample, _)| *sample == name);
    values.next().map(|(_, value)| value.parse().unwrap())
}

/// Labels of a family with their values.
type Labels = BTreeMap<String, BTreeSet<String>>;

/// Families of a page by their names, with what samples of each have. Those of a histogram are one.
fn families(page: &str) -> BTreeMap<String, Labels> {
    let mut families: BTreeMap<String, Labels> = BTreeMap::new();
    let mut family = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, family, "HELP comes first");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap().to_owned();
            assert!(
                families.insert(family.clone(), Labels::new()).is_none(),
                "{family} twice"
            );
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(sample.starts_with(&family), "{line}");
            let labels = sample.split_once('{').map_or("", |(_, labels)| labels);
            let known = families.get_mut(&family).unwrap();
            for part in labels.trim_end_matches('}').split("\",") {
                if let Some((label, value)) = part.split_once("=\"") {
                    let value = value.trim_end_matches('"').to_owned();
                    known.entry(label.to_owned()).or_default().insert(value);
                }
            }
        }
    }
    families
}

/// Metrics that a text names, with their labels.
fn named(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut all = Vec::new();
    for part in text.split("sluice_core_").skip(1) {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let pairs = inside.map_or("", |(inside, _)| inside).split("\",");
        let pair = |pair: &str| {
            let at = pair.find(['=', '!'])?;
            let values = pair[at..].trim_matches(['=', '~', '!', '"']);
            Some((pair[..at].to_owned(), values.to_owned()))
        };
        all.push((
            format!("sluice_core_{name}"),
            pairs.filter_map(pair).collect(),
        ));
    }
    all
}

/// Whether all that a text names is there: names, labels, and values of what is counted by event.
fn check(what: &str, text: &str, families: &BTreeMap<String, Labels>) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (name, labels) in named(text) {
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
            let family = name.strip_suffix(end)?;
            families.contains_key(family).then(|| family.to_owned())
        });
        let family = family.unwrap_or_else(|| name.clone());
        let known = families.get(&family);
        let known = known.unwrap_or_else(|| panic!("{what}: there is no {name}"));
        for (label, values) in labels {
            // Prometheus' own.
            if ["instance", "le"].contains(&label.as_str()) {
                continue;
            }
            let there = known.get(&label);
            let there = there.unwrap_or_else(|| panic!("{what}: {name} has no label {label}"));
            if ["event", "function", "procedure"].contains(&label.as_str()) {
                let lost = values.split('|').find(|value| !there.contains(*value));
                assert_eq!(lost, None, "{what}: {name}, {label}: {there:?}");
            }
        }
        used.insert(family);
    }
    used
}

#[test]
fn alerts_dashboard_and_page_name_the_metrics_that_there_are() {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let section = format!("api: {{listen: {}}}\n", api(&place));
    let (_core, mut ran) = with_session(&place, &upf, &section);
    // A stranger, who is refused.
    ran.phones.push((ue("0000000009", KEY), None));
    ran.register(1);
    let page = ask(&place, "GET /metrics", "", "").body;
    let families = families(&page);
    for sample in [
        "sluice_core_upf_associated{upf=\"",
        "sluice_core_procedures_total{function=\"AMF\",procedure=\"registration\",cause=\"success\",slice=\"1\",gnb=\"",
        "sluice_core_procedures_total{function=\"AMF\",procedure=\"registration\",cause=\"Registration Reject #3 (illegal UE)\",slice=\"\"",
        "sluice_core_procedures_total{function=\"SMF\",procedure=\"establishment\",cause=\"success\",slice=\"1\"",
        "sluice_core_procedure_duration_seconds_bucket{function=\"AMF\",procedure=\"registration\",cause=\"success\",le=\"+Inf\"} 1",
        "sluice_core_refusals_total{request=\"Registration\"",
    ] {
        assert!(
            page.lines().any(|line| line.starts_with(sample)),
            "{sample}\n{page}"
        );
    }
    check(
        "alerts",
        &file("packaging/sluice-core-alerts.yaml"),
        &families,
    );
    let dashboard = file("packaging/sluice-core-dashboard.json");
    let value: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(value["panels"].as_array().unwrap().len() > 10);
    let shown = check("dashboard", &dashboard.replace("\\\"", "\""), &families);
    let hidden: Vec<_> = families
        .keys()
        .filter(|name| !shown.contains(*name))
        .collect();
    // How long it runs is no news.
    assert_eq!(hidden, ["sluice_core_uptime_seconds"]);
    let told = check("page", &file("docs/operator/api.md"), &families);
    let told: Vec<_> = told.iter().collect();
    assert_eq!(
        told,
        families.keys().collect::<Vec<_>>(),
        "docs/operator/api.md tells of all"
    );
}
