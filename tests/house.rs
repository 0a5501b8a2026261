//! The rules of the house that no compiler knows: which room may use which, where unsafe code
//! may live, how long a file may be, and that links lead somewhere.

#![forbid(unsafe_code)]

mod circles;
mod rooms;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The floors of the house. A crate may depend only on crates of lower floors, so those of one
/// floor never know each other: the packet path not its twin, network functions not each other.
const FLOORS: &[&[&str]] = &[
    &["sluice-wire", "sluice-mem", "sluice-ids", "sluice-web"],
    &[
        "sluice-port",
        "sluice-host",
        "sluice-n4",
        "sluice-security",
        "sluice-sbi",
        "sluice-sbi-keys",
        "sluice-seal",
    ],
    &[
        "sluice-port-sim",
        "sluice-port-dpdk",
        "sluice-datapath",
        "sluice-twin",
        "sluice-smf-emulator",
        "sluice-n1",
        "sluice-n2",
        "sluice-sctp",
        "sluice-shared-ring",
        "sluice-services",
        "sluice-contexts",
        "sluice-contexts-redis",
        "sluice-program",
    ],
    &[
        "sluice-session",
        "sluice-amf",
        "sluice-smf",
        "sluice-ausf",
        "sluice-udm",
        "sluice-udr",
        "sluice-pcf",
        "sluice-nrf",
        "sluice-nssf",
        "sluice-bus",
        "sluice-sbi-http2",
        "sluice-ue",
        "sluice-worker",
    ],
    &["sluice-core-host", "sluice-bus-local", "sluice-bus-http2"],
    &["sluice-control", "sluice-wiring", "sluice-subscribers"],
    &[
        "sluice-upf-daemon",
        "sluice-core-runtime",
        "sluice",
        "sluice-testbed",
    ],
    &["sluice-load", "sluice-core-daemon"],
    &["sluice-ran", "sluice-box"],
    &["sluice-demo", "sluice-bench"],
    &["sluice-lab"],
    &["sluice-tests", "sluice-fuzz"],
    &["sluice-fuzz-guided"],
];

/// What must stay off the packet path: whoever logs, waits or allocates needs one of these first.
const NOT_ON_THE_PATH: &[&str] = &["tracing", "log", "tokio", "serde", "sluice-host"];

/// The core and its protocols: time and random numbers are handed in, octets come and go.
const CORE: &[(&str, &str)] = &[
    ("sluice-ids", "proto/ids"),
    ("sluice-security", "proto/security"),
    ("sluice-sbi", "core/sbi"),
    ("sluice-n1", "proto/n1"),
    ("sluice-n2", "proto/n2"),
    ("sluice-amf", "core/amf"),
    ("sluice-smf", "core/smf"),
    ("sluice-ausf", "core/ausf"),
    ("sluice-udm", "core/udm"),
    ("sluice-udr", "core/udr"),
    ("sluice-pcf", "core/pcf"),
    ("sluice-nrf", "core/nrf"),
    ("sluice-nssf", "core/nssf"),
    ("sluice-bus", "core/bus"),
    ("sluice-services", "core/services"),
    ("sluice-core-host", "core/host"),
    ("sluice-wiring", "core/wiring"),
    ("sluice-ue", "tools/ue"),
];

/// What must stay out of all that the core is built from.
const NOT_IN_THE_CORE: &[&str] = &[
    "async-std",
    "chrono",
    "fastrand",
    "getrandom",
    "jiff",
    "libc",
    "mio",
    "nix",
    "rand",
    "rustix",
    "smol",
    "socket2",
    "time",
    "tokio",
];

/// What the sources of the core may not name: the world outside, and what has another order in each run.
const NOT_IN_ITS_SOURCES: &[&str] = &[
    "std::time",
    "std::net",
    "std::thread",
    "std::fs",
    "std::env",
    "std::process",
    "HashMap",
    "HashSet",
    "SystemTime",
];

