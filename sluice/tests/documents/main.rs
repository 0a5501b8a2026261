//! Blocks of the documents: YAML through `--check`, shell commands through the parsers of their programs.
#![forbid(unsafe_code)]

mod blocks;
mod shell;
mod yaml;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blocks::{Block, LANGUAGES, all_blocks};
use shell::Shell;

/// The program.
const SLUICE: &str = env!("CARGO_BIN_EXE_sluice");

/// The most blocks that are neither checked nor run, each with its reason.
const UNCHECKED: usize = 6;

fn root() -> PathBuf {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    house.expect("sluice/ lies in the house").to_owned()
}

fn sluice(words: &[&str]) -> Output {
    let mut command = Command::new(SLUICE);
    command.args(words).env_remove("SLUICE_LOG");
    command.output().expect("the program runs")
}

fn blocks_of(language: &str) -> Vec<Block> {
    let mut blocks = all_blocks(&root());
    blocks.retain(|block| block.language == language);
    blocks
}

#[test]
fn every_block_says_its_language() {
    let all = all_blocks(&root());
    let is_bare = |block: &&Block| !LANGUAGES.contains(&block.language.as_str());
    let bare: Vec<String> = all.iter().filter(is_bare).map(Block::place).collect();
    assert!(all.len() > 50, "{}", all.len());
    assert!(bare.is_empty(), "none of {LANGUAGES:?}: {bare:#?}");
}

#[test]
fn few_blocks_are_not_checked_and_each_says_why() {
    let mut blocks = all_blocks(&root());
    blocks.retain(|block| block.unchecked().is_some());
    let without: Vec<String> = blocks
        .iter()
        .filter(|block| block.unchecked().is_some_and(|why| why.len() < 5))
        .map(Block::place)
        .collect();
    assert!(without.is_empty(), "without a reason: {without:#?}");
    let places: Vec<String> = blocks.iter().map(Block::place).collect();
    assert!(places.len() <= UNCHECKED, "{places:#?}");
}

#[test]
fn yaml_of_the_documents_passes_the_checks_of_its_programs() {
    let blocks = blocks_of("yaml");
    let wrong: Vec<String> = blocks
        .iter()
        .filter(|block| block.unchecked().is_none())
        .filter_map(|block| yaml::complaint(&root(), block))
        .collect();
    assert!(blocks.len() > 8, "{}", blocks.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn files_of_the_examples_pass_the_checks_of_their_programs() {
    let folder = root().join("docs/examples");
    let names = ["upf.yaml", "upf.minimal.yaml", "core.yaml", "ran.yaml"];
    for name in names {
        let text = std::fs::read_to_string(folder.join(name)).expect(name);
        let block = Block::whole(&format!("docs/examples/{name}"), &text);
        assert_eq!(yaml::complaint(&root(), &block), None);
    }
}

#[test]
fn commands_of_the_documents_are_those_of_programs_that_exist() {
    let blocks = blocks_of("sh");
    let shell = Shell::new(&root());
    let mut wrong = Vec::new();
    for block in &blocks {
        let found = shell.complaints(&block.text).into_iter();
        wrong.extend(found.map(|what| format!("{}: {what}", block.place())));
    }
    assert!(shell.commands_seen() > 60, "{}", shell.commands_seen());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words in commands that stand for something.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("IMSI", "001010000000001"),
    ("ADDRESS", "198.51.100.1"),
    ("FILE", "file"),
    ("COMMAND", "status"),
    ("NAME", "voice"),
    ("SEID", "31"),
    ("URL", "postgresql://core@db.example/sluice"),
];

#[test]
fn commands_in_the_text_are_those_of_the_program() {
    let shell = Shell::new(&root());
    let mut wrong = Vec::new();
    for (document, command) in blocks::quoted_commands(&root()) {
        let mut text = command.clone();
        for (word, value) in PLACEHOLDERS {
            text = text.replace(word, value);
        }
        let found = shell.complaints(&text).into_iter();
        wrong.extend(found.map(|what| format!("{document}: {command}: {what}")));
    }
    assert!(shell.commands_seen() > 100, "{}", shell.commands_seen());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_is_found() {
    let shell = Shell::new(&root());
    for text in [
        "sluice upf -c upf.yaml --chek",
        "sluice load --rate fast",
        "make nothing-of-this",
        "scripts/none.sh",
        "x=1 ip netns exec upf sluice nothing",
        "no-such-program-here",
        "for x in 1 2; do sluice ctl nothing; done",
        "if true; then",
    ] {
        assert_eq!(shell.complaints(text).len(), 1, "{text}");
    }
    let fine = "f() { ip link set $1 up; }\nf n3; sluice ctl ues | grep -q x && make test # words";
    assert_eq!(shell.complaints(fine), Vec::<String>::new());
    for text in [
        "n4: {listen: 192.0.2.10}\nports: {p0: {device: net_null0}}\ninterfaces: []",
        "plmns: {plmn: nothing, slices: 1}",
        "- check: {no_such_figure: 1}",
        "n3: 'if:a'\nn6: 'if:b'\nrate: fast",
        "nothing_known: 1",
    ] {
        let block = Block::whole("a test", text);
        assert!(yaml::complaint(&root(), &block).is_some(), "{text}");
    }
}
