//! Reader of one configuration section, key by key.
//!
//! The code that asks for keys is the schema: what nobody asked for is unknown. A section never
//! stops at its first problem; where a value cannot be used, its default or nothing takes its
//! place, and the report keeps the file from being used.

use super::kind::Kind;
use super::problem::Report;
use super::suggest::closest;
use super::yaml::{Entry, Node, Value};

/// A value and the line that it comes from. Two are the same if their values are.
#[derive(Clone, Copy, Debug)]
pub struct At<T> {
    /// Line, from 1; for a default the line of the section.
    pub line: u32,
    /// The value.
    pub value: T,
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for At<T> {}

impl<T> At<T> {
    /// Another value of the same line.
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> At<U> {
        At {
            line: self.line,
            value: to(self.value),
        }
    }
}

impl<T> At<Option<T>> {
    /// The value if there is one: `auto` is none.
    pub fn given(self) -> Option<At<T>> {
        let line = self.line;
        self.value.map(|value| At { line, value })
    }
}

/// One section: a list of `key: value`.
pub struct Fields<'n, 'r> {
    path: String,
    schema: String,
    line: u32,
    entries: &'n [Entry],
    asked: Vec<&'static str>,
    report: &'r mut Report,
}

impl<'n, 'r> Fields<'n, 'r> {
    /// Reads the whole file with `read`. `None` if it is no section at all.
    pub fn root<T>(
        node: &'n Node,
        report: &'r mut Report,
        read: impl FnOnce(&mut Fields<'_, '_>) -> T,
    ) -> Option<T> {
        let Some(entries) = entries_of(&node.value) else {
            report.problem(
                node.line,
                "",
                format!("got {}", node.value.kind()),
                "keys with values",
            );
            return None;
        };
        let place = SectionPath {
            path: String::new(),
            schema: String::new(),
            line: node.line,
        };
        Some(open(place, entries, report, read))
    }

    /// Line of the section, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Path of a key of this section, such as `ports[0].mtu`.
    pub fn key(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Whether a key is there, whatever its value.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Report that problems are added to.
    pub fn report(&mut self) -> &mut Report {
        self.report
    }

    /// A single value that may be missing.
    pub fn optional<T>(&mut self, key: &'static str, kind: &Kind<T>) -> Option<At<T>> {
        let entry = self.find(key, None)?;
        self.scalar(&self.key(key), entry.line, &entry.value.value, kind)
    }

    /// A single value that must be there.
    pub fn required<T>(&mut self, key: &'static str, kind: &Kind<T>) -> Option<At<T>> {
        let Some(entry) = self.find(key, None) else {
            self.missing(key, &kind.expected);
            return None;
        };
        self.scalar(&self.key(key), entry.line, &entry.value.value, kind)
    }

    /// A single value with a default, which is written as it would stand in the file.
    pub fn or<T>(&mut self, key: &'static str, default: &'static str, kind: &Kind<T>) -> At<T> {
        let found = self
            .find(key, Some(default))
            .and_then(|e| self.scalar(&self.key(key), e.line, &e.value.value, kind));
        found.unwrap_or_else(|| At {
            line: self.line,
            value: kind
                .parse(default)
                .unwrap_or_else(|| unreachable!("the default of {key} is no value of its own")),
        })
    }

    /// A list of single values, empty if it is missing; one value alone is a list of one.
    pub fn list<T>(&mut self, key: &'static str, kind: &Kind<T>) -> Vec<At<T>> {
        let Some(entry) = self.find(key, None) else {
            return Vec::new();
        };
        let path = self.key(key);
        match &entry.value.value {
            Value::List(items) => items
                .iter()
                .enumerate()
                .filter_map(|(i, item)| {
                    self.scalar(&format!("{path}[{i}]"), item.line, &item.value, kind)
                })
                .collect(),
            value => Vec::from_iter(self.scalar(&path, entry.line, value, kind)),
        }
    }

    /// A list of at least one single value.
    pub fn required_list<T>(&mut self, key: &'static str, kind: &Kind<T>) -> Vec<At<T>> {
        let empty = match self.entries.iter().find(|e| e.key == key) {
            None => true,
            Some(e) => e.value.value == Value::List(Vec::new()),
        };
        if empty {
            self.missing(key, &format!("a list of {}", kind.expected));
        }
        self.list(key, kind)
    }

    /// A section all of whose keys have defaults, so that it may be missing.
    pub fn section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Fields<'_, '_>) -> T,
    ) -> T {
        let entry = self.find(key, None);
        self.open_section(key, entry, read)
    }

