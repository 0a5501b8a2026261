//! Whatever happens to a file, it is read or refused with a place, and nothing else.

use super::load;
use proptest::prelude::*;
use proptest::sample::Index;

const EXAMPLE: &str = include_str!("../../../../../docs/upf.yaml");

/// One thing that can happen to a text.
#[derive(Clone, Debug)]
enum Spoil {
    DropLine(Index),
    DoubleLine(Index),
    SwapLines(Index, Index),
    Replace(Index, Index, &'static str),
}

/// What may stand in a wrong place.
const SCRAPS: [&str; 14] = [
    "-",
    ":",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "#",
    "&a",
    "*a",
    "\t",
    "0",
    "99999999999999999999",
    "é",
];

fn spoil() -> impl Strategy<Value = Spoil> {
    let index = any::<Index>;
    prop_oneof![
        index().prop_map(Spoil::DropLine),
        index().prop_map(Spoil::DoubleLine),
        (index(), index()).prop_map(|(a, b)| Spoil::SwapLines(a, b)),
        (index(), index(), prop::sample::select(&SCRAPS[..]))
            .prop_map(|(line, at, scrap)| Spoil::Replace(line, at, scrap)),
    ]
}

/// Lines that say something, so that a change is seldom one of a comment.
fn lines() -> Vec<String> {
    let code = EXAMPLE.lines().filter(|l| !l.trim_start().starts_with('#'));
    code.filter(|l| !l.is_empty()).map(str::to_owned).collect()
}

fn spoiled(spoils: &[Spoil]) -> String {
    let mut lines = lines();
    for spoil in spoils {
        let len = lines.len();
        match spoil {
            Spoil::DropLine(i) => drop(lines.remove(i.index(len))),
            Spoil::DoubleLine(i) => lines.insert(i.index(len), lines[i.index(len)].clone()),
            Spoil::SwapLines(a, b) => lines.swap(a.index(len), b.index(len)),
            Spoil::Replace(line, at, scrap) => {
                let line = &mut lines[line.index(len)];
                let mut letters: Vec<_> = line.chars().map(String::from).collect();
                let count = letters.len();
                letters[at.index(count)] = (*scrap).to_owned();
                *line = letters.concat();
            }
        }
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn a_spoiled_file_is_read_or_refused_with_a_place(
        spoils in prop::collection::vec(spoil(), 1..6)
    ) {
        let text = spoiled(&spoils);
        let last = text.lines().count() as u32 + 1;
        if let Err(refused) = load(&text) {
            prop_assert!(!refused.problems.is_empty());
            for problem in &refused.problems {
                prop_assert!((1..=last).contains(&problem.line), "{problem:?} in\n{text}");
                prop_assert!(!problem.what.is_empty() && !problem.expected.is_empty());
            }
        }
    }
}

#[test]
fn a_file_without_comments_is_the_same() {
    assert!(load(&lines().join("\n")).is_ok());
}
