//! Subscribers as CSV (RFC 4180): a row for each data network, and the subscriber's own columns in the first
//! of its rows.

use std::io::{self, Write};

use csv::{ReaderBuilder, StringRecord, Writer};

use crate::draft::keys::Kind;
use crate::draft::value::{TYPE_NAMES, method_name};
use crate::draft::{DEFAULT_SST, Draft, NetworkDraft, Secret, SliceDraft, Text};
use crate::hex;
use crate::json::{keys, prefix_text, sqn_text, type_names};
use crate::problem::{Lines, Problem, without_keys};
use crate::record::{Network, Record, Slice};

/// Columns of a subscriber, in its first row alone.
const OWN: [&str; 12] = [
    "imsi",
    "k",
    "opc",
    "op",
    "topc",
    "top",
    "algorithm",
    "method",
    "sqn",
    "barred",
    "ue_ambr_down_bps",
    "ue_ambr_up_bps",
];

/// Columns of a slice and of a data network in it, in each row.
const ROW: [&str; 13] = [
    "slice",
    "default",
    "dnn",
    "types",
    "default_type",
    "session_ambr_down_bps",
    "session_ambr_up_bps",
    "five_qi",
    "arp",
    "ipv4",
    "ipv6_prefix",
    "up_integrity",
    "up_confidentiality",
];

/// All columns, as they are written.
pub fn columns() -> impl Iterator<Item = &'static str> {
    OWN.into_iter().chain(ROW)
}

/// Which column of a table is which.
struct Header(Vec<Option<&'static str>>);

impl Header {
    fn new(row: &StringRecord, line: u64) -> Result<Self, Problem> {
        let mut found: Vec<Option<&'static str>> = Vec::new();
        for name in row {
            let name = name.trim();
            let known = columns().find(|column| *column == name);
            if known.is_none() {
                let all: Vec<_> = columns().collect();
                return Err(
                    Problem::got("", name, format!("columns of {}", all.join(", "))).at(line),
                );
            }
            if found.contains(&known) {
                return Err(Problem::new(name, "column a second time", "each once").at(line));
            }
            found.push(known);
        }
        if !found.contains(&Some("imsi")) {
            return Err(Problem::new("imsi", "no such column", "it in the first line").at(line));
        }
        Ok(Self(found))
    }

    /// What a row has in a column; an empty cell is nothing.
    fn cell<'r>(&self, row: &'r StringRecord, column: &str) -> Option<&'r str> {
        let at = self.0.iter().position(|name| *name == Some(column))?;
        row.get(at).map(str::trim).filter(|cell| !cell.is_empty())
    }

    fn text(&self, row: &StringRecord, column: &str) -> Text {
        Text(self.cell(row, column).map(str::to_owned))
    }

    fn secret(&self, row: &StringRecord, column: &str) -> Secret {
        self.cell(row, column).map(Secret::new).unwrap_or_default()
    }

    fn own(&self, row: &StringRecord) -> Draft {
        Draft {
            imsi: self.text(row, "imsi"),
            k: self.secret(row, "k"),
            opc: self.secret(row, "opc"),
            op: self.secret(row, "op"),
            topc: self.secret(row, "topc"),
            top: self.secret(row, "top"),
            algorithm: self.text(row, "algorithm"),
            method: self.text(row, "method"),
            sqn: self.text(row, "sqn"),
            barred: self.text(row, "barred"),
            ue_ambr_down_bps: self.text(row, "ue_ambr_down_bps"),
            ue_ambr_up_bps: self.text(row, "ue_ambr_up_bps"),
            slices: Vec::new(),
        }
    }

    /// Adds a row's slice and data network to a subscriber.
    fn add(&self, row: &StringRecord, draft: &mut Draft) -> Result<(), Problem> {
        if ROW.iter().all(|column| self.cell(row, column).is_none()) {
            return Ok(());
        }
        let slice = self.text(row, "slice");
        let default = self.text(row, "default");
        let last = draft.slices.last();
        let goes_on = last.is_some_and(|last| slice.is_none() || slice == last.slice);
        if !goes_on {
            draft.slices.push(SliceDraft {
                // A table without slices is about the usual one.
                slice: Text(slice.0.or_else(|| Some(DEFAULT_SST.to_string()))),
                default,
                networks: Vec::new(),
            });
        } else if !default.is_none() && last.is_some_and(|last| default != last.default) {
            let expected = "what the slice's first row has, or nothing";
            return Err(Problem::new("default", "another value", expected));
        }
        let network = NetworkDraft {
            dnn: self.text(row, "dnn"),
            types: self.text(row, "types"),
            default_type: self.text(row, "default_type"),
            session_ambr_down_bps: self.text(row, "session_ambr_down_bps"),
            session_ambr_up_bps: self.text(row, "session_ambr_up_bps"),
            five_qi: self.text(row, "five_qi"),
            arp: self.text(row, "arp"),
            ipv4: self.text(row, "ipv4"),
            ipv6_prefix: self.text(row, "ipv6_prefix"),
            up_integrity: self.text(row, "up_integrity"),
            up_confidentiality: self.text(row, "up_confidentiality"),
        };
        // A row without any of it tells of the slice alone.
        let is_one = network != NetworkDraft::default();
        if let Some(slice) = draft.slices.last_mut().filter(|_| is_one) {
            slice.networks.push(network);
        }
        Ok(())
    }
}

