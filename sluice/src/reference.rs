//! `sluice reference`: the operator's reference pages. Those of the UPF are made from its code by a test, that of `ctl`
//! here.

use crate::cli::Cli;
use crate::cli::args::{ReferenceArgs, ReferencePage};
use clap::CommandFactory;
use sluice_program::exit::Exit;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// Prints a page.
pub fn run(args: ReferenceArgs) -> Exit {
    // A closed pipe (`| head`) is the reader's choice.
    let _ = io::stdout().write_all(page(args.page).as_bytes());
    Exit::Done
}

/// A page as Markdown.
pub fn page(page: ReferencePage) -> Cow<'static, str> {
    match page {
        ReferencePage::Drops => include_str!("../../docs/operator/drops.md").into(),
        ReferencePage::Refusals => include_str!("../../docs/operator/refusals.md").into(),
        ReferencePage::Metrics => include_str!("../../docs/operator/metrics.md").into(),
        ReferencePage::N4 => include_str!("../../docs/operator/n4.md").into(),
        ReferencePage::Ctl => ctl().into(),
    }
}

const MADE: &str = "<!-- Made from the code: `sluice reference";

fn ctl() -> String {
    let mut page = format!(
        "{MADE} ctl`. -->\n\n# sluice ctl\n\n\
         Asks a running UPF or core over its control socket. `--json` gives one JSON object; SEIDs and TEIDs are \
         hexadecimal text in both.\n"
    );
    let mut command = Cli::command();
    command.build();
    let ctl = command.find_subcommand_mut("ctl");
    ctl.into_iter()
        .for_each(|ctl| ctl_help(&mut page, ctl, "sluice ctl"));
    page
}

/// Help of what is below a command, and below that.
fn ctl_help(page: &mut String, command: &mut clap::Command, path: &str) {
    for command in command.get_subcommands_mut() {
        let name = command.get_name().to_owned();
        if name != "help" {
            let help = command
                .clone()
                .color(clap::ColorChoice::Never)
                .render_long_help();
            let path = format!("{path} {name}");
            let _ = write!(
                page,
                "\n## {path}\n\n```\n{}\n```\n",
                trimmed(&help.to_string())
            );
            ctl_help(page, command, &path);
        }
    }
}

/// Without blanks at the ends of lines.
fn trimmed(text: &str) -> String {
    let lines: Vec<_> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// With SLUICE_WRITE_REFERENCE=1 it is written.
    #[test]
    fn the_operators_page_of_ctl_is_that_of_the_code() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operator/ctl.md");
        let made = page(ReferencePage::Ctl);
        if std::env::var_os("SLUICE_WRITE_REFERENCE").is_some() {
            fs::write(&path, made.as_bytes()).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == made,
            "docs/operator/ctl.md is not what the code says: SLUICE_WRITE_REFERENCE=1 cargo test -p sluice --lib \
             reference"
        );
    }
}
