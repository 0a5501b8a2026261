//! Demo phase: ping, curl and iperf3 on all UEs.

use std::net::IpAddr;

use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, paced, undisturbed};
use crate::plan::{self, Pace};
use crate::ran::{Ran, Ue};
use crate::report::Report;
use crate::run::DemoContext;
use crate::servers::Servers;
use crate::traffic::ping::{Ping, PingPlan, ping};
use crate::traffic::{at_once, http, in_groups, iperf};

/// All UEs ping the server, with small and full packets, and fetch and store a file.
pub(crate) fn ping_and_http(
    stage: &DemoContext<'_>,
    host: &Host<'_>,
    servers: &Servers,
    ran: &Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "ping", |report| {
        ping_all(stage, ran, report).in_step("ping")
    })?;
    undisturbed(stage.screen, host, report, "HTTP", |report| {
        http_all(stage, servers, ran, report).in_step("HTTP")
    })
}

fn http_all(
    stage: &DemoContext<'_>,
    servers: &Servers,
    ran: &Ran,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    stage
        .screen
        .step("HTTP: a file down and up again, and down over IPv6");
    let transfers = in_groups(&ran.ues, plan::FLOWS_AT_ONCE, |ue| {
        http::transfer(&ue.ns, &ue.name, servers, stage.work, stage.stop)
    });
    for (result, transfer) in report.ues.iter_mut().zip(transfers?) {
        for (what, one) in [
            ("download", transfer.download),
            ("upload", transfer.upload),
            ("download over IPv6", transfer.download_ipv6),
        ] {
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
            report
                .checks
                .holds(format!("{} HTTP {what}", result.name), expected, got, pass);
        }
        result.http = Some(transfer);
    }
    Ok(Starved::new())
}

/// UDP both ways at once, then TCP each way, from several UEs.
pub(crate) fn iperf(
    stage: &DemoContext<'_>,
    host: &Host<'_>,
    ran: &Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    let ues = ran
        .ues
        .get(..ran.ues.len().min(plan::IPERF_UES_MAX))
        .unwrap_or_default();
    paced(stage.screen, host, report, "iperf3 UDP", |report, pace| {
        udp(stage, ues, pace, report).in_step("iperf3 UDP")
    })?;
    for direction in [iperf::Direction::Uplink, iperf::Direction::Downlink] {
        paced(
            stage.screen,
            host,
            report,
            direction.phase(),
            |report, pace| tcp(stage, ues, (direction, pace), report).in_step("iperf3 TCP"),
        )?;
    }
    Ok(())
}

/// Pings an address of the server from a UE.
pub(super) fn ping_server(
    stage: &DemoContext<'_>,
    ue: &Ue,
    to: IpAddr,
    payload_bytes: u16,
) -> Result<Ping, DemoError> {
    let plan = PingPlan {
        to,
        count: plan::PING_COUNT,
        interval_s: plan::PING_INTERVAL_S,
        payload_bytes,
        wait: plan::PING_WAIT,
    };
    ping(&ue.ns, plan, stage.stop)
}

fn ping_all(stage: &DemoContext<'_>, ran: &Ran, report: &mut Report) -> Result<Starved, DemoError> {
    stage
        .screen
        .step("ping with small and with full packets, over IPv4 and IPv6");
    for result in &mut report.ues {
        result.ping.clear();
    }
    for payloads in plan::PING_SIZES {
        let pings = plan::SERVERS.into_iter().zip(payloads);
        let each = |ue| pings.clone().map(move |(to, payload)| (ue, to, payload));
        let all: Vec<(usize, IpAddr, u16)> = (0..ran.ues.len()).flat_map(each).collect();
        let answers = at_once(&all, |_, (ue, to, payload)| match ran.ues.get(*ue) {
            Some(ue) => ping_server(stage, ue, *to, *payload),
            None => Ok(Ping::default()),
        })?;
        for ((ue, to, payload), one) in all.into_iter().zip(answers) {
            let Some(result) = report.ues.get_mut(ue) else {
                continue;
            };
            let name = format!("{} ping {to} with {payload} bytes, answers", result.name);
            report.checks.equal(name, one.sent, one.received);
            report.loss.ping += one.lost();
            result.ping.push(one);
        }
    }
    Ok(Starved::new())
}

fn udp(
    stage: &DemoContext<'_>,
    ues: &[Ue],
    pace: Pace,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let time_s = plan::UDP_TIME.as_secs();
    stage.screen.step(&format!(
        "iperf3: UDP of {:.0} Mbit/s both ways for {time_s} s, {} UEs",
        pace.promised_mbps(),
        ues.len()
    ));
    let flows = at_once(ues, |index, ue| iperf::udp(&ue.ns, index, pace, stage.stop))?;
    let mut starved = Starved::new();
    for (result, flows) in report.ues.iter_mut().zip(flows) {
        for (way, flow) in [("uplink", flows.uplink), ("downlink", flows.downlink)] {
            let name = format!("{} UDP {way}", result.name);
            let mbps = flow.bits_per_second / 1e6;
            let (sent, promised) = (flow.sent_bits_per_second / 1e6, pace.promised_mbps());
            if sent < promised {
                starved.push(format!(
                    "the sender of {name} came to {sent:.1} Mbit/s only"
                ));
            }
            report.checks.at_least(&name, promised, mbps, "Mbit/s");
            report.checks.at_least(
                format!("{name} time"),
                plan::UDP_WANTED_S,
                flow.seconds,
                "s",
            );
            report
                .checks
                .equal(format!("{name} lost packets"), 0, flow.lost_packets);
            report.loss.iperf += flow.lost_packets;
        }
        result.udp = Some(flows);
    }
    Ok(starved)
}

fn tcp(
    stage: &DemoContext<'_>,
    ues: &[Ue],
    (direction, pace): (iperf::Direction, Pace),
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let (time_s, count) = (plan::TCP_TIME.as_secs(), ues.len());
    stage.screen.step(&format!(
        "iperf3: TCP {} for {time_s} s, {count} UEs",
        direction.name()
    ));
    let flows = at_once(ues, |index, ue| {
        iperf::tcp(&ue.ns, index, direction, pace, stage.stop)
    })?;
    for (result, flow) in report.ues.iter_mut().zip(flows) {
        let name = format!("{} TCP {}", result.name, direction.name());
        let got = format!(
            "{:.0} Mbit/s, {} retransmissions",
            flow.bits_per_second / 1e6,
            flow.retransmits
        );
        report
            .checks
            .holds(name, "data arrive", got, flow.bytes > 0);
        match direction {
            iperf::Direction::Uplink => result.tcp_uplink = Some(flow),
            iperf::Direction::Downlink => result.tcp_downlink = Some(flow),
        }
    }
    Ok(Starved::new())
}
