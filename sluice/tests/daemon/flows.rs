//! Several flows of one UE: one is shaped beside another that is free, and predefined rules tell flows by name.

use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;
use sluice_host::process::Process;
use sluice_smf_emulator::{Flow, FlowPackets, SmfError};
use sluice_wire::ids::{Precedence, Qfi};
use sluice_wire::pfcp::value::BitRate;
use sluice_wire::pfcp::{Cause, IeType};

use super::kit::*;

const RATE_KBPS: u64 = 2_000;
/// Ports of the servers: the second is that of the dedicated flow.
const PORTS: [u16; 2] = [5201, 5202];

fn flow(packets: FlowPackets, mbr: Option<u64>) -> Flow {
    Flow {
        packets,
        precedence: Precedence(100),
        qfi: Qfi::new(5).unwrap(),
        mbr: mbr.map(|kbps| BitRate {
            uplink_kbps: kbps,
            downlink_kbps: kbps,
        }),
        gbr: None,
    }
}

/// A UE whose session has a dedicated flow.
fn attach(
    lab: &Lab,
    smf: &sluice_smf_emulator::SmfHandle,
    gnb: &sluice_ran::GnbHandle,
    flow: Flow,
) -> Ue {
    let mut plan = Ue::plan(gnb.n3(), 0);
    plan.flow = Some(flow);
    Ue::attach_planned(lab, smf, gnb, 0, 1400, plan)
}

/// Servers of `iperf3`; each carries one download.
fn servers(lab: &Lab) -> [Process; 2] {
    PORTS.map(|port| {
        let mut command = lab.dn.command("iperf3");
        command.args(["-s", "-1", "-p", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Process::spawn(&mut command).unwrap()
    })
}

fn download_from(lab: &Lab, ue: &Ue, port: u16) -> Process {
    let mut command = lab.ue.command("iperf3");
    let (server, source) = (SERVER.to_string(), ue.address.to_string());
    command.args(["-c", &server, "-B", &source, "-p", &port.to_string()]);
    command.args(["-R", "-t3", "-J"]).stdout(Stdio::piped());
    Process::spawn(&mut command).unwrap()
}

/// Octets that both downloads at once got, and how long both took, in milliseconds.
fn both(lab: &Lab, ue: &Ue) -> ([u64; 2], u64) {
    let _servers = servers(lab);
    // They have to be there first.
    let listen = || {
        let mut command = lab.dn.command("ss");
        let said = command.args(["-Hltn"]).output().unwrap().stdout;
        let text = String::from_utf8_lossy(&said).into_owned();
        PORTS.iter().all(|port| text.contains(&format!(":{port} ")))
    };
    eventually("iperf3 listens", listen);
    let began = Instant::now();
    let downloads = PORTS.map(|port| download_from(lab, ue, port));
    let octets = downloads.map(|child| {
        let (text, _) = said(child);
        let told: Value = serde_json::from_str(&text).unwrap();
        told["end"]["sum_received"]["bytes"]
            .as_u64()
            .unwrap_or_else(|| panic!("{told:#}"))
    });
    (octets, began.elapsed().as_millis() as u64)
}

/// The second port's download keeps to the rate, and the first one does not.
fn second_alone_is_shaped(daemon: &Daemon, [free, slow]: [u64; 2], took_ms: u64) {
    // However slow the machine is: the rate for all the time, and the burst.
    let most = took_ms * RATE_KBPS / 8 + 3_200;
    assert!(slow <= most, "{slow} of {most}");
    assert!(free > 2 * slow, "{free} free, {slow} shaped");
    let ledger = daemon.ledger();
    assert_eq!(ledger["dropped"]["mbr_exceeded"].as_u64().unwrap_or(0), 0);
}

const SHAPING: &str = "shaping: {worker_packets: 4096, rates: session_ambr, delay_ms: 200}\n";

#[test]
fn of_two_flows_of_one_ue_the_one_with_a_rate_is_shaped_and_the_other_is_not() {
    let Some(lab) = Lab::new("twoflows") else {
        return;
    };
    let mut config = Config::new();
    config.more = SHAPING.to_owned();
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let filter = format!("permit out 6 from {SERVER}/32 {} to assigned", PORTS[1]);
    let described = FlowPackets::Described(filter.into());
    let ue = attach(&lab, &smf, gnb.handle(), flow(described, Some(RATE_KBPS)));
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    let (octets, took_ms) = both(&lab, &ue);
    second_alone_is_shaped(&daemon, octets, took_ms);
}

#[test]
fn predefined_rules_shape_and_stop_the_flows_that_upf_yaml_gives_them() {
    let Some(lab) = Lab::new("predefined") else {
        return;
    };
    let mut config = Config::new();
    config.more = format!(
        "{SHAPING}predefined:\n  \
         - {{name: slow, flows: ['permit out 6 from any {} to assigned'], \
         mbr: {{uplink_kbps: {RATE_KBPS}, downlink_kbps: {RATE_KBPS}}}}}\n  \
         - {{name: no-web, flows: ['permit out 6 from any 8080 to assigned'], downlink: closed}}\n",
        PORTS[1]
    );
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let named = |name: &str| flow(FlowPackets::Predefined(name.into()), None);
    let ue = attach(&lab, &smf, gnb.handle(), named("slow"));
    let (octets, took_ms) = both(&lab, &ue);
    second_alone_is_shaped(&daemon, octets, took_ms);
    smf.delete(ue.cp_seid()).unwrap();
    drop(ue);

    // The same UE with a rule that stops one server's answers.
    let mut plan = Ue::plan(gnb.handle().n3(), 1);
    plan.flow = Some(named("no-web"));
    let ue = Ue::attach_planned(&lab, &smf, gnb.handle(), 1, 1400, plan);
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    let _server = pages(&lab, &[SERVER.into()], 10_000);
    let mut curl = download(&lab, ue.address.into(), SERVER.into());
    eventually("the server's answers are stopped", || {
        daemon.dropped("gate_closed") > 0
    });
    assert!(curl.status().is_none(), "the download waits");
    drop(curl);
    assert_eq!(ue.ping(&lab, 5, 84), 5, "all else passes");

    // What upf.yaml does not have is refused.
    let mut plan = Ue::plan(gnb.handle().n3(), 2);
    plan.flow = Some(named("unheard-of"));
    let refused = smf.establish(plan).unwrap_err();
    let SmfError::Rejected { rejection, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(rejection.cause, Cause::UNKNOWN_PREDEFINED_RULE);
    let offending = Some(IeType::ACTIVATE_PREDEFINED_RULES);
    assert_eq!(rejection.offending_ie, offending);
    assert_eq!(daemon.ledger()["balances"], true);
}
