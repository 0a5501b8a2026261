//! Metric families: HELP, TYPE and samples with labels.
//!
//! It has these three kinds of lines; a library for it would bring more code than it saves.

use std::fmt::{Display, Write};

/// The exposition being written.
#[derive(Default)]
pub(super) struct Page {
    pub out: String,
}

/// Names and values of labels.
pub(super) type Labels<'a> = &'a [(&'a str, &'a dyn Display)];

impl Page {
    /// Begins a family whose samples only grow.
    pub fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(Kind::Counter, name, help)
    }

    /// Begins a family whose samples come and go.
    pub fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(Kind::Gauge, name, help)
    }

    fn family(&mut self, kind: Kind, name: &'static str, help: &str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family {
            out: &mut self.out,
            name,
        }
    }
}

/// What a family's samples do.
#[derive(Clone, Copy)]
enum Kind {
    /// They only grow.
    Counter,
    /// They come and go.
    Gauge,
}

/// A family whose samples are being written.
pub(super) struct Family<'p> {
    out: &'p mut String,
    name: &'static str,
}

impl Family<'_> {
    /// One more sample.
    pub fn sample(&mut self, labels: Labels<'_>, value: impl Display) -> &mut Self {
        self.out.push_str(self.name);
        for (i, (name, label)) in labels.iter().enumerate() {
            let open = if i == 0 { '{' } else { ',' };
            let _ = write!(self.out, "{open}{name}=\"{}\"", escaped(&label.to_string()));
        }
        if !labels.is_empty() {
            self.out.push('}');
        }
        let _ = writeln!(self.out, " {value}");
        self
    }
}

fn escaped(label: &str) -> String {
    let plain = label.replace('\\', "\\\\").replace('"', "\\\"");
    plain.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::default();
        page.gauge("up", "It is.")
            .sample(&[("port", &"n\"3\\\n")], 1);
        assert!(
            page.out.ends_with("up{port=\"n\\\"3\\\\\\n\"} 1\n"),
            "{}",
            page.out
        );
    }
}
