//! Metrics for the checks of a scenario.

use crate::{DropReason, GnbCounters};

#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Key of the figure in a check.
    pub name: &'static str,
    pub help: &'static str,
    /// Whether it is told for each gNB.
    pub of_gnbs: bool,
    /// Whether it only grows, so that checks count from the one before.
    pub counts: bool,
}

/// A table of figures: `gnb` counts for each gNB, `gnb_now` is told for each gNB as it is, `count` counts for all,
/// `now` is told as it is.
macro_rules! metrics {
    (@ gnb) => { (true, true) };
    (@ gnb_now) => { (true, false) };
    (@ count) => { (false, true) };
    (@ now) => { (false, false) };
    ($($kind:ident $name:literal $help:literal;)*) => {
        [$({
            let (of_gnbs, counts) = metrics!(@ $kind);
            Metric { name: $name, help: $help, of_gnbs, counts }
        }),*]
    };
}

/// How many figures there are.
pub const COUNT: usize = 83;

/// All figures. Those of gNBs stand first, in the order of [`of_gnb`].
pub const METRICS: [Metric; COUNT] = metrics! {
    gnb "uplink_packets" "packets of UEs sent on N3";
    gnb "uplink_bytes" "their octets, inner IP packets";
    gnb "downlink_packets" "packets given to UEs";
    gnb "downlink_bytes" "their octets, inner IP packets";
    gnb "end_markers" "End Markers received";
    gnb "echo_requests" "Echo Requests received";
    gnb "echoes_withheld" "those that a mute gNB did not answer";
    gnb "error_indications" "Error Indications received";
    gnb "error_indications_sent" "Error Indications sent: the UPF used a TEID that nobody has";
    gnb "unexpected" "messages that should not come: malformed, of unknown type, without or with a wrong container, notifications";
    gnb "drops" "packets lost in the gNBs, for any reason";
    gnb "drops_malformed" "no GTP-U message";
    gnb "drops_datagram_too_long" "datagram longer than the room for it";
    gnb "drops_unknown_message" "message type that we do not have";
    gnb "drops_unsupported_extension" "extension header that must be comprehended and is not";
    gnb "drops_unknown_teid" "no tunnel has the TEID";
    gnb "drops_late" "came to a gNB that the UE has left";
    gnb "drops_no_container" "without PDU Session Container";
    gnb "drops_not_downlink" "with a container of uplink";
    gnb "drops_foreign_destination" "not addressed to the UE";
    gnb "drops_tun_refused" "not taken by the UE's device";
    gnb "drops_muted" "came to a gNB that was mute";
    gnb "drops_forwarding_failed" "for a UE that had left, not sent on by the kernel";
    gnb "drops_packet_too_long" "from a UE, too long";
    gnb "drops_send_failed" "not sent by the kernel";
    gnb "drops_muted_uplink" "from a UE, at a gNB that was mute";
    gnb "forwarded" "packets for UEs that had left, sent on to where they are";
    gnb "uplink_ipv6_packets" "IPv6 packets of UEs sent on N3";
    gnb "downlink_ipv6_packets" "IPv6 packets given to UEs";
    gnb_now "attached" "UEs that gNBs serve now";
    gnb_now "unaccounted" "datagrams without a fate: 0, or there is a bug";
    now "sessions" "PFCP sessions, and PDU sessions of UEs with SIMs, now";
    now "without_radio" "UEs with a session whose gNB has forgotten them";
    now "ipv6_ready" "UEs whose kernel has made an IPv6 address of their prefix";
    count "attaches" "UEs attached";
    count "detaches" "UEs detached";
    count "handovers" "UEs moved to another gNB";
    count "end_markers_missing" "handovers after which no End Marker came within 5 s";
    count "failures" "attaches, detaches, handovers, restorations that failed";
    count "error_reports" "Error Indications that the UPF reported over N4";
    count "usage_reports" "usage reports of URRs over N4";
    count "unknown_reports" "reports for sessions that we do not have, and reports lost";
    count "associations_lost" "ends of the PFCP association that we did not ask for";
    count "sessions_lost" "sessions that the UPF lost or ended by itself";
    count "sessions_restored" "sessions set up again";
    count "echoes_answered" "our Echo Requests that were answered";
    count "echoes_unanswered" "our Echo Requests that were not";
    count "ping_sent" "echoes sent by UEs";
    count "ping_lost" "those without an answer";
    now "ping_lost_percent" "their share";
    now "rtt_p50_ms" "round trip of echoes, median";
    now "rtt_p99_ms" "round trip of echoes, 99th percentile";
    now "rtt_max_ms" "round trip of echoes, longest";
    now "usage_difference_bytes" "octets by which URRs and gNBs disagree, summed over sessions of now and those ended since the last check";
    now "gnbs_up" "gNBs whose N2 is set up, now";
    now "registered" "UEs with SIMs that are registered, now";
    now "connected" "UEs with SIMs that are connected, now";
    count "registrations" "registrations that were accepted";
    count "establishments" "sessions that were established";
    count "releases" "sessions that UEs released";
    count "services" "service requests that were accepted";
    count "pagings" "Paging messages of AMFs";
    count "paged" "UEs that step page had paged, and that came back";
    count "path_switches" "UEs with SIMs that went to another gNB by Xn";
    count "n2_handovers" "UEs with SIMs that went to another gNB by N2";
    count "idles" "UEs that became idle by their gNB's wish";
    count "deregistrations" "deregistrations of UEs";
    count "refusals" "procedures that the network refused";
    count "timeouts" "procedures without an answer in time";
    count "cut_off" "procedures that ended with the UE's connection";
    count "n2_lost" "associations with AMFs that were lost";
    count "n2_errors" "Error Indications of AMFs";
    now "registration_p50_ms" "duration of registrations, median";
    now "registration_p99_ms" "duration of registrations, 99th percentile";
    now "establishment_p50_ms" "duration of session establishments, median";
    now "establishment_p99_ms" "duration of session establishments, 99th percentile";
    now "service_p50_ms" "duration of service requests, median";
    now "service_p99_ms" "duration of service requests, 99th percentile";
    now "paging_p50_ms" "from a packet for an idle UE to its user plane, median";
    now "paging_p99_ms" "from a packet for an idle UE to its user plane, 99th percentile";
    now "busy" "UEs with SIMs that have a procedure under way, now";
    now "memory_mb" "resident memory of this process";
    now "memory_growth_mb" "resident memory above that of the first check of it";
};

