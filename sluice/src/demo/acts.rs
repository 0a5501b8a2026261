//! The acts of the demo, each with what must hold in it.

use std::collections::BTreeMap;
use std::time::Duration;

use sluice_wire::ids::Qfi;

use super::checks::Checks;
use super::core::Core;
use super::error::{DemoError, InStep as _};
use super::plan;
use super::ran::{Ran, Ue, downlink_endpoint, first_gnb};
use super::report::{PathSwitch, Report, Usage};
use super::run::Stage;
use super::servers::Servers;
use super::traffic::ping::{Ping, PingPlan, ping};
use super::traffic::{at_once, http, iperf};
use super::upf::Ctl;

/// The UE that moves from its first gNB to the other.
const MOVING_UE: usize = 0;
const ECHO_LIMIT: Duration = Duration::from_secs(3);
const END_MARKER_LIMIT: Duration = Duration::from_secs(3);
/// Packets each way that find no session any more.
const KNOCKS: u32 = 3;

/// Sessions and UEs: establishment, attachment, and a modification that tells the gNB's endpoint.
pub(super) fn attach(stage: &Stage<'_>, core: &mut Core, ran: &mut Ran) -> Result<(), DemoError> {
    stage.screen.step("PFCP sessions, and UEs at their gNBs");
    let qfi = Qfi::new(plan::QFI).unwrap_or_default();
    for (index, ns) in stage.topology.ues.iter().enumerate() {
        stage.stop.check()?;
        let uplink = core.establish(qfi)?;
        ran.attach(ns, uplink, qfi)?;
        core.connect(index, downlink_endpoint(first_gnb(index), index))?;
    }
    Ok(())
}

/// GTP-U Echo from both gNBs, ICMP from the data network: whoever will talk has met.
pub(super) fn greet(stage: &Stage<'_>, ran: &Ran, checks: &mut Checks) -> Result<(), DemoError> {
    stage.screen.step("echoes on N3 and N6");
    for gnb in ran.gnbs() {
        let took = gnb.echo(plan::N3_UPF, ECHO_LIMIT)?;
        let name = format!("GTP-U Echo of {}", gnb.name());
        checks.holds(name, "answered", format!("answered in {took:.1?}"), true);
    }
    let answered = ping(
        &stage.topology.dn,
        PingPlan {
            to: plan::N6_UPF,
            count: 3,
            interval_s: plan::PING_INTERVAL_S,
            payload_bytes: 56,
        },
        stage.stop,
    )?;
    checks.equal(
        "ping from the data network to the UPF, answers",
        answered.sent,
        answered.received,
    );
    Ok(())
}

/// All UEs ping the server, with small and full packets, and fetch and store a file.
pub(super) fn ping_and_http(
    stage: &Stage<'_>,
    servers: &Servers,
    ran: &Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    ping_all(stage, ran, report, checks).in_step("ping")?;
    stage.screen.step("HTTP: a file down and up again");
    let transfers = at_once(&ran.ues, |_, ue| {
        http::transfer(&ue.ns, &ue.name, servers, stage.work, stage.stop)
    });
    let transfers = transfers.in_step("HTTP")?;
    for (result, transfer) in report.ues.iter_mut().zip(transfers) {
        for (what, one) in [("download", transfer.download), ("upload", transfer.upload)] {
            let got = format!(
                "{} bytes, {}, {:.0} Mbit/s",
                one.bytes,
                if one.identical {
                    "identical"
                } else {
                    "different"
                },
                one.bits_per_second / 1e6
            );
            let expected = format!("{} bytes, identical", plan::HTTP_BYTES);
            let pass = one.identical && one.bytes == plan::HTTP_BYTES as u64;
            checks.holds(format!("{} HTTP {what}", result.name), expected, got, pass);
        }
        result.http = Some(transfer);
    }
    Ok(())
}

