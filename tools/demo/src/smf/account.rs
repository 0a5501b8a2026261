//! Demo phase: packet accounting, and tshark checks.

use std::collections::BTreeMap;

use sluice_ran::{LeftTunnel, Network};

use super::report::SmfPart;
use crate::args::Driver;
use crate::error::DemoError;
use crate::host::Host;
use crate::report::Report;
use crate::run::DemoContext;
use crate::upf::Ctl;

/// The UPF's name for packets of a UE's own link that it drops.
const LINK_LOCAL: &str = "link_local";
/// And for frames to another MAC address, such as those of multicast.
const NOT_OURS: &str = "not_our_mac";

/// Every packet is accounted for, and none got lost unseen.
pub(super) fn account(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ctl: &Ctl,
    (ran, left): (&Network, &LeftTunnel),
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    let ledger = ctl.ledger()?;
    expect_link_local(ran, report)?;
    expect_listener_reports(stage, report)?;
    let unexpected = more(&ledger.dropped, &report.part.expected_drops);
    report.part.loss.upf_drops = unexpected.values().sum();
    report.checks.equal(
        "unexpected drops in the UPF",
        "none".to_owned(),
        listed(&unexpected),
    );
    report
        .checks
        .equal("the UPF's ledger balances", true, ledger.balances);
    report.part.ledger = Some(ledger);
    report.part.workers = ctl.workers()?;
    report.host_loss_packets = host.lost()?.total();
    ports(stage, ctl, report)?;
    gnbs(ran, report)?;
    end_marker(ran, left, report)
}

/// A UE's kernel tells its link of its multicast groups; of that, the UPF answers Router Solicitations
/// and drops the rest.
fn expect_link_local(ran: &Network, report: &mut Report<SmfPart>) -> Result<(), DemoError> {
    let mut dropped = 0;
    for ue in 0..ran.ues().len() {
        let counted = ran.report(ue)?.counters.by_family;
        dropped += counted
            .link_local_uplink
            .packets
            .saturating_sub(counted.solicitations);
    }
    if dropped > 0 {
        *report
            .part
            .expected_drops
            .entry(LINK_LOCAL.to_owned())
            .or_default() += dropped;
    }
    Ok(())
}

/// The data network's kernel tells routers of its multicast groups (RFC 3810), which ours does not
/// hear.
fn expect_listener_reports(
    stage: DemoContext<'_>,
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    let path = format!(
        "/proc/thread-self/net/dev_snmp6/{}",
        stage.topology.n6.a().name()
    );
    let read = stage.topology.dn.run(|| std::fs::read_to_string(&path))?;
    let text = read.map_err(DemoError::io(format!("read {path}")))?;
    let reports = listener_reports(&text);
    if reports > 0 {
        *report
            .part
            .expected_drops
            .entry(NOT_OURS.to_owned())
            .or_default() += reports;
    }
    Ok(())
}

/// Rows are a name and a number.
fn listener_reports(text: &str) -> u64 {
    let rows = text
        .lines()
        .filter_map(|row| row.split_once(char::is_whitespace));
    let reports = rows.filter(|(name, _)| *name == "Icmp6OutMLDv2Reports");
    reports
        .filter_map(|(_, number)| number.trim().parse::<u64>().ok())
        .sum()
}

/// Checks tshark's verdicts on the captures.
pub(super) fn check_captures(report: &mut Report<SmfPart>) {
    for judged in &report.captures {
        let kinds = judged.header_kinds;
        let kinds = kinds.map_or(String::new(), |kinds| {
            format!(" with {kinds} kinds of headers")
        });
        let got = format!(
            "{} frames{kinds}, {} missed, {} complaints {}",
            judged.frames,
            judged.missed,
            judged.complaints,
            judged.first_complaints.join("; ")
        );
        let name = format!("tshark's judgement of {}", judged.interface);
        report.checks.holds(
            name,
            "frames without complaint, hardly any missed",
            got.trim(),
            judged.is_clean(),
        );
    }
}

