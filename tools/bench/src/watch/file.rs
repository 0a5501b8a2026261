//! History file: one run a line, the newest last.
//!
//! Lines that cannot be read are told and left where they are.

use super::run::{FORMAT, Run};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What the file holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    /// Runs, the oldest first.
    pub kept: Vec<Kept>,
    /// Lines that are none.
    pub damaged: Vec<Damaged>,
}

/// A run and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    /// The first is 1.
    pub line: usize,
    /// The run.
    pub run: Run,
}

/// A line that is not a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// The first is 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Reads all lines; a file that is not there holds none.
pub fn read(path: &Path) -> io::Result<History> {
    match fs::read(path) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(History::default()),
        Err(e) => Err(e),
    }
}

/// Opens it for a line more, so that one who may not write learns it before the measurement.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).open(path)
}

/// Adds a run in one write: who is interrupted leaves nothing, or a damaged last line, to which
/// nothing is added.
pub fn append(file: &mut File, run: &Run) -> io::Result<()> {
    let mut text = serde_json::to_string(run)?;
    text.push('\n');
    if file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.insert(0, '\n');
        }
    }
    file.write_all(text.as_bytes())
}

fn parse(bytes: &[u8]) -> History {
    let mut history = History::default();
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match run(text) {
            Ok(run) => history.kept.push(Kept { line, run }),
            Err(why) => history.damaged.push(Damaged { line, why }),
        }
    }
    history
}

fn run(text: &[u8]) -> Result<Run, String> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|e| format!("not a run: {e}"))?;
    match value["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => return Err(format!("format {format}; this sluice reads {FORMAT}")),
        None => return Err("not a run: no format".to_owned()),
    }
    let run: Run = serde_json::from_value(value).map_err(|e| format!("not a run: {e}"))?;
    for series in &run.series {
        let bad = series
            .samples
            .iter()
            .find(|v| !(v.is_finite() && **v > 0.0));
        if let Some(bad) = bad {
            let name = &series.name;
            return Err(format!("{name}: a sample is {bad}; expected more than 0"));
        }
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::run::RunArguments;
    use crate::watch::series::Series;

    fn made(name: &str) -> Run {
        let series = Series::ratio(name.into(), "x", [1.25, 0.375]).under("pages", "huge");
        Run::now(RunArguments::default(), vec![series], None)
    }

    #[test]
    fn what_was_appended_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        assert_eq!(read(&path).unwrap(), History::default());
        let runs = [made("a"), made("b")];
        for run in &runs {
            append(&mut open(&path).unwrap(), run).unwrap();
        }
        let history = read(&path).unwrap();
        let lines: Vec<usize> = history.kept.iter().map(|kept| kept.line).collect();
        assert_eq!((lines, history.damaged.len()), (vec![1, 2], 0));
        assert!(history.kept.iter().zip(&runs).all(|(k, run)| k.run == *run));
    }

    #[test]
    fn damaged_lines_are_told_by_number_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        append(&mut open(&path).unwrap(), &made("first")).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let newer = good.replace("\"format\":1", "\"format\":2");
        let zero = good.replace("1.25", "0.0");
        let cut = &good[..good.len() / 2];
        fs::write(&path, format!("{good}\n\u{fffd}\n{newer}{{}}\n{zero}{cut}")).unwrap();
        append(&mut open(&path).unwrap(), &made("last")).unwrap();
        let history = read(&path).unwrap();
        let kept: Vec<usize> = history.kept.iter().map(|kept| kept.line).collect();
        let damaged: Vec<usize> = history.damaged.iter().map(|d| d.line).collect();
        assert_eq!((kept, damaged), (vec![1, 8], vec![3, 4, 5, 6, 7]));
        let why = |at: usize| &history.damaged[at].why;
        assert_eq!(why(1), "format 2; this sluice reads 1");
        assert_eq!(why(2), "not a run: no format");
        assert_eq!(why(3), "first: a sample is 0; expected more than 0");
        assert!(
            why(4).starts_with("not a run: EOF while parsing"),
            "{}",
            why(4)
        );
        assert!(fs::read_to_string(&path).unwrap().contains(cut));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for bytes in [
            &b"\xff\xfe\n{\n"[..],
            b"null\n1\n[]\n",
            b"\"\\u0000\"\n{\"format\":-1}",
        ] {
            let history = parse(bytes);
            assert!(history.kept.is_empty() && history.damaged.len() >= 2);
        }
    }
}
