//! The page on N4: what becomes of each message, IE and feature bit of TS 29.244.

use super::MADE;
use sluice_session::conformance::{self, Row, Status, Table};
use std::fmt::Write as _;

/// The page as Markdown.
pub(super) fn page() -> String {
    let mut page = format!(
        "{MADE} n4`. The lines stand in upf/session/src/conformance. -->\n\n\
         # N4: what is served\n\n\
         Every message, information element (IE) and UP Function Features bit of TS 29.244, Release 17, that \
         concerns a UP function. *Enforced* has the effect that the TS describes. *Refused* means that the whole \
         request is refused with this cause ([refusals](../operator/refusals.md)), and Offending IE is the IE of the line, \
         unless it is said otherwise. *Ignored* IEs are admitted and have no effect, as the clause allows. Each \
         statement names the test that proves it.\n\n\
         An IE that cannot be read is refused: with cause 68 if its length is wrong, with 69 if its value is; a \
         missing mandatory IE with 66. Groups that are refused or ignored as a whole, or never sent, have no \
         table of their own.\n"
    );
    messages(&mut page);
    features(&mut page);
    without_effect(&mut page);
    page += "\n## Information elements\n";
    for table in conformance::tables() {
        ies(&mut page, table);
    }
    unread(&mut page);
    page
}

// Writing to a string cannot fail.

fn messages(page: &mut String) {
    *page += "\n## Messages\n\n| type | message | what becomes of it | test |\n| --- | --- | --- | --- |\n";
    for row in conformance::messages() {
        let (number, name) = (row.message.0, row.message);
        let _ = writeln!(
            page,
            "| {number} | {name} | {} | {} |",
            row.note,
            quoted(row.test)
        );
    }
}

fn features(page: &mut String) {
    *page += "\n## UP Function Features (8.2.25)\n\n| bit | announced | what is served, or why not | test |\n\
              | --- | --- | --- | --- |\n";
    for row in conformance::features() {
        let announced = if row.is_announced() { "yes" } else { "no" };
        let (name, note) = (row.name, row.note);
        let _ = writeln!(
            page,
            "| {name} | {announced} | {note} | {} |",
            quoted(row.test)
        );
    }
}

fn without_effect(page: &mut String) {
    *page += "\n## Admitted without effect\n\n| IE | part | what happens instead |\n| --- | --- | --- |\n";
    for one in conformance::WITHOUT_EFFECT {
        let _ = writeln!(page, "| {} | {} | {} |", one.ie, one.part, one.note);
    }
}

fn ies(page: &mut String, table: &Table) {
    let _ = write!(
        page,
        "\n### {}\n\n| IE | status | what, when, why | test |\n| --- | --- | --- | --- |\n",
        table.name
    );
    for row in table.rows {
        let test = quoted(row.proof().unwrap_or_default());
        let _ = writeln!(
            page,
            "| {} | {} | {} | {test} |",
            row.ie,
            status(row.status),
            note(row)
        );
    }
}

fn status(status: Status) -> String {
    match status {
        Status::Enforced => "enforced".to_owned(),
        Status::Refused(cause) => format!("refused ({})", cause.0),
        Status::Ignored => "ignored".to_owned(),
        Status::Sent => "sent".to_owned(),
        Status::NotSent => "not sent".to_owned(),
    }
}

fn note(row: &Row) -> &'static str {
    match row.status {
        Status::Refused(_) if row.note.is_empty() => "whenever it is there",
        _ => row.note,
    }
}

fn unread(page: &mut String) {
    let names: Vec<_> = conformance::unread().map(|ie| ie.to_string()).collect();
    let _ = write!(
        page,
        "\n### All others\n\nThese IE types stand in no table above. In any place they are skipped as unknown \
         (7.6.9; `{}`), as IEs of a table above are where that table does not have them: {}.\n",
        conformance::UNKNOWN_TEST,
        names.join(", ")
    );
}

fn quoted(test: &str) -> String {
    match test {
        "" => String::new(),
        test => format!("`{test}`"),
    }
}
