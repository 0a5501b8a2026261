//! Part with an emulated SMF: sessions over N4, traffic, a path switch, and every packet accounted for.

mod account;
mod ending;
pub(crate) mod report;
mod signalling;

use sluice_host::netns::Ns;
use sluice_ran::Network;

use self::report::{SmfPart, UeReport};
use crate::captures::Captures;
use crate::error::{DemoError, InStep as _};
use crate::host::{Host, UePlace};
use crate::phase::{Starved, paced, undisturbed};
use crate::plan::{self, Pace};
use crate::ran;
use crate::report::Report;
use crate::run::{DemoContext, Play, Running};
use crate::servers::Servers;
use crate::traffic::acts::{ping_and_http, tcp, udp};
use crate::traffic::iperf::Direction;
use crate::upf::Addresses;
use crate::watch::Watch;

/// The UE that moves from its first gNB to the other, and that tries its luck without a session.
const MOVING_UE: usize = 0;

impl Play for SmfPart {
    const ADDRESSES: Addresses = Addresses::Smf;

    fn play(
        stage: DemoContext<'_>,
        captures: &mut Captures,
        running: &Running<'_>,
        report: &mut Report<Self>,
    ) -> Result<(), DemoError> {
        let (screen, ctl) = (stage.screen, &running.upf.ctl);
        screen.step("gNBs and SMF; PFCP sessions, and UEs at their gNBs");
        let ran = ran::with_smf(stage.topology, stage.args.ues, stage.stop, screen);
        let mut ran = ran.in_step("gNBs and PFCP association")?;
        let all: Vec<_> = (0..ran.ues().len()).collect();
        ran.attach_all(&all).in_step("sessions")?;
        let places = ran::places(&ran)?;
        report.part.ues = places.iter().map(ue_report).collect();
        let lost = running.lost_by_bridge.clone();
        let host = Host::watch(stage.topology, &places, ctl, lost)?;
        undisturbed(screen, &host, report, "echoes", |report| {
            signalling::greet(stage, &mut ran, report).in_step("signalling")
        })?;
        let watch = Watch::start(screen, ctl, &places)?;
        ping_and_http(stage, &host, running.servers, &mut ran, report)?;
        let left = signalling::switch_path(stage, &host, &mut ran, report);
        let left = left.in_step("path switch")?;
        iperf(stage, &host, &mut ran, report)?;
        report.part.rounds = 1;
        if !stage.args.once {
            screen.step("tshark judges what passed N3 so far");
            let signalling = captures.signalling_only(stage.topology, stage.work);
            signalling.in_step("captures")?;
            play_on(stage, &host, running.servers, &mut ran, report)?;
        }
        drop(watch);
        ending::detach(stage, &host, &mut ran, report).in_step("deletion of the sessions")?;
        undisturbed(screen, &host, report, "no session", |report| {
            ending::knock(stage, ctl, &ran, report).in_step("traffic without a session")
        })?;
        account::account(stage, &host, ctl, (&ran, &left), report).in_step("the UPF's accounts")?;
        let released = ran.release_association();
        released.in_step("release of the PFCP association")
    }

    fn check_captures(
        captures: Captures,
        stage: DemoContext<'_>,
        report: &mut Report<Self>,
    ) -> Result<(), DemoError> {
        report.captures = captures.judge(stage.work)?;
        account::check_captures(report);
        Ok(())
    }
}

/// Rounds of traffic until Ctrl-C, after which the demo ends in order; another Ctrl-C cuts that
/// short.
fn play_on(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    servers: &Servers,
    ran: &mut Network,
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    while !stage.stop.is_requested() {
        stage.step("another round; Ctrl-C ends the demo in order");
        let round = ping_and_http(stage, host, servers, ran, report)
            .and_then(|()| iperf(stage, host, ran, report));
        match round {
            Ok(()) => report.part.rounds += 1,
            Err(error) if error.is_interruption() => {}
            Err(error) => return Err(error),
        }
    }
    stage.stop.forget();
    Ok(())
}

fn ue_report(ue: &UePlace) -> UeReport {
    UeReport {
        name: ue.name.clone(),
        address: ue.address.clone(),
        ..UeReport::default()
    }
}

/// UDP both ways at once, then TCP each way, from several UEs.
fn iperf(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    let screen = stage.screen;
    paced(screen, host, report, "iperf3 UDP", |report, pace| {
        lossless_udp(stage, ran, pace, report).in_step("iperf3 UDP")
    })?;
    for direction in [Direction::Uplink, Direction::Downlink] {
        let phase = direction.phase();
        paced(screen, host, report, phase, |report, pace| {
            tcp(stage, ran, (direction, pace), report).in_step("iperf3 TCP")
        })?;
    }
    Ok(())
}

fn lossless_udp(
    stage: DemoContext<'_>,
    ran: &mut Network,
    pace: Pace,
    report: &mut Report<SmfPart>,
) -> Result<Starved, DemoError> {
    let mut starved = Starved::new();
    for (result, flows) in report.part.ues.iter_mut().zip(udp(stage, ran, pace)?) {
        for (way, flow) in [("uplink", flows.uplink), ("downlink", flows.downlink)] {
            let name = format!("{} UDP {way}", result.name);
            let mbps = flow.bits_per_second / 1e6;
            let (sent, promised) = (flow.sent_bits_per_second / 1e6, pace.promised_mbps());
            if sent < promised {
                starved.push(format!(
                    "the sender of {name} came to {sent:.1} Mbit/s only"
                ));
            }
            let checks = &mut report.checks;
            checks.at_least(&name, promised, mbps, "Mbit/s");
            let time = format!("{name} time");
            checks.at_least(time, plan::UDP_WANTED_S, flow.seconds, "s");
            checks.equal(format!("{name} lost packets"), 0, flow.lost_packets);
            report.part.loss.iperf += flow.lost_packets;
        }
        result.udp = Some(flows);
    }
    Ok(starved)
}

/// Namespace of a UE's programs.
fn space(ran: &Network, ue: usize) -> Result<&Ns, DemoError> {
    let ue = ran.ues().get(ue).map(|ue| &ue.ns);
    ue.ok_or_else(|| DemoError::answer("the RAN", "no such UE"))
}
