//! Subscribers as JSON: a list of objects, each found with its line.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sluice_security::Algorithm;

use crate::draft::Draft;
use crate::draft::keys::Kind;
use crate::draft::value::{TYPE_NAMES, method_name};
use crate::hex;
use crate::problem::{Lines, Problem, without_keys};
use crate::record::{Network, Profile, Record, Slice};

/// What a file of subscribers is.
const LIST: &str = "a list of subscribers, or an object with such a list as `subscribers`";

/// A subscriber of one object.
///
/// # Errors
/// When it is no JSON, or has fields that no subscriber has.
pub fn draft(text: &str) -> Result<Draft, Problem> {
    serde_json::from_str(text).map_err(|error| refused(&error, 1))
}

/// The same of an object that was read already.
///
/// # Errors
/// When it has fields that no subscriber has.
pub fn draft_of(value: Value) -> Result<Draft, Problem> {
    serde_json::from_value(value).map_err(|error| {
        let mut problem = refused(&error, 1);
        problem.line = None;
        problem
    })
}

/// Subscribers of a list, each with the line that it begins in.
///
/// # Errors
/// When the whole is no list; single subscribers have errors of their own.
pub fn drafts(text: &str) -> Result<impl Iterator<Item = (u64, Result<Draft, Problem>)>, Problem> {
    let items: Items<'_> = serde_json::from_str(text).map_err(|error| {
        let mut problem = refused(&error, 1);
        if error.is_data() {
            problem.expected = LIST.to_owned();
        }
        problem
    })?;
    let mut lines = Lines::new(text);
    Ok(items.0.into_iter().map(move |raw| {
        // Where it lies in the text; items come in order, so each line end is counted once.
        let at = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let line = lines.at(at);
        let draft = serde_json::from_str(raw.get()).map_err(|error| refused(&error, line));
        (line, draft)
    }))
}

/// `line` is the one that the text begins in.
fn refused(error: &serde_json::Error, line: u64) -> Problem {
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    let line = line + (error.line() as u64).saturating_sub(1);
    let what = without_keys(what);
    Problem::new("", what, "JSON as docs/operator/subscribers.md has it").at(line)
}

/// Texts of a list's items.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(LIST)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Items<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(Items(all))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut keys: A) -> Result<Items<'de>, A::Error> {
                let mut items = None;
                while let Some(key) = keys.next_key::<String>()? {
                    if key != "subscribers" || items.is_some() {
                        return Err(de::Error::custom(format!("unexpected key `{key}`")));
                    }
                    items = Some(keys.next_value()?);
                }
                items
                    .map(Items)
                    .ok_or_else(|| de::Error::missing_field("subscribers"))
            }
        }

        from.deserialize_any(List)
    }
}

/// A subscriber as an object: what it may do, and its keys only if they are asked for.
pub fn view(record: &Record, with_keys: bool, unix_s: u64) -> Value {
    let Profile {
        barred,
        ambr_bps: (down, up),
        slices,
    } = &record.profile;
    let mut object = json!({
        "imsi": record.supi.imsi(),
        "algorithm": Kind::of(&record.credentials.algorithm).name(),
        "method": method_name(record.credentials.method),
        "barred": barred,
        "ue_ambr_down_bps": down,
        "ue_ambr_up_bps": up,
        "slices": slices.iter().map(slice_view).collect::<Vec<_>>(),
    });
    if with_keys {
        let [(_, k), (variant, octets)] = keys(record);
        object["k"] = hex::write(k).into();
        object[variant] = hex::write(octets).into();
        object["sqn"] = sqn_text(record, unix_s).into();
    }
    object
}

/// The keys by their names.
pub(crate) fn keys(record: &Record) -> [(&'static str, &[u8]); 2] {
    match &record.credentials.algorithm {
        Algorithm::Milenage { k, opc } => [("k", k.octets()), ("opc", opc.octets())],
        Algorithm::Tuak { k, topc } => [("k", k.octets()), ("topc", topc.octets())],
    }
}

/// A number that is not below any that the SIM has taken.
pub(crate) fn sqn_text(record: &Record, unix_s: u64) -> String {
    format!("{:012x}", record.sqn.bound(unix_s).get())
}

fn slice_view(slice: &Slice) -> Value {
    json!({
        "slice": slice.snssai.to_string(),
        "default": slice.is_default,
        "networks": slice.networks.iter().map(network_view).collect::<Vec<_>>(),
    })
}

fn network_view(network: &Network) -> Value {
    let mut object = json!({
        "dnn": network.dnn.to_string(),
        "types": type_names(network.types),
        "default_type": TYPE_NAMES[usize::from(network.default_type).clamp(1, 3) - 1],
        "session_ambr_down_bps": network.ambr_bps.0,
        "session_ambr_up_bps": network.ambr_bps.1,
        "five_qi": network.five_qi,
        "arp": network.arp,
    });
    if let Some(ipv4) = network.ipv4 {
        object["ipv4"] = ipv4.to_string().into();
    }
    if let Some(prefix) = network.ipv6_prefix {
        object["ipv6_prefix"] = prefix_text(prefix).into();
    }
    if let Some(security) = network.up_security {
        object["up_integrity"] = security.integrity.name().into();
        object["up_confidentiality"] = security.confidentiality.name().into();
    }
    object
}

pub(crate) fn type_names(types: [bool; 3]) -> Vec<&'static str> {
    let all = TYPE_NAMES.iter().zip(types);
    all.filter(|(_, allowed)| *allowed)
        .map(|(name, _)| *name)
        .collect()
}

pub(crate) fn prefix_text(prefix: [u8; 8]) -> String {
    let mut octets = [0; 16];
    octets[..8].copy_from_slice(&prefix);
    format!("{}/64", std::net::Ipv6Addr::from(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(u64, Result<Option<String>, String>)> {
        let all = drafts(text).expect("a list");
        all.map(|(line, draft)| (line, draft.map(|d| d.imsi.0).map_err(|p| p.to_string())))
            .collect()
    }

    #[test]
    fn each_item_has_its_line_and_its_own_error() {
        let text =
            "[\n  {\"imsi\": \"001\"},\n\n {\"imsi\": \"002\",\n \"name\": 1}, {\"imsi\": 3},\n 7]";
        let found = lines(text);
        assert_eq!(found[0], (2, Ok(Some("001".to_owned()))));
        let (line, Err(error)) = &found[1] else {
            panic!("{found:?}");
        };
        assert_eq!(*line, 4);
        assert!(error.starts_with("line 5: unknown field `name`"), "{error}");
        assert_eq!(found[2], (5, Ok(Some("3".to_owned()))));
        assert!(
            matches!(&found[3], (6, Err(error)) if error.contains("line 6")),
            "{found:?}"
        );
        assert_eq!(lines("{\"subscribers\": [{}]}").len(), 1);
        assert!(lines("[]").is_empty());
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("\n{", 2),
            ("[{},\n", 2),
            ("{}", 1),
            ("7", 1),
            ("{\"subscriber\": []}", 1),
            ("[] []", 1),
            ("\n[{\"imsi\": \"1}]", 2),
        ] {
            let refused = drafts(text).err().unwrap_or_else(|| panic!("{text}"));
            assert_eq!(refused.line, Some(line), "{text}: {refused}");
        }
    }
}
