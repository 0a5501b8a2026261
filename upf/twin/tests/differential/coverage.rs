//! Coverage: what a run of many cases must have drawn, and what must have become of it.

use crate::spec::*;
use crate::world::{Features, given_slot};
use sluice_datapath::drop::DropReason;
use sluice_twin::{Drop, Outcome};
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::value::{UsageInformation, UsageReportTrigger};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// How often things were drawn, or happened.
pub type Counts = BTreeMap<&'static str, u64>;

const OUTCOMES: [&str; 55] = [
    "ended with a set",
    "drawn: deletion of no set",
    "drawn: other sets in a modification",
    "granted",
    "refused",
    "sent",
    "arrived",
    "to control",
    "held",
    "merged",
    "ethernet_truncated",
    "not_our_mac",
    "unknown_vlan",
    "ether_type",
    "ipv4_header",
    "ipv4_length",
    "ipv4_checksum",
    "outer_fragment",
    "reassembly",
    "udp_header",
    "gtpu_header",
    "gtpu_extension",
    "gtpu_empty",
    "gtpu_message_type",
    "outer_source",
    "unknown_teid",
    "unknown_ue",
    "inner_header",
    "inner_length",
    "inner_checksum",
    "ue_source",
    "no_pdr",
    "far_drop",
    "gate_closed",
    "mbr_exceeded",
    "ttl_exceeded",
    "too_big",
    "ue_destination",
    "udp_checksum",
    "no_route",
    "next_hop_unresolved",
    "n4u_absent",
    "congestion_marked",
    "held for a UE",
    "hold_full",
    "hold_expired",
    "hold_discarded",
    "discarded by DROBU",
    "drawn: FAR with a BAR",
    "drawn: BAR in an update",
    "drained",
    "paged",
    "sent to the CP function",
    "drawn: packet of the CP function",
    "SYN over IPv4 lowered",
];

const OF_IPV6: [&str; 25] = [
    "drawn: outer IPv6 in fragments",
    "sent over IPv6",
    "udp_checksum_absent",
    "drawn: outer IPv6",
    "drawn: outer IPv6 with extension headers",
    "drawn: F-TEID with both addresses",
    "SYN over IPv6 lowered",
    "ipv6_header",
    "ipv6_length",
    "link_local",
    "router solicitation",
    "refused for a UE address",
    "refused for the PDN type",
    "drawn: IPv4 address alone",
    "drawn: IPv6 prefix alone",
    "drawn: both addresses",
    "drawn: PDI of one version",
    "drawn: prefix in a modification",
    "drawn: IPv6 in a tunnel",
    "drawn: plain IPv6",
    "drawn: extension headers",
    "drawn: first fragment",
    "drawn: later fragment",
    "drawn: last hop limit",
    "drawn: frame to a group",
];

const OF_FILTERS: [&str; 15] = [
    "refused for too many rates",
    "refused for too many ports",
    "refused for too many PDRs of a door",
    "refused for an SDF filter",
    "drawn: protocol",
    "drawn: addresses",
    "drawn: ports",
    "drawn: ports of both ends",
    "drawn: traffic class",
    "drawn: security parameter index",
    "drawn: flow label",
    "drawn: filter with an ID",
    "drawn: filter by its ID",
    "drawn: several filters",
    "drawn: filters in an update",
];

const OF_GIVEN: [&str; 4] = [
    "refused for want of an address",
    "drawn: address of our choice",
    "drawn: prefix of our choice",
    "drawn: both of our choice",
];
const OF_SHAPING: [&str; 4] = ["shaped", "shaping_delay", "shaping_full", "session_changed"];

const OF_USAGE: [&str; 16] = [
    "quota_exhausted",
    "reported: threshold",
    "reported: quota",
    "reported: start",
    "reported: period",
    "reported: time threshold",
    "reported: time quota",
    "reported: validity",
    "reported: holding",
    "reported: stop",
    "reported: lost packets",
    "reported: a duration",
    "reported: inactivity",
    "reported: before a monitoring time",
    "reported: after a monitoring time",
    "reported: a duration before a monitoring time",
];

