//! Demo phases with programs of all UEs: ping, curl and iperf3.

use std::net::IpAddr;

use sluice_host::netns::Ns;
use sluice_ran::Network;

use super::iperf::{self, Direction, Udp};
use super::ping::{Ping, PingPlan, ping};
use super::{at_once, http, in_groups};
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, undisturbed};
use crate::plan::{self, Pace};
use crate::ran::spaces;
use crate::report::{Part, Report};
use crate::run::DemoContext;
use crate::servers::Servers;

/// Has programs run, while gNBs and UEs go on.
pub(crate) fn meanwhile<T: Send>(
    ran: &mut Network,
    work: impl FnOnce() -> Result<T, DemoError> + Send,
) -> Result<T, DemoError> {
    let (done, _) = ran.meanwhile(work, |_| Ok(()))?;
    Ok(done)
}

/// All UEs ping the server, with small and full packets, and fetch and store a file.
pub(crate) fn ping_and_http<P: Part>(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    servers: &Servers,
    ran: &mut Network,
    report: &mut Report<P>,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "ping", |report| {
        ping_all(stage, ran, report).in_step("ping")
    })?;
    undisturbed(stage.screen, host, report, "HTTP", |report| {
        http_all(stage, servers, ran, report).in_step("HTTP")
    })
}

/// As all pings of the demo that are not said to be otherwise.
pub(crate) fn echoes(to: IpAddr, payload_bytes: u16) -> PingPlan {
    PingPlan {
        to,
        count: plan::PING_COUNT,
        interval_s: plan::PING_INTERVAL_S,
        payload_bytes,
        wait: plan::PING_WAIT,
    }
}

/// Pings from these namespaces, by the number of the UE, to the server over both families.
pub(crate) fn ping_servers(
    stage: DemoContext<'_>,
    spaces: &[Ns],
    plan: impl Fn(IpAddr) -> PingPlan + Sync,
) -> Result<Vec<(usize, IpAddr, Ping)>, DemoError> {
    let each = |ue| plan::SERVERS.map(|to| (ue, to));
    let wanted: Vec<_> = (0..spaces.len()).flat_map(each).collect();
    at_once(&wanted, |_, (ue, to)| {
        Ok((*ue, *to, ping(&spaces[*ue], plan(*to), stage.stop)?))
    })
}

fn ping_all<P: Part>(
    stage: DemoContext<'_>,
    ran: &mut Network,
    report: &mut Report<P>,
) -> Result<Starved, DemoError> {
    stage.step("ping with small and with full packets, over IPv4 and IPv6");
    report.part.forget_pings();
    let spaces = spaces(ran);
    for [ipv4, ipv6] in plan::PING_SIZES {
        let payload = |to: IpAddr| if to.is_ipv4() { ipv4 } else { ipv6 };
        let plan = |to| echoes(to, payload(to));
        for (ue, to, one) in meanwhile(ran, || ping_servers(stage, &spaces, plan))? {
            let what = format!("ping {to} with {} bytes", payload(to));
            report.check_ping(ue, &what, one);
        }
    }
    Ok(Starved::new())
}

fn http_all<P: Part>(
    stage: DemoContext<'_>,
    servers: &Servers,
    ran: &mut Network,
    report: &mut Report<P>,
) -> Result<Starved, DemoError> {
    stage.step("HTTP: a file down and up again, and down over IPv6");
    let named: Vec<_> = (1..).zip(spaces(ran)).collect();
    let done = meanwhile(ran, || {
        in_groups(&named, plan::FLOWS_AT_ONCE, |(number, ns)| {
            let name = format!("ue{number}");
            http::transfer(ns, &name, servers, stage.work, stage.stop)
        })
    })?;
    for (ue, done) in done.into_iter().enumerate() {
        for (what, one) in [
            ("download", done.download),
            ("upload", done.upload),
            ("download over IPv6", done.download_ipv6),
        ] {
            let same = if one.identical {
                "identical"
            } else {
                "different"
            };
            let mbps = one.bits_per_second / 1e6;
            let got = format!("{} bytes, {same}, {mbps:.0} Mbit/s", one.bytes);
            let expected = format!("{} bytes, identical", plan::HTTP_BYTES);
            let pass = one.identical && one.bytes == plan::HTTP_BYTES as u64;
            let name = format!("{} HTTP {what}", report.part.ue(ue));
            report.checks.holds(name, expected, got, pass);
        }
        report.part.add_http(ue, done);
    }
    Ok(Starved::new())
}

/// Of UEs that run iperf3; the others rest meanwhile.
fn iperf_spaces(ran: &Network) -> Vec<Ns> {
    let mut spaces = spaces(ran);
    spaces.truncate(plan::IPERF_UES_MAX);
    spaces
}

/// UDP both ways at once, from several UEs.
pub(crate) fn udp(
    stage: DemoContext<'_>,
    ran: &mut Network,
    pace: Pace,
) -> Result<Vec<Udp>, DemoError> {
    let spaces = iperf_spaces(ran);
    stage.step(&format!(
        "iperf3: UDP of {:.0} Mbit/s both ways for {} s, {} UEs",
        pace.promised_mbps(),
        plan::UDP_TIME.as_secs(),
        spaces.len()
    ));
    meanwhile(ran, || {
        at_once(&spaces, |index, ns| iperf::udp(ns, index, pace, stage.stop))
    })
}

/// TCP in one direction, from several UEs.
pub(crate) fn tcp<P: Part>(
    stage: DemoContext<'_>,
    ran: &mut Network,
    (direction, pace): (Direction, Pace),
    report: &mut Report<P>,
) -> Result<Starved, DemoError> {
    let spaces = iperf_spaces(ran);
    stage.step(&format!(
        "iperf3: TCP {} for {} s, {} UEs",
        direction.name(),
        plan::TCP_TIME.as_secs(),
        spaces.len()
    ));
    let flows = meanwhile(ran, || {
        at_once(&spaces, |index, ns| {
            iperf::tcp(ns, index, direction, pace, stage.stop)
        })
    })?;
    for (ue, flow) in flows.into_iter().enumerate() {
        let mbps = flow.bits_per_second / 1e6;
        let got = format!("{mbps:.0} Mbit/s, {} retransmissions", flow.retransmits);
        let name = format!("{} TCP {}", report.part.ue(ue), direction.name());
        let pass = flow.bytes > 0;
        report.checks.holds(name, "data arrive", got, pass);
        report.part.add_tcp(ue, direction, flow);
    }
    Ok(Starved::new())
}