/// Reads subscribers row by row.
pub struct Rows<'t> {
    rows: csv::StringRecordsIntoIter<&'t [u8]>,
    lines: Lines<'t>,
    header: Header,
    /// A first row that was read already.
    next: Option<(u64, Result<StringRecord, Problem>)>,
}

/// Subscribers of a table, each with the line that it begins in. Commas or semicolons separate cells,
/// whichever the first line has.
///
/// # Errors
/// When the first line does not name columns that there are.
pub fn drafts(text: &str) -> Result<Rows<'_>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first_line = text.lines().next().unwrap_or_default();
    let delimiter = if first_line.contains(';') { b';' } else { b',' };
    let rows = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes())
        .into_records();
    let mut rows = Rows {
        rows,
        lines: Lines::new(text),
        header: Header(Vec::new()),
        next: None,
    };
    let Some((line, first)) = rows.row() else {
        return Err(Problem::new("", "nothing", "a first line with the names of columns").at(1));
    };
    rows.header = Header::new(&first?, line)?;
    Ok(rows)
}

impl Rows<'_> {
    /// The next row and its line.
    fn row(&mut self) -> Option<(u64, Result<StringRecord, Problem>)> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        // Of where it begins: the reader's own count is behind where lines end in two characters.
        let at = self.rows.reader().position().byte();
        let row = self.rows.next()?;
        let line = self.lines.at(usize::try_from(at).unwrap_or(usize::MAX));
        let row = row.map_err(|error| {
            let what = without_keys(&error.to_string());
            Problem::new("", what, "cells of a table")
        });
        let wanted = self.header.0.len();
        let row = row.and_then(|row| {
            if wanted == 0 || row.len() == wanted {
                return Ok(row);
            }
            let what = format!("{} cells", row.len());
            let expected = format!("{wanted}, as the first line has");
            Err(Problem::new("", what, expected))
        });
        Some((line, row.map_err(|problem| problem.at(line))))
    }
}

impl Iterator for Rows<'_> {
    type Item = (u64, Result<Draft, Problem>);

    fn next(&mut self) -> Option<Self::Item> {
        let (line, row) = self.row()?;
        let row = match row {
            Ok(row) => row,
            Err(problem) => return Some((line, Err(problem))),
        };
        let mut draft = self.header.own(&row);
        let mut wrong = self.header.add(&row, &mut draft).err().map(|p| p.at(line));
        // Rows that follow with the same IMSI have more data networks of it.
        while let Some((more_line, more)) = self.row() {
            let belongs = |row: &StringRecord| {
                self.header.cell(row, "imsi") == draft.imsi.0.as_deref() && !draft.imsi.is_none()
            };
            let more = match more {
                Ok(row) if belongs(&row) => row,
                other => {
                    self.next = Some((more_line, other));
                    break;
                }
            };
            let is_own = |column: &&&str| self.header.cell(&more, column).is_some();
            let added = match OWN[1..].iter().find(is_own) {
                Some(column) => Err(Problem::new(
                    *column,
                    "given in a further row of the same IMSI",
                    "it in the first one alone",
                )),
                None => self.header.add(&more, &mut draft),
            };
            if let Err(problem) = added {
                wrong = wrong.or(Some(problem.at(more_line)));
            }
        }
        let imsi = draft.imsi.0.clone().unwrap_or_default();
        Some((
            line,
            wrong.map_or(Ok(draft), |problem| Err(problem.of(&imsi))),
        ))
    }
}

/// Writes subscribers as rows.
pub struct TableWriter<W: Write> {
    rows: Writer<W>,
    with_keys: bool,
}

