//! PFCP messages of every kind (TS 29.244, 7.4 and 7.5).

use super::Entry;
use super::rules::{
    access_far, bar_and_endpoint, core_far, downlink_pdr, full_far, full_pdr, handover, idle,
    label, qer, uplink_pdr, urr, usage_report,
};
use super::write::{group, ie, node, session};

const SEID: u64 = 0x1122_3344_5566_7788;
const SEQUENCE: u32 = 0x01_0203;

pub(super) fn messages() -> Vec<Entry> {
    let mut all = node_messages();
    all.extend(reports());
    all.extend(session_messages());
    let bundle = |mut first: Vec<u8>, second: &[u8]| {
        first[0] |= 4;
        first.extend(second);
        first
    };
    let heartbeat = node(1, SEQUENCE, &[started()]);
    let several = bundle(heartbeat.clone(), &bundle(heartbeat, &establishment()));
    all.push(Entry::new("bundle", several));
    all.push(Entry::new("version_2", vec![0x40, 1, 0, 4, 0, 0, 1, 0]));
    all.push(Entry::new("unknown_and_vendor_ies", unknown()));
    all
}

fn node_messages() -> Vec<Entry> {
    let failed = [ie(40, &[0, 60]), ie(19, &[66])];
    let set = [node_id(), ie(65, &[1, 192, 0, 2, 1, 0, 1])];
    let accepted = [node_id(), ie(19, &[1])];
    let alive = [started(), ie(192, &[2, 192, 0, 2, 1])];
    let mut all = entries([
        ("heartbeat_request", node(1, SEQUENCE, &alive)),
        ("heartbeat_response", node(2, SEQUENCE, &[started()])),
        ("pfd_management_request", node(3, SEQUENCE, &[pfds()])),
        ("pfd_management_response", node(4, SEQUENCE, &failed)),
        ("association_release_request", node(9, SEQUENCE, &[fqdn()])),
        (
            "association_release_response",
            node(10, SEQUENCE, &accepted),
        ),
        ("version_not_supported", node(11, SEQUENCE, &[])),
        ("session_set_deletion_request", node(14, SEQUENCE, &set)),
        (
            "session_set_deletion_response",
            node(15, SEQUENCE, &accepted),
        ),
    ]);
    all.extend(associations());
    all
}

fn associations() -> Vec<Entry> {
    let setup = [
        node_id(),
        started(),
        ie(89, &[0, 1]),
        ie(178, &[2, 192, 0, 2, 9]),
        ie(180, b"\0set1.smf"),
        group(183, &[ie(185, &[2, 192, 0, 2, 9])]),
        ie(259, &[1]),
    ];
    let resources = [&[0x61, 8, 192, 0, 2, 1, 0][..], &label("access")].concat();
    let answer = [
        node_id(),
        ie(19, &[1]),
        started(),
        ie(43, &[0x10, 0, 0, 1]),
        ie(116, &resources),
        pool(),
        ie(253, &[7; 16]),
        ie(184, &[1]),
    ];
    let update = [
        node_id(),
        ie(43, &[0, 0]),
        ie(111, &[1]),
        ie(112, &[0x23]),
        ie(162, &[1]),
        pool(),
        ie(267, &[1, 0, 0, 0]),
    ];
    let updated = [node_id(), ie(19, &[1]), ie(43, &[0x10, 0, 0, 0])];
    entries([
        ("association_setup_request", node(5, SEQUENCE, &setup)),
        ("association_setup_response", node(6, SEQUENCE, &answer)),
        ("association_update_request", node(7, SEQUENCE, &update)),
        ("association_update_response", node(8, SEQUENCE, &updated)),
    ])
}

/// UE IP address Pool Information.
fn pool() -> Vec<u8> {
    let inner = [
        ie(177, b"\0\x04pool"),
        ie(22, &label("internet")),
        ie(257, &[1, 0, 0, 1]),
        ie(258, &[1]),
    ];
    group(233, &inner)
}