/// A UE moves to the other gNB (TS 23.502, 4.9.1.2): the old one gets an End Marker and nothing
/// more, and packets go on through the new one.
pub(super) fn switch_path(
    stage: &Stage<'_>,
    core: &mut Core,
    ran: &mut Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    let from = first_gnb(MOVING_UE);
    let (old_gnb, new_gnb) = (ran.gnb(from).clone(), ran.gnb(1 - from).clone());
    let name = report
        .ues
        .get(MOVING_UE)
        .map(|ue| ue.name.clone())
        .unwrap_or_default();
    stage.screen.step(&format!(
        "{name} moves from {} to {}",
        old_gnb.name(),
        new_gnb.name()
    ));
    ran.wait_until_quiet(stage.stop)?;
    let before = new_gnb.counters()?.downlink.packets;
    let (old, new) = ran.hand_over(MOVING_UE, core.uplink(MOVING_UE)?)?;
    core.switch_path(MOVING_UE, new)?;
    // Whether it has come is a check, not an error.
    let _ = stage.stop.wait_until("End Marker", END_MARKER_LIMIT, || {
        Ok(old_gnb.tunnel(old.teid)?.end_markers > 0)
    });
    stage.stop.check()?;
    let answered = match ran.ues.get(MOVING_UE) {
        Some(ue) => ping_server(stage, ue, 56)?,
        None => Ping::default(),
    };
    report.loss.ping += answered.lost();
    checks.equal(
        format!("{name} ping after the path switch, answers"),
        answered.sent,
        answered.received,
    );
    let after = new_gnb.counters()?.downlink.packets;
    checks.equal(
        format!("downlink packets at {}", new_gnb.name()),
        answered.sent,
        after - before,
    );
    report.path_switch = Some(PathSwitch {
        ue: name,
        from: old_gnb.name().to_owned(),
        to: new_gnb.name().to_owned(),
        ..PathSwitch::default()
    });
    Ok(())
}

/// UDP both ways at once, then TCP each way, from several UEs.
pub(super) fn iperf(
    stage: &Stage<'_>,
    ran: &Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    let ues = ran
        .ues
        .get(..ran.ues.len().min(plan::IPERF_UES_MAX))
        .unwrap_or_default();
    udp(stage, ues, report, checks).in_step("iperf3 UDP")?;
    for direction in [iperf::Direction::Uplink, iperf::Direction::Downlink] {
        tcp(stage, ues, direction, report, checks).in_step("iperf3 TCP")?;
    }
    Ok(())
}

/// The sessions end; the UPF's usage is the kernel's, to the byte.
pub(super) fn detach(
    stage: &Stage<'_>,
    core: &mut Core,
    ran: &Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    stage.screen.step("sessions are deleted, usage is compared");
    ran.wait_until_quiet(stage.stop)?;
    for (index, (ue, result)) in ran.ues.iter().zip(&mut report.ues).enumerate() {
        let reported = core.delete(index)?;
        let counted = ue.counters()?;
        let usage = Usage {
            uplink_bytes: reported.uplink_octets,
            downlink_bytes: reported.downlink_octets,
            tun_uplink_bytes: counted.tx_bytes,
            tun_downlink_bytes: counted.rx_bytes,
        };
        let name = &ue.name;
        checks.equal(
            format!("{name} usage uplink, bytes"),
            usage.tun_uplink_bytes,
            usage.uplink_bytes,
        );
        checks.equal(
            format!("{name} usage downlink, bytes"),
            usage.tun_downlink_bytes,
            usage.downlink_bytes,
        );
        result.usage = Some(usage);
        result.gnb = ran.gnb(ue.gnb).name().to_owned();
    }
    Ok(())
}

