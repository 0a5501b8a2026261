//! Traffic of UEs that have sessions of the core, and what they are charged for it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;

use super::Stage;
use super::core::{Charged, Core};
use super::ran::Ran;
use super::report::Report;
use crate::child::Stop;
use crate::error::{DemoError, InStep as _};
use crate::host::Host;
use crate::phase::{Starved, paced, undisturbed};
use crate::plan::{self, Pace};
use crate::traffic::iperf::{self, Direction};
use crate::traffic::ping::{Ping, PingPlan, ping};
use crate::traffic::{at_once, http, in_groups};

/// Packets to or from a UE that has no session.
const KNOCKS: u32 = 3;
const KNOCK_WAIT: Duration = Duration::from_millis(300);
/// For what waits at the UPF while a UE is called, on a busy machine too.
const PAGE_WAIT: Duration = Duration::from_secs(10);
/// Traffic stands still when nothing was counted for so long.
const QUIET: Duration = Duration::from_millis(300);
const LIMIT: Duration = Duration::from_secs(20);

/// All UEs ping over both families, fetch and store files, and have UDP and TCP.
pub(super) fn all(
    stage: &Stage<'_>,
    host: &Host<'_>,
    ran: &mut Ran<'_>,
    report: &mut Report,
) -> Result<(), DemoError> {
    undisturbed(stage.screen, host, report, "ping", |report| {
        pings(stage, ran, report).in_step("ping")
    })?;
    undisturbed(stage.screen, host, report, "HTTP", |report| {
        transfers(stage, ran, report).in_step("HTTP")
    })?;
    paced(stage.screen, host, report, "iperf3", |report, pace| {
        flows(stage, ran, pace, report).in_step("iperf3")
    })
}

fn spaces(ran: &Ran<'_>) -> Vec<Ns> {
    ran.places.iter().map(|place| place.ns.clone()).collect()
}

fn pings(stage: &Stage<'_>, ran: &mut Ran<'_>, report: &mut Report) -> Result<Starved, DemoError> {
    stage
        .screen
        .step("ping over IPv4 and IPv6, small and full packets");
    let spaces = spaces(ran);
    for payloads in plan::PING_SIZES {
        let pings = plan::SERVERS.into_iter().zip(payloads);
        let each = |ue| pings.clone().map(move |(to, payload)| (ue, to, payload));
        let wanted: Vec<(usize, IpAddr, u16)> = (0..spaces.len()).flat_map(each).collect();
        let answers = ran.meanwhile(|| {
            at_once(&wanted, |_, (ue, to, payload)| {
                ping(&spaces[*ue], server(*to, *payload), stage.stop)
            })
        })?;
        for ((ue, to, payload), one) in wanted.into_iter().zip(answers) {
            report.check_ping(ue, &format!("ping {to} with {payload} bytes"), one);
        }
    }
    Ok(Starved::new())
}

fn name(report: &Report, ue: usize) -> String {
    report
        .ues
        .get(ue)
        .map_or_else(String::new, |ue| ue.supi.clone())
}

fn server(to: IpAddr, payload_bytes: u16) -> PingPlan {
    PingPlan {
        to,
        count: plan::PING_COUNT,
        interval_s: plan::PING_INTERVAL_S,
        payload_bytes,
        wait: plan::PING_WAIT,
    }
}

