//! Shell completion and manual pages, made from the command line's own description.

use super::Cli;
use super::args::{CompletionArgs, ManArgs};
use clap::CommandFactory;
use sluice_program::exit::Exit;
use std::io;

/// Prints the completion script of a shell.
pub fn completion(args: CompletionArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sluice", &mut script);
    // A closed pipe is the reader's choice.
    let _ = io::Write::write_all(&mut io::stdout(), &script);
    Exit::Done
}

/// Writes manual pages: all into a folder, or the first one to standard output.
pub fn man(args: &ManArgs) -> Exit {
    let written = match &args.out {
        None => clap_mangen::Man::new(Cli::command()).render(&mut io::stdout()),
        Some(folder) => std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), folder)),
    };
    match (written, &args.out) {
        (Err(error), Some(folder)) => {
            eprintln!(
                "sluice man: {} cannot be written: {error}",
                folder.display()
            );
            Exit::Failed
        }
        _ => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manual_pages_are_written_for_every_subcommand() {
        let folder = tempfile::tempdir().unwrap();
        let args = ManArgs {
            out: Some(folder.path().join("man")),
        };
        assert!(matches!(man(&args), Exit::Done));
        for page in [
            "sluice.1",
            "sluice-upf.1",
            "sluice-ctl.1",
            "sluice-ctl-trace.1",
        ] {
            let text = std::fs::read_to_string(folder.path().join("man").join(page)).unwrap();
            assert!(text.contains(".SH NAME"), "{page}");
        }
        let nowhere = ManArgs {
            out: Some("/proc/none/man".into()),
        };
        assert!(matches!(man(&nowhere), Exit::Failed));
    }

    #[test]
    fn completion_knows_the_questions() {
        for shell in [
            clap_complete::Shell::Bash,
            clap_complete::Shell::Zsh,
            clap_complete::Shell::Fish,
        ] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "sluice", &mut script);
            assert!(
                String::from_utf8(script).unwrap().contains("refusals"),
                "{shell}"
            );
        }
    }
}