/// Without a session nothing passes, every packet is dropped under a name, and the gNB is told.
pub(super) fn knock(
    stage: &Stage<'_>,
    ctl: &Ctl,
    ran: &Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    let Some(ue) = ran.ues.get(MOVING_UE) else {
        return Ok(());
    };
    stage
        .screen
        .step(&format!("{} has no session any more", ue.name));
    let before = ctl.ledger()?.dropped;
    let plan = PingPlan {
        to: plan::N6_SERVER,
        count: KNOCKS,
        interval_s: plan::PING_INTERVAL_S,
        payload_bytes: 56,
    };
    let uplink = ping(&ue.ns, plan, stage.stop)?;
    let downlink = ping(
        &stage.topology.dn,
        PingPlan {
            to: ue.address,
            ..plan
        },
        stage.stop,
    )?;
    let name = "answers to pings without a session";
    checks.equal(name, 0, uplink.received + downlink.received);
    let provoked = more(&ctl.ledger()?.dropped, &before);
    let (expected, total) = (uplink.sent + downlink.sent, provoked.values().sum::<u64>());
    checks.equal(
        format!("drops for want of a session ({})", listed(&provoked)),
        expected,
        total,
    );
    if total == expected {
        report.expected_drops = provoked;
    }
    let told = ran.error_indications(MOVING_UE)?;
    checks.at_least("Error Indications at the gNB", 1.0, told as f64, "");
    Ok(())
}

/// Every packet is accounted for, and none got lost unseen.
pub(super) fn account(
    stage: &Stage<'_>,
    ctl: &Ctl,
    ran: &Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    let ledger = ctl.ledger()?;
    let unexpected = more(&ledger.dropped, &report.expected_drops);
    report.loss.upf_drops = unexpected.values().sum();
    checks.equal(
        "unexpected drops in the UPF",
        "none".to_owned(),
        listed(&unexpected),
    );
    checks.equal("the UPF's ledger balances", true, ledger.balances);
    report.ledger = Some(ledger);
    report.workers = ctl.workers()?;
    ports(stage, ctl, report, checks)?;
    gnbs(ran, report, checks)?;
    end_marker(ran, report, checks)
}

/// What tshark says.
pub(super) fn check_captures(report: &Report, checks: &mut Checks) {
    for judged in &report.captures {
        let got = format!(
            "{} frames, {} missed, {} complaints {}",
            judged.frames,
            judged.missed,
            judged.complaints,
            judged.first_complaints.join("; ")
        );
        let name = format!("tshark's judgement of {}", judged.interface);
        checks.holds(
            name,
            "frames without complaint, none missed",
            got.trim(),
            judged.is_clean(),
        );
    }
}

fn ping_all(
    stage: &Stage<'_>,
    ran: &Ran,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    stage.screen.step("ping with small and with full packets");
    for result in &mut report.ues {
        result.ping.clear();
    }
    for payload in plan::PING_SIZES {
        let pings = at_once(&ran.ues, |_, ue| ping_server(stage, ue, payload))?;
        for (result, one) in report.ues.iter_mut().zip(pings) {
            let name = format!("{} ping with {payload} bytes, answers", result.name);
            checks.equal(name, one.sent, one.received);
            report.loss.ping += one.lost();
            result.ping.push(one);
        }
    }
    Ok(())
}

fn ping_server(stage: &Stage<'_>, ue: &Ue, payload_bytes: u16) -> Result<Ping, DemoError> {
    let plan = PingPlan {
        to: plan::N6_SERVER,
        count: plan::PING_COUNT,
        interval_s: plan::PING_INTERVAL_S,
        payload_bytes,
    };
    ping(&ue.ns, plan, stage.stop)
}

fn udp(
    stage: &Stage<'_>,
    ues: &[Ue],
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    let time_s = plan::UDP_TIME.as_secs();
    stage.screen.step(&format!(
        "iperf3: UDP both ways for {time_s} s, {} UEs",
        ues.len()
    ));
    let flows = at_once(ues, |index, ue| iperf::udp(&ue.ns, index, stage.stop))?;
    for (result, flows) in report.ues.iter_mut().zip(flows) {
        for (way, flow) in [("uplink", flows.uplink), ("downlink", flows.downlink)] {
            let name = format!("{} UDP {way}", result.name);
            let mbps = flow.bits_per_second / 1e6;
            checks.at_least(&name, plan::UDP_WANTED_BPS / 1e6, mbps, "Mbit/s");
            checks.at_least(
                format!("{name} time"),
                plan::UDP_WANTED_S,
                flow.seconds,
                "s",
            );
            checks.equal(format!("{name} lost packets"), 0, flow.lost_packets);
            report.loss.iperf += flow.lost_packets;
        }
        result.udp = Some(flows);
    }
    Ok(())
}

