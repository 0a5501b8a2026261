//! The rules of PFCP sessions, octet by octet (TS 29.244, 7.5.2 to 7.5.5 and 8.2).

use super::write::{group, ie};

type Ies = Vec<u8>;

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// One label of a domain name, as in a Network Instance.
pub(super) fn label(name: &str) -> Vec<u8> {
    [&[name.len() as u8], name.as_bytes()].concat()
}

fn with_length(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
}

fn rule_id(ie_type: u16, id: u32) -> Ies {
    ie(ie_type, &id.to_be_bytes())
}

/// Create PDR for uplink: F-TEID chosen by the UP function, outer header removed.
pub(super) fn uplink_pdr(id: u16, far: u32) -> Ies {
    let pdi = group(
        2,
        &[
            ie(20, &[0]),
            ie(21, &[5]),
            ie(22, &label("access")),
            ie(93, &[2, 10, 45, 0, 7]),
            ie(124, &[9]),
        ],
    );
    group(
        1,
        &[
            ie(56, &id.to_be_bytes()),
            ie(29, &[0, 0, 0, 255]),
            pdi,
            ie(95, &[0]),
            rule_id(108, far),
            rule_id(109, 1),
            rule_id(81, 1),
        ],
    )
}

/// Create PDR for downlink: by the UE's address and a service data flow.
pub(super) fn downlink_pdr(id: u16, far: u32) -> Ies {
    let flow = with_length("permit out 17 from 198.51.100.0/24 80-90 to assigned");
    let pdi = group(
        2,
        &[
            ie(20, &[1]),
            ie(22, &label("internet")),
            ie(93, &[6, 10, 45, 0, 7]),
            ie(23, &[&[1, 0][..], &flow].concat()),
        ],
    );
    group(
        1,
        &[
            ie(56, &id.to_be_bytes()),
            ie(29, &[0, 0, 0, 100]),
            pdi,
            rule_id(108, far),
            rule_id(109, 1),
            rule_id(109, 2),
            rule_id(81, 1),
        ],
    )
}

/// Create PDR with everything that a PDI can have.
pub(super) fn full_pdr() -> Ies {
    let filter = [
        &[0x1f, 0][..],
        &with_length("permit out ip from any to assigned"),
        &[0x28, 0xfc],
        &[0, 0, 1, 0],
        &[0, 0, 9],
        &[0, 0, 0, 3],
    ];
    let pdi = group(
        2,
        &[
            ie(20, &[0]),
            ie(21, &[0x0d, 1]),
            ie(22, &label("access")),
            ie(93, &[2, 10, 45, 0, 7]),
            ie(93, &[&[0x45][..], &[0x20; 16], &[56]].concat()),
            ie(131, &[1]),
            ie(23, &filter.concat()),
            ie(24, &text("app")),
            ie(124, &[1]),
            ie(124, &[63]),
            ie(153, &text("203.0.113.0/24 10.45.0.7 1")),
            ie(154, &[0, 0, 0, 1]),
            ie(155, &text("2001:db8::/48 :: 1")),
            ie(160, &[11]),
        ],
    );
    group(
        1,
        &[
            ie(56, &[0xff, 0xff]),
            ie(29, &[0xff; 4]),
            pdi,
            ie(95, &[6, 1]),
            rule_id(108, 1),
            rule_id(81, 1),
            rule_id(109, 1),
            ie(106, &text("predefined")),
            ie(163, &[0xe8, 0, 0, 0]),
            ie(164, &[0xe9, 0, 0, 0]),
            ie(170, &[0, 1]),
            ie(177, &with_length("pool")),
        ],
    )
}

/// Create FAR towards the data network.
pub(super) fn core_far(id: u32) -> Ies {
    let parameters = group(4, &[ie(42, &[1]), ie(22, &label("internet"))]);
    group(3, &[rule_id(108, id), ie(44, &[2]), parameters])
}

/// Create FAR into the gNB's tunnel.
pub(super) fn access_far(id: u32) -> Ies {
    let parameters = group(4, &[ie(42, &[0]), ie(22, &label("access")), tunnel(0x0d01)]);
    group(3, &[rule_id(108, id), ie(44, &[2]), parameters])
}

/// Create FAR that buffers, with everything else that it can have.
pub(super) fn full_far() -> Ies {
    let url = with_length("http://redirect.example");
    let parameters = group(
        4,
        &[
            ie(42, &[1]),
            ie(38, &[&[2][..], &url, &[0, 0], &[0, 0]].concat()),
            ie(30, &[0x28, 0xfc]),
            ie(41, &label("policy")),
            ie(98, &[&[0, 4][..], &text("X-UE"), &[1], &text("7")].concat()),
            ie(131, &[1]),
            ie(137, &[1]),
            ie(160, &[13]),
        ],
    );
    let copy = group(
        5,
        &[
            ie(42, &[4]),
            tunnel(9),
            ie(30, &[0, 0]),
            ie(41, &label("li")),
        ],
    );
    group(
        3,
        &[
            rule_id(108, 7),
            ie(44, &[0x1c, 0]),
            parameters,
            copy,
            ie(88, &[1]),
        ],
    )
}

