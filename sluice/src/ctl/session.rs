//! Pages of sessions: all as rows, and one with its usage and rules on a screen.

use super::print::{aligned, columns, has_value, rows_of, scalar};
use serde_json::{Value, json};

/// Filters of a PDR that are shown, unless all are asked for: a PDR may have hundreds.
const FILTERS_SHOWN: usize = 3;

/// A row for each session, the UE's address first. Columns without a value in any row are left out, unless `all` is
/// asked for.
pub fn list(answer: &Value, all: bool) -> String {
    let row = |session: &Value| {
        let mut row = session.clone();
        for direction in ["uplink", "downlink"] {
            for unit in ["bytes", "packets"] {
                row[format!("{direction}_{unit}")] = session[direction][unit].clone();
            }
        }
        row
    };
    let rows: Vec<Value> = rows_of(answer, "sessions").iter().map(row).collect();
    if rows.is_empty() {
        return "(none)".to_owned();
    }
    let keys = "ue_address ue_prefix imsi seid uplink_bytes uplink_packets downlink_bytes \
                downlink_packets cp_address cp_seid pdrs filters shard association";
    let is_shown = |key: &&str| all || rows.iter().any(|row| has_value(&row[*key]));
    let keys: Vec<&str> = keys.split_whitespace().filter(is_shown).collect();
    columns(&rows, &keys.join(" "))
}

/// The page of one session: whose it is, its usage, and a row for each rule. Columns in which every rule has its default
/// are left out, unless `all` is asked for.
pub fn page(session: &Value, all: bool) -> String {
    let rules = [
        table(pdrs(session, all), all),
        table(rows_of(session, "far").iter().map(far).collect(), all),
        table(rows_of(session, "qer").iter().map(qer).collect(), all),
        table(rows_of(session, "urr").iter().map(urr).collect(), all),
    ];
    let parts = std::iter::once(head(session, all)).chain(rules);
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// First lines of `ctl session`: UE, SEIDs, SMF, usage.
fn head(session: &Value, all: bool) -> String {
    let of = |key: &str| scalar(&session[key]);
    let smf = format!(
        "{}, SEID {} (association {})",
        of("cp_address"),
        of("cp_seid"),
        of("association")
    );
    let used = |direction: &str| {
        let of = |unit: &str| scalar(&session[direction][unit]);
        format!("{} bytes in {} packets", of("bytes"), of("packets"))
    };
    let lines = [
        ("UE", values(session, &["ue_address", "ue_prefix"])),
        ("IMSI", of("imsi")),
        ("MSISDN", of("msisdn")),
        (
            "session",
            format!("SEID {}, shard {}", of("seid"), of("shard")),
        ),
        ("SMF", smf),
        ("public", values(session, &["nat_blocks"])),
        ("uplink", used("uplink")),
        ("downlink", used("downlink")),
    ];
    let shown = lines
        .iter()
        .filter(|(_, text)| all || text != NONE && !text.is_empty());
    let shown: Vec<_> = shown
        .map(|(name, text)| format!("{name:<9} {text}"))
        .collect();
    shown.join("\n")
}

/// A value that is not there, as [`scalar`] writes it.
const NONE: &str = "-";

/// Values that are there, side by side.
fn values(of: &Value, keys: &[&str]) -> String {
    let there = keys
        .iter()
        .map(|key| &of[*key])
        .filter(|value| has_value(value));
    let there: Vec<_> = there.map(scalar).collect();
    match there.is_empty() {
        true => NONE.to_owned(),
        false => there.join(", "),
    }
}

/// A cell: its column's name, its text, and whether that is the default.
struct Cell {
    name: &'static str,
    text: String,
    is_default: bool,
}

impl Cell {
    /// A cell that is always worth its place.
    fn always(name: &'static str, value: &Value) -> Self {
        let text = scalar(value);
        Self {
            name,
            text,
            is_default: false,
        }
    }

    /// A cell whose default is no value.
    fn of(name: &'static str, text: String) -> Self {
        let is_default = text == NONE || text.is_empty();
        Self {
            name,
            text,
            is_default,
        }
    }

    /// A cell that stands for a default.
    fn default(name: &'static str, text: String) -> Self {
        Self {
            name,
            text,
            is_default: true,
        }
    }
}

/// Rows of the same cells as columns.
fn table(rows: Vec<Vec<Cell>>, all: bool) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let is_shown = |at: &usize| all || rows.iter().any(|row| !row[*at].is_default);
    let shown: Vec<usize> = (0..first.len()).filter(is_shown).collect();
    let head = shown.iter().map(|at| first[*at].name.to_owned()).collect();
    let cells = rows
        .iter()
        .map(|row| shown.iter().map(|at| row[*at].text.clone()).collect());
    aligned(&std::iter::once(head).chain(cells).collect::<Vec<_>>())
}

