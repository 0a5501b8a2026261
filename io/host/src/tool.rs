//! Runs of command-line tools, with their precise error output.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Output, Stdio};

/// A tool that could not be started or that failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The program could not be started.
    #[error("cannot run `{command}`: {source}{}", hint(command, source))]
    Start {
        /// The command line.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// The program ended with an error.
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Standard error of the tool.
        stderr: String,
    },
}

/// Runs `command` to its end and gives its standard output.
pub fn run(command: &mut Command) -> Result<String, ToolError> {
    finish(command, None)
}

/// Like [`run`], with `input` on the tool's standard input.
pub fn run_with_input(command: &mut Command, input: &str) -> Result<String, ToolError> {
    finish(command, Some(input))
}

/// The command line as an operator would type it.
pub fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|w| w.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether `program` stands in a directory of PATH.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn finish(command: &mut Command, input: Option<&str>) -> Result<String, ToolError> {
    let output = output_of(command, input).map_err(|source| ToolError::Start {
        command: command_line(command),
        source,
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(ToolError::Failed {
        command: command_line(command),
        status: output.status,
        stderr: complaint(&output, input),
    })
}

fn output_of(command: &mut Command, input: Option<&str>) -> io::Result<Output> {
    // Ctrl-C at the terminal is for us, who may need tools to take things down.
    command.process_group(0);
    let Some(input) = input else {
        return command.stdin(Stdio::null()).output();
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A tool that ends early closes the pipe; its status and message say more than ours.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

fn complaint(output: &Output, input: Option<&str>) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    match input {
        None => said.trim().to_owned(),
        Some(input) => format!(
            "{} (input: {})",
            said.trim(),
            input.trim().replace('\n', "; ")
        ),
    }
}

fn hint(command: &str, source: &io::Error) -> String {
    let program = command.split(' ').next().unwrap_or_default();
    match (source.kind(), package_of(program)) {
        (io::ErrorKind::NotFound, Some(package)) => {
            format!(" (install the Debian package `{package}`)")
        }
        _ => String::new(),
    }
}

/// The Debian package that brings a tool which this crate runs.
pub fn package_of(program: &str) -> Option<&'static str> {
    Some(match program {
        "ip" => "iproute2",
        "ethtool" => "ethtool",
        "tcpdump" => "tcpdump",
        "tshark" => "tshark",
        "ping" => "iputils-ping",
        "iperf3" => "iperf3",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_its_complaint() {
        let error = run(Command::new("ls").arg("/nonexistent-sluice")).expect_err("must fail");
        let text = error.to_string();
        assert!(text.contains("`ls /nonexistent-sluice` failed"), "{text}");
        assert!(text.contains("No such file"), "{text}");
    }

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let error = ToolError::Start {
            command: "ethtool -k x".into(),
            source: io::ErrorKind::NotFound.into(),
        };
        assert!(
            error.to_string().contains("Debian package `ethtool`"),
            "{error}"
        );
        let error = run(&mut Command::new("sluice-no-such-tool")).expect_err("must fail");
        assert!(
            error
                .to_string()
                .contains("cannot run `sluice-no-such-tool`"),
            "{error}"
        );
    }

    #[test]
    fn input_reaches_the_tool() {
        let out = run_with_input(&mut Command::new("cat"), "hello").expect("cat");
        assert_eq!(out, "hello");
    }

    #[test]
    fn installed_tools_are_found_in_path() {
        assert!(is_installed("ls"));
        assert!(!is_installed("sluice-no-such-tool"));
    }
}