/// Outer Header Creation: GTP-U over IPv4.
pub(super) fn tunnel(teid: u32) -> Ies {
    ie(
        84,
        &[&[1, 0][..], &teid.to_be_bytes(), &[192, 0, 2, 50]].concat(),
    )
}

/// Create QER with a rate of its own.
pub(super) fn qer(id: u32) -> Ies {
    group(
        7,
        &[
            rule_id(109, id),
            ie(25, &[0]),
            ie(26, &[0, 0, 0, 0x27, 0x10, 0, 0, 0, 0x4e, 0x20]),
            ie(27, &[0; 10]),
            ie(28, &[0, 0, 0, 1]),
            ie(124, &[9]),
            ie(123, &[1]),
            ie(158, &[3]),
            ie(157, &[0, 0, 7, 0xd0]),
            ie(251, &[0]),
        ],
    )
}

/// Create QER with a maximum bit rate.
pub(super) fn plain_qer(id: u32) -> Ies {
    let rate = [0, 0, 0, 0x27, 0x10, 0, 0, 0, 0x4e, 0x20];
    group(
        7,
        &[rule_id(109, id), ie(25, &[0]), ie(26, &rate), ie(124, &[9])],
    )
}

/// Create URR that measures volume and reports when asked.
pub(super) fn plain_urr(id: u32) -> Ies {
    group(
        6,
        &[
            rule_id(81, id),
            ie(62, &[2]),
            ie(37, &[0, 0]),
            ie(100, &[0x10]),
        ],
    )
}

/// Create URR with everything that it can have.
pub(super) fn urr(id: u32) -> Ies {
    let volume = [&[7][..], &[0, 0, 0, 0, 0, 1, 0, 0].repeat(3)].concat();
    group(
        6,
        &[
            rule_id(81, id),
            ie(62, &[3]),
            ie(37, &[0x03, 0x01, 0]),
            ie(64, &[0, 0, 0, 10]),
            ie(31, &volume),
            ie(73, &volume),
            ie(32, &[0, 0, 0, 60]),
            ie(74, &[0, 0, 0, 90]),
            ie(71, &[0, 0, 0, 5]),
            ie(72, &[&[3][..], &[0; 7], &[9], &[0; 7], &[9]].concat()),
            ie(33, &[0xe8, 0, 0, 0]),
            ie(34, &volume),
            ie(35, &[0, 0, 0, 60]),
            ie(36, &[0, 0, 0, 3]),
            ie(82, &[0, 0, 0, 2]),
            ie(100, &[0x10]),
            ie(108, &[0, 0, 0, 1]),
            ie(182, &[0, 3]),
        ],
    )
}

/// Create BAR and Create Traffic Endpoint.
pub(super) fn bar_and_endpoint() -> [Ies; 2] {
    let endpoint = [
        ie(131, &[1]),
        ie(21, &[5]),
        ie(22, &label("access")),
        ie(93, &[2, 10, 45, 0, 7]),
        ie(124, &[9]),
    ];
    [
        group(85, &[ie(88, &[1]), ie(46, &[2]), ie(140, &[10])]),
        group(127, &endpoint),
    ]
}

/// Update FAR: the gNB is elsewhere, and the old one gets an End Marker.
pub(super) fn handover(far: u32, teid: u32) -> Ies {
    let parameters = group(11, &[ie(42, &[0]), tunnel(teid), ie(49, &[2])]);
    group(10, &[rule_id(108, far), ie(44, &[2]), parameters])
}

/// Update FAR: buffer and tell the CP function.
pub(super) fn idle(far: u32) -> Ies {
    group(10, &[rule_id(108, far), ie(44, &[0x0c])])
}

/// A Usage Report as in a response of type `ie_type`.
pub(super) fn usage_report(ie_type: u16) -> Ies {
    let volume = [&[0x3f][..], &[0, 0, 0, 0, 0, 1, 0, 0].repeat(6)].concat();
    group(
        ie_type,
        &[
            rule_id(81, 1),
            ie(104, &[0, 0, 0, 1]),
            ie(63, &[0x02, 0x02, 0]),
            ie(75, &[0xe8, 0, 0, 0]),
            ie(76, &[0xe8, 0, 0, 9]),
            ie(66, &volume),
            ie(67, &[0, 0, 0, 9]),
            ie(93, &[2, 10, 45, 0, 7]),
            ie(69, &[0xe8, 0, 0, 1]),
            ie(70, &[0xe8, 0, 0, 8]),
            ie(90, &[1]),
            ie(125, &[0, 0, 0, 5]),
        ],
    )
}
