//! `sluice ctl` against a daemon with sessions and traffic.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use sluice::cli::args::CtlQuery;

use super::kit::*;

/// Every question that takes no argument, and its key in the answer.
const QUESTIONS: [(&str, &str); 8] = [
    ("status", "uptime_s"),
    ("sessions", "sessions"),
    ("drops", "ledger"),
    ("ports", "ports"),
    ("workers", "workers"),
    ("peers", "associations"),
    ("counters", "n4"),
    ("refusals", "refusals"),
];

#[test]
fn every_question_is_answered_in_text_and_in_json() {
    let Some(lab) = Lab::new("ctl") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
    for ue in &ues {
        assert_eq!(ue.ping(&lab, 5, 84), 5);
    }
    for (question, key) in QUESTIONS {
        let text = daemon.ctl(&[question]);
        assert_eq!((text.code, text.err.as_str()), (Some(0), ""), "{question}");
        assert!(
            !text.out.contains('{') && text.out.ends_with('\n'),
            "{}",
            text.out
        );
        let object = json(&daemon.ctl(&[question, "--json"]));
        assert!(!object[key].is_null(), "{question}: {object:#}");
    }
    let sessions = json(&daemon.ctl(&["sessions", "--json"]))["sessions"].take();
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    for ue in &ues {
        one_session(&daemon, ue, &sessions);
    }
    tables(&daemon, &ues[0]);
    // 5 echo requests and replies of each UE, and an ARP question and answer on each side; where another program
    // had the CPU a question may have been asked again.
    let ledger = daemon.ledger();
    let sums = ["received", "created", "transmitted", "to_control"].map(|k| ledger[k].as_u64());
    let asked = ledger["created"].as_u64().unwrap();
    assert!((2..10).contains(&asked), "{ledger:#}");
    let expected = [20 + asked, asked, 20 + asked, asked];
    assert_eq!(sums, expected.map(Some), "{ledger:#}");
    let equation = ledger["equation"].as_str().unwrap().to_owned();
    assert_eq!(
        daemon.ctl(&["drops"]).out.lines().next(),
        Some(equation.as_str())
    );
}

/// The session of a UE in the list and alone, with usage that equals what the kernel counted.
fn one_session(daemon: &Daemon, ue: &Ue, sessions: &Value) {
    let listed = sessions.as_array().unwrap().iter();
    let address = ue.address.to_string();
    let line = listed
        .clone()
        .find(|s| s["ue_address"] == address.as_str())
        .unwrap();
    // What is printed is what is taken as an argument, also by programs with numbers of 53 bits.
    assert_eq!(line["seid"], ue.seid().as_str());
    let session = json(&daemon.ctl(&["session", line["seid"].as_str().unwrap(), "--json"]));
    let session = &session["session"];
    assert_eq!(session["imsi"], line["imsi"]);
    assert_eq!(session["imsi"].as_str().unwrap().len(), 15);
    let kernel = ue.counters();
    for (direction, bytes) in [("uplink", kernel.tx_bytes), ("downlink", kernel.rx_bytes)] {
        assert_eq!(session[direction]["bytes"], bytes, "{session:#}");
        assert_eq!(session["urr"][0][direction]["bytes"], bytes, "{session:#}");
    }
    let rules = json(&daemon.ctl(&["rules", &ue.seid(), "--json"]));
    assert_eq!(rules["session"]["pdr"].as_array().unwrap().len(), 2);
    assert_eq!(rules["session"]["far"][1]["peer"], N3_GNB.to_string());
    // In decimal, too.
    let decimal = ue.session.up_seid.0.to_string();
    assert_eq!(daemon.ctl(&["session", &decimal]).code, Some(0));
    // By its UE, too; TEIDs as text, flags by name.
    let by_ue = json(&daemon.ctl(&["rules", &address, "--json"]));
    assert_eq!(by_ue["session"]["seid"], line["seid"]);
    let far = &by_ue["session"]["far"][1];
    assert_eq!(far["apply_action"], serde_json::json!(["FORW"]));
    assert!(far["teid"].as_str().unwrap().starts_with("0x"), "{far:#}");
    assert_eq!(by_ue["session"]["urr"][0]["measurement_method"][0], "VOLUM");
    let nobody = daemon.ctl(&["session", "10.99.0.1"]);
    assert_eq!(nobody.code, Some(1));
    assert!(
        nobody
            .err
            .contains("no session has the UE address 10.99.0.1")
    );
}

/// What stands in the texts.
fn tables(daemon: &Daemon, ue: &Ue) {
    let contains = |arguments: &[&str], words: &[&str]| {
        let said = daemon.ctl(arguments);
        for word in words {
            assert!(said.out.contains(word), "{word} is not in\n{}", said.out);
        }
    };
    let address = ue.address.to_string();
    contains(&["status"], &["sessions: 2", "workers: 1", "version: "]);
    contains(
        &["sessions"],
        &["ue_address", &address, "001010000000000", &ue.seid()],
    );
    contains(
        &["session", &ue.seid()],
        &["IMSI      001010000000000", "420 bytes in 5 packets"],
    );
    contains(
        &["rules", &ue.seid()],
        &["pdr:", "far:", "qer:", "urr:", "198.18.3.11", "forward"],
    );
    contains(&["ports"], &["net_af_packet", "n3", "n6", "rx_missed"]);
    contains(&["workers"], &["busy_share", "transactions"]);
    contains(
        &["peers"],
        &["198.18.4.2:8805", "198.18.3.11", "198.18.6.2", "Up"],
    );
}