    /// A section that may be missing.
    pub fn optional_section<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Fields<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let entry = self.find(key, None)?;
        self.open_section(key, Some(entry), read)
    }

    fn open_section<T>(
        &mut self,
        key: &'static str,
        entry: Option<&Entry>,
        read: impl FnOnce(&mut Fields<'_, '_>) -> T,
    ) -> T {
        let place = SectionPath {
            path: self.key(key),
            schema: join(&self.schema, key),
            line: entry.map_or(self.line, |entry| entry.line),
        };
        let value = entry.map_or(&Value::Null, |entry| &entry.value.value);
        let Some(entries) = entries_of(value) else {
            let got = format!("got {}", got(value));
            self.report
                .problem(place.line, &place.path, got, "keys with values");
            // Read on as if it were empty, without more complaints about the same place.
            return open(place, &[], &mut Report::default(), read);
        };
        open(place, entries, self.report, read)
    }

    /// Sections of one kind, as a list; a single one may stand without a list.
    pub fn sections<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Fields<'_, '_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(entry) = self.find(key, None) else {
            return Vec::new();
        };
        let path = self.key(key);
        let schema = format!("{}[]", join(&self.schema, key));
        let items: Vec<(String, u32, &Value)> = match &entry.value.value {
            Value::List(items) => items
                .iter()
                .enumerate()
                .map(|(i, n)| (format!("{path}[{i}]"), n.line, &n.value))
                .collect(),
            value => vec![(path, entry.line, value)],
        };
        let is_list = matches!(entry.value.value, Value::List(_));
        let mut found = Vec::new();
        for (path, line, value) in items {
            let Some(entries) = entries_of(value) else {
                let got = format!("got {}", got(value));
                self.report.problem(line, path, got, expected_keys(value));
                continue;
            };
            if !is_list && let Some(expected) = list_meant(entries, &mut read) {
                let got = "got keys without '- ' before the first of each item";
                self.report.problem(line, path, got, expected);
                continue;
            }
            let schema = schema.clone();
            let place = SectionPath { path, schema, line };
            found.extend(open(place, entries, self.report, &mut read));
        }
        found
    }

    /// Sections of one kind, at least one.
    pub fn required_sections<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnMut(&mut Fields<'_, '_>) -> Option<T>,
    ) -> Vec<T> {
        let empty = match self.entries.iter().find(|e| e.key == key) {
            None => true,
            Some(e) => matches!(&e.value.value, Value::List(items) if items.is_empty()),
        };
        if empty {
            self.missing(key, expected);
        }
        self.sections(key, read)
    }

    /// Notes that a key must be there and is not.
    pub fn missing(&mut self, key: &str, expected: &str) {
        let path = self.key(key);
        self.report.problem(self.line, path, "missing", expected);
    }

    fn find(&mut self, key: &'static str, default: Option<&'static str>) -> Option<&'n Entry> {
        self.asked.push(key);
        self.report.known(join(&self.schema, key), default);
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn scalar<T>(&mut self, path: &str, line: u32, value: &Value, kind: &Kind<T>) -> Option<At<T>> {
        if let Value::Scalar(text) = value
            && let Some(value) = kind.parse(text)
        {
            return Some(At { line, value });
        }
        let got = match value {
            Value::Scalar(text) if kind.is_secret() => {
                format!("got {} characters", text.chars().count())
            }
            value => format!("got {}", got(value)),
        };
        self.report.problem(line, path, got, &kind.expected);
        None
    }

    fn refuse_duplicates(&mut self) {
        for (i, entry) in self.entries.iter().enumerate() {
            let before = self.entries[..i].iter().find(|e| e.key == entry.key);
            if let Some(first) = before {
                let what = format!("given before, in line {}", first.line);
                let path = self.key(&without_digits(&entry.key));
                self.report.problem(entry.line, path, what, "each key once");
            }
        }
    }

    fn refuse_unknown(&mut self) {
        let unknown = |entry: &&Entry| !self.asked.iter().any(|key| *key == entry.key);
        for entry in self.entries.iter().filter(unknown) {
            let what = match closest(&entry.key, &self.asked) {
                Some(key) => format!("unknown key (did you mean '{key}'?)"),
                None => "unknown key".to_owned(),
            };
            let expected = format!("one of {}", self.asked.join(", "));
            let path = join(&self.path, &without_digits(&entry.key));
            self.report.problem(entry.line, path, what, expected);
        }
    }
}

