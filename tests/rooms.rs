//! Rules with counts for all crates: circles of files, files in a folder, files of another crate, doc comments without a
//! subject. Exceptions and counts may only shrink.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{circles, files, packages, root, show, text};

/// Where more is there than the rule allows, how much, and why it still is.
type Exceptions = &'static [(&'static str, usize, &'static str)];

/// Most files of a crate that may need each other in a circle.
const CIRCLE_FILES: usize = 3;

/// The longest circle of a crate.
const LONGER_CIRCLES: Exceptions = &[(
    "proto/security",
    4,
    "keys and EAP-AKA' derive from each other",
)];

/// Most files of a folder.
const FOLDER_FILES: usize = 20;

const FULLER_FOLDERS: Exceptions = &[
    ("io/host/src", 25, "one door of the kernel each"),
    ("proto/n1/src", 21, "a file for each group of messages"),
    ("sluice/tests/daemon", 38, "goes with the UPF's daemon"),
    (
        "tests/core_sessions",
        38,
        "procedures and collisions get folders",
    ),
    ("upf/datapath/tests/all", 26, "a file for each behaviour"),
    ("upf/session/src/tests", 41, "a file for each behaviour"),
    ("upf/twin/src", 32, "mirrors the path's stages"),
    ("wire/src/pfcp/value", 31, "a file for each kind of IE"),
];

/// Files of other crates that a crate compiles by `#[path]`, each by the file that does so.
const BORROWED_FILES: Exceptions = &[
    (
        "io/contexts-redis/tests/store.rs",
        1,
        "both stores pass one test",
    ),
    (
        "proto/n2/tests/others.rs",
        1,
        "reader of octets in ../shared",
    ),
    (
        "sluice/tests/daemon/ran_n2.rs",
        1,
        "a core for gNBs: goes into a shared testbed",
    ),
    (
        "tests/live_streams/main.rs",
        1,
        "reader of recordings in ../shared",
    ),
    ("tools/ue/src/others.rs", 1, "reader of octets in ../shared"),
    (
        "upf/session/src/tests/conformance.rs",
        1,
        "encoder of whole messages from the codec's tests",
    ),
    (
        "upf/session/src/tests/live_cores.rs",
        1,
        "reader of recordings in ../shared",
    ),
];

#[test]
fn no_circle_of_files_is_long() {
    let mut longest = BTreeMap::new();
    for folder in packages().iter().map(folder_of) {
        let source = root().join(&folder).join("src");
        let circles = match source.is_dir() {
            true => circles::longer_than(1, &source),
            false => Vec::new(),
        };
        let files = circles.iter().map(Vec::len).max().unwrap_or(1);
        longest.insert(folder, files);
    }
    assert!(
        longest["upf/datapath"] > 1,
        "circles are not found any more"
    );
    assert_kept(
        "files in the longest circle",
        &longest,
        CIRCLE_FILES,
        LONGER_CIRCLES,
    );
}

#[test]
fn no_folder_is_full() {
    let mut fullest = BTreeMap::new();
    for file in files(&root(), &["rs"]) {
        let folder = file.parent().expect("files lie in folders");
        *fullest.entry(show(folder)).or_insert(0) += 1;
    }
    assert_kept("files in a folder", &fullest, FOLDER_FILES, FULLER_FOLDERS);
}

#[test]
fn crates_compile_their_own_files() {
    let crates: Vec<PathBuf> = packages()
        .iter()
        .map(|package| root().join(folder_of(package)))
        .collect();
    let mut borrowed = BTreeMap::new();
    for file in files(&root(), &["rs"]) {
        let source = fs::read_to_string(&file).expect("a text");
        let folder = file.parent().expect("files lie in folders");
        let others = paths(&source).map(|path| normal(&folder.join(path)));
        let others = others.filter(|other| owner(&crates, other) != owner(&crates, &file));
        borrowed.insert(show(&file), others.count());
    }
    assert_kept(
        "files of other crates by #[path]",
        &borrowed,
        0,
        BORROWED_FILES,
    );
}

/// Packages of the screen come from the registry of whoever builds it, and browsers load from the core alone.
#[test]
fn the_screen_names_no_host() {
    let app = root().join("core/web/app");
    let mut all = files(&app, &["js", "svelte", "css", "html"]);
    all.extend(["package.json", "package-lock.json"].map(|name| app.join(name)));
    assert!(all.len() > 10, "{all:?}");
    let names_host = |file: &&PathBuf| fs::read_to_string(file).expect("a text").contains("://");
    let wrong: Vec<_> = all
        .iter()
        .filter(names_host)
        .map(|file| show(file))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The crate whose folder is the innermost around a file.
fn owner<'c>(crates: &'c [PathBuf], file: &Path) -> Option<&'c PathBuf> {
    let around = crates.iter().filter(|folder| file.starts_with(folder));
    around.max_by_key(|folder| folder.iter().count())
}