/// How many figures gNBs have.
pub const OF_GNB: usize = 31;
/// First figure behind the counters.
pub const ATTACHED: usize = 29;
const UNACCOUNTED: usize = 30;

/// Index of a figure in [`METRICS`].
pub fn index(name: &str) -> usize {
    METRICS
        .iter()
        .position(|metric| metric.name == name)
        .unwrap_or(0)
}

/// The figures of a gNB that serves so many UEs.
pub fn of_gnb(counters: &GnbCounters, attached: usize) -> [f64; OF_GNB] {
    let GnbCounters {
        uplink,
        downlink,
        signalling,
        drops,
        ..
    } = counters;
    let wrong = [
        DropReason::Malformed,
        DropReason::DatagramTooLong,
        DropReason::UnknownMessage,
        DropReason::UnsupportedExtension,
        DropReason::NoContainer,
        DropReason::NotDownlink,
    ];
    let wrong: u64 = wrong.iter().map(|reason| drops.get(*reason)).sum();
    let mut figures = [0.0; OF_GNB];
    let first = [
        uplink.packets,
        uplink.bytes,
        downlink.packets,
        downlink.bytes,
        signalling.end_markers,
        signalling.echo_requests,
        counters.echoes_withheld,
        signalling.error_indications,
        counters.error_indications_sent,
        wrong + signalling.notifications + signalling.tunnel_status,
        drops.total(),
    ];
    let reasons = drops.iter().map(|(_, packets)| packets);
    let ipv6 = [
        counters.by_family.ipv6_uplink,
        counters.by_family.ipv6_downlink,
    ];
    let ipv6 = ipv6.map(|flow| flow.packets);
    let forwarded = [counters.forwarded.packets];
    let all = first
        .into_iter()
        .chain(reasons)
        .chain(forwarded)
        .chain(ipv6);
    for (figure, value) in figures.iter_mut().zip(all) {
        *figure = value as f64;
    }
    figures[ATTACHED] = attached as f64;
    figures[UNACCOUNTED] = counters.unaccounted().unsigned_abs() as f64;
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_those_of_drops_are_the_gnbs_own_in_their_order() {
        for (number, metric) in METRICS.iter().enumerate() {
            assert_eq!(index(metric.name), number, "{}", metric.name);
            assert_eq!(metric.of_gnbs, number < OF_GNB, "{}", metric.name);
        }
        let first = index("drops") + 1;
        for (number, reason) in DropReason::ALL.into_iter().enumerate() {
            let name = METRICS[first + number].name;
            assert_eq!(name, format!("drops_{}", reason.name()));
        }
        assert_eq!(index("attached"), ATTACHED);
        assert_eq!(index("unaccounted"), UNACCOUNTED);
    }
}
