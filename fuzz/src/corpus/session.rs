//! Scripts for the UP function: see `targets::session_machine` for what a step's kind means.

use super::Entry;
use super::pfcp;
use super::rules::{access_far, core_far, handover, idle, label, plain_qer, plain_urr, uplink_pdr};
use super::write::{group, ie, node, script, session};

const CP_A: u8 = 0;
const CP_B: u8 = 1;
const STRANGER: u8 = 2;
const COMPLETE: u8 = 3;
const ANSWER: u8 = 4;
const INDICATION: u8 = 5;
const QUERY: u8 = 6;
const RELEASE: u8 = 7;
const WAIT: u8 = 15;
/// To the first session that exists, to the second.
const FIRST: u8 = 0x10;
const SECOND: u8 = 0x50;
const HOLD: u8 = 0x20;

pub(super) fn scripts() -> Vec<Entry> {
    let mut all = lives();
    all.extend(associations());
    all.extend(identifiers());
    all.extend(silences());
    all.extend(every_message());
    all
}

/// Sessions from their establishment to their end.
fn lives() -> Vec<Entry> {
    let up = setup(1, 1);
    let new = establishment(1, 1, 7);
    let other = establishment(2, 2, 8);
    let flow = modification(3, &[uplink_pdr(3, 1), plain_qer(3), plain_urr(3)]);
    let gone = modification(4, &[group(15, &[ie(56, &[0, 3])]), remove(17, 81, 3)]);
    let there = modification(5, &[handover(2, 0xbeef)]);
    let asleep = modification(6, &[idle(2)]);
    let query = modification(7, &[remove(77, 81, 1), ie(125, &[0, 0, 0, 5])]);
    let twice = modification(8, &[uplink_pdr(1, 1)]);
    let end = session(54, 0, 9, &[]);
    vec![
        script(
            "default_session",
            &[(CP_A, 0, &up), (CP_A, 0, &new), (CP_A | FIRST, 0, &end)],
        ),
        script(
            "changes",
            &[
                (CP_A, 0, &up),
                (CP_A, 0, &new),
                (CP_A | FIRST, 0, &flow),
                (CP_A | FIRST, 0, &there),
                (CP_A | FIRST, 0, &query),
                (CP_A | FIRST, 0, &gone),
                (CP_A | FIRST, 0, &asleep),
                (CP_A | FIRST, 0, &twice),
                (QUERY, 0, &[0]),
            ],
        ),
        script(
            "changes_while_others_are_under_way",
            &[
                (CP_A, 0, &up),
                (CP_A | HOLD, 0, &new),
                (CP_A | HOLD | FIRST, 0, &flow),
                (CP_A | HOLD, 0, &other),
                (CP_A | HOLD | FIRST, 0, &there),
                (CP_A | HOLD | SECOND, 0, &end),
                (COMPLETE | HOLD, 0, &[2, 1]),
                (CP_A | HOLD | FIRST, 0, &end),
                (CP_A | FIRST, 0, &gone),
            ],
        ),
    ]
}

/// TEIDs that are chosen here and there, and that come to an end.
fn identifiers() -> Vec<Entry> {
    let up = setup(1, 1);
    let new = establishment(1, 1, 7);
    let other = establishment(2, 2, 8);
    let end = session(54, 0, 9, &[]);
    let chosen = modification(10, &[chosen_by_cp(4, 0x77), core_far(4)]);
    let restored = modification(11, &[chosen_by_cp(5, 0x8000_5007), core_far(5)]);
    let many: Vec<_> = (3..25).map(|id| uplink_pdr(id, 1)).collect();
    let many = modification(12, &many);
    vec![
        script(
            "teids_chosen_by_the_cp",
            &[
                (CP_A, 0, &up),
                (CP_A, 0, &new),
                (CP_A | FIRST, 0, &chosen),
                (CP_A | FIRST, 0, &restored),
                (CP_A, 0, &other),
                (CP_A | SECOND, 0, &chosen),
            ],
        ),
        script(
            "many_flows",
            &[
                (CP_A, 0, &up),
                (CP_A, 0, &new),
                (CP_A | FIRST, 0, &many),
                (CP_A | FIRST, 0, &end),
                (CP_A, 61, &other),
            ],
        ),
        script(
            "error_indication",
            &[
                (CP_A, 0, &up),
                (CP_A, 0, &new),
                (INDICATION, 0, &[]),
                (ANSWER, 0, &[0]),
                (INDICATION, 0, &[0, 0, 0x0d, 1]),
                (ANSWER, 0, &[65]),
                (WAIT, 10, &[]),
            ],
        ),
    ]
}

