//! Import and export of subscribers: all of a file or nothing of it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use sluice_ids::Supi;

use super::db::Db;
use super::error::Error;
use super::{Store, Tools, rows};
use crate::draft::Draft;
use crate::problem::{Problem, Problems};
use crate::record::Record;
use crate::{json, table};

/// Longest file that is imported: a million subscribers with some data networks each.
pub const IMPORT_BYTES: usize = 512 << 20;

/// How subscribers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A table.
    Csv,
    /// A list of objects.
    Json,
}

/// What an import has done.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Imported {
    /// Subscribers that are new.
    pub added: Vec<Supi>,
    /// Subscribers that were there, and are as the file has them now.
    pub replaced: Vec<Supi>,
}

/// An import under way.
struct Import<'a> {
    tools: &'a Tools<'a>,
    tx: &'a Db,
    unix_s: u64,
    replace: bool,
    room: u64,
    /// In which line each subscriber was.
    lines: BTreeMap<Supi, u64>,
    problems: Problems,
    done: Imported,
}

impl Store {
    /// Adds all subscribers of a text in one transaction. Those that are there already are refused, or
    /// with `replace` become what the text says; then their sequence numbers go on, unless their keys
    /// are others or the text has a number.
    ///
    /// # Errors
    /// What is wrong, by line; nothing has changed then.
    pub fn import(
        &mut self,
        octets: &[u8],
        format: Format,
        replace: bool,
        unix_s: u64,
    ) -> Result<Imported, Error> {
        if octets.len() > IMPORT_BYTES {
            let what = format!("{} bytes", octets.len());
            return Err(Problem::new("", what, format!("at most {IMPORT_BYTES}")).into());
        }
        let text = text_of(octets)?;
        self.write(|tools, tx| {
            let there = rows::number(tx).map_err(|error| tools.sql(error))?;
            let mut import = Import {
                tools,
                tx,
                unix_s,
                replace,
                room: (sluice_udr::SUBSCRIBERS as u64).saturating_sub(there),
                lines: BTreeMap::new(),
                problems: Problems::default(),
                done: Imported::default(),
            };
            match format {
                Format::Csv => {
                    for (line, draft) in table::drafts(text)? {
                        import.take(line, draft)?;
                    }
                }
                Format::Json => {
                    for (line, draft) in json::drafts(text)? {
                        import.take(line, draft)?;
                    }
                }
            }
            import.finish()
        })
    }

    /// Writes all subscribers; their keys and sequence numbers only if they are asked for.
    ///
    /// # Errors
    /// When the file cannot be read, or `out` refuses.
    pub fn export(
        &self,
        format: Format,
        with_keys: bool,
        unix_s: u64,
        out: &mut dyn Write,
    ) -> Result<u64, Error> {
        let failed = |error: io::Error| Error::Io("export".into(), error);
        let mut number = 0;
        match format {
            Format::Csv => {
                let mut table = table::TableWriter::new(out, with_keys).map_err(failed)?;
                self.each(|record| {
                    number += 1;
                    table.push(&record, unix_s).map_err(failed)
                })?;
                table.finish().map_err(failed)?;
            }
            Format::Json => {
                out.write_all(b"[").map_err(failed)?;
                self.each(|record| {
                    let separator = if number == 0 { "\n" } else { ",\n" };
                    number += 1;
                    let object = json::view(&record, with_keys, unix_s);
                    write!(out, "{separator}{object}").map_err(failed)
                })?;
                out.write_all(b"\n]\n").map_err(failed)?;
            }
        }
        Ok(number)
    }
}

fn text_of(octets: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(octets).map_err(|error| {
        let before = octets.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + before.iter().filter(|c| **c == b'\n').count() as u64;
        Problem::new("", "octets that are no text", "UTF-8").at(line)
    })
}

impl Import<'_> {
    /// One more subscriber. What is wrong is noted, and the rest still looked at.
    fn take(&mut self, line: u64, draft: Result<Draft, Problem>) -> Result<(), Error> {
        let draft = match draft {
            Ok(draft) => draft,
            Err(problem) => {
                self.problems.push(problem.at(line));
                return Ok(());
            }
        };
        let imsi = draft.imsi.0.clone().unwrap_or_default();
        let wrong = |problem: Problem| problem.of(&imsi).at(line);
        // Keys are of the file, also of one that is there.
        let checked = match draft.check(None) {
            Ok(checked) => checked,
            Err(found) => {
                let found = found.into_iter().map(|problem| problem.at(line));
                found.for_each(|problem| self.problems.push(problem));
                return Ok(());
            }
        };
        let supi = checked.supi;
        if let Some(first) = self.lines.insert(supi, line) {
            let what = format!("a second time; first in line {first}");
            self.problems
                .push(wrong(Problem::new("imsi", what, "each once")));
            return Ok(());
        }
        let before = match self.replace {
            true => self.before(&supi)?,
            false => None,
        };
        let Some(record) = checked.into_record(before.as_ref(), self.unix_s) else {
            return Ok(());
        };
        if before.is_none() && self.done.added.len() as u64 >= self.room {
            return Err(Error::Full);
        }
        if before.is_some() {
            rows::remove(self.tx, &supi).map_err(|error| self.tools.sql(error))?;
        }
        if !self.tools.insert(self.tx, &record)? {
            let expected = "a new one, or --replace";
            self.problems.push(wrong(Problem::new(
                "imsi",
                "there is one already",
                expected,
            )));
            return Ok(());
        }
        match before {
            Some(_) => self.done.replaced.push(supi),
            None => self.done.added.push(supi),
        }
        Ok(())
    }

    fn before(&self, supi: &Supi) -> Result<Option<Record>, Error> {
        rows::get(self.tx, self.tools.sealer, supi).map_err(|error| self.tools.rows(error))
    }

    /// Addresses are compared when all are there, so that some may change places.
    fn finish(mut self) -> Result<Imported, Error> {
        let taken = rows::taken_addresses(self.tx, None).map_err(|error| self.tools.sql(error))?;
        for one in taken {
            // Of two, the one that is of this file.
            let line = Supi::from_imsi(&one.imsi).and_then(|supi| self.lines.get(&supi));
            if let Some(line) = line {
                self.problems.push(one.problem(&one.imsi).at(*line));
            }
        }
        match self.problems.is_empty() {
            true => Ok(self.done),
            false => Err(self.problems.into()),
        }
    }
}