/// Files of tests among these sources that read what is beside the house.
const OF_TESTS: &[&str] = &["core/services/src/judge.rs"];

/// Longest file written by hand.
const MAX_LINES: usize = 600;

/// A file shorter than this, beside roots of modules, seldom earns its own name; and how many may.
const SHORT_LINES: usize = 30;
const SHORT_FILES: usize = 10;

#[test]
fn dependencies_point_downwards() {
    let floor_of = floors();
    let mut wrong = Vec::new();
    for (name, dependencies) in crates() {
        let Some(floor) = floor_of.get(name.as_str()) else {
            wrong.push(format!(
                "{name} has no floor: give it one in tests/house.rs"
            ));
            continue;
        };
        for dependency in dependencies {
            if floor_of
                .get(dependency.as_str())
                .is_some_and(|below| below >= floor)
            {
                wrong.push(format!("{name} (floor {floor}) depends on {dependency}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_packet_path_cannot_log_wait_or_look_around() {
    let crates = crates();
    let path = crates
        .get("sluice-datapath")
        .expect("the packet path is a crate");
    let found: Vec<_> = path
        .iter()
        .filter(|name| NOT_ON_THE_PATH.contains(&name.as_str()))
        .collect();
    assert!(found.is_empty(), "sluice-datapath depends on {found:?}");
}

#[test]
fn the_core_has_no_clock_socket_thread_or_random_numbers() {
    let Resolution { names, built_from } = Resolution::of_the_house();
    let is_core = |id: &&String| CORE.iter().any(|(name, _)| *name == names[*id]);
    let mut open: Vec<&String> = built_from.keys().filter(is_core).collect();
    assert_eq!(open.len(), CORE.len());
    let mut seen = BTreeMap::new();
    // The PFCP endpoint has no more of `mem` than prefetching, so what that crate is built from, which
    // maps memory, is not the core's.
    for file in files(&root().join("proto/n4/src"), &["rs"]) {
        let source = fs::read_to_string(&file).expect("a text");
        let mut named = source.split("sluice_mem::").skip(1);
        assert!(
            named.all(|rest| rest.starts_with("prefetch")),
            "{}",
            show(&file)
        );
    }
    let is_memory = |id: &String| names[id] == "sluice-mem";
    while let Some(id) = open.pop() {
        if seen.insert(id, &names[id]).is_none() && !is_memory(id) {
            open.extend(&built_from[id]);
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
    let is_wrong = |name: &&&String| NOT_IN_THE_CORE.contains(&name.as_str());
    let found: Vec<_> = seen.values().filter(is_wrong).collect();
    assert!(found.is_empty(), "the core is built from {found:?}");
}

/// Programs that move no packets need no DPDK: a host without it can run the core and ask daemons.
#[test]
fn the_command_line_the_core_and_emulators_link_no_dpdk() {
    let Resolution { names, built_from } = Resolution::of_the_house();
    for program in [
        "sluice",
        "sluice-core-daemon",
        "sluice-ran",
        "sluice-smf-emulator",
        "sluice-ue",
    ] {
        let mut open: Vec<&String> = built_from
            .keys()
            .filter(|id| names[*id] == program)
            .collect();
        assert_eq!(open.len(), 1, "{program}");
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(&built_from[id]);
            }
        }
        let links = seen.iter().any(|id| names[*id] == "sluice-port-dpdk");
        assert!(!links, "{program} is built from sluice-port-dpdk");
    }
}

/// Packages by their ids, and what each is built from.
struct Resolution {
    names: BTreeMap<String, String>,
    built_from: BTreeMap<String, Vec<String>>,
}

impl Resolution {
    fn of_the_house() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--offline"])
            .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
        let list = |list: &Value| list.as_array().expect("a list").clone();
        let names = list(&metadata["packages"])
            .iter()
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let built_from = list(&metadata["resolve"]["nodes"])
            .iter()
            .map(|node| (text(&node["id"]), normal_dependencies(node)))
            .collect();
        Self { names, built_from }
    }
}

/// What a package of cargo's resolution is built from, without what only builds or tests it.
fn normal_dependencies(node: &Value) -> Vec<String> {
    let is_normal = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array().expect("kinds");
        kinds.iter().any(|kind| kind["kind"].is_null())
    };
    let dependencies = node["deps"].as_array().expect("dependencies").iter();
    let packages = dependencies.filter(is_normal).map(|d| text(&d["pkg"]));
    packages.collect()
}

#[test]
fn the_core_names_nothing_that_differs_from_run_to_run() {
    let mut wrong = Vec::new();
    for (_, folder) in CORE {
        for file in files(&root().join(folder).join("src"), &["rs"]) {
            if OF_TESTS.contains(&show(&file).as_str()) {
                continue;
            }
            let source = fs::read_to_string(&file).expect("a text");
            let named = NOT_IN_ITS_SOURCES
                .iter()
                .filter(|name| source.contains(*name));
            wrong.extend(named.map(|name| format!("{}: {name}", show(&file))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Crates with a runtime of their own threads and timers, and who may have them: doors by HTTP, and their benchmark.
const RUNTIMES: &[&str] = &["axum", "h2", "hyper", "hyper-util", "tokio", "tokio-rustls"];
const HAVE_RUNTIMES: &[&str] = &["sluice-bench", "sluice-core-daemon", "sluice-sbi-http2"];

#[test]
fn the_doors_by_http_alone_have_a_runtime() {
    let crates = crates();
    let has = |(name, all): (&String, &Vec<String>)| {
        let one = all.iter().any(|one| RUNTIMES.contains(&one.as_str()));
        one.then(|| name.clone())
    };
    let found: Vec<String> = crates.iter().filter_map(has).collect();
    assert_eq!(found, HAVE_RUNTIMES);
}

#[test]
fn no_file_is_too_long() {
    let too_long = |file: &PathBuf| {
        let lines = fs::read_to_string(file).expect("a text").lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines", show(file)))
    };
    let all = files(&root(), &["rs", "c", "h", "sh"]);
    let wrong: Vec<_> = all.iter().filter_map(too_long).collect();
    assert!(
        wrong.is_empty(),
        "more than {MAX_LINES} lines:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn links_in_the_documents_lead_to_files() {
    let mut wrong = Vec::new();
    for document in files(&root(), &["md"]) {
        let text = fs::read_to_string(&document).expect("a text");
        let folder = document.parent().expect("files lie in folders");
        for link in links(&text).filter(|link| is_local(link)) {
            let target = link.split('#').next().unwrap_or(link);
            if !folder.join(target).exists() {
                wrong.push(format!("{}: {link}", show(&document)));
            }
        }
    }
    assert!(wrong.is_empty(), "dead links:\n{}", wrong.join("\n"));
}

#[test]
fn tests_that_the_documents_name_exist() {
    let sources = files(&root(), &["rs"]);
    let code: String = sources
        .iter()
        .map(|file| fs::read_to_string(file).unwrap_or_default())
        .collect();
    for (document, fewest) in [
        ("docs/what-crashed-others.md", 20),
        ("docs/conformance/n4.md", 200),
        ("docs/conformance/core.md", 40),
        ("docs/conformance/ngap-nas.md", 40),
        ("docs/conformance/upf-cases.md", 15),
    ] {
        let text = fs::read_to_string(root().join(document)).expect(document);
        let named: Vec<&str> = test_names(&text).collect();
        assert!(named.len() > fewest, "{document}: {named:?}");
        let is_lost = |name: &&&str| !code.contains(&format!("fn {name}("));
        let lost: Vec<_> = named.iter().filter(is_lost).collect();
        assert!(lost.is_empty(), "{document}: no tests named {lost:?}");
    }
}

/// Groups of IEs that no table of `docs/conformance/n4.md` is about: they are refused, ignored or never sent as a
/// whole, or repeat a part of another.
const WITHOUT_N4_TABLE: &[&str] = &[
    "CreateTrafficEndpoint",
    "CreatedTrafficEndpoint",
    "DuplicatingParameters",
    "PartialFailureInformation",
    "PeerUpRestartReport",
    "PfdManagementResponse",
    "RemoveTrafficEndpoint",
    "SessionDeletionRequest",
    "SessionEstablishmentHead",
    "SessionModificationHead",
    "SessionSetDeletionResponse",
    "UeIpAddressPoolInformation",
    "UpdateDuplicatingParameters",
    "UpdateTrafficEndpoint",
    "UpdatedPdr",
    "VersionNotSupportedResponse",
];

#[test]
fn every_group_that_the_codec_reads_has_a_table_of_what_is_served() {
    let text = |folder: &str| -> String {
        let files = files(&root().join(folder), &["rs"]).into_iter();
        files
            .map(|file| fs::read_to_string(file).expect("a text"))
            .collect()
    };
    let codec = text("wire/src/pfcp/group") + &text("wire/src/pfcp/message");
    let tables = text("upf/session/src/conformance");
    let mut groups: Vec<_> = codec
        .split("pub struct ")
        .skip(1)
        .filter_map(|rest| rest.split([' ', '<']).next())
        .collect();
    groups.sort_unstable();
    assert!(groups.len() > 50, "{groups:?}");
    let has_table = |group: &&&str| tables.contains(&format!("    {group} \""));
    let without: Vec<_> = groups.iter().filter(|g| !has_table(g)).copied().collect();
    assert_eq!(without, WITHOUT_N4_TABLE);
}

/// A test command that finds nothing passes, and proves nothing.
#[test]
fn commands_of_the_specification_name_packages_and_targets_that_exist() {
    let text = fs::read_to_string(root().join("SPECIFICATION.md")).expect("the specification");
    let targets = test_targets();
    let commands: Vec<&str> = quoted(&text)
        .filter(|c| c.contains("cargo test "))
        .collect();
    assert!(commands.len() > 30, "{commands:?}");
    let wrong: Vec<_> = commands
        .iter()
        .filter(|command| !names_a_target(command, &targets))
        .collect();
    assert!(wrong.is_empty(), "no such package or test: {wrong:#?}");
}

#[test]
fn files_that_the_developer_documents_name_exist() {
    let mut wrong = Vec::new();
    for document in files(&root().join("docs/developer"), &["md"]) {
        let text = fs::read_to_string(&document).expect("a text");
        let lost = quoted(&text).filter(|name| is_file_name(name) && !root().join(name).exists());
        wrong.extend(lost.map(|name| format!("{}: {name}", show(&document))));
    }
    assert!(wrong.is_empty(), "no such files:\n{}", wrong.join("\n"));
}

#[test]
fn few_files_are_very_short() {
    let is_short = |file: &PathBuf| {
        let root_of_module = ["lib.rs", "mod.rs", "main.rs"]
            .iter()
            .any(|n| file.ends_with(n));
        // cargo-fuzz wants a file for each target.
        let is_program = file.parent().is_some_and(|at| at.ends_with("fuzz_targets"));
        let lines = fs::read_to_string(file).expect("a text").lines().count();
        !root_of_module && !is_program && lines < SHORT_LINES
    };
    let all = files(&root(), &["rs"]);
    let short: Vec<_> = all.iter().filter(|file| is_short(file)).collect();
    assert!(short.len() <= SHORT_FILES, "merge some: {short:#?}");
}

/// Test targets by package; the library's unit tests are "lib".
fn test_targets() -> BTreeMap<String, Vec<String>> {
    packages()
        .iter()
        .map(|package| {
            let targets = package["targets"].as_array().expect("targets").iter();
            let name = |target: &Value| match target["kind"][0].as_str() {
                Some("lib") => "lib".to_owned(),
                _ => text(&target["name"]),
            };
            (text(&package["name"]), targets.map(name).collect())
        })
        .collect()
}

/// Whether each `-p X` is a package, and each `--test Y` and `--lib` a target of the first of them.
fn names_a_target(command: &str, targets: &BTreeMap<String, Vec<String>>) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let after = |flag| {
        let flags = words.windows(2).filter(move |pair| pair[0] == flag);
        flags.map(|pair| pair[1])
    };
    let Some(of) = after("-p").next().and_then(|package| targets.get(package)) else {
        return false;
    };
    let has = |target: &str| of.iter().any(|name| name == target);
    after("-p").all(|package| targets.contains_key(package))
        && after("--test").all(has)
        && (!words.contains(&"--lib") || has("lib"))
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A path from the root of the repository to a file with an ending that sources and documents have.
fn is_file_name(name: &str) -> bool {
    let endings = [".rs", ".md", ".sh", ".yaml", ".toml", ".json"];
    name.contains('/')
        && !name.contains([' ', '*', '<', '{'])
        && endings.iter().any(|ending| name.ends_with(ending))
}

/// What stands in backquotes and reads like a test: words joined by three underscores or more.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    quoted(text).filter(|name| name.matches('_').count() >= 3)
}

fn floors() -> BTreeMap<&'static str, usize> {
    FLOORS
        .iter()
        .enumerate()
        .flat_map(|(floor, names)| names.iter().map(move |n| (*n, floor)))
        .collect()
}

/// The crates of the workspace and what each is built from. Test-only dependencies are left
/// out: a test may stand a crate on anything.
fn crates() -> BTreeMap<String, Vec<String>> {
    packages()
        .iter()
        .map(|package| (text(&package["name"]), built_from(package)))
        .collect()
}

/// The packages of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn built_from(package: &Value) -> Vec<String> {
    let dependencies = package["dependencies"].as_array().expect("dependencies");
    let for_tests = |dependency: &&Value| dependency["kind"].as_str() == Some("dev");
    dependencies
        .iter()
        .filter(|d| !for_tests(d))
        .map(|d| text(&d["name"]))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the house")
        .to_owned()
}

fn show(file: &Path) -> String {
    file.strip_prefix(root())
        .unwrap_or(file)
        .display()
        .to_string()
}

/// All files below `folder` with one of these endings, except what was built or fetched.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            let name = name.to_string_lossy();
            if !name.starts_with('.') && !["target", "node_modules"].contains(&&*name) {
                found.extend(files(&path, endings));
            }
        } else if path
            .extension()
            .is_some_and(|e| endings.iter().any(|ending| e == *ending))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The targets of `[text](target)`, outside code blocks.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let outside_code = text.split("```").step_by(2);
    outside_code.flat_map(|part| {
        part.split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ', '\n']).next())
    })
}

fn is_local(link: &str) -> bool {
    !(link.is_empty()
        || link.starts_with('#')
        || link.contains("://")
        || link.starts_with("mailto:"))
}

#[test]
fn the_finders_find_what_they_look_for() {
    let text = "see [a](b.md#c) and [d](https://e)\n```\n[f](g)\n```\n[h](#i)";
    let found: Vec<_> = links(text).filter(|link| is_local(link)).collect();
    assert_eq!(found, ["b.md#c"]);
    let targets = BTreeMap::from([("a".to_owned(), vec!["lib".to_owned(), "all".to_owned()])]);
    let names = |command| names_a_target(command, &targets);
    assert!(names("cargo test -p a --test all x") && names("cargo test -p a --lib"));
    assert!(!names("cargo test -p b") && !names("cargo test -p a --test other"));
    assert!(is_file_name("docs/x.md") && !is_file_name("path/ul/default"));
}
