//! `sluice load` against the daemon: N4 over a veth, N3 and N6 over shared memory.

use std::process::{Command, Stdio};

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_host::process::Process;

use super::kit::*;

const UES: u64 = 40;

/// A daemon with memifs that wait for the generator.
fn daemon(lab: &Lab) -> Daemon {
    let memif = |number: u8, name: &str| {
        let socket = lab.path(&format!("{name}.memif"));
        let socket = socket.display();
        format!(
            "name: {name}, mac: '02:00:00:00:00:6{number}', \
             device: 'net_memif{number},role=server,id=0,socket={socket},socket-abstract=no'"
        )
    };
    let mut config = Config::new();
    config.ports = vec![memif(3, "n3"), memif(6, "n6")];
    Daemon::start(lab, &config)
}

/// The generator, where the SMF would be.
fn load(lab: &Lab, more: &[&str]) -> Command {
    let memif = |name: &str| format!("memif:{}", lab.path(&format!("{name}.memif")).display());
    let mut command = lab.smf.command(SLUICE);
    command
        .args(["load", "--json", "--rest", "--memory-mb", "64"])
        .args([
            "--n4",
            &N4_SMFS[0].to_string(),
            "--upf",
            &N4_UPF.to_string(),
        ])
        .args(["--n3", &memif("n3"), "--n6", &memif("n6")])
        .args(["--gnb", &N3_GNB.to_string(), "--gnbs", "2"])
        .args(["--server", &SERVER.to_string()])
        .args(["--n6-via", &N6_UPF.to_string()])
        .args(["--ues", &UES.to_string(), "--rate", "2kpps"])
        .args(more);
    command
}

fn sessions(daemon: &Daemon) -> u64 {
    daemon.ask(&CtlQuery::Status)["sessions"].as_u64().unwrap()
}

#[test]
fn sessions_traffic_and_churn_leave_nothing_lost_and_nothing_behind() {
    let Some(lab) = Lab::new("load") else {
        return;
    };
    let daemon = daemon(&lab);
    let churn = ["--churn", "20,20,20", "--churn-sessions", "10"];
    let rest = [
        "--duration",
        "2s",
        "--size",
        "live-uplink",
        "--max-loss",
        "0",
        "--mirror",
    ];
    let output = load(&lab, &[&churn[..], &rest].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let result: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{said}"));
    assert_eq!(output.status.code(), Some(0), "{said}\n{result:#}");
    assert_eq!(result["problems"], Value::Array(Vec::new()), "{result:#}");
    assert_eq!(result["established"]["procedures"][0]["done"], UES);
    let lanes = result["run"]["lanes"].as_array().unwrap();
    let names: Vec<_> = lanes
        .iter()
        .map(|lane| lane["lane"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["uplink", "round_trip", "downlink"]);
    for lane in lanes {
        // Half of 2000 a second each way, for two seconds.
        for key in ["offered", "sent", "received"] {
            assert_eq!(lane[key], 2000, "{key}: {lane:#}");
        }
        for key in [
            "lost",
            "duplicates",
            "reordered",
            "undecided",
            "flows_with_loss",
        ] {
            assert_eq!(lane[key], 0, "{key}: {lane:#}");
        }
        assert_eq!(lane["flows"], UES);
        assert!(lane["latency"]["p50_ns"].as_u64() > Some(0));
    }
    for stray in ["misdelivered", "malformed", "error_indications", "stale"] {
        assert_eq!(result["run"]["strays"][stray], 0, "{result:#}");
    }
    let churned = result["churn"]["procedures"].as_array().unwrap();
    assert_eq!(churned.len(), 3);
    for procedure in churned {
        assert_eq!(
            (procedure["offered"].as_u64(), procedure["failed"].as_u64()),
            (Some(40), Some(0))
        );
        assert!(procedure["done"].as_u64() > Some(0), "{procedure:#}");
    }
    // What the generator says is what the UPF counted.
    assert_eq!(sessions(&daemon), 0);
    let ledger = daemon.ledger();
    assert!(ledger["transmitted"].as_u64() >= Some(6000), "{ledger:#}");
}

#[test]
fn an_interrupted_load_gives_its_sessions_back() {
    let Some(lab) = Lab::new("loadint") else {
        return;
    };
    let daemon = daemon(&lab);
    let mut command = load(&lab, &["--duration", "10m"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = Process::spawn(&mut command).unwrap();
    eventually("packets pass", || {
        daemon.ledger()["transmitted"].as_u64() > Some(200)
    });
    assert_eq!(sessions(&daemon), UES);
    process.terminate();
    let status = process.wait(SOON).expect("it ends");
    assert_eq!(status.code(), Some(0));
    assert_eq!(sessions(&daemon), 0);
}