/// CP functions that come, go, restart.
fn associations() -> Vec<Entry> {
    let (a, b) = (setup(1, 1), setup(2, 2));
    let again = setup(1, 100);
    let new = establishment(1, 1, 7);
    let other = establishment(2, 2, 8);
    let leave = node(9, 50, &[ie(60, &[0, 10, 0, 0, 1])]);
    let restarted = node(1, 51, &[ie(96, &[0xe8, 0, 9, 9])]);
    vec![
        script(
            "two_cp_functions",
            &[
                (CP_A, 0, &a),
                (CP_B, 0, &b),
                (CP_A, 0, &new),
                (CP_B, 0, &other),
                (CP_B | FIRST, 0, &session(54, 0, 9, &[])),
                (STRANGER, 0, &new),
            ],
        ),
        script(
            "same_ue_twice",
            &[
                (CP_A, 0, &a),
                (CP_B, 0, &b),
                (CP_A, 0, &new),
                (CP_B, 0, &new),
            ],
        ),
        script(
            "released_with_sessions",
            &[(CP_A, 0, &a), (CP_A | HOLD, 0, &new), (CP_A, 0, &leave)],
        ),
        script(
            "set_up_again",
            &[
                (CP_A, 0, &a),
                (CP_A, 0, &new),
                (CP_A, 1, &again),
                (CP_A, 0, &new),
            ],
        ),
        script(
            "restarted",
            &[(CP_A, 0, &a), (CP_A, 0, &new), (CP_A | HOLD, 0, &restarted)],
        ),
    ]
}

/// CP functions that fall silent, or are asked to leave.
fn silences() -> Vec<Entry> {
    let a = setup(1, 1);
    let new = establishment(1, 1, 7);
    vec![
        script(
            "fell_silent",
            &[
                (CP_A, 0, &a),
                (CP_A, 0, &new),
                (WAIT, 25, &[]),
                (WAIT, 30, &[]),
                (WAIT, 30, &[]),
            ],
        ),
        script(
            "answers_heartbeats",
            &[
                (CP_A, 0, &a),
                (CP_A, 0, &new),
                (WAIT, 11, &[]),
                (ANSWER, 0, &[0]),
                (WAIT, 11, &[]),
            ],
        ),
        script(
            "shut_down",
            &[
                (CP_A, 0, &a),
                (CP_A, 0, &new),
                (RELEASE, 0, &[5]),
                (WAIT, 10, &[]),
            ],
        ),
    ]
}

/// Every sample message to a session that exists.
fn every_message() -> Vec<Entry> {
    let (up, new) = (setup(1, 1), establishment(1, 1, 7));
    let around = |e: &Entry| {
        let bytes = &e.bytes[..];
        script(
            &e.name,
            &[
                (CP_A, 0, bytes),
                (CP_A, 0, &up),
                (CP_A, 0, &new),
                (CP_A | FIRST, 0, bytes),
                (CP_A, 0, bytes),
            ],
        )
    };
    pfcp::messages().iter().map(around).collect()
}

fn setup(cp: u8, sequence: u32) -> Vec<u8> {
    let ies = [
        ie(60, &[0, 10, 0, 0, cp]),
        ie(96, &[0xe8, 0, 0, 1]),
        ie(89, &[0]),
    ];
    node(5, sequence, &ies)
}

/// The default session of 10.45.0.`ue`, as most SMFs set it up.
fn establishment(cp: u8, sequence: u32, ue: u8) -> Vec<u8> {
    let f_seid = [&[2, 0, 0, 0, 0, 0, 0, 0, ue][..], &[10, 0, 0, cp]].concat();
    let address = |mut pdr: Vec<u8>| {
        let at = pdr.windows(4).position(|w| w == [10, 45, 0, 7]);
        if let Some(last) = at.and_then(|at| pdr.get_mut(at + 3)) {
            *last = ue;
        }
        pdr
    };
    session(
        50,
        0,
        100 + sequence,
        &[
            ie(60, &[0, 10, 0, 0, cp]),
            ie(57, &f_seid),
            address(uplink_pdr(1, 1)),
            address(plain_downlink()),
            core_far(1),
            access_far(2),
            plain_qer(1),
            plain_qer(2),
            plain_urr(1),
            ie(113, &[1]),
            ie(159, &label("internet")),
        ],
    )
}

/// Without a service data flow filter.
fn plain_downlink() -> Vec<u8> {
    let pdi = [
        ie(20, &[1]),
        ie(22, &label("internet")),
        ie(93, &[6, 10, 45, 0, 7]),
    ];
    group(
        1,
        &[
            ie(56, &[0, 2]),
            ie(29, &[0, 0, 0, 255]),
            group(2, &pdi),
            ie(108, &[0, 0, 0, 2]),
            ie(109, &[0, 0, 0, 1]),
            ie(81, &[0, 0, 0, 1]),
        ],
    )
}

/// Create PDR with an F-TEID of the CP function's choice.
fn chosen_by_cp(id: u8, teid: u32) -> Vec<u8> {
    let f_teid = [&[1][..], &teid.to_be_bytes(), &[192, 0, 2, 1]].concat();
    let pdi = [ie(20, &[0]), ie(21, &f_teid), ie(93, &[2, 10, 45, 0, 7])];
    group(
        1,
        &[
            ie(56, &[0, id]),
            ie(29, &[0, 0, 0, 9]),
            group(2, &pdi),
            ie(95, &[0]),
            ie(108, &[0, 0, 0, id]),
        ],
    )
}

fn modification(sequence: u32, ies: &[Vec<u8>]) -> Vec<u8> {
    session(52, 0, 200 + sequence, ies)
}

/// A group that names a rule: Remove URR, Query URR, ...
fn remove(group_type: u16, id_type: u16, id: u32) -> Vec<u8> {
    group(group_type, &[ie(id_type, &id.to_be_bytes())])
}