/// Counts why a session reported usage by itself.
pub fn count_report(counts: &mut Counts, report: &UsageReport<'_>) {
    let trigger = report.usage_report_trigger;
    let all = [
        (UsageReportTrigger::VOLTH, "reported: threshold"),
        (UsageReportTrigger::VOLQU, "reported: quota"),
        (UsageReportTrigger::START, "reported: start"),
        (UsageReportTrigger::PERIO, "reported: period"),
        (UsageReportTrigger::TIMTH, "reported: time threshold"),
        (UsageReportTrigger::TIMQU, "reported: time quota"),
        (UsageReportTrigger::QUVTI, "reported: validity"),
        (UsageReportTrigger::QUHTI, "reported: holding"),
        (UsageReportTrigger::STOPT, "reported: stop"),
        (UsageReportTrigger::DROTH, "reported: lost packets"),
    ];
    let used = report.duration_measurement.map_or(0, |used| used.0);
    let part = report.usage_information.unwrap_or_default();
    let before = part.contains(UsageInformation::BEF);
    let detected = report.application_detection_information.as_ref();
    let tells_flow = detected.and_then(|of| of.flow_information);
    for (is, name) in [
        (before, "reported: before a monitoring time"),
        (
            report.application_detection_information.is_some(),
            "reported: an application",
        ),
        (tells_flow.is_some(), "reported: the flow of an application"),
        (
            part.contains(UsageInformation::AFT),
            "reported: after a monitoring time",
        ),
        (
            before && used > 0,
            "reported: a duration before a monitoring time",
        ),
    ] {
        *counts.entry(name).or_default() += u64::from(is);
    }
    *counts.entry("reported: a duration").or_default() += u64::from(used > 0);
    for (_, name) in all.iter().filter(|(told, _)| trigger.contains(*told)) {
        *counts.entry(name).or_default() += 1;
    }
}

/// Counts held packets that a modification discards by its flag.
pub fn count_discarded(counts: &mut Counts, change: &Change, released: &[Outcome]) {
    let is_discarded = |o: &&Outcome| matches!(o, Outcome::Dropped(Drop::HoldDiscarded, _));
    let discarded = released.iter().filter(is_discarded).count();
    if change.discards_held && discarded > 0 {
        *counts.entry("discarded by DROBU").or_default() += discarded as u64;
    }
}

/// The PDR whose Source Interface is the CP function.
pub const OF_CP: u16 = 20;

const OF_NAT: [&str; 13] = [
    "nat_no_session",
    "nat_no_mapping",
    "nat_protocol",
    "nat_fragment",
    "nat_no_port",
    "further block",
    "no further block",
    "drawn: answer to a public port",
    "drawn: echo",
    "drawn: ICMP error of a UE",
    "drawn: ICMP error for a UE",
    "drawn: UE to UE",
    "drawn: fragment for a public port",
];

/// Of translation by one worker, which filters, and by several, where UEs may meet.
pub const OF_TRANSLATION: [&str; 2] = ["nat_filtered", "nat_hairpin"];

const OF_BEHIND: [&str; 5] = [
    "refused for a framed route",
    "drawn: framed route",
    "drawn: framed IPv6 route",
    "drawn: delegated prefix",
    "drawn: packet from behind a UE",
];

const OF_PREDEFINED: [&str; 6] = [
    "refused for a predefined rule",
    "refused for a predefined rule that ends",
    "drawn: predefined rule",
    "drawn: several predefined rules",
    "drawn: predefined rule in an update",
    "drawn: predefined rule that ends",
];

const OF_APPLICATIONS: [&str; 10] = [
    "refused for an application",
    "refused for a URR of several applications",
    "refused for the contents of a PFD",
    "reported: an application",
    "reported: the flow of an application",
    "sessions with new flows",
    "drawn: application",
    "drawn: application in an update",
    "drawn: an application without flows",
    "drawn: flows of no application",
];