fn reports() -> Vec<Entry> {
    let peer = [&[0x0e, 192, 0, 2, 50, 0, 1, 0, 0, 7][..], &label("access")];
    let peer = ie(103, &peer.concat());
    let node_report = [
        node_id(),
        ie(101, &[0x0f]),
        group(102, std::slice::from_ref(&peer)),
        group(187, std::slice::from_ref(&peer)),
        group(315, &[peer]),
        ie(205, &[0; 4]),
    ];
    let bar = [ie(88, &[1]), ie(46, &[1]), ie(47, &[0x21]), ie(48, &[5])];
    let answer = [
        ie(19, &[1]),
        group(12, &bar),
        ie(50, &[1]),
        f_seid(),
        ie(21, &[1, 0, 0, 0, 9, 192, 0, 2, 9]),
    ];
    let accepted = [node_id(), ie(19, &[1])];
    entries([
        ("node_report_request", node(12, SEQUENCE, &node_report)),
        ("node_report_response", node(13, SEQUENCE, &accepted)),
        ("session_report_request", session_report()),
        (
            "session_report_response",
            session(57, SEID, SEQUENCE, &answer),
        ),
    ])
}

/// With a report of each kind.
fn session_report() -> Vec<u8> {
    let data = [
        ie(56, &[0, 2]),
        ie(45, &[3, 7, 9]),
        ie(250, &[1, 0]),
        ie(260, &[1]),
    ];
    let error = [ie(21, &[1, 0, 0, 0x0d, 1, 192, 0, 2, 50])];
    let report = [
        ie(39, &[7]),
        group(83, &data),
        usage_report(80),
        group(99, &error),
        ie(126, &[0, 1]),
        ie(161, &[1]),
        ie(51, &[0, 52, 0, 4, 0, 0, 0, 1]),
        ie(54, &[0, 52, 0, 4, 0, 0, 0, 1]),
    ];
    session(56, SEID, SEQUENCE, &report)
}

fn entries<const N: usize>(all: [(&str, Vec<u8>); N]) -> Vec<Entry> {
    all.map(|(name, bytes)| Entry::new(name, bytes)).into()
}

fn session_messages() -> Vec<Entry> {
    let accepted = ie(19, &[1]);
    let f_teid = ie(21, &[1, 0x80, 0, 0x50, 1, 192, 0, 2, 1]);
    let created = group(
        8,
        &[ie(56, &[0, 1]), f_teid.clone(), ie(93, &[2, 10, 45, 0, 7])],
    );
    let partial = group(272, &[ie(114, &[0, 0, 1]), ie(19, &[73]), ie(274, &[0, 0])]);
    let established = [
        node_id(),
        accepted.clone(),
        f_seid(),
        created.clone(),
        group(128, &[ie(131, &[1]), f_teid.clone()]),
        partial,
    ];
    let modified = [
        accepted.clone(),
        created,
        usage_report(78),
        ie(126, &[0x80, 1]),
        group(256, &[ie(56, &[0, 2]), f_teid]),
        ie(40, &[0, 56]),
        ie(114, &[1, 0, 0, 0, 7]),
    ];
    let deleted = [accepted, usage_report(79), ie(126, &[0, 1])];
    let rejected = [
        node_id(),
        ie(19, &[73]),
        ie(40, &[0, 1]),
        ie(114, &[0, 0, 1]),
    ];
    [
        ("establishment_request", establishment()),
        ("establishment_request_full", full_establishment()),
        (
            "establishment_response",
            session(51, SEID, SEQUENCE, &established),
        ),
        (
            "establishment_rejected",
            session(51, 0, SEQUENCE, &rejected),
        ),
        ("modification_request", modification()),
        ("modification_request_removals", removals()),
        (
            "modification_response",
            session(53, SEID, SEQUENCE, &modified),
        ),
        ("deletion_request", session(54, SEID, SEQUENCE, &[])),
        ("deletion_response", session(55, SEID, SEQUENCE, &deleted)),
    ]
    .map(|(name, bytes)| Entry::new(name, bytes))
    .into()
}

