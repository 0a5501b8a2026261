//! The example file is the schema's documentation: it must work, name every key and no other,
//! and tell the defaults that the code has.

use super::super::example::{is_explained, shown_keys, with_alternatives};
use super::{SHORT, accepted};

const EXAMPLE: &str = include_str!("../../../../../docs/upf.yaml");

#[test]
fn the_example_is_accepted_without_warnings() {
    assert_eq!(accepted(EXAMPLE).warnings, []);
}

#[test]
fn the_example_names_every_key_and_its_alternatives_are_accepted() {
    let loaded = accepted(&with_alternatives(EXAMPLE));
    let shown = shown_keys(&with_alternatives(EXAMPLE));
    let missing: Vec<_> = loaded
        .known_keys
        .iter()
        .filter(|key| !shown.contains_key(&key.path))
        .collect();
    assert!(missing.is_empty(), "not in docs/upf.yaml: {missing:?}");
    assert!(loaded.known_keys.len() > 60, "{}", loaded.known_keys.len());
}

#[test]
fn the_example_tells_the_defaults_of_the_code() {
    let text = with_alternatives(EXAMPLE);
    let lines: Vec<_> = text.lines().collect();
    let shown = shown_keys(&text);
    for key in accepted(&text).known_keys {
        let at = shown.get(&key.path).expect("every key is shown");
        let told = at.iter().find_map(|line| {
            let line = lines.get(*line as usize - 1)?;
            Some(line.split_once("# default: ")?.1.trim())
        });
        assert_eq!(told, key.default, "{}", key.path);
    }
}

#[test]
fn every_key_of_the_example_is_explained() {
    let text = with_alternatives(EXAMPLE);
    let lines: Vec<_> = text.lines().collect();
    for (path, at) in shown_keys(&text) {
        let explained = at
            .iter()
            .any(|line| is_explained(&lines, *line as usize - 1));
        assert!(explained, "no comment above {path}");
    }
}

#[test]
fn the_short_file_in_the_example_is_a_file() {
    let commented = EXAMPLE
        .lines()
        .skip_while(|line| !line.starts_with("#   n4:"))
        .take_while(|line| line.starts_with("#   "))
        .map(|line| &line[4..]);
    let short = commented.collect::<Vec<_>>().join("\n");
    assert_eq!(accepted(&short).warnings, []);
}

#[test]
fn a_short_file_has_the_defaults_that_the_example_shows() {
    let (short, example) = (accepted(SHORT).config, accepted(EXAMPLE).config);
    assert_eq!(short.n4.heartbeat_s, example.n4.heartbeat_s);
    assert_eq!(short.n4.accept_cp_fteid, example.n4.accept_cp_fteid);
    assert_eq!(short.n4.mbr_zero, example.n4.mbr_zero);
    assert_eq!(short.n4.unserved, example.n4.unserved);
    assert_eq!(short.dpdk.mbufs.value, example.dpdk.mbufs.value);
    assert_eq!(short.shaping.rates, example.shaping.rates);
    assert_eq!(short.placement, example.placement);
    assert_eq!(
        short.limits.rule_blocks.value,
        example.limits.rule_blocks.value
    );
    assert_eq!(short.control_socket, example.control_socket);
    assert_eq!(short.log, example.log);
}