/// Drops that take a machine without room or time, and the test of the path that brings it about.
pub const DROPS_ELSEWHERE: [(DropReason, &str); 10] = [
    (
        DropReason::NextHopQueueFull,
        "an_unresolved_next_hop_holds_packets_in_order_and_bounded",
    ),
    (
        DropReason::NoHeadroom,
        "without_room_in_front_a_packet_gets_no_tunnel_and_others_pass",
    ),
    (
        DropReason::TransmitFull,
        "a_full_transmit_queue_gives_the_usage_back",
    ),
    (
        DropReason::ControlQueueFull,
        "a_flood_for_the_control_core_is_dropped_by_name_and_holds_back_no_packet",
    ),
    (
        DropReason::HandoverFull,
        "a_worker_that_never_wakes_fills_the_hold_and_no_more",
    ),
    (
        DropReason::NotLinear,
        "a_frame_of_several_segments_that_fits_none_is_dropped",
    ),
    (
        DropReason::NoBuffer,
        "a_packet_that_cannot_be_cut_for_want_of_buffers_is_not_charged",
    ),
    (
        DropReason::Stopped,
        "what_a_worker_has_when_it_stops_ends_by_that_name",
    ),
    (
        DropReason::N4QueueFull,
        "a_storm_of_pfcp_is_dropped_by_name_and_holds_back_no_arp",
    ),
    // Sluice contradicts itself: no test can.
    (DropReason::Internal, ""),
];

/// All that some run of many cases must meet.
pub fn all() -> Vec<&'static str> {
    let of_features = [&OF_IPV6[..], &OF_FILTERS, &OF_BEHIND, &OF_PREDEFINED];
    let more = [&OF_APPLICATIONS[..], &OF_GIVEN, &OF_USAGE, &OF_SHAPING];
    let of_nat = [&OF_NAT[..], &OF_TRANSLATION];
    let lists = of_features.into_iter().chain(more).chain(of_nat);
    OUTCOMES
        .into_iter()
        .chain(lists.flatten().copied())
        .collect()
}

/// Cases after which nothing may be missing.
const ENOUGH: u64 = 10_000;

/// What a run has missed, if it was long enough to meet all.
pub fn missed(counts: &Counts, shapes: bool, features: Features, cases: u64) -> Vec<&'static str> {
    if cases < ENOUGH {
        return Vec::new();
    }
    let mut all = OUTCOMES.to_vec();
    if features.ipv6 {
        all.extend(OF_IPV6);
    }
    if features.filters {
        all.extend(OF_FILTERS);
    }
    if features.behind {
        all.extend(OF_BEHIND);
    }
    if features.predefined {
        all.extend(OF_PREDEFINED);
    }
    if features.applications {
        all.extend(OF_APPLICATIONS);
    }
    if features.given {
        all.extend(OF_GIVEN);
    }
    if features.usage {
        all.extend(OF_USAGE);
    }
    if shapes {
        all.extend(OF_SHAPING);
    }
    if features.nat {
        all.extend(OF_NAT);
    }
    all.retain(|name| counts.get(name).is_none_or(|n| *n == 0));
    all
}

