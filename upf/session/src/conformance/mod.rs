//! What this UP function does with each message, IE and feature bit of TS 29.244, Release 17, as tables that
//! `docs/conformance/n4.md` is made from.
//!
//! A table of IEs has a line for each statement about an IE:
//!
//! ```text
//! IE          status      what and when                          test that proves it
//! QFI         enforced    "packets of one of these flows match"  several_qfis_in_a_pdi_are_several_rules;
//! RQI         refused(73) "with RQI set"                         an_establishment_that_cannot_be_served_is_refused_by_name;
//! FAR_ID      refused(67) "missing", pdr(1) => |r| r.create_pdr[0].far_id = None;
//! PROXYING    refused(73) "";
//! APN_DNN     ignored     "changes nothing for packets";
//! ```
//!
//! An IE may have several lines. One that is refused whenever it is there (without a text), or always ignored,
//! and has no other line, needs no test of its own: the table's own
//! test sends every one of them and compares cause and Offending IE. Who begins to serve an IE
//! changes its line, and a missing or a superfluous line fails that test, too.
//!
//! A refusal that depends on the IE's value has, in place of a test, the rule that the answer names and how the
//! establishment of a default session is changed to be refused. One test sends them all.

mod features;
mod messages;
mod node;
mod reports;
mod rules;
mod session;
mod usage;
mod without_effect;

pub use features::{FeatureRow, UP_FUNCTION_FEATURES, features, up_function_features};
pub use messages::{MessageRow, messages};
pub use without_effect::{WITHOUT_EFFECT, WithoutEffect};

use sluice_wire::pfcp::{Cause, IeType};

/// What becomes of an IE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It has the effect that the TS describes.
    Enforced,
    /// The request is refused with this cause; Offending IE is this IE.
    Refused(Cause),
    /// It is admitted and has no effect, as the TS allows.
    Ignored,
    /// It stands in messages of ours.
    Sent,
    /// It never stands in messages of ours.
    NotSent,
}

/// One statement about an IE.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The IE.
    pub ie: IeType,
    /// What becomes of it.
    pub status: Status,
    /// What it does, when it is refused, or why it is ignored; empty: whenever it is there.
    pub note: &'static str,
    /// The test that proves it; empty where the tables' own test does.
    pub test: &'static str,
    /// A refused establishment.
    #[cfg(test)]
    pub case: Option<Case>,
}

/// The establishment of a default session, changed so that it is refused.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The rule that the answer names.
    pub failed: sluice_wire::pfcp::value::FailedRuleId,
    /// The change.
    pub spoil: fn(&mut sluice_wire::pfcp::message::SessionEstablishmentRequest<'static>),
}

/// What is said of a message's or group's IEs.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name and clause.
    pub name: &'static str,
    /// The IEs that the codec reads there.
    pub ies: &'static [IeType],
    /// At least a row for each.
    pub rows: &'static [Row],
}

/// The test that puts unknown IEs everywhere.
pub const UNKNOWN_TEST: &str = "unknown_and_vendor_ies_are_skipped_everywhere";

/// The test that sends what the rows without a test of their own are about.
pub const OWN_TEST: &str = "the_tables_say_what_is_refused_and_what_is_ignored";

impl Row {
    /// The test that proves it, if it can be proved: that something is never sent cannot.
    pub fn proof(&self) -> Option<&'static str> {
        match (self.status, self.test) {
            (Status::NotSent, "") => None,
            (_, "") => Some(OWN_TEST),
            (_, test) => Some(test),
        }
    }
}

/// All tables of IEs, in the order of the page.
pub fn tables() -> impl Iterator<Item = &'static Table> {
    let all = [
        node::TABLES,
        session::TABLES,
        rules::TABLES,
        usage::TABLES,
        reports::TABLES,
    ];
    all.into_iter().flatten()
}

/// The IE types that no table has, in order: all are skipped as unknown (7.6.9).
pub fn unread() -> impl Iterator<Item = IeType> {
    let is_read = |ie: &IeType| tables().any(|t| t.rows.iter().any(|row| row.ie == *ie));
    let all = IeType::ALL.iter().copied();
    all.filter(move |ie| !is_read(ie))
}

/// Makes tables of lines as the module's page has them.
macro_rules! ie_tables {
    ($($group:ident $name:literal {
        $($ie:ident $status:ident $(($cause:literal))? $note:literal $($test:ident)?
            $(, $failed:expr => $spoil:expr)?;)*
    })*) => {
        pub const TABLES: &[Table] = &[$(Table {
            name: $name,
            ies: $group::IES,
            rows: &[$(Row {
                ie: IeType::$ie,
                status: status!($status $($cause)?),
                note: $note,
                test: concat!("" $(, stringify!($test))? $(, super::case!(test $failed))?),
                #[cfg(test)]
                case: super::case!($($failed => $spoil)?),
            }),*],
        }),*];
    };
}

macro_rules! case {
    (test $failed:expr) => {
        "each_line_of_a_refusal_with_a_request_is_refused_by_name"
    };
    () => {
        None
    };
    ($failed:expr => $spoil:expr) => {
        Some($crate::conformance::Case {
            failed: $failed,
            spoil: $spoil,
        })
    };
}

macro_rules! status {
    (enforced) => {
        Status::Enforced
    };
    (refused $cause:literal) => {
        Status::Refused(sluice_wire::pfcp::Cause($cause))
    };
    (ignored) => {
        Status::Ignored
    };
    (sent) => {
        Status::Sent
    };
    (unsent) => {
        Status::NotSent
    };
}

use {case, ie_tables, status};
