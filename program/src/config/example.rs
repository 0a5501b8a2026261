//! Test helpers for the commented example files.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::yaml::{self, Node, Value};
use std::collections::BTreeMap;

/// Lines like `#vlan: 30` without their `#`.
pub fn with_alternatives(text: &str) -> String {
    let line = |line: &str| {
        let body = line.trim_start();
        let indent = &line[..line.len() - body.len()];
        match body.strip_prefix('#') {
            Some(key)
                if key
                    .trim_start_matches("- ")
                    .starts_with(|c: char| c.is_ascii_lowercase()) =>
            {
                format!("{indent}{key}\n")
            }
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Every key of a file by its path, such as `ports[].mtu`, with the lines where it stands.
pub fn shown_keys(text: &str) -> BTreeMap<String, Vec<u32>> {
    let mut keys = BTreeMap::new();
    collect(&yaml::parse(text).unwrap(), "", &mut keys);
    keys
}

fn collect(node: &Node, path: &str, keys: &mut BTreeMap<String, Vec<u32>>) {
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                let path = match path {
                    "" => entry.key.clone(),
                    path => format!("{path}.{}", entry.key),
                };
                keys.entry(path.clone()).or_default().push(entry.line);
                collect(&entry.value, &path, keys);
            }
        }
        Value::List(items) => {
            for item in items {
                collect(item, &format!("{path}[]"), keys);
            }
        }
        Value::Null | Value::Scalar(_) => {}
    }
}

/// Whether the paragraph of a line begins with a comment.
pub fn is_explained(lines: &[&str], line: usize) -> bool {
    let paragraph = lines[..line]
        .iter()
        .rev()
        .take_while(|l| !l.trim().is_empty());
    paragraph.take(12).any(|l| l.trim_start().starts_with('#'))
}