/// Counts what a step is made of.
pub fn count(counts: &mut Counts, step: &Step) {
    let mut drawn = Vec::new();
    match step {
        Step::Establish(_, rules) => {
            drawn.push(addresses(rules));
            rules
                .pdrs
                .iter()
                .for_each(|p| filters(&p.filters, &mut drawn));
            one_version(rules, &mut drawn);
            drawn.extend(of_our_choice(rules));
            drawn.extend(behind(rules));
            predefined(rules, &mut drawn);
            if rules.pdrs.iter().any(|p| p.application.is_some()) {
                drawn.push("drawn: application");
            }
            if rules.fars.iter().any(|far| far.bar.is_some()) {
                drawn.push("drawn: FAR with a BAR");
            }
        }
        Step::Modify(_, change) => {
            let mut created = change.create.pdrs.iter();
            if created.any(|p| p.ue.ipv6.is_some()) {
                drawn.push("drawn: prefix in a modification");
            }
            if !change.create.sets.is_empty() {
                drawn.push("drawn: other sets in a modification");
            }
            if !change.bars.is_empty() {
                drawn.push("drawn: BAR in an update");
            }
            if change.pdrs.iter().any(|e| !e.on.is_empty()) {
                drawn.push("drawn: predefined rule in an update");
            }
            if change.pdrs.iter().any(|e| e.application.is_some()) {
                drawn.push("drawn: application in an update");
            }
            if change.pdrs.iter().any(|e| !e.off.is_empty()) {
                drawn.push("drawn: predefined rule that ends");
            }
            let mut edited = change.pdrs.iter().filter_map(|e| e.flow.as_ref());
            if edited.any(|(_, _, filters)| !filters.is_empty()) {
                drawn.push("drawn: filters in an update");
            }
        }
        Step::Packets(packets) => packets.iter().for_each(|p| packet(p, &mut drawn)),
        Step::DeleteSets(sets) if sets.is_empty() => drawn.push("drawn: deletion of no set"),
        Step::Pfds(told) if told.is_empty() => drawn.push("drawn: flows of no application"),
        Step::Pfds(told) if told.iter().any(|(_, flows)| flows.is_empty()) => {
            drawn.push("drawn: an application without flows");
        }
        Step::Delete(_) | Step::DeleteSets(_) | Step::Pfds(_) | Step::Advance(_) => {}
    }
    for name in drawn {
        *counts.entry(name).or_default() += 1;
    }
}

fn predefined(rules: &Rules, drawn: &mut Vec<&'static str>) {
    let most = rules.pdrs.iter().map(|p| p.active.len()).max();
    match most.unwrap_or(0) {
        0 => {}
        1 => drawn.push("drawn: predefined rule"),
        _ => drawn.push("drawn: several predefined rules"),
    }
}

fn addresses(rules: &Rules) -> &'static str {
    let ipv4 = rules.pdrs.iter().any(|p| p.ue.ipv4.is_some());
    let ipv6 = rules.pdrs.iter().any(|p| p.ue.ipv6.is_some());
    match (ipv4, ipv6) {
        (true, true) => "drawn: both addresses",
        (true, false) => "drawn: IPv4 address alone",
        (false, true) => "drawn: IPv6 prefix alone",
        (false, false) => "drawn: no address",
    }
}

fn behind(rules: &Rules) -> impl Iterator<Item = &'static str> {
    let has = |is: fn(&BehindSpec) -> bool| rules.pdrs.iter().any(|p| is(&p.ue.behind));
    let all = [
        (has(|b| b.ipv4.is_some()), "drawn: framed route"),
        (has(|b| b.ipv6.is_some()), "drawn: framed IPv6 route"),
        (has(|b| b.delegated != 0), "drawn: delegated prefix"),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, name)| name)
}

/// Where no UE has its own address.
fn is_behind(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [172, 16 | 17, ..]),
        IpAddr::V6(address) => matches!(address.segments(), [0x2001, 0xdb8, 0x70 | 0x50, ..]),
    }
}

fn of_our_choice(rules: &Rules) -> Option<&'static str> {
    let mut ues = rules.pdrs.iter().map(|p| p.ue);
    let ipv4 = ues.clone().filter_map(|ue| ue.ipv4);
    let ipv4 = ipv4.map(IpAddr::V4).any(|a| given_slot(a).is_some());
    let ipv6 = ues.any(|ue| ue.ipv6.is_some_and(|a| given_slot(a.into()).is_some()));
    match (ipv4, ipv6) {
        (true, true) => Some("drawn: both of our choice"),
        (true, false) => Some("drawn: address of our choice"),
        (false, true) => Some("drawn: prefix of our choice"),
        (false, false) => None,
    }
}

fn one_version(rules: &Rules, drawn: &mut Vec<&'static str>) {
    let ipv4_alone = |p: &PdrSpec| p.ue.ipv4.is_some() && p.ue.ipv6.is_none();
    if rules.pdrs.iter().any(|pdr| pdr.families == (true, true)) {
        drawn.push("drawn: F-TEID with both addresses");
    }
    let has_both = addresses(rules) == "drawn: both addresses";
    if has_both && rules.pdrs.iter().any(ipv4_alone) {
        drawn.push("drawn: PDI of one version");
    }
}

