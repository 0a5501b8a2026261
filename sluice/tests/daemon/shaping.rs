//! A session's AMBR kept by delay, with the pings of a real UE.

use std::process::Stdio;
use std::time::{Duration, Instant};

use sluice::cli::args::CtlQuery;
use sluice_host::process::Process;
use sluice_wire::pfcp::value::BitRate;

use super::kit::*;

/// Twenty pings of 1000 octets at once at 2 Mbit/s: 3200 octets or 10 ms of each direction pass at once, the
/// rest waits up to 67 ms.
const PINGS: u32 = 20;
const BYTES: u16 = 1000;

fn limited(
    lab: &Lab,
    smf: &sluice_smf_emulator::SmfHandle,
    gnb: &sluice_ran::GnbHandle,
    kbps: u64,
) -> Ue {
    let mut plan = Ue::plan(gnb.n3(), 0);
    plan.ambr = Some(BitRate {
        uplink_kbps: kbps,
        downlink_kbps: kbps,
    });
    Ue::attach_planned(lab, smf, gnb, 0, 1400, plan)
}

fn shaped(daemon: &Daemon) -> u64 {
    let worker = daemon.ask(&CtlQuery::Workers)["workers"][0].take();
    worker["slow_path"]["shaped"].as_u64().unwrap_or(0)
}

#[test]
fn what_exceeds_an_ambr_waits_and_arrives() {
    let Some(lab) = Lab::new("shape") else { return };
    let mut config = Config::new();
    config.more =
        "shaping: {worker_packets: 4096, rates: session_ambr, delay_ms: 200}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = limited(&lab, &smf, gnb.handle(), 2_000);
    let other = Ue::attach(&lab, &smf, gnb.handle(), 1);
    // The stations find each other first.
    assert_eq!(other.ping(&lab, 1, 84), 1);
    assert_eq!(shaped(&daemon), 0);
    let began = Instant::now();
    assert_eq!(ue.ping(&lab, PINGS, BYTES), PINGS);
    assert!(began.elapsed() > Duration::from_millis(50));
    assert!(shaped(&daemon) > 0);
    assert_eq!(daemon.dropped("shaping_delay"), 0);
    assert_eq!(daemon.dropped("mbr_exceeded"), 0);
    // A UE without limit is not held back.
    let before = shaped(&daemon);
    assert_eq!(other.ping(&lab, PINGS, BYTES), PINGS);
    assert_eq!(shaped(&daemon), before);
    assert_eq!(daemon.ledger()["held"], 0);
    assert_eq!(daemon.ledger()["balances"], true);
}

/// Octets that a server of `iperf3` has got from a UE in two seconds.
fn throughput(lab: &Lab, ue: &Ue) -> u64 {
    let mut server = lab.dn.command("iperf3");
    server.args(["-s", "-1"]).stdout(Stdio::null());
    let _server = Process::spawn(&mut server).unwrap();
    let source = ue.address.to_string();
    let server = SERVER.to_string();
    let mut octets = 0;
    // It has to be there first.
    eventually("iperf3 is done", || {
        let mut command = lab.ue.command("iperf3");
        command.args(["-c", &server, "-B", &source, "-t2", "-J"]);
        let said = command.output().unwrap().stdout;
        let told: serde_json::Value = serde_json::from_slice(&said).unwrap_or_default();
        octets = told["end"]["sum_received"]["bytes"].as_u64().unwrap_or(0);
        octets > 0
    });
    octets
}

#[test]
fn of_two_flows_the_one_with_an_ambr_keeps_it() {
    let Some(lab) = Lab::new("shapetwo") else {
        return;
    };
    let mut config = Config::new();
    config.more =
        "shaping: {worker_packets: 4096, rates: session_ambr, delay_ms: 200}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = limited(&lab, &smf, gnb.handle(), 2_000);
    let other = Ue::attach(&lab, &smf, gnb.handle(), 1);
    let began = Instant::now();
    let shaped_octets = throughput(&lab, &ue);
    // However slow the machine is: the rate for all the time, and the burst.
    let most = began.elapsed().as_millis() as u64 * 250 + 3_200;
    assert!(shaped_octets <= most, "{shaped_octets} of {most}");
    assert!(shaped(&daemon) > 0);
    let before = shaped(&daemon);
    let free_octets = throughput(&lab, &other);
    // The first UE's connection may still be ending; of the second one, thousands of packets would wait.
    let waited = shaped(&daemon) - before;
    assert!(waited < 10, "{waited} packets waited");
    assert!(
        free_octets > 2 * shaped_octets,
        "{free_octets}, {shaped_octets} shaped"
    );
}

#[test]
fn what_would_wait_too_long_is_dropped_by_name() {
    let Some(lab) = Lab::new("shapelong") else {
        return;
    };
    let mut config = Config::new();
    config.more = "shaping: {worker_packets: 4096, rates: session_ambr, delay_ms: 20}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = limited(&lab, &smf, gnb.handle(), 1_000);
    let came = ue.ping_in_vain(&lab, 1, 84);
    assert_eq!(came, 1);
    // In bursts: 160 ms of the rate at once.
    let mut command = lab.ue.command("ping");
    let address = ue.address.to_string();
    let args = ["-q", "-c20", "-l20", "-W2", "-s972", "-I", &address];
    command.args(args).arg(SERVER.to_string()).output().unwrap();
    assert!(daemon.dropped("shaping_delay") > 0);
    assert_eq!(daemon.dropped("mbr_exceeded"), 0);
}