#[test]
fn the_ledger_balances_while_packets_flow() {
    let Some(lab) = Lab::new("ctlflow") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    let mut flood = lab.ue.command("ping");
    flood.args([
        "-f",
        "-q",
        "-w",
        "2",
        "-I",
        &ue.address.to_string(),
        &SERVER.to_string(),
    ]);
    let mut flood = flood.stdout(Stdio::null()).spawn().unwrap();
    let mut received = Vec::new();
    while flood.try_wait().unwrap().is_none() {
        let ledger = daemon.ledger();
        received.push(ledger["received"].as_u64().unwrap());
    }
    let moved = received.last().unwrap() - received.first().unwrap();
    assert!(
        received.len() > 20 && moved > 1000,
        "{} questions, {moved} packets",
        received.len()
    );
}

#[test]
fn what_cannot_be_answered_says_why_and_how_it_ends() {
    let Some(lab) = Lab::new("ctlbad") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let unknown = daemon.ctl(&["session", "0x1f"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
    assert_eq!(unknown.err, "sluice ctl: no session has the SEID 0x1f\n");
    for arguments in [
        &["session"][..],
        &["session", "x"],
        &["session", "0xfg"],
        &["fly"],
        &[],
    ] {
        for json in [&["--json"][..], &[]] {
            let said = daemon.ctl(&[arguments, json].concat());
            assert_eq!(
                (said.code, said.out.as_str()),
                (Some(2), ""),
                "{arguments:?}"
            );
            assert!(!said.err.is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn where_no_upf_answers_the_message_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = folder.path().join("nobody.sock");
    let dead = folder.path().join("dead.sock");
    drop(UnixListener::bind(&dead).unwrap());
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for socket in [nobody, dead, file] {
        let said = ctl_at(&socket, &["status", "--json"]);
        assert_eq!((said.code, said.out.as_str()), (Some(3), ""), "{socket:?}");
        for part in [
            socket.to_str().unwrap(),
            "is `sluice upf` (or `sluice core`) running",
            "control_socket",
        ] {
            assert!(said.err.contains(part), "{part}: {}", said.err);
        }
    }
}

#[test]
fn clients_that_hang_or_talk_nonsense_keep_nobody_waiting() {
    let Some(lab) = Lab::new("ctlhang") else {
        return;
    };
    let mut daemon = Daemon::start(&lab, &Config::new());
    let silent: Vec<_> = (0..8).map(|_| client(&daemon)).collect();
    // One octet at a time, without an end.
    let mut slow = client(&daemon);
    for nonsense in [
        &b"\xff\xfe\n"[..],
        b"{\"cmd\":\"fly\"}\n",
        b"[]\n",
        b"\n",
        &[b'x'; 9000],
    ] {
        slow.write_all(b"{").unwrap();
        let mut stream = client(&daemon);
        // It may be refused before all of it is written.
        let _ = stream.write_all(nonsense);
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        if nonsense.len() < 4096 {
            read.unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert!(
                answer["error"].as_str().unwrap().contains("not understood"),
                "{answer}"
            );
        }
    }
    // One after the other, the silent ones would take 40 s.
    let began = Instant::now();
    let both = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| daemon.ctl(&["sessions", "--json"]));
        [ask(), ask()].map(|asked| asked.join().unwrap())
    });
    for said in &both {
        assert_eq!(json(said)["sessions"], Value::Array(Vec::new()));
    }
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    // Whoever says nothing for five seconds is let go; the end does not wait for anybody.
    silent[0].set_read_timeout(Some(SOON)).unwrap();
    let mut said = Vec::new();
    (&silent[0]).read_to_end(&mut said).unwrap();
    assert!(said.is_empty(), "{said:?}");
    let late = client(&daemon);
    daemon.process.terminate();
    assert_eq!(daemon.wait().0, Some(0));
    drop(late);
}

#[test]
fn more_clients_than_there_is_room_for_are_told_so() {
    let Some(lab) = Lab::new("ctlmany") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    // There is room for 32. Whoever asked when the daemon started may still be counted while these come: then
    // one of them is sent away, and there is room once more.
    let mut many: Vec<_> = (0..32).map(|_| client(&daemon)).collect();
    eventually("there is no more room", || {
        many.push(client(&daemon));
        let said = daemon.ctl(&["status"]);
        said.code == Some(1) && said.err.contains("too many clients")
    });
    drop(many);
    eventually("there is room again", || {
        daemon.ctl(&["status"]).code == Some(0)
    });
    daemon.ask(&CtlQuery::Status);
}

fn client(daemon: &Daemon) -> UnixStream {
    UnixStream::connect(&daemon.socket).unwrap()
}

/// One object on standard output, and nothing else anywhere.
fn json(said: &Said) -> Value {
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let value: Value = serde_json::from_str(&said.out).unwrap();
    assert!(value.is_object(), "{value}");
    value
}
