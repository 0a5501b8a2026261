//! Scripts for two PFCP endpoints: see `targets::n4_endpoint` for what a step's kind means.

use super::Entry;
use super::pfcp;
use super::write::{ie, node, script};

const ASSOCIATE_CP: u8 = 8;
const ASSOCIATE_UP: u8 = 9;
const REQUEST_CP: u8 = 10;
const REQUEST_UP: u8 = 11;
const UPDATE_CP: u8 = 12;
const UPDATE_UP: u8 = 13;
const RELEASE: u8 = 14;
const WAIT: u8 = 15;
const LOSE: u8 = 0x10;
const TWICE: u8 = 0x20;
const THINK: u8 = 0x40;
const ANSWER: u8 = 0x80;

pub(super) fn scripts() -> Vec<Entry> {
    let mut all = conversations();
    all.extend(ends());
    all.extend(every_message());
    all
}

/// The body of a request of the layer above.
const ASK: &[u8] = &[0, 0, 0, 56, 0, 2, 0, 1];

fn conversations() -> Vec<Entry> {
    vec![
        script(
            "associated_by_cp",
            &[(ASSOCIATE_CP, 0, &[]), (WAIT, 25, &[])],
        ),
        script(
            "associated_by_both",
            &[
                (ASSOCIATE_CP | THINK, 0, &[]),
                (ASSOCIATE_UP, 0, &[8]),
                (WAIT, 11, &[]),
            ],
        ),
        script(
            "requests",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (REQUEST_CP, 0, ASK),
                (REQUEST_UP, 0, &[3]),
                (REQUEST_CP | TWICE, 0, &[1]),
                (REQUEST_CP | THINK, 0, &[2]),
                (WAIT, 1, &[]),
            ],
        ),
        script(
            "requests_lost",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (REQUEST_CP | LOSE, 0, ASK),
                (WAIT | LOSE, 1, &[]),
                (WAIT, 5, &[]),
                (REQUEST_UP | LOSE, 0, &[5]),
                (WAIT | LOSE, 30, &[]),
            ],
        ),
    ]
}

/// Associations that end or change.
fn ends() -> Vec<Entry> {
    vec![
        script(
            "released",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (UPDATE_UP, 0, &[2, 0, 5]),
                (REQUEST_CP, 0, ASK),
                (WAIT, 6, &[]),
                (RELEASE, 0, &[0]),
                (WAIT, 10, &[]),
            ],
        ),
        script(
            "release_prepared",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (UPDATE_CP, 0, &[1]),
                (UPDATE_UP, 0, &[3]),
                (RELEASE | LOSE, 0, &[0]),
                (WAIT, 10, &[]),
            ],
        ),
        script(
            "forgotten_with_requests_open",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (REQUEST_CP | LOSE, 0, ASK),
                (RELEASE, 0, &[2]),
                (RELEASE, 0, &[3]),
                (ASSOCIATE_UP, 0, &[]),
                (WAIT, 10, &[]),
            ],
        ),
        script(
            "restarted",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (REQUEST_CP | LOSE, 0, ASK),
                (0, 0, &node(1, 900, &[ie(96, &[0, 0, 9, 9])])),
                (WAIT, 12, &[]),
            ],
        ),
        script(
            "features_changed",
            &[
                (ASSOCIATE_CP, 0, &[]),
                (UPDATE_UP, 0, &[0]),
                (UPDATE_CP, 0, &[0]),
                (UPDATE_UP, 0, &[4, 0, 0, 233, 0, 0]),
            ],
        ),
    ]
}

/// Every sample to both functions, before and after they are associated, and as an answer.
fn every_message() -> Vec<Entry> {
    let samples = pfcp::messages();
    let whole = |entry: &Entry| {
        let bytes = &entry.bytes[..];
        script(
            &entry.name,
            &[
                (1, 0, bytes),
                (5, 0, bytes),
                (ASSOCIATE_CP, 0, &[]),
                (0, 0, bytes),
                (4, 0, bytes),
                (REQUEST_CP | LOSE, 0, &[0]),
                (4 | ANSWER, 0, bytes),
                (REQUEST_UP | LOSE, 0, &[3]),
                (ANSWER, 0, bytes),
                (1, 0, bytes),
                (WAIT, 12, &[]),
            ],
        )
    };
    samples.iter().map(whole).collect()
}