fn establishment() -> Vec<u8> {
    session(
        50,
        0,
        SEQUENCE,
        &[
            node_id(),
            f_seid(),
            uplink_pdr(1, 1),
            downlink_pdr(2, 2),
            core_far(1),
            access_far(2),
            urr(1),
            qer(1),
            qer(2),
            ie(113, &[1]),
            ie(159, &label("internet")),
        ],
    )
}

fn full_establishment() -> Vec<u8> {
    let [bar, endpoint] = bar_and_endpoint();
    session(
        50,
        0,
        SEQUENCE,
        &[
            fqdn(),
            f_seid(),
            full_pdr(),
            uplink_pdr(1, 1),
            full_far(),
            core_far(1),
            urr(1),
            qer(1),
            bar,
            endpoint,
            ie(65, &[1, 192, 0, 2, 1, 0, 1]),
            ie(117, &[0, 0, 0, 60]),
            ie(141, &[1, 8, 0x21, 0x43, 0x65, 0x87, 9, 0x21, 0x43, 0xf5]),
            ie(152, &[0; 8]),
            ie(186, &[1]),
            ie(257, &[1, 0, 0, 1]),
            ie(275, &[10]),
            started(),
        ],
    )
}

fn modification() -> Vec<u8> {
    session(
        52,
        SEID,
        SEQUENCE,
        &[
            handover(2, 0xbeef),
            idle(2),
            uplink_pdr(3, 3),
            core_far(3),
            qer(3),
            urr(3),
            group(9, &[ie(56, &[0, 1]), ie(29, &[0, 0, 0, 9]), ie(95, &[])]),
            group(13, &[ie(81, &[0, 0, 0, 1]), ie(32, &[]), ie(37, &[2, 0])]),
            group(14, &[ie(109, &[0, 0, 0, 1]), ie(25, &[5]), ie(26, &[])]),
            group(77, &[ie(81, &[0, 0, 0, 1])]),
            ie(49, &[4]),
            ie(125, &[0, 0, 0, 5]),
            group(86, &[ie(88, &[1]), ie(46, &[3])]),
            group(129, &[ie(131, &[1]), ie(124, &[5])]),
            f_seid(),
            ie(117, &[]),
        ],
    )
}

fn removals() -> Vec<u8> {
    let id = |ie_type, inner, value: &[u8]| group(ie_type, &[ie(inner, value)]);
    session(
        52,
        SEID,
        SEQUENCE,
        &[
            id(15, 56, &[0, 1]),
            id(16, 108, &[0, 0, 0, 1]),
            id(17, 81, &[0, 0, 0, 1]),
            id(18, 109, &[0, 0, 0, 1]),
            id(87, 88, &[1]),
            id(130, 131, &[1]),
        ],
    )
}

fn unknown() -> Vec<u8> {
    let vendor = ie(0x8001, &[0x28, 0xaf, 1, 2, 3]);
    node(
        5,
        SEQUENCE,
        &[vendor, ie(0x7fff, &[]), node_id(), ie(300, &[9]), started()],
    )
}

fn pfds() -> Vec<u8> {
    let contents = [&[1, 0][..], b"\0\x10permit out any x"].concat();
    group(58, &[ie(24, b"app"), group(59, &[ie(61, &contents)])])
}

fn node_id() -> Vec<u8> {
    ie(60, &[0, 10, 0, 0, 1])
}

fn fqdn() -> Vec<u8> {
    ie(
        60,
        &[&[2][..], &label("smf"), &label("example"), &label("org")].concat(),
    )
}

fn started() -> Vec<u8> {
    ie(96, &[0xe8, 0, 0, 1])
}

fn f_seid() -> Vec<u8> {
    ie(
        57,
        &[&[2][..], &SEID.to_be_bytes(), &[10, 0, 0, 1]].concat(),
    )
}