impl<W: Write> TableWriter<W> {
    /// With the names of columns; keys only if they are asked for.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn new(out: W, with_keys: bool) -> io::Result<Self> {
        let mut rows = Writer::from_writer(out);
        rows.write_record(columns())?;
        Ok(Self { rows, with_keys })
    }

    /// One more subscriber.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn push(&mut self, record: &Record, unix_s: u64) -> io::Result<()> {
        let mut own = self.own(record, unix_s);
        for slice in &record.profile.slices {
            let networks: Vec<Option<&Network>> = match slice.networks.is_empty() {
                true => vec![None],
                false => slice.networks.iter().map(Some).collect(),
            };
            for network in networks {
                let cells = row(slice, network);
                self.rows.write_record(own.iter().chain(&cells))?;
                own[1..].fill(String::new());
            }
        }
        Ok(())
    }

    fn own(&self, record: &Record, unix_s: u64) -> [String; 12] {
        let [(_, k), (variant, octets)] = keys(record);
        let key = |is_it: bool, octets: &[u8]| match self.with_keys && is_it {
            true => hex::write(octets),
            false => String::new(),
        };
        let sqn = match self.with_keys {
            true => sqn_text(record, unix_s),
            false => String::new(),
        };
        [
            record.supi.imsi().to_owned(),
            key(true, k),
            key(variant == "opc", octets),
            String::new(),
            key(variant == "topc", octets),
            String::new(),
            Kind::of(&record.credentials.algorithm).name().to_owned(),
            method_name(record.credentials.method).to_owned(),
            sqn,
            yes(record.profile.barred),
            record.profile.ambr_bps.0.to_string(),
            record.profile.ambr_bps.1.to_string(),
        ]
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn finish(mut self) -> io::Result<()> {
        self.rows.flush()
    }
}

fn yes(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn row(slice: &Slice, network: Option<&Network>) -> [String; 13] {
    let mut cells = [const { String::new() }; 13];
    cells[0] = slice.snssai.to_string();
    cells[1] = yes(slice.is_default);
    if let Some(network) = network {
        cells[2] = network.dnn.to_string();
        cells[3] = type_names(network.types).join(" ");
        cells[4] = TYPE_NAMES[usize::from(network.default_type).clamp(1, 3) - 1].to_owned();
        cells[5] = network.ambr_bps.0.to_string();
        cells[6] = network.ambr_bps.1.to_string();
        cells[7] = network.five_qi.to_string();
        cells[8] = network.arp.to_string();
        cells[9] = network
            .ipv4
            .map(|ipv4| ipv4.to_string())
            .unwrap_or_default();
        cells[10] = network.ipv6_prefix.map(prefix_text).unwrap_or_default();
        if let Some(security) = network.up_security {
            cells[11] = security.integrity.to_string();
            cells[12] = security.confidentiality.to_string();
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(u64, Result<Draft, String>)> {
        let rows = drafts(text).unwrap_or_else(|problem| panic!("{problem}"));
        rows.map(|(line, draft)| (line, draft.map_err(|p| p.to_string())))
            .collect()
    }

    #[test]
    fn rows_of_one_imsi_are_one_subscriber() {
        let text = "\u{feff}imsi;k;slice;dnn\r\n1;aa;1;internet\r\n1;;;ims\r\n1;;2-00000a;internet\r\n\r\n2;bb;;\r\n";
        let found = told(text);
        assert_eq!(found.len(), 2, "{found:?}");
        let (2, Ok(first)) = &found[0] else {
            panic!("{found:?}");
        };
        let names: Vec<Vec<_>> = first
            .slices
            .iter()
            .map(|slice| {
                slice
                    .networks
                    .iter()
                    .filter_map(|n| n.dnn.0.clone())
                    .collect()
            })
            .collect();
        assert_eq!(names, [vec!["internet", "ims"], vec!["internet"]]);
        let (6, Ok(second)) = &found[1] else {
            panic!("{found:?}");
        };
        assert!(second.slices.is_empty() && second.k == Secret::new("bb"));
    }

    #[test]
    fn each_problem_has_its_line() {
        let text = "imsi,k,slice,default,dnn\n1,a,1,yes,x\n1,b,1,,y\n1,,1,no,z\n2,a\n3,\"a,1,,\n";
        let found = told(text);
        let errors: Vec<&String> = found.iter().filter_map(|(_, d)| d.as_ref().err()).collect();
        assert!(
            errors[0].starts_with("line 3: imsi 1: k: given in a further row"),
            "{errors:?}"
        );
        assert!(
            errors[1].starts_with("line 5: 2 cells; expected 5"),
            "{errors:?}"
        );
        assert!(errors[2].starts_with("line 6: "), "{errors:?}");
        let text = "imsi,slice,default,dnn\n1,1,yes,x\n1,1,no,z\n";
        assert!(matches!(&told(text)[0].1, Err(e) if e.starts_with("line 3: imsi 1: default:")));
    }

    #[test]
    fn a_table_without_right_columns_is_refused() {
        for (text, expected) in [
            ("", "a first line"),
            (
                "imsi,name\n",
                "line 1: got 'name'; expected columns of imsi, k, opc",
            ),
            ("k,opc\n", "imsi: no such column"),
            ("imsi,k,k\n", "k: column a second time"),
        ] {
            let refused = drafts(text).err().unwrap_or_else(|| panic!("{text}"));
            assert!(refused.to_string().contains(expected), "{refused}");
        }
    }
}
