//! YAML tree with line numbers.
//!
//! Scalars stay text: the key decides what is read from them, so that a network instance may be
//! called `no` or `1e3`. What only makes a configuration harder to read (anchors, aliases, tags,
//! several documents) is refused.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// Nesting beyond this is refused; the schema needs five levels.
const DEPTH_MAX: u32 = 16;

/// A value and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Line, from 1.
    pub line: u32,
    /// Value of the node.
    pub value: Value,
}

/// Values of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Nothing: `key:`, `~` or `null`.
    Null,
    /// A single value as text.
    Scalar(String),
    /// `- a` or `[a, b]`.
    List(Vec<Node>),
    /// `key: value`.
    Map(Vec<Entry>),
}

/// One `key: value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Line of the key, from 1.
    pub line: u32,
    /// Value of the key.
    pub value: Node,
}

/// Why a text has no tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u32,
    /// The fault.
    pub what: String,
    /// Expected syntax.
    pub expected: &'static str,
}

impl Value {
    /// Name of the value's kind, for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "no value",
            Self::Scalar(_) => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "keys with values",
        }
    }
}

/// The tree of a text of one document; an empty text is a null.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut builder = Builder {
        parser: Parser::new_from_str(text),
    };
    let mut root = None;
    loop {
        match builder.next()? {
            (Event::DocumentStart(_), span) if root.is_some() => {
                return Err(refusal(
                    &span,
                    "a second document",
                    "one document in the file",
                ));
            }
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (Event::StreamEnd | Event::Nothing, _) => break,
            (event, span) => root = Some(builder.node(event, &span, 0)?),
        }
    }
    Ok(root.unwrap_or(Node {
        line: 1,
        value: Value::Null,
    }))
}

struct Builder<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
}

impl<'t> Builder<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), SyntaxError> {
        match self.parser.next() {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(SyntaxError {
                line: line_number(error.marker().line()),
                what: error.info().to_owned(),
                expected: "YAML, indented by spaces",
            }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: u32) -> Result<Node, SyntaxError> {
        refuse_ornaments(&event, span)?;
        if depth > DEPTH_MAX {
            return Err(refusal(span, "nested too deeply", "at most 16 levels"));
        }
        let value = match event {
            Event::Scalar(text, style, _, _) => scalar(&text, style),
            Event::SequenceStart(..) => self.list(depth)?,
            Event::MappingStart(..) => self.map(depth)?,
            _ => Value::Null,
        };
        Ok(Node {
            line: line_number(span.start.line()),
            value,
        })
    }

    fn list(&mut self, depth: u32) -> Result<Value, SyntaxError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.node(event, &span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: u32) -> Result<Value, SyntaxError> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(Value::Map(entries));
            }
            let Value::Scalar(key) = self.node(event, &span, depth + 1)?.value else {
                return Err(refusal(&span, "a key that is no word", "key: value"));
            };
            let (event, value_span) = self.next()?;
            entries.push(Entry {
                key,
                line: line_number(span.start.line()),
                value: self.node(event, &value_span, depth + 1)?,
            });
        }
    }
}

fn refuse_ornaments(event: &Event<'_>, span: &Span) -> Result<(), SyntaxError> {
    let (anchor, tagged) = match event {
        Event::Alias(_) => return Err(refusal(span, "an alias (*)", "the value itself")),
        Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
        Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
            (*anchor, tag.is_some())
        }
        _ => (0, false),
    };
    if anchor != 0 {
        return Err(refusal(span, "an anchor (&)", "the value alone"));
    }
    if tagged {
        return Err(refusal(span, "a tag (!)", "the value alone"));
    }
    Ok(())
}

/// YAML 1.2, 10.3.2: these plain scalars are null.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    let null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    if null {
        Value::Null
    } else {
        Value::Scalar(text.to_owned())
    }
}

fn refusal(span: &Span, what: &str, expected: &'static str) -> SyntaxError {
    SyntaxError {
        line: line_number(span.start.line()),
        what: what.to_owned(),
        expected,
    }
}

fn line_number(line: usize) -> u32 {
    u32::try_from(line.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (u32, String) {
        let error = parse(text).unwrap_err();
        (error.line, error.what)
    }

    #[test]
    fn keys_and_items_know_their_lines() {
        let root = parse("# comment\na: 1\nb:\n  - x\n  - {c: [y,\n     z]}\n").unwrap();
        let Value::Map(entries) = root.value else {
            panic!("no map")
        };
        assert_eq!((entries[0].key.as_str(), entries[0].line), ("a", 2));
        let Value::List(items) = &entries[1].value.value else {
            panic!("no list")
        };
        assert_eq!((items[0].line, items[1].line), (4, 5));
        let Value::Map(inner) = &items[1].value else {
            panic!("no map")
        };
        let Value::List(letters) = &inner[0].value.value else {
            panic!("no list")
        };
        assert_eq!((letters[0].line, letters[1].line), (5, 6));
    }

    #[test]
    fn words_that_look_like_other_types_stay_words() {
        let root = parse("[no, 1e3, \"null\", ~]").unwrap();
        let Value::List(items) = root.value else {
            panic!("no list")
        };
        assert_eq!(items[0].value, Value::Scalar("no".into()));
        assert_eq!(items[1].value, Value::Scalar("1e3".into()));
        assert_eq!(items[2].value, Value::Scalar("null".into()));
        assert_eq!(items[3].value, Value::Null);
    }

    #[test]
    fn what_makes_a_file_hard_to_read_is_refused_with_its_line() {
        assert_eq!(error("a: 1\nb: &x 2\nc: *x\n"), (2, "an anchor (&)".into()));
        assert_eq!(error("a: !!str 1\n"), (1, "a tag (!)".into()));
        assert_eq!(error("a: 1\n---\nb: 2\n"), (2, "a second document".into()));
        assert_eq!(
            error("a: 1\n? [x]\n: 2\n"),
            (2, "a key that is no word".into())
        );
        assert_eq!(error(&"[".repeat(40)).1, "nested too deeply");
        assert_eq!(error("a: 1\nb: [1, 2\nc: 3\n").0, 3);
    }

    #[test]
    fn an_empty_text_is_a_null() {
        assert_eq!(parse("").unwrap().value, Value::Null);
        assert_eq!(parse("# nothing\n").unwrap().value, Value::Null);
    }
}
