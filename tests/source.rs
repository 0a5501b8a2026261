//! Rules for lines of source: where unsafe code may be, and that nothing shows operators a value as programmers see it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{files, root, show};

/// The only folders with unsafe code: memory, and the doors to the world.
const UNSAFE_FOLDERS: &[&str] = &[
    "mem",
    "io/port-dpdk",
    "io/host",
    "io/sctp",
    "io/contexts",
    "io/shared-ring",
];

#[test]
fn unsafe_code_lives_only_where_it_may() {
    let root = root();
    let allowed = |file: &Path| {
        UNSAFE_FOLDERS
            .iter()
            .any(|dir| file.starts_with(root.join(dir)))
    };
    let mut wrong = Vec::new();
    for file in files(&root, &["rs"])
        .into_iter()
        .filter(|file| !allowed(file))
    {
        let text = fs::read_to_string(&file).expect("a text");
        let is_root = file.ends_with("src/lib.rs") || file.ends_with("src/main.rs");
        if is_root && !text.contains("#![forbid(unsafe_code)]") {
            wrong.push(format!("{} does not forbid unsafe code", show(&file)));
        }
        if let Some(line) = text.lines().position(uses_unsafe) {
            wrong.push(format!("{}:{} has unsafe code", show(&file), line + 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Folders whose texts operators read.
const FOR_OPERATORS: [&str; 3] = ["core", "upf", "io"];

/// Debug forms that nobody reads but who works on the program, by file or folder: forms of that kind themselves, and what
/// failed tests say. None may come.
const FOR_DEVELOPERS: [(&str, usize); 3] = [
    ("upf/datapath/src/trace/mod.rs", 2),
    ("upf/datapath/src/migration/protocol/model", 3),
    ("upf/twin", 13),
];

/// Whatever the programs write, an operator may read: refusals, lines of a flow, views, problems of a configuration.
#[test]
fn the_programs_write_no_value_in_its_debug_form() {
    let is_of_program = |file: &PathBuf| {
        let inside = file.strip_prefix(root()).unwrap_or(file);
        let mut parts = inside.iter();
        parts.any(|part| part == "src")
            && !parts.any(|part| part == "tests")
            && !file.ends_with("tests.rs")
    };
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let folders = FOR_OPERATORS.map(|folder| files(&root().join(folder), &["rs"]));
    for file in folders.into_iter().flatten().filter(is_of_program) {
        let text = fs::read_to_string(&file).expect("a text");
        let mut known = FOR_DEVELOPERS.iter();
        let known = known.find(|(place, _)| file.starts_with(root().join(place)));
        for line in debug_forms(&text) {
            match known {
                Some((place, _)) => *found.entry(place).or_default() += 1,
                None => wrong.push(format!("{}:{line}", show(&file))),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "what operators read is written with Display:\n{}",
        wrong.join("\n")
    );
    let expected = BTreeMap::from(FOR_DEVELOPERS);
    assert_eq!(found, expected, "none may come, and one less is noted");
}

/// Whether a line has the keyword as code, not in a comment or a text.
fn uses_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    let forms = ["{", "fn ", "impl", "extern", "trait"];
    let keyword_before = |form: &&str| code.contains(&["unsafe ", form].concat());
    let in_attribute = code.trim_start().starts_with('#') && code.contains("unsafe(");
    in_attribute || forms.iter().any(keyword_before)
}

/// Lines, by their numbers, that write a value in its debug form, before the tests.
fn debug_forms(text: &str) -> impl Iterator<Item = usize> {
    let code = text.lines().enumerate();
    let code = code.take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let code = code.filter(|(_, line)| !line.trim_start().starts_with("//"));
    let has_form =
        |(_, line): &(usize, &str)| [":?}", ":#?}"].iter().any(|form| line.contains(form));
    code.filter(has_form).map(|(at, _)| at + 1)
}

#[test]
fn rules_for_lines_find_what_they_look_for() {
    assert!(uses_unsafe(&["    uns", "afe { x() }"].concat()));
    assert!(uses_unsafe(&["#[uns", "afe(no_mangle)]"].concat()));
    assert!(!uses_unsafe("// an unsafe { block }"));
    assert!(!uses_unsafe("#![forbid(unsafe_code)]"));
    let text = "a\nformat!(\"{b:?}\")\n\"{:#?}\"\n\"{c}\"\n#[cfg(test)]\n\"{d:?}\"";
    assert_eq!(debug_forms(text).collect::<Vec<_>>(), [2, 3]);
}
