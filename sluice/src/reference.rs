//! `sluice reference`: pages of docs/operator that the program carries. Tests keep them in step with the code.

use crate::cli::args::{ReferenceArgs, ReferencePage};
use sluice_program::exit::Exit;
use std::io::{self, Write as _};

/// Prints a page.
pub fn run(args: ReferenceArgs) -> Exit {
    // A closed pipe (`| head`) is the reader's choice.
    let _ = io::stdout().write_all(page(args.page).as_bytes());
    Exit::Done
}

/// A page as Markdown.
pub fn page(page: ReferencePage) -> &'static str {
    match page {
        ReferencePage::Drops => include_str!("../../docs/operator/drops.md"),
        ReferencePage::Refusals => include_str!("../../docs/operator/refusals.md"),
        ReferencePage::Metrics => include_str!("../../docs/operator/metrics.md"),
        ReferencePage::N4 => include_str!("../../docs/conformance/n4.md"),
        ReferencePage::Ctl => include_str!("../../docs/operator/ctl.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{Command, CommandFactory};
    use std::collections::BTreeSet;

    /// Commands at the prompts and in the shell blocks of the page of `sluice ctl`, without `sluice`.
    fn examples() -> Vec<Vec<String>> {
        let lines = page(ReferencePage::Ctl).lines();
        let command = |line: &str| {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            line.strip_prefix("sluice ctl ").map(words)
        };
        lines.filter_map(command).collect()
    }

    /// Splits at blanks outside of double quotes.
    fn words(line: &str) -> Vec<String> {
        let mut found = vec!["sluice".to_owned(), "ctl".to_owned()];
        for (number, part) in line.split('"').enumerate() {
            if number % 2 == 1 {
                found.push(part.to_owned());
            } else {
                found.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        found
    }

    /// Names of the commands below one, such as `qos start`.
    fn names(command: &Command, path: &str, found: &mut BTreeSet<String>) {
        for below in command.get_subcommands() {
            let name = format!("{path} {}", below.get_name()).trim().to_owned();
            if !below.is_subcommand_required_set() {
                found.insert(name.clone());
            }
            names(below, &name, found);
        }
    }

    /// The name of the command that was parsed.
    fn name_of(matches: &clap::ArgMatches) -> String {
        let mut found = Vec::new();
        let mut here = matches;
        while let Some((name, below)) = here.subcommand() {
            found.push(name);
            here = below;
        }
        found.get(1..).unwrap_or_default().join(" ")
    }

    #[test]
    fn the_page_of_ctl_has_an_example_of_each_command_that_the_program_takes() {
        let mut shown = BTreeSet::new();
        for words in examples() {
            match Cli::command().try_get_matches_from(&words) {
                Ok(matches) => shown.insert(name_of(&matches)),
                Err(error) => panic!("{words:?}: {error}"),
            };
        }
        let command = Cli::command();
        let mut all = BTreeSet::new();
        names(command.find_subcommand("ctl").unwrap(), "", &mut all);
        assert!(all.len() > 30, "{all:?}");
        let missing: Vec<_> = all.difference(&shown).collect();
        assert!(
            missing.is_empty(),
            "not in docs/operator/ctl.md: {missing:?}"
        );
    }
}