/// PDRs: a row for each, and one for each further filter.
fn pdrs(session: &Value, all: bool) -> Vec<Vec<Cell>> {
    let rows = rows_of(session, "pdr").iter();
    rows.flat_map(|pdr| {
        let filters = filters(pdr, all);
        let further = filters
            .iter()
            .skip(1)
            .map(|filter| further_filter(filter))
            .collect::<Vec<_>>();
        let first = filters.first().map_or(NONE, String::as_str);
        std::iter::once(pdr_row(session, pdr, first)).chain(further)
    })
    .collect()
}

fn pdr_row(session: &Value, pdr: &Value, filter: &str) -> Vec<Cell> {
    let ue = values(pdr, &["ue_address", "ue_prefix"]);
    let is_usual_ue = ue == values(session, &["ue_address", "ue_prefix"]);
    let removes = scalar(&pdr["removes_outer_header"]);
    let is_usual_removal = pdr["removes_outer_header"] == json!(has_value(&pdr["teid"]));
    let cell = |is_default: bool, name, text| match is_default {
        true => Cell::default(name, text),
        false => Cell::of(name, text),
    };
    vec![
        Cell::always("PDR", &pdr["id"]),
        Cell::always("precedence", &pdr["precedence"]),
        Cell::of("from", side(pdr, "source")),
        Cell::of("TEID", scalar(&pdr["teid"])),
        Cell::of(
            "at",
            values(pdr, &["tunnel_address", "tunnel_address_ipv6"]),
        ),
        cell(is_usual_ue, "to UE", ue),
        Cell::of("QFI", scalar(&pdr["qfi"])),
        cell(is_usual_removal, "removes header", removes),
        cell(pdr["live"] == json!(true), "live", scalar(&pdr["live"])),
        Cell::of("FAR", scalar(&pdr["far"])),
        Cell::of("QER", scalar(&pdr["qer"])),
        Cell::of("URR", scalar(&pdr["urr"])),
        Cell::of("predefined", scalar(&pdr["predefined_rule"])),
        Cell::of("application", scalar(&pdr["application"])),
        Cell::of("filter", filter.to_owned()),
    ]
}

/// A row with nothing but a further filter of the PDR above.
fn further_filter(filter: &str) -> Vec<Cell> {
    let mut row = pdr_row(&Value::Null, &Value::Null, filter);
    let filter = row.pop();
    let blank = |cell: Cell| Cell::default(cell.name, String::new());
    row.into_iter().map(blank).chain(filter).collect()
}

fn filters(pdr: &Value, all: bool) -> Vec<String> {
    let given: Vec<String> = rows_of(pdr, "filters").iter().map(scalar).collect();
    let hidden = given.len().saturating_sub(FILTERS_SHOWN);
    // The line that tells of one takes as much room as that one.
    if all || hidden < 2 {
        return given;
    }
    let more = format!("and {hidden} more (--all)");
    given
        .into_iter()
        .take(FILTERS_SHOWN)
        .chain([more])
        .collect()
}

/// An interface with its network instance.
fn side(of: &Value, key: &str) -> String {
    match &of["network_instance"] {
        Value::String(instance) => format!("{} ({instance})", scalar(&of[key])),
        _ => scalar(&of[key]),
    }
}

fn far(far: &Value) -> Vec<Cell> {
    let flags = scalar(&far["apply_action"]);
    let usual = match far["action"].as_str() {
        Some("forward") => "FORW",
        Some("drop") => "DROP",
        _ => "BUFF",
    };
    vec![
        Cell::always("FAR", &far["id"]),
        Cell::always("action", &far["action"]),
        match flags == usual {
            true => Cell::default("Apply Action", flags),
            false => Cell::of("Apply Action", flags),
        },
        Cell::of("to", side(far, "destination")),
        Cell::of("TEID", scalar(&far["teid"])),
        Cell::of("at", scalar(&far["peer"])),
    ]
}

fn qer(qer: &Value) -> Vec<Cell> {
    let gate = |key: &str| match qer[key] == json!(true) {
        true => "open",
        false => "closed",
    };
    let rate = |key: &str, at: usize| scalar(&qer[key][at]);
    vec![
        Cell::always("QER", &qer["id"]),
        Cell::of("gate up", gate("uplink_open").to_owned()),
        Cell::of("down", gate("downlink_open").to_owned()),
        Cell::of("MBR kbit/s up", rate("mbr_kbps", 0)),
        Cell::of("MBR down", rate("mbr_kbps", 1)),
        Cell::of("GBR kbit/s up", rate("gbr_kbps", 0)),
        Cell::of("GBR down", rate("gbr_kbps", 1)),
        Cell::of("QFI", scalar(&qer["qfi"])),
    ]
}

