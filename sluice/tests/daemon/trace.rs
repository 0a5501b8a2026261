//! `sluice ctl trace` on a daemon with traffic: the steps, the capture, and every way in which it ends.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use serde_json::Value;
use sluice_host::tool;

use super::kit::*;

/// Three workers, so that packets come to others than those that own their UE.
fn three_workers() -> Config {
    let mut config = Config::new();
    config.more = "workers: {count: 3, share_cores: true}\n".to_owned();
    config
}

/// A trace that goes on until it ends itself, while the UEs send.
fn trace_while_sending(lab: &Lab, daemon: &Daemon, ues: &[Ue], arguments: &[&str]) -> Said {
    thread::scope(|scope| {
        let trace = scope.spawn(|| daemon.ctl(&[&["trace"], arguments].concat()));
        while !trace.is_finished() {
            for ue in ues {
                assert_eq!(ue.ping(lab, 2, 84), 2);
            }
        }
        trace.join().unwrap()
    })
}

#[test]
fn a_ue_s_packets_are_followed_to_their_ends_and_captured() {
    let Some(lab) = Lab::new("trace") else { return };
    let daemon = Daemon::start(&lab, &three_workers());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
    ues.iter()
        .for_each(|ue| assert_eq!(ue.ping(&lab, 1, 84), 1));
    let file = lab.path("ue.pcapng");
    let ue = ues[0].address.to_string();
    let arguments = [&ue, "--json", "--count", "8", "-w", file.to_str().unwrap()];
    let said = trace_while_sending(&lab, &daemon, &ues, &arguments);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let lines = said.out.lines().map(|l| serde_json::from_str(l).unwrap());
    let steps = lines.collect::<Vec<Value>>();
    assert_eq!(steps[0]["following"]["ue"], ue.as_str(), "{}", said.out);
    let done = &steps[steps.len() - 1]["done"];
    assert_eq!((&done["packets"], &done["lost"]), (&8.into(), &0.into()));
    let steps = &steps[1..steps.len() - 1];
    for packet in 1..=8 {
        let last = steps.iter().rfind(|step| step["packet"] == packet).unwrap();
        assert_eq!(last["verdict"], "sent", "{last:#}");
        assert_eq!(last["session"], ues[0].seid());
        let rule = &last["rule"];
        assert_eq!(
            (&rule["ue"], &rule["gate"]),
            (&ue.as_str().into(), &"open".into())
        );
        let uplink = last.get("teid").is_some();
        assert_eq!(rule["pdr"], if uplink { 1 } else { 2 }, "{last:#}");
        assert_eq!(last["sent"]["port"], if uplink { "n6" } else { "n3" });
    }
    // Both ways, and nobody else's.
    assert!(
        ["teid", "ue"]
            .iter()
            .all(|key| steps.iter().any(|s| s.get(key).is_some()))
    );
    capture(&file, &ue);
    assert_eq!(daemon.ledger()["dropped_total"], 0);
}

/// tshark finds every packet as it came and as it left, with its story, and nothing to complain of.
fn capture(file: &Path, ue: &str) {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=l"]);
    for field in [
        "frame.interface_name",
        "gtp.teid",
        "ip.src",
        "ip.dst",
        "_ws.malformed",
        "frame.comment",
    ] {
        command.args(["-e", field]);
    }
    let text = tool::run(&mut command).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.splitn(6, '|').collect()).collect();
    assert_eq!(rows.len(), 16, "{text}");
    for row in rows {
        let [interface, teid, src, dst, malformed, comment] = row[..] else {
            panic!("{row:?}");
        };
        // In the tunnel on N3 only; the UE is at one end of the innermost packet.
        assert_eq!(interface == "n3", !teid.is_empty(), "{row:?}");
        assert!(src == ue || dst == ue, "{row:?}");
        assert_eq!(malformed, "");
        for word in ["PDR ", "gate open", "FAR ", " forward", "sent by n"] {
            assert!(comment.contains(word), "{comment}");
        }
    }
    let mut command = Command::new("capinfos");
    let text = tool::run(command.arg("-M").arg("-c").arg(file)).unwrap();
    assert!(text.contains("16"), "{text}");
}

#[test]
fn a_tunnel_of_ours_is_followed_also_when_it_is_gone() {
    let Some(lab) = Lab::new("traceft") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    let tunnel = format!(
        "{}/{:#x}",
        ue.session.uplink.address,
        ue.session.uplink.teid.get()
    );
    let ues = [ue];
    let said = trace_while_sending(&lab, &daemon, &ues, &[&tunnel, "--count", "2"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", said.out);
    assert!(
        lines[1].contains("; FAR ") || lines[1].contains(", FAR "),
        "{}",
        said.out
    );
    assert!(lines[1].contains("sent by n6/0, 98 bytes"), "{}", said.out);
    assert_eq!(lines[3], "ended by count: 2 packets, 0 steps lost");
    smf.delete(ues[0].cp_seid()).unwrap();
    let said = thread::scope(|scope| {
        let trace = scope.spawn(|| daemon.ctl(&["trace", &tunnel, "--count", "1"]));
        while !trace.is_finished() {
            assert_eq!(ues[0].ping_in_vain(&lab, 1, 84), 0);
        }
        trace.join().unwrap()
    });
    assert!(said.out.contains("dropped: unknown_teid"), "{}", said.out);
}

/// A trace that runs beside the test.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn start(daemon: &Daemon, what: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        command.args(["ctl", "--socket"]).arg(&daemon.socket);
        command.args(["trace", what]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, out };
        assert!(running.line().starts_with("following "));
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }
}

#[test]
fn a_trace_ends_with_its_client_and_by_time() {
    let Some(lab) = Lab::new("tracend") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    // The gNB: its packets both ways.
    let mut trace = Running::start(&daemon, &N3_GNB.to_string());
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    let lines = [trace.line(), trace.line()];
    assert!(
        lines.iter().any(|l| l.contains("n3/0 worker 0")),
        "{lines:?}"
    );
    let second = daemon.ctl(&["trace", "10.60.0.2"]);
    assert_eq!(second.code, Some(1));
    assert!(
        second.err.contains("another trace is running"),
        "{}",
        second.err
    );
    trace.signal("-INT");
    assert!(trace.child.wait().unwrap().success());
    let rest: Vec<String> = trace.out.by_ref().lines().map(Result::unwrap).collect();
    let last = rest.last().unwrap();
    assert!(last.starts_with("ended by the client: "), "{rest:?}");
    let mut trace = Running::start(&daemon, "peer:198.18.3.11");
    trace.signal("-KILL");
    trace.child.wait().unwrap();
    // Its place is free again, also while nothing is followed that could tell of its end.
    eventually("the trace of the killed client ends", || {
        let said = daemon.ctl(&["trace", "ue:10.60.0.9", "--seconds", "1"]);
        said.out
            .ends_with("ended by time: 0 packets, 0 steps lost\n")
    });
    for wrong in ["10.60.0", "198.18.3.1/0", "gnb"] {
        let said = daemon.ctl(&["trace", wrong]);
        assert_eq!(said.code, Some(2), "{said:?}");
    }
    assert_eq!(ue.ping(&lab, 5, 84), 5);
}