struct SectionPath {
    path: String,
    schema: String,
    line: u32,
}

fn open<T>(
    place: SectionPath,
    entries: &[Entry],
    report: &mut Report,
    read: impl FnOnce(&mut Fields<'_, '_>) -> T,
) -> T {
    let mut fields = Fields {
        path: place.path,
        schema: place.schema,
        line: place.line,
        entries,
        asked: Vec::new(),
        report,
    };
    fields.refuse_duplicates();
    let value = read(&mut fields);
    fields.refuse_unknown();
    value
}

/// The list that was meant where a single section stands: of several items in one, whose keys come again, or of
/// items by their names, none of which is a key.
fn list_meant<T>(
    entries: &[Entry],
    read: &mut impl FnMut(&mut Fields<'_, '_>) -> Option<T>,
) -> Option<String> {
    let mut fields = Fields {
        path: String::new(),
        schema: String::new(),
        line: 0,
        entries,
        asked: Vec::new(),
        report: &mut Report::default(),
    };
    let _ = read(&mut fields);
    let asked = fields.asked;
    let first = asked.first()?;
    let is_key = |entry: &Entry| asked.iter().any(|key| *key == entry.key);
    let comes_again = |(i, entry): (usize, &Entry)| entries[..i].iter().any(|e| e.key == entry.key);
    let of_names = |entry: &Entry| matches!(entry.value.value, Value::Map(_)) && !is_key(entry);
    let is_by_name = !entries.is_empty() && entries.iter().all(of_names);
    match is_by_name || entries.iter().enumerate().any(comes_again) {
        true => Some(format!("a list: '- {first}: ...' begins each item")),
        false => None,
    }
}

/// A section without keys is written as `key:`, which is a null.
fn entries_of(value: &Value) -> Option<&[Entry]> {
    match value {
        Value::Map(entries) => Some(entries),
        Value::Null => Some(&[]),
        _ => None,
    }
}

fn got(value: &Value) -> String {
    match value {
        Value::Scalar(text) => format!("'{}'", without_digits(text)),
        value => value.kind().to_owned(),
    }
}

/// A key of a SIM has 32 hexadecimal digits. It may stand where none belongs, or lack the space behind
/// its colon: most of so many digits in a row are not shown anywhere.
fn without_digits(text: &str) -> String {
    const SHOWN: usize = 20;
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let length = run.max(first.len_utf8());
        match run > SHOWN {
            true => shown.push_str(&format!("({run} digits)")),
            false => shown.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    shown
}

/// Expected form of a section in a list. A key that stands there alone may lack its colon.
fn expected_keys(value: &Value) -> String {
    let keys = "keys with values";
    match value {
        Value::Scalar(text) if is_word(text) => format!("{keys}, written '- {text}:' for a key"),
        _ => keys.to_owned(),
    }
}

fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c == '_';
    !text.is_empty() && text.chars().all(fits)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
