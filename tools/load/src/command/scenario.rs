//! A scenario file: the options of `sluice load` as YAML, `rate: 1Mpps` for `--rate 1Mpps`.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, Command};

use super::args::LoadArgs;
use sluice_program::config::yaml::{self, Entry, Node, Value};

/// The options of a file, as they would stand on the command line.
///
/// # Errors
/// One line for each thing that is wrong: file, line, key, and what was expected.
pub fn options(file: &Path, text: &str) -> Result<Vec<OsString>, Vec<String>> {
    let place = |line: u32| format!("{}:{line}", file.display());
    let root = yaml::parse(text).map_err(|error| {
        let at = place(error.line);
        vec![format!("{at}: {}; expected {}", error.what, error.expected)]
    })?;
    let entries = match root.value {
        Value::Map(entries) => entries,
        Value::Null => Vec::new(),
        other => {
            let (at, is) = (place(root.line), other.kind());
            return Err(vec![format!(
                "{at}: {is}; expected options such as rate: 1Mpps"
            )]);
        }
    };
    let command = LoadArgs::augment_args(Command::new("load"));
    let (mut options, mut wrong) = (Vec::new(), Vec::new());
    for entry in &entries {
        match option(&command, entry) {
            Ok(option) => options.extend(option),
            Err(why) => wrong.push(format!("{}: {}: {why}", place(entry.line), entry.key)),
        }
    }
    if wrong.is_empty() {
        Ok(options.into_iter().map(OsString::from).collect())
    } else {
        Err(wrong)
    }
}

/// None if a switch is off.
fn option(command: &Command, entry: &Entry) -> Result<Option<String>, String> {
    let name = entry.key.replace('_', "-");
    let known = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some(&name) && name != "config");
    let Some(known) = known else {
        return Err("no such option; expected one of sluice load --help".to_owned());
    };
    let text = scalar(&entry.value)?;
    if !known.get_action().takes_values() {
        return match text.as_str() {
            "true" | "yes" | "on" => Ok(Some(format!("--{name}"))),
            "false" | "no" | "off" => Ok(None),
            other => Err(format!("got '{other}'; expected true or false")),
        };
    }
    // Values are tried one by one, so that what is wrong is told with its line.
    let parser = known.get_value_parser().clone();
    let alone = clap::Arg::new("value").value_parser(parser);
    let alone = match known.get_value_delimiter() {
        Some(delimiter) => alone
            .value_delimiter(delimiter)
            .action(clap::ArgAction::Append),
        None => alone,
    };
    let tried = Command::new("load")
        .arg(alone.allow_hyphen_values(true))
        .try_get_matches_from(["load", &text]);
    match tried {
        Ok(_) => Ok(Some(format!("--{name}={text}"))),
        Err(error) => Err(reason(&error, &text)),
    }
}

/// Message of clap without the command line, as the arguments come from a file.
fn reason(error: &clap::Error, text: &str) -> String {
    use std::error::Error;
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let because = error.source().map(ToString::to_string);
    let because = because.or_else(|| first.rsplit_once("': ").map(|(_, why)| why.to_owned()));
    format!(
        "got '{text}'; {}",
        because.unwrap_or_else(|| first.to_owned())
    )
}

fn scalar(node: &Node) -> Result<String, String> {
    match &node.value {
        Value::Scalar(text) => Ok(text.clone()),
        Value::List(items) => {
            let parts: Result<Vec<String>, String> = items.iter().map(scalar).collect();
            parts.map(|parts| parts.join(","))
        }
        other => Err(format!("got {}; expected a single value", other.kind())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, Vec<String>> {
        let options = options(Path::new("s.yaml"), text)?;
        Ok(options
            .into_iter()
            .map(|option| option.into_string().unwrap())
            .collect())
    }

    #[test]
    fn a_file_is_options_without_dashes() {
        let text = "rate: 1Mpps\nmirror: true\nrest: no\nsteps: [1kpps:1s, 1kpps-2kpps:2s]\nn3_via: 192.0.2.1\n";
        let want = [
            "--rate=1Mpps",
            "--mirror",
            "--steps=1kpps:1s,1kpps-2kpps:2s",
            "--n3-via=192.0.2.1",
        ];
        assert_eq!(read(text).unwrap(), want);
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = read("ues: 10\nrat: 1Mpps\nrate: fast\nmirror: maybe\nues: {a: 1}\n");
        let wrong = wrong.unwrap_err().join("\n");
        for part in [
            "s.yaml:2: rat: no such option",
            "s.yaml:3: rate: got 'fast'; expected a rate",
            "s.yaml:4: mirror: got 'maybe'",
        ] {
            assert!(wrong.contains(part), "{wrong}");
        }
        assert!(read("- a").is_err() && read("a: [").is_err());
    }
}
