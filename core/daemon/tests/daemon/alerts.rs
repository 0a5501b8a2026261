//! Alerts of a core: what is said of each, and whether shares of failures fire on made-up figures.

use serde_json::Value;

use crate::metrics::file;

/// All alerts, by name and expression.
fn alerts() -> Vec<(String, String)> {
    let rules: Value = serde_yaml_ng::from_str(&file("packaging/sluice-core-alerts.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    let all = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap());
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap().to_owned();
    all.map(|rule| (text(rule, "alert"), text(rule, "expr")))
        .collect()
}

/// A figure: what is counted by its labels, and how often.
type Figure<'a> = (&'a [(&'a str, &'a str)], f64);

/// What one side of a comparison selects of the figures, times its factor: `0.5 * rate(name{label="value"}[5m])`.
fn side(text: &str, figures: &[Figure<'_>]) -> f64 {
    let factor = text.split_once('*').map_or(1.0, |(factor, _)| {
        factor.trim().parse().expect("a factor is a number")
    });
    let labels = text.split_once("_total{").unwrap().1;
    let labels = labels.split_once('}').unwrap().0;
    let fits = |of: &[(&str, &str)]| {
        labels.split(',').all(|label| {
            let at = label.find(['=', '!']).unwrap();
            let (name, rest) = label.split_at(at);
            let wanted = rest.trim_start_matches(['=', '~', '!']).trim_matches('"');
            let has = of.iter().find(|(known, _)| *known == name).unwrap().1;
            wanted.split('|').any(|one| one == has) != rest.starts_with('!')
        })
    };
    let selected = figures.iter().filter(|(of, _)| fits(of));
    factor * selected.map(|(_, count)| count).sum::<f64>()
}

/// Whether a rule of the form `a > factor * b` fires.
fn fires(alert: &str, figures: &[Figure<'_>]) -> bool {
    let all = alerts();
    let (_, expression) = all.iter().find(|(name, _)| name == alert).unwrap();
    let (left, right) = expression.split_once('>').unwrap();
    side(left, figures) > side(right, figures)
}

#[test]
fn each_alert_has_a_row_that_says_what_to_do() {
    let page = file("docs/operator/core.md");
    let named = page.lines().filter_map(|line| {
        let row = line.strip_prefix("| SluiceCore")?;
        let cells: Vec<_> = row.split(" | ").collect();
        assert!(
            cells.len() == 3 && cells.iter().all(|cell| cell.len() > 2),
            "{line}"
        );
        Some(format!("SluiceCore{}", cells[0]))
    });
    let mut named: Vec<_> = named.collect();
    let mut there: Vec<_> = alerts().into_iter().map(|(name, _)| name).collect();
    named.sort();
    there.sort();
    assert_eq!(
        named, there,
        "docs/operator/core.md tells of all alerts, each once"
    );
}

#[test]
fn a_ue_that_does_not_answer_counts_once_however_often_it_is_called() {
    let figures = |ues: f64, unanswered: f64| {
        // Those that answer are called once, the others three times.
        let calls = (ues - unanswered) + 3.0 * unanswered;
        let figure = |event, count| ([("event", event)], count);
        let all = [
            figure("pagings", calls),
            figure("paged", ues),
            figure("unanswered_pagings", unanswered),
        ];
        let all: Vec<Figure<'_>> = all.iter().map(|(of, count)| (&of[..], *count)).collect();
        fires("SluiceCorePagingUnanswered", &all)
    };
    assert!(figures(10.0, 10.0));
    assert!(figures(10.0, 6.0));
    assert!(!figures(10.0, 4.0));
    assert!(!figures(0.0, 0.0));
}

#[test]
fn registrations_that_are_aborted_are_no_failures() {
    let fires_with = |success: f64, aborted: f64, refused: f64| {
        let of = |cause| [("procedure", "registration"), ("cause", cause)];
        let all = [
            (of("success"), success),
            (of("aborted"), aborted),
            (of("Registration Reject #3 (illegal UE)"), refused),
        ];
        let all: Vec<Figure<'_>> = all.iter().map(|(of, count)| (&of[..], *count)).collect();
        fires("SluiceCoreRegistrationsFail", &all)
    };
    assert!(fires_with(70.0, 0.0, 30.0));
    assert!(!fires_with(70.0, 30.0, 0.0));
    assert!(!fires_with(90.0, 0.0, 10.0));
}