/// Targets of `#[path = "..."]`.
fn paths(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map(str::trim_start);
    let after = lines.filter_map(|line| line.strip_prefix("#[path = \""));
    after.filter_map(|rest| rest.split('"').next())
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    path.iter().fold(PathBuf::new(), |mut normal, part| {
        match part.to_str() {
            Some("..") => drop(normal.pop()),
            _ => normal.push(part),
        }
        normal
    })
}

/// The folder of a package, from the root.
fn folder_of(package: &serde_json::Value) -> String {
    let manifest = text(&package["manifest_path"]);
    let folder = Path::new(&manifest).parent().expect("it lies in a folder");
    show(folder)
}

/// Nothing has more than the rule or its exception allows, and no exception allows more than is there.
#[track_caller]
fn assert_kept(of: &str, found: &BTreeMap<String, usize>, most: usize, exceptions: Exceptions) {
    let wrong = broken(found, most, exceptions);
    assert!(wrong.is_empty(), "{of}:\n{}", wrong.join("\n"));
}

fn broken(found: &BTreeMap<String, usize>, most: usize, exceptions: Exceptions) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, count) in found.iter().filter(|(_, count)| **count > most) {
        match exceptions.iter().find(|(one, ..)| one == name) {
            None => wrong.push(format!("{name} has {count}, at most {most} are allowed")),
            Some((_, allowed, _)) if count > allowed => {
                wrong.push(format!(
                    "{name} has {count}, its exception allows {allowed}"
                ));
            }
            Some((_, allowed, _)) if count < allowed => wrong.push(format!(
                "{name} has no more than {count}: its exception shrinks from {allowed} to that"
            )),
            Some(_) => {}
        }
    }
    let is_needed = |name: &str| found.get(name).is_some_and(|count| *count > most);
    let idle = exceptions.iter().filter(|(name, ..)| !is_needed(name));
    wrong.extend(idle.map(|(name, ..)| format!("{name} needs its exception no more")));
    wrong
}

#[test]
fn exceptions_may_only_shrink() {
    let found = |count| BTreeMap::from([("a".to_owned(), count)]);
    assert!(broken(&found(3), 3, &[]).is_empty());
    assert!(broken(&found(5), 3, &[("a", 5, "reason")]).is_empty());
    for (count, exceptions) in [
        (4, &[] as Exceptions),
        (6, &[("a", 5, "reason")]),
        (4, &[("a", 5, "reason")]),
        (3, &[("a", 5, "reason")]),
        (3, &[("b", 5, "reason")]),
    ] {
        assert_eq!(broken(&found(count), 3, exceptions).len(), 1, "{count}");
    }
}

/// Words that begin a description without naming the described thing.
const HEADLESS: &[&str] = &[
    "What", "It", "Its", "Those", "Who", "Whom", "Where", "Whose", "So",
];

/// Doc comments that begin with a word of [`HEADLESS`], in all crates. The number may only fall: name the thing.
const HEADLESS_DOCS: usize = 1759;

#[test]
fn doc_comments_name_their_subject() {
    let all: usize = files(&root(), &["rs"])
        .iter()
        .map(|file| headless_docs(&fs::read_to_string(file).expect("a text")))
        .sum();
    assert!(
        all <= HEADLESS_DOCS,
        "{all} doc comments begin with one of {HEADLESS:?}; {HEADLESS_DOCS} are allowed"
    );
    assert!(
        all + 60 > HEADLESS_DOCS,
        "{all} doc comments begin with one of {HEADLESS:?}: lower HEADLESS_DOCS"
    );
}

/// First lines of doc comments that begin with a word of [`HEADLESS`].
fn headless_docs(source: &str) -> usize {
    let mut is_inside = false;
    let mut found = 0;
    for line in source.lines().map(str::trim) {
        let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
        let first = doc.and_then(|doc| {
            doc.trim()
                .split(|one: char| !one.is_ascii_alphabetic())
                .next()
        });
        let is_headless = first.is_some_and(|word| HEADLESS.contains(&word));
        found += usize::from(is_headless && !is_inside);
        is_inside = doc.is_some_and(|doc| !doc.trim().is_empty());
    }
    found
}

#[test]
fn headless_docs_are_counted_once_a_comment() {
    let source = "/// What it is.\n/// Its use.\n\n/// The rest.\n/// So far.\n///\n/// Where it is.\nfn f() {}\n//! Item.\n";
    assert_eq!(headless_docs(source), 2);
}