/// Checks the ports' errors, and compares their counters with the kernel's. Packets that the host lost in between are
/// counted separately.
fn ports(stage: DemoContext<'_>, ctl: &Ctl, report: &mut Report<SmfPart>) -> Result<(), DemoError> {
    report.part.ports = ctl.ports()?;
    let kernel = [stage.topology.n3.b(), stage.topology.n6.b()];
    for (port, link) in report.part.ports.iter().zip(kernel) {
        let counted = link.counters()?;
        let missed = port.failed();
        let unseen = counted
            .rx_packets
            .abs_diff(port.rx_packets + port.rx_missed)
            + (counted.tx_packets + counted.tx_dropped).abs_diff(port.tx_packets);
        // The bridge stands between this port and the kernel.
        let unseen = match stage.args.driver {
            Driver::Memif => unseen.saturating_sub(report.host_loss_packets),
            Driver::AfPacket | Driver::AfXdp => unseen,
        };
        let name = format!(
            "packets that port {} failed to take or to send",
            link.name()
        );
        report.checks.equal(name, 0, missed);
        let name = format!("port {} and kernel disagree about packets", link.name());
        report.checks.equal(name, 0, unseen);
        report.part.loss.port_misses += missed.max(unseen);
    }
    Ok(())
}

fn gnbs(ran: &Network, report: &mut Report<SmfPart>) -> Result<(), DemoError> {
    for station in ran.stations() {
        let counters = station.handle().counters()?;
        let drops = counters.drops.total() + counters.receive_errors;
        let name = format!("drops in {}", station.name());
        report.checks.equal(name, 0, drops);
        let name = format!("packets unaccounted for in {}", station.name());
        report.checks.equal(name, 0, counters.unaccounted());
        report.part.loss.gnb_drops += drops;
    }
    Ok(())
}

/// Looked at last, so that nothing can come behind it unseen.
fn end_marker(
    ran: &Network,
    left: &LeftTunnel,
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    let tunnel = ran.gnb(left.gnb)?.tunnel(left.teid)?;
    report.checks.equal(
        "End Markers at the gNB that the UE left",
        1,
        tunnel.end_markers,
    );
    report.checks.equal(
        "packets to the UE at the gNB that it left",
        0,
        tunnel.late.packets,
    );
    if let Some(switch) = &mut report.part.path_switch {
        switch.end_markers = tunnel.end_markers;
        switch.packets_after_end_marker = tunnel.late.packets;
    }
    Ok(())
}

/// Increase since `before`, without zeros.
pub(super) fn more(
    now: &BTreeMap<String, u64>,
    before: &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let added = now.iter().map(|(reason, packets)| {
        let before = before.get(reason).copied().unwrap_or(0);
        (reason.clone(), packets.saturating_sub(before))
    });
    added.filter(|(_, packets)| *packets > 0).collect()
}

pub(super) fn listed(drops: &BTreeMap<String, u64>) -> String {
    if drops.is_empty() {
        return "none".to_owned();
    }
    let texts: Vec<_> = drops
        .iter()
        .map(|(reason, packets)| format!("{reason} {packets}"))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listener_reports_are_found_by_their_name() {
        let text = "Icmp6OutMsgs   9\nIcmp6OutMLDv2Reports            \t4\nIcmp6OutType143 4\n";
        assert_eq!(listener_reports(text), 4);
        assert_eq!(listener_reports(""), 0);
    }

    #[test]
    fn only_new_drops_are_more() {
        let map = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
            pairs
                .iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect()
        };
        let added = more(
            &map(&[("a", 3), ("b", 1), ("c", 2)]),
            &map(&[("a", 1), ("b", 1)]),
        );
        assert_eq!(added, map(&[("a", 2), ("c", 2)]));
        assert_eq!(listed(&added), "a 2, c 2");
        assert_eq!(listed(&map(&[])), "none");
    }
}