fn tcp(
    stage: &Stage<'_>,
    ues: &[Ue],
    direction: iperf::Direction,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    let (time_s, count) = (plan::TCP_TIME.as_secs(), ues.len());
    stage.screen.step(&format!(
        "iperf3: TCP {} for {time_s} s, {count} UEs",
        direction.name()
    ));
    let flows = at_once(ues, |index, ue| {
        iperf::tcp(&ue.ns, index, direction, stage.stop)
    })?;
    for (result, flow) in report.ues.iter_mut().zip(flows) {
        let name = format!("{} TCP {}", result.name, direction.name());
        let got = format!(
            "{:.0} Mbit/s, {} retransmissions",
            flow.bits_per_second / 1e6,
            flow.retransmits
        );
        checks.holds(name, "data arrive", got, flow.bytes > 0);
        match direction {
            iperf::Direction::Uplink => result.tcp_uplink = Some(flow),
            iperf::Direction::Downlink => result.tcp_downlink = Some(flow),
        }
    }
    Ok(())
}

/// What the ports say they missed, and what the kernel gave them or got from them beyond what
/// they say they had.
fn ports(
    stage: &Stage<'_>,
    ctl: &Ctl,
    report: &mut Report,
    checks: &mut Checks,
) -> Result<(), DemoError> {
    report.ports = ctl.ports()?;
    let kernel = [stage.topology.n3.b(), stage.topology.n6.b()];
    for (port, link) in report.ports.iter().zip(kernel) {
        let counted = link.counters()?;
        let missed = port.missed() + counted.rx_dropped + counted.tx_dropped;
        let unseen = counted.rx_packets.abs_diff(port.rx_packets)
            + counted.tx_packets.abs_diff(port.tx_packets);
        let name = format!("packets that port {} missed or failed to send", link.name());
        checks.equal(name, 0, missed);
        let name = format!("port {} and kernel disagree about packets", link.name());
        checks.equal(name, 0, unseen);
        report.loss.port_misses += missed.max(unseen);
    }
    Ok(())
}

fn gnbs(ran: &Ran, report: &mut Report, checks: &mut Checks) -> Result<(), DemoError> {
    for gnb in ran.gnbs() {
        let counters = gnb.counters()?;
        let drops = counters.drops.total() + counters.receive_errors;
        checks.equal(format!("drops in {}", gnb.name()), 0, drops);
        let name = format!("packets unaccounted for in {}", gnb.name());
        checks.equal(name, 0, counters.unaccounted());
        report.loss.gnb_drops += drops;
    }
    Ok(())
}

/// Looked at last, so that nothing can come behind it unseen.
fn end_marker(ran: &Ran, report: &mut Report, checks: &mut Checks) -> Result<(), DemoError> {
    let from = first_gnb(MOVING_UE);
    let tunnel = ran
        .gnb(from)
        .tunnel(downlink_endpoint(from, MOVING_UE).teid)?;
    checks.equal(
        "End Markers at the gNB that the UE left",
        1,
        tunnel.end_markers,
    );
    checks.equal(
        "packets to the UE at the gNB that it left",
        0,
        tunnel.late.packets,
    );
    if let Some(switch) = &mut report.path_switch {
        switch.end_markers = tunnel.end_markers;
        switch.packets_after_end_marker = tunnel.late.packets;
    }
    Ok(())
}

/// What has been added since `before`, without zeros.
fn more(now: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let added = now.iter().map(|(reason, packets)| {
        let before = before.get(reason).copied().unwrap_or(0);
        (reason.clone(), packets.saturating_sub(before))
    });
    added.filter(|(_, packets)| *packets > 0).collect()
}

fn listed(drops: &BTreeMap<String, u64>) -> String {
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
