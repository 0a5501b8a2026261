//! Answers about subscribers as text for people.

use crate::cli::subscribers::SubscribersCommand;
use serde_json::Value;
use std::fmt::Write as _;

/// Of `sluice ctl subscribers`.
pub fn subscribers(what: &SubscribersCommand, answer: &Value) -> String {
    let text = |key: &str| scalar(&answer[key]);
    match what {
        SubscribersCommand::Init => {
            let made = match answer["key_file_made"].as_bool() {
                Some(true) => "is new: keep it apart from backups, without it their keys are lost",
                _ => "was there and is used",
            };
            format!(
                "{} is made; key file {} {made}",
                text("file"),
                text("key_file")
            )
        }
        SubscribersCommand::Add { .. }
        | SubscribersCommand::Change { .. }
        | SubscribersCommand::Show { .. } => one(answer),
        SubscribersCommand::Remove { .. } => format!("removed {}", text("removed")),
        SubscribersCommand::List { .. } => list(answer),
        SubscribersCommand::Import { .. } => {
            format!("added {}, replaced {}", text("added"), text("replaced"))
        }
        SubscribersCommand::Export { .. } | SubscribersCommand::Backup { .. } => {
            format!("{} subscribers in {}", text("subscribers"), text("file"))
        }
        SubscribersCommand::Restore { .. } => match &answer["damaged_kept_as"] {
            Value::String(path) => format!(
                "restored {} subscribers; what was there before is {path} now",
                text("subscribers")
            ),
            _ => format!("restored {} subscribers", text("subscribers")),
        },
    }
}

/// A subscriber with all that it may do.
fn one(answer: &Value) -> String {
    let mut text = format!(
        "{}{}\nUE AMBR  {} down, {} up",
        scalar(&answer["imsi"]),
        barred(answer),
        rate(&answer["ue_ambr_down_bps"]),
        rate(&answer["ue_ambr_up_bps"])
    );
    for slice in items(&answer["slices"]) {
        let default = match slice["default"].as_bool() {
            Some(true) => ", default",
            _ => "",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\nslice {}{default}", scalar(&slice["slice"]));
        for network in items(&slice["networks"]) {
            let _ = write!(
                text,
                "\n  {}: {} (default {}), AMBR {} down, {} up, 5QI {}, ARP {}",
                scalar(&network["dnn"]),
                types(network),
                scalar(&network["default_type"]),
                rate(&network["session_ambr_down_bps"]),
                rate(&network["session_ambr_up_bps"]),
                scalar(&network["five_qi"]),
                scalar(&network["arp"])
            );
            for address in addresses(network) {
                let _ = write!(text, ", {address}");
            }
            let (integrity, confidentiality) =
                (&network["up_integrity"], &network["up_confidentiality"]);
            if !integrity.is_null() {
                let _ = write!(
                    text,
                    ", user plane: integrity {}, confidentiality {}",
                    scalar(integrity),
                    scalar(confidentiality)
                );
            }
        }
    }
    text
}

/// A line for each subscriber, and how to go on.
fn list(answer: &Value) -> String {
    let mut text = String::new();
    for subscriber in items(&answer["subscribers"]) {
        let mut networks = Vec::new();
        for slice in items(&subscriber["slices"]) {
            let name = scalar(&slice["slice"]);
            let all = items(&slice["networks"]).iter().map(|network| {
                let addresses: String = addresses(network).map(|a| format!(" {a}")).collect();
                format!("{name}/{}{addresses}", scalar(&network["dnn"]))
            });
            let before = networks.len();
            networks.extend(all);
            if networks.len() == before {
                networks.push(name);
            }
        }
        let imsi = scalar(&subscriber["imsi"]);
        let _ = writeln!(
            text,
            "{imsi:<15}  {}{}",
            networks.join(", "),
            barred(subscriber)
        );
    }
    let shown = items(&answer["subscribers"]).len();
    let _ = write!(text, "{shown} of {}", scalar(&answer["number"]));
    if let Some(after) = answer["next_after"].as_str() {
        let _ = write!(text, "; the next page: --after {after}");
    }
    text
}

/// Of `sluice ctl hnkey`.
pub fn home_keys(answer: &Value) -> String {
    if let Some(id) = answer.get("removed") {
        return format!("removed key {}", scalar(id));
    }
    let line = |key: &Value| {
        format!(
            "{:>3}  profile {} (scheme {})  {}",
            scalar(&key["id"]),
            scalar(&key["profile"]).to_uppercase(),
            scalar(&key["scheme"]),
            scalar(&key["public"])
        )
    };
    let lines: Vec<String> = match answer.get("home_keys") {
        Some(keys) => items(keys).iter().map(line).collect(),
        None => vec![line(answer)],
    };
    let head = " id  protection scheme   public key, as SIMs have it (EF SUCI_Calc_Info)";
    format!("{head}\n{}", lines.join("\n"))
}

fn barred(subscriber: &Value) -> &'static str {
    match subscriber["barred"].as_bool() {
        Some(true) => "  barred",
        _ => "",
    }
}

fn types(network: &Value) -> String {
    let names: Vec<String> = items(&network["types"]).iter().map(scalar).collect();
    names.join(" ")
}

fn addresses(network: &Value) -> impl Iterator<Item = String> {
    let all = [network.get("ipv4"), network.get("ipv6_prefix")];
    all.into_iter().flatten().map(scalar)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// With the largest unit that leaves a whole number.
fn rate(value: &Value) -> String {
    let bps = value.as_u64().unwrap_or_default();
    let units = [
        (1_000_000_000, "Gbit/s"),
        (1_000_000, "Mbit/s"),
        (1_000, "kbit/s"),
    ];
    let unit = units
        .into_iter()
        .find(|(unit, _)| bps > 0 && bps.is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{} {name}", bps / unit),
        None => format!("{bps} bit/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_are_shown_whole() {
        for (bps, text) in [
            (1_000_000_000, "1 Gbit/s"),
            (1_500_000_000, "1500 Mbit/s"),
            (64_000, "64 kbit/s"),
            (1_001, "1001 bit/s"),
        ] {
            assert_eq!(rate(&json!(bps)), text);
        }
    }
}
