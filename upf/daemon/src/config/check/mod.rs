//! Consistency checks across sections.
//!
//! A check runs only if the sections that it looks at could be read, so that no mistake is
//! reported a second time as its consequence.

mod addressing;
mod devices;
mod nat;
mod pools;
mod roles;

use super::UpfConfig;
use super::fields::At;
use super::problem::Report;
use super::shaping::Shaping;

/// All checks.
pub(super) fn all(config: &UpfConfig, report: &mut Report) {
    let sections = ["ports", "interfaces", "pools", "dpdk", "limits", "nat"];
    let [ports, interfaces, pools, dpdk, limits, nat] =
        sections.map(|section| report.is_clean(section));
    if ports {
        devices::names(config, report);
    }
    // Two ports of one name were meant to have two: then it is not clear which are there.
    if ports && interfaces && report.is_clean("ports") {
        devices::interfaces(config, report);
    }
    if ports && dpdk {
        devices::sizes(config, report);
    }
    if ports && report.is_clean("workers") {
        devices::queues(config, report);
    }
    if dpdk && report.is_clean("workers") && report.is_clean("shaping") {
        Shaping::check(config, report);
    }
    if interfaces {
        addressing::all(config, report);
        roles::all(config, report);
    }
    if pools {
        pools::overlaps(config, report);
    }
    if interfaces && pools && nat {
        nat::all(config, report);
    }
    // The layout knows overlaps, too, but not their lines.
    if pools && limits && report.is_clean("pools") && report.is_clean("nat") {
        pools::layout(config, report);
    }
    if pools && interfaces {
        pools::interfaces(config, report);
    }
}

/// Refuses names that are given twice.
fn unique<'a>(
    list: &str,
    key: &str,
    names: impl Iterator<Item = &'a At<String>>,
    report: &mut Report,
) {
    let mut seen: Vec<&At<String>> = Vec::new();
    for (i, name) in names.enumerate() {
        match seen.iter().find(|before| before.value == name.value) {
            Some(first) => {
                let what = format!("'{}' is also the {key} in line {}", name.value, first.line);
                report.problem(name.line, format!("{list}[{i}].{key}"), what, "another one");
            }
            None => seen.push(name),
        }
    }
}