fn filters(filters: &[FilterSpec], drawn: &mut Vec<&'static str>) {
    for filter in filters {
        let text = filter.flow.as_deref().unwrap_or_default();
        let words: Vec<&str> = text.split(' ').collect();
        let has_protocol = words.get(2).is_some_and(|w| w.parse::<u8>().is_ok());
        let numbers = text.contains("from 1") || text.contains("from 2");
        let by_id = filter.id.is_some() && *filter == FilterSpec::of_id(filter.id.unwrap_or(0));
        let all = [
            (has_protocol, "drawn: protocol"),
            (numbers, "drawn: addresses"),
            (words.len() > 7, "drawn: ports"),
            (words.len() > 8, "drawn: ports of both ends"),
            (filter.class.is_some(), "drawn: traffic class"),
            (filter.index.is_some(), "drawn: security parameter index"),
            (filter.label.is_some(), "drawn: flow label"),
            (filter.id.is_some() && !by_id, "drawn: filter with an ID"),
            (by_id, "drawn: filter by its ID"),
            (filters.len() > 1, "drawn: several filters"),
        ];
        drawn.extend(all.iter().filter(|(is_there, _)| *is_there).map(|(_, n)| n));
    }
}

fn packet(packet: &PacketSpec, drawn: &mut Vec<&'static str>) {
    if matches!(packet.entry, Entry::Tunnel { peer, .. } if peer.is_ipv6()) {
        drawn.push("drawn: outer IPv6");
        if packet.cut.is_some() {
            drawn.push("drawn: outer IPv6 in fragments");
        }
        if !packet.outer_extensions.is_empty() {
            drawn.push("drawn: outer IPv6 with extension headers");
        }
    }
    if matches!(packet.entry, Entry::Tunnel { pdr: OF_CP, .. }) {
        drawn.push("drawn: packet of the CP function");
    }
    if packet.spoofed.is_some_and(is_behind) {
        drawn.push("drawn: packet from behind a UE");
    }
    if packet.remote.is_ipv4() {
        let is_in_tunnel = matches!(packet.entry, Entry::Tunnel { .. });
        let to_public = packet.public_of.is_some();
        let is_echo = matches!(packet.icmp, Icmp::Request | Icmp::Reply);
        let is_error = matches!(packet.icmp, Icmp::Unreachable(..));
        let is_fragment = packet.inner.more_fragments;
        let all = [
            (to_public && !is_in_tunnel, "drawn: answer to a public port"),
            (to_public && is_in_tunnel, "drawn: UE to UE"),
            (is_echo, "drawn: echo"),
            (is_error && is_in_tunnel, "drawn: ICMP error of a UE"),
            (is_error && !is_in_tunnel, "drawn: ICMP error for a UE"),
            (
                to_public && !is_in_tunnel && is_fragment,
                "drawn: fragment for a public port",
            ),
        ];
        drawn.extend(all.iter().filter(|(is_there, _)| *is_there).map(|(_, n)| n));
        return;
    }
    let ip = &packet.inner6;
    let is_in_tunnel = matches!(packet.entry, Entry::Tunnel { .. });
    let fragment = |first: bool| {
        let mut all = ip.extensions.iter();
        all.any(|e| matches!(e, Extension::Fragment(offset, _) if (*offset == 0) == first))
    };
    let all = [
        (is_in_tunnel, "drawn: IPv6 in a tunnel"),
        (!is_in_tunnel, "drawn: plain IPv6"),
        (!ip.extensions.is_empty(), "drawn: extension headers"),
        (fragment(true), "drawn: first fragment"),
        (fragment(false), "drawn: later fragment"),
        (ip.hop_limit == 1, "drawn: last hop limit"),
        (packet.eth.to == MacSpec::Group, "drawn: frame to a group"),
    ];
    drawn.extend(all.iter().filter(|(is_there, _)| *is_there).map(|(_, n)| n));
}