fn transfers(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    stage
        .screen
        .step("HTTP: a file down and up again, and down over IPv6");
    let spaces = spaces(ran);
    let named: Vec<_> = (1..).zip(spaces).collect();
    let done = ran.meanwhile(|| {
        in_groups(&named, plan::FLOWS_AT_ONCE, |(number, ns)| {
            http::transfer(
                ns,
                &format!("ue{number}"),
                stage.servers,
                stage.work,
                stage.stop,
            )
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
            let name = format!("{} HTTP {what}", name(report, ue));
            report.checks.holds(name, expected, got, pass);
        }
    }
    Ok(Starved::new())
}

fn flows(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    pace: Pace,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let mut spaces = spaces(ran);
    spaces.truncate(plan::IPERF_UES_MAX);
    stage.screen.step(&format!(
        "iperf3: UDP both ways, then TCP each way, {} UEs",
        spaces.len()
    ));
    let udp =
        ran.meanwhile(|| at_once(&spaces, |index, ns| iperf::udp(ns, index, pace, stage.stop)))?;
    for (ue, flows) in udp.into_iter().enumerate() {
        for (way, flow) in [("uplink", flows.uplink), ("downlink", flows.downlink)] {
            // Whether the UPF loses packets is what the demo without a core asks.
            let got = format!(
                "{:.1} Mbit/s, {} of {} packets lost",
                flow.bits_per_second / 1e6,
                flow.lost_packets,
                flow.packets
            );
            let pass = flow.packets > 0 && flow.lost_packets <= flow.packets / 20;
            let name = format!("{} UDP {way}", name(report, ue));
            report.checks.holds(name, "at most 5% lost", got, pass);
        }
    }
    for direction in [Direction::Uplink, Direction::Downlink] {
        let tcp = ran.meanwhile(|| {
            at_once(&spaces, |index, ns| {
                iperf::tcp(ns, index, direction, pace, stage.stop)
            })
        })?;
        for (ue, flow) in tcp.into_iter().enumerate() {
            let mbps = flow.bits_per_second / 1e6;
            let got = format!("{mbps:.0} Mbit/s, {} retransmissions", flow.retransmits);
            let name = format!("{} TCP {}", name(report, ue), direction.name());
            report
                .checks
                .holds(name, "data arrive", got, flow.bytes > 0);
        }
    }
    Ok(Starved::new())
}

/// A UE pings the server over both families.
pub(super) fn ping_one(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    ue: usize,
    when: &str,
    report: &mut Report,
) -> Result<(), DemoError> {
    let ns = ran.places[ue].ns.clone();
    for to in plan::SERVERS {
        let one = ran.meanwhile(|| ping(&ns, server(to, 56), stage.stop))?;
        report.check_ping(ue, &format!("ping {to} {when}"), one);
    }
    Ok(())
}

/// Pings of all UEs to the server over both families, in the order of UEs and families.
pub(super) fn ping_all(
    spaces: &[Ns],
    count: u32,
    interval_s: f32,
    stop: &Stop,
) -> Result<Vec<(usize, IpAddr, Ping)>, DemoError> {
    let each = |ue| plan::SERVERS.map(|to| (ue, to));
    let wanted: Vec<_> = (0..spaces.len()).flat_map(each).collect();
    at_once(&wanted, |_, (ue, to)| {
        let plan = PingPlan {
            count,
            interval_s,
            wait: PAGE_WAIT,
            ..server(*to, 56)
        };
        Ok((*ue, *to, ping(&spaces[*ue], plan, stop)?))
    })
}

/// The data network pings all UEs, which are idle and are called; what waited for them is answered.
pub(super) fn ping_idle(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    report: &mut Report,
) -> Result<(), DemoError> {
    let addresses: Vec<_> = (0..ran.count()).filter_map(|ue| ran.ipv4(ue)).collect();
    if addresses.len() < ran.count() {
        return Err(DemoError::answer("the SMF", "no IPv4 address"));
    }
    let dn = (*stage.topology.dn).clone();
    let answers = ran.meanwhile(|| {
        at_once(&addresses, |_, address| {
            let plan = PingPlan {
                wait: PAGE_WAIT,
                ..server((*address).into(), 56)
            };
            ping(&dn, plan, stage.stop)
        })
    })?;
    for (ue, one) in answers.into_iter().enumerate() {
        report.check_ping(
            ue,
            "is pinged while it is idle, from the first packet on",
            one,
        );
    }
    Ok(())
}

/// Nothing passes to or from a UE without a session.
pub(super) fn ping_in_vain(
    stage: &Stage<'_>,
    ran: &mut Ran<'_>,
    ue: usize,
    report: &mut Report,
) -> Result<(), DemoError> {
    let plan = |to| PingPlan {
        count: KNOCKS,
        wait: KNOCK_WAIT,
        ..server(to, 56)
    };
    let (ns, dn) = (ran.places[ue].ns.clone(), (*stage.topology.dn).clone());
    let own = report.ues[ue]
        .addresses
        .first()
        .and_then(|ip| ip.parse().ok());
    let [to, _] = plan::SERVERS;
    let answers = ran.meanwhile(|| {
        let down = own
            .map(|own| ping(&dn, plan(own), stage.stop))
            .transpose()?;
        let up = ping(&ns, plan(to), stage.stop)?;
        Ok(up.received + down.map_or(0, |down: Ping| down.received))
    })?;
    let name = "answers to pings without a session";
    report.checks.equal(name, 0, answers);
    Ok(())
}

/// What the core has charged is what the UEs' devices counted, to the byte.
pub(super) fn settle(
    ran: &Ran<'_>,
    core: &Core,
    host: &Host<'_>,
    stage: &Stage<'_>,
    report: &mut Report,
) -> Result<(), DemoError> {
    stage
        .screen
        .step("charging records are compared with the UEs' devices");
    quiet(ran, stage)?;
    // What the host lost between UE and UPF only one of them has counted.
    let lost = host.lost()?;
    let unsure = lost.total() * u64::from(plan::UE_MTU);
    for at in 0..ran.count() {
        let charged = ran.ue(at).supi().and_then(|supi| core.charged(&supi));
        let name = name(report, at);
        let Some(Charged {
            uplink_octets,
            downlink_octets,
        }) = charged
        else {
            let name = format!("{name}: charging record");
            report.checks.holds(name, "one", "none".to_owned(), false);
            continue;
        };
        let (counted, link_local) = ran.counted(at)?;
        let up = counted.tx_bytes.saturating_sub(link_local);
        for (way, tun, core) in [
            ("uplink", up, uplink_octets),
            ("downlink", counted.rx_bytes, downlink_octets),
        ] {
            let expected = match unsure {
                0 => tun.to_string(),
                _ => format!("{tun}, and {unsure} at most that the host lost"),
            };
            let pass = tun.abs_diff(core) <= unsure;
            let name = format!("{name} charged {way}, bytes");
            report.checks.holds(name, expected, core.to_string(), pass);
        }
    }
    let (drops, forwarded) = ran.drops_and_forwarded()?;
    let name = "packets that the gNBs dropped";
    let is_none = drops.is_empty();
    let got = if is_none {
        "none".to_owned()
    } else {
        drops.join(", ")
    };
    report.checks.holds(name, "none", got, is_none);
    report.forwarded_packets = forwarded;
    Ok(())
}

/// Waits until the devices count nothing more.
fn quiet(ran: &Ran<'_>, stage: &Stage<'_>) -> Result<(), DemoError> {
    let all = || -> Result<Vec<_>, DemoError> {
        let counted = (0..ran.count()).map(|phone| ran.counted(phone));
        counted.collect()
    };
    let (mut last, mut since) = (all()?, Instant::now());
    stage
        .stop
        .wait_until("traffic of the UEs stands still", LIMIT, || {
            let now = all()?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            Ok(since.elapsed() >= QUIET)
        })
}