fn urr(urr: &Value) -> Vec<Cell> {
    let used = |name, direction: &str, unit: &str| match &urr[direction][unit] {
        value if *value == json!(0) => Cell::default(name, scalar(value)),
        value => Cell::of(name, scalar(value)),
    };
    vec![
        Cell::always("URR", &urr["id"]),
        Cell::of("measures", scalar(&urr["measurement_method"])),
        Cell::of("reports at", scalar(&urr["reporting_triggers"])),
        used("bytes up", "uplink", "bytes"),
        used("packets up", "uplink", "packets"),
        used("bytes down", "downlink", "bytes"),
        used("packets down", "downlink", "packets"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pdr(id: u16, filters: &[String]) -> Value {
        json!({
            "id": id, "precedence": 255, "source": "access", "network_instance": "n3",
            "teid": "0x80000007", "tunnel_address": "192.0.2.1", "ue_address": "10.45.0.7", "ue_prefix": null,
            "predefined_rule": null, "application": null, "filters": filters, "qfi": [9], "live": true,
            "removes_outer_header": true, "far": 1, "qer": [1], "urr": [],
        })
    }

    fn session(filters: &[String]) -> Value {
        json!({
            "seid": "0x1f", "cp_seid": "0x7", "cp_address": "198.51.100.1", "association": "0.1",
            "imsi": "001010000000001", "msisdn": "", "ue_address": "10.45.0.7", "ue_prefix": null,
            "shard": 7, "pdrs": 1, "filters": filters.len(), "nat_blocks": [],
            "uplink": { "bytes": 420, "packets": 5 }, "downlink": { "bytes": 0, "packets": 0 },
            "pdr": [pdr(1, filters)],
            "far": [{
                "id": 1, "action": "forward", "apply_action": ["FORW"], "destination": "core",
                "network_instance": "internet", "teid": null, "peer": null,
            }],
            "qer": [{
                "id": 1, "uplink_open": true, "downlink_open": false, "mbr_kbps": [1000, 2000], "gbr_kbps": null,
                "qfi": null,
            }],
            "urr": [{
                "id": 1, "measurement_method": ["VOLUM"], "reporting_triggers": ["VOLTH"],
                "uplink": { "bytes": 420, "packets": 5 }, "downlink": { "bytes": 0, "packets": 0 },
            }],
        })
    }

    #[test]
    fn a_page_has_a_group_for_each_kind_of_rule_and_no_defaults() {
        let expected = "\
UE        10.45.0.7
IMSI      001010000000001
session   SEID 0x1f, shard 7
SMF       198.51.100.1, SEID 0x7 (association 0.1)
uplink    420 bytes in 5 packets
downlink  0 bytes in 0 packets

PDR  precedence  from         TEID        at         QFI  FAR  QER
1    255         access (n3)  0x80000007  192.0.2.1  9    1    1

FAR  action   to
1    forward  core (internet)

QER  gate up  down    MBR kbit/s up  MBR down
1    open     closed  1000           2000

URR  measures  reports at  bytes up  packets up
1    VOLUM     VOLTH       420       5";
        assert_eq!(page(&session(&[]), false), expected);
    }

    #[test]
    fn all_shows_what_a_page_leaves_out() {
        let shown = page(&session(&[]), true);
        for word in [
            "MSISDN",
            "public",
            "removes header",
            "live",
            "predefined",
            "FORW",
            "GBR down",
            "bytes down",
        ] {
            assert!(shown.contains(word), "{word} is not in\n{shown}");
        }
    }

    #[test]
    fn what_differs_from_its_default_is_shown() {
        let mut session = session(&[]);
        session["far"][0]["apply_action"] = json!(["BUFF", "NOCP"]);
        session["pdr"][0]["live"] = json!(false);
        session["pdr"][0]["removes_outer_header"] = json!(false);
        session["pdr"][0]["ue_address"] = json!("10.45.0.8");
        let shown = page(&session, false);
        for word in ["BUFF,NOCP", "live", "removes header", "10.45.0.8"] {
            assert!(shown.contains(word), "{word} is not in\n{shown}");
        }
    }

    #[test]
    fn a_pdr_of_hundreds_of_filters_takes_four_lines() {
        let filters: Vec<String> = (0..200)
            .map(|n| format!("permit out 17 from any {n} to assigned"))
            .collect();
        let shown = page(&session(&filters), false);
        assert!(shown.lines().count() < 24, "{shown}");
        assert!(
            shown.contains("any 2 to") && !shown.contains("any 3 to"),
            "{shown}"
        );
        assert!(shown.contains("and 197 more (--all)"), "{shown}");
        assert!(page(&session(&filters), true).contains("any 199 to"));
        // What would take the place of one filter is no shorter than that filter.
        let shown = page(&session(&filters[..4]), false);
        assert!(
            shown.contains("any 3 to") && !shown.contains("more"),
            "{shown}"
        );
    }

    #[test]
    fn sessions_begin_with_the_ues_address() {
        let answer = json!({ "sessions": [session(&[])] });
        let shown = list(&answer, false);
        let lines: Vec<Vec<&str>> = shown
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..3], ["ue_address", "imsi", "seid"], "{shown}");
        assert_eq!(
            lines[1][..4],
            ["10.45.0.7", "001010000000001", "0x1f", "420"],
            "{shown}"
        );
        assert!(list(&answer, true).starts_with("ue_address  ue_prefix"));
        assert_eq!(list(&json!({ "sessions": [] }), false), "(none)");
    }
}
