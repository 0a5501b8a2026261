//! `sluice ran` against the daemon: gNBs and UEs by a script, N4 by its own SMF.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::link::global_ipv6_addresses;
use sluice_host::netns;
use sluice_host::process::Process;
use sluice_host::tool;
use sluice_host::tshark::judge;

use super::kit::*;

const GNBS: u8 = 3;
const UES: u64 = 12;

/// A laboratory with addresses for three gNBs, and the daemon in it.
fn lab(label: &str) -> Option<(Lab, Daemon)> {
    let lab = Lab::new(label)?;
    for number in 1..GNBS {
        let [a, b, c, first] = N3_GNB.octets();
        let address = Ipv4Addr::new(a, b, c, first + number);
        lab.n3.a().add_address(address, 24).unwrap();
    }
    let daemon = Daemon::start(&lab, &Config::new());
    Some((lab, daemon))
}

/// `sluice ran` with this script, which UEs in one namespace play.
fn ran(lab: &Lab, steps: &str, more: &[&str]) -> Command {
    let (smf, gnb) = (lab.smf.name(), lab.gnb.name());
    let text = format!(
        "n4: {{smf: {}, upf: {N4_UPF}, namespace: {smf}, t1_ms: 500, heartbeat_s: 1}}\n\
         gnbs: {{count: {GNBS}, n3: {N3_GNB}, namespace: {gnb}}}\n\
         ues: {{count: {UES}, address: {}}}\nsteps:\n{steps}",
        N4_SMFS[0],
        ue_address(0)
    );
    play_text(lab, &text, more)
}

fn play_text(lab: &Lab, text: &str, more: &[&str]) -> Command {
    let file = lab.path("ran.yaml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(SLUICE);
    command.args(["ran", "--json", "-c"]).arg(file).args(more);
    command
}

/// Exit code, result, and what was said meanwhile.
fn play(mut command: Command) -> (Option<i32>, Value, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout);
    let result = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{said}"));
    (output.status.code(), result, said)
}

fn sessions(daemon: &Daemon) -> u64 {
    daemon.ask(&CtlQuery::Status)["sessions"].as_u64().unwrap()
}

#[test]
fn gnbs_at_ipv6_addresses_serve_ues_move_them_and_take_the_addresses_away() {
    let Some(lab) = Lab::new("ransix") else {
        return;
    };
    lab.add_ipv6();
    lab.add_ipv6_on_n3();
    let daemon = Daemon::start(&lab, &Config::with_ipv6().n3_is_ipv6());
    let (smf, gnb) = (lab.smf.name(), lab.gnb.name());
    let text = format!(
        "n4: {{smf: {}, upf: {N4_UPF}, namespace: {smf}, t1_ms: 500, heartbeat_s: 1}}
gnbs: {{count: {GNBS}, n3: '{N3_GNB_V6}', namespace: {gnb}, interface: n3}}
ues: {{count: {UES}, pdu_type: ipv4v6, address: {}, prefix: '2001:db8:60:100::/64'}}
steps:
  - attach: {{rate: 200}}
  - check: {{attached: 12, sessions: 12}}
  - ping: {{to: {SERVER}, count: 5}}
  - ping: {{to: '{SERVER_V6}', count: 5}}
  - echo: {{}}
  - echo: {{to: '{N3_UPF_V6}'}}
  - check: {{ping_sent: 120, ping_lost: 0, echoes_answered: 6, drops: 0, usage_difference_bytes: 0}}
  - handover: {{ues: 1-6, rate: 50}}
  - ping: {{to: '{SERVER_V6}'}}
  - check: {{gnbs: 'gnb1,gnb2,gnb3', end_markers: 6}}
  - check: {{since: start, ping_lost: 0, handovers: 6, unexpected: 0}}
  - restart_gnb: {{gnbs: gnb3}}
  - attach: {{}}
  - ping: {{to: {SERVER}}}
  - check: {{attached: 12, ping_lost: 0, unaccounted: 0}}
  - end:
",
        N4_SMFS[0],
        ue_address(0)
    );
    let (code, result, said) = play(play_text(&lab, &text, &[]));
    assert_eq!(code, Some(0), "{said}\n{result:#}");
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    assert_eq!(sessions(&daemon), 0);
    // The first was there before.
    let left = global_ipv6_addresses(&lab.gnb).unwrap();
    assert_eq!(left, [("n3".to_owned(), N3_GNB_V6)]);
}

/// The scenario's own namespaces, by the process that made them.
fn namespaces_of(pid: u32) -> Vec<String> {
    let ours = format!("sluice-{pid}-");
    let names = netns::names().unwrap().into_iter();
    names.filter(|name| name.starts_with(&ours)).collect()
}

#[test]
fn ues_attach_talk_move_churn_and_a_gnb_that_forgets_them_says_so() {
    let Some((lab, daemon)) = lab("ran") else {
        return;
    };
    let pcap = lab.path("n3.pcap");
    let judged = tool::is_installed("tcpdump") && tool::is_installed("tshark");
    let capture = judged.then(|| Capture::start(&lab.gnb, "n3", "udp", &pcap).unwrap());
    let dn = lab.dn.name();
    let steps = format!(
        "  - attach: {{rate: 200}}
  - check: {{attached: 12, sessions: 12}}
  - ping: {{to: {SERVER}, count: 5}}
  - echo: {{}}
  - check: {{ping_sent: 60, ping_lost: 0, echoes_answered: 3, drops: 0, usage_difference_bytes: 0}}
  - ping: {{to: {SERVER}, count: 40, interval: 10ms, background: true}}
  - handover: {{ues: 1-6, rate: 50}}
  - check: {{gnbs: 'gnb1,gnb2,gnb3', end_markers: 6, drops_late: at most 6}}
  - check: {{since: start, ping_lost: at most 6, handovers: 6, unexpected: 0}}
  - run: {{command: 'ping -q -c 2 -l 2 -i 5 -W 5 -I $UE_ADDRESS {SERVER}', ues: '1,12'}}
  - churn: {{ues: 7-12, rate: 30, for: 2s}}
  - check: {{attached: 12, detaches: at least 1, failures: 0}}
  - mute_gnb: {{gnbs: gnb2}}
  - run: {{command: 'exit 3', exit: 3}}
  - mute_gnb: {{gnbs: gnb2, what: nothing}}
  - restart_gnb: {{gnbs: gnb3}}
  - check: {{attached: at most 9, without_radio: at least 3, error_indications_sent: 0}}
  - run: {{namespace: {dn}, command: 'for n in 2 3 4 5 6 7 8 9 10 11 12 13; do ping -q -c1 -W1 10.60.0.$n & done; wait', timeout: 20s}}
  - check: {{error_indications_sent: at least 1, error_reports: at least 1, unexpected: 0}}
  - attach: {{}}
  - ping: {{to: {SERVER}, count: 3}}
  - check: {{attached: 12, without_radio: 0, ping_lost: 0, unaccounted: 0}}
  - end:
"
    );
    let (code, result, said) = play(ran(&lab, &steps, &[]));
    assert_eq!(code, Some(0), "{said}\n{result:#}");
    assert_eq!(result["checks_failed"], 0);
    assert!(result["checks_passed"].as_u64() > Some(20), "{result:#}");
    assert_eq!(result["ended"], "at its end");
    assert_eq!(result["counters"]["handovers"], 6);
    assert_eq!(result["gnbs"].as_array().unwrap().len(), usize::from(GNBS));
    assert_eq!(sessions(&daemon), 0);
    if let Some(capture) = capture {
        capture.stop().unwrap();
        let verdict = judge(&pcap).unwrap();
        assert!(verdict.frames > 200, "{verdict:?}");
        assert!(verdict.is_clean(), "{:?}", verdict.complaints);
    }
}

#[test]
fn a_check_that_fails_is_named_and_ends_with_1() {
    let Some((lab, daemon)) = lab("ranbad") else {
        return;
    };
    let steps = format!(
        "  - attach: {{ues: 1-2}}\n  - ping: {{to: {N6_UPF}, ues: 1}}\n  - check:\n      \
         attached: 2\n      end_markers: 1\n      within: 100ms\n  - end:\n"
    );
    let (code, result, said) = play(ran(&lab, &steps, &[]));
    assert_eq!(code, Some(1), "{said}");
    let failed = result["checks"].as_array().unwrap();
    let failed: Vec<_> = failed.iter().filter(|row| row["pass"] == false).collect();
    assert_eq!(failed.len(), 1, "{result:#}");
    assert_eq!(failed[0]["what"], "end_markers");
    assert_eq!(failed[0]["expected"], "1");
    assert_eq!(failed[0]["seen"], "0");
    // Three lines of nodes, `steps:`, and the sixth line of the script.
    let at = failed[0]["at"].as_str().unwrap();
    assert!(at.ends_with("ran.yaml:9"), "{at}");
    assert!(said.contains("FAILED  line 9: end_markers: expected 1, seen 0"));
    assert_eq!(sessions(&daemon), 0);
    // A UPF that is not there is told with its address.
    drop(daemon);
    let (code, result, said) = play(ran(&lab, "  - end:\n", &[]));
    assert_eq!(code, Some(1), "{said}");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("N4 with the UPF at 198.18.4.1:8805"),
        "{error}"
    );
}

#[test]
fn tunnels_that_another_smf_has_made_are_used_as_they_are() {
    let Some((lab, daemon)) = lab("rangiven") else {
        return;
    };
    let smf = lab.smf();
    let plan = Ue::plan(N3_GNB, 0);
    let downlink = plan.gnb.unwrap().teid.get();
    let session = smf.establish(plan).unwrap();
    let text = format!(
        "gnbs: {{n3: {N3_GNB}, namespace: {}}}\n\
         ues:\n  address: {}\n  namespace: each\n  tunnels: {{upf: {N3_UPF}, uplink_teid: {}, \
         downlink_teid: {downlink}}}\nsteps:\n  - attach:\n  - ping: {{to: {SERVER}}}\n  \
         - run: {{ues: all, command: 'ping -q -c1 {SERVER}'}}\n  \
         - check: {{ping_sent: 5, ping_lost: 0, sessions: 0, drops: 0}}\n",
        lab.gnb.name(),
        ue_address(0),
        session.uplink.teid.get(),
    );
    let (code, result, said) = play(play_text(&lab, &text, &["--once"]));
    assert_eq!(code, Some(0), "{said}\n{result:#}");
    // It was not ours to delete.
    assert_eq!(sessions(&daemon), 1);
}

#[test]
fn it_sets_up_again_what_a_upf_lost_and_ctrl_c_leaves_nothing_behind() {
    let Some((lab, mut daemon)) = lab("ranlive") else {
        return;
    };
    let mut command = ran(&lab, "  - attach:\n", &[]);
    let log = std::fs::File::create(lab.path("ran.log")).unwrap();
    command.stdout(Stdio::piped()).stderr(log);
    let mut process = Process::spawn(&mut command).unwrap();
    let pid = process.child().id();
    let said = || std::fs::read_to_string(lab.path("ran.log")).unwrap();
    eventually("all are there", || {
        said().contains("the script is at its end")
    });
    assert_eq!((sessions(&daemon), namespaces_of(pid).len()), (UES, 1));
    // Nothing waits for the release that a dead UPF cannot ask for.
    daemon.process.kill();
    // Recovery time stamps count whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let daemon = Daemon::start_as(&lab, "again", &Config::new());
    eventually("all are there again", || sessions(&daemon) == UES);
    process.interrupt();
    let output = std::io::read_to_string(process.child().stdout.take().unwrap()).unwrap();
    let status = process.wait(SOON).expect("it ends");
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(status.code(), Some(0), "{result:#}");
    assert_eq!(result["ended"], "interrupted");
    assert_eq!(result["counters"]["associations_lost"], 1);
    assert_eq!(result["counters"]["sessions_restored"], UES);
    assert_eq!(sessions(&daemon), 0);
    assert_eq!(namespaces_of(pid), Vec::<String>::new());
}

#[test]
fn a_run_that_is_killed_takes_its_commands_with_it_and_the_same_scenario_runs_again() {
    let Some((lab, daemon)) = lab("rankilled") else {
        return;
    };
    let (smf, gnb) = (lab.smf.name(), lab.gnb.name());
    let pid_file = lab.path("pid");
    // Addresses and rules in a namespace that stays, and a command that has started another one.
    let text = format!(
        "n4: {{smf: {}, upf: {N4_UPF}, namespace: {smf}}}\n\
         gnbs: {{count: 2, n3: 198.18.3.201, namespace: {gnb}, interface: n3}}\n\
         ues: {{count: 2, address: {}, namespace: {gnb}}}\nsteps:\n  - attach:\n  \
         - ping: {{to: {SERVER}, count: 1}}\n  - check: {{ping_sent: 2, ping_lost: 0}}\n  \
         - run: {{background: true, command: 'sleep 60 & echo $! >{}; wait'}}\n",
        N4_SMFS[0],
        ue_address(0),
        pid_file.display(),
    );
    let addresses = || tool::run(lab.gnb.ip().args(["address"])).unwrap();
    let rules = || tool::run(lab.gnb.ip().args(["rule"])).unwrap();
    let mut command = play_text(&lab, &text, &[]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = Process::spawn(&mut command).unwrap();
    let told = || std::fs::read_to_string(&pid_file).unwrap_or_default();
    eventually("the command runs", || told().ends_with('\n'));
    process.kill();
    let stat = format!("/proc/{}/stat", told().trim());
    // Whoever inherits a process may take time to reap it.
    let is_gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    eventually("what the command has started is gone", is_gone);
    assert!(addresses().contains("198.18.3.202/24"), "{}", addresses());
    assert!(rules().contains("from 10.60.0."), "{}", rules());
    let (code, result, said) = play(play_text(&lab, &text, &["--once"]));
    assert_eq!(code, Some(0), "{said}\n{result:#}");
    assert!(!addresses().contains("198.18.3.20"), "{}", addresses());
    assert!(!rules().contains("from 10.60.0."), "{}", rules());
    drop(daemon);
}

#[test]
fn an_address_that_an_interface_had_before_stays_when_the_run_ends() {
    let Some((lab, daemon)) = lab("ranaddresses") else {
        return;
    };
    // The first of both gNBs' addresses.
    let before = Ipv4Addr::new(198, 18, 3, 201);
    lab.n3.a().add_address(before, 24).unwrap();
    let (smf, gnb) = (lab.smf.name(), lab.gnb.name());
    let text = format!(
        "n4: {{smf: {}, upf: {N4_UPF}, namespace: {smf}}}\n\
         gnbs: {{count: 2, n3: {before}, namespace: {gnb}, interface: n3}}\n\
         ues: {{count: 2, address: {}, namespace: {gnb}}}\nsteps:\n  - attach:\n",
        N4_SMFS[0],
        ue_address(0),
    );
    let (code, result, said) = play(play_text(&lab, &text, &["--once"]));
    assert_eq!(code, Some(0), "{said}\n{result:#}");
    let left = lab.n3.a().addresses().unwrap();
    let left: Vec<Ipv4Addr> = left.iter().map(|found| found.address).collect();
    assert!(left.contains(&before), "{left:?}");
    assert!(!left.contains(&Ipv4Addr::new(198, 18, 3, 202)), "{left:?}");
    drop(daemon);
}

#[test]
fn what_the_machine_lacks_is_told_with_the_key_that_may_be_wrong() {
    let Some((lab, daemon)) = lab("ranlacks") else {
        return;
    };
    let gnb = lab.gnb.name();
    for (gnbs, parts) in [
        (
            format!("namespace: {gnb}, interface: n33"),
            ["no interface n33 in sluice-", "gnbs.namespace"],
        ),
        (
            format!("namespace: {gnb}, n3: 198.18.3.99"),
            ["bind UDP 198.18.3.99:2152", "gnbs.interface"],
        ),
    ] {
        let n3 = match gnbs.contains("n3:") {
            true => String::new(),
            false => format!(", n3: {N3_GNB}"),
        };
        let smf = lab.smf.name();
        let text = format!(
            "n4: {{smf: {}, upf: {N4_UPF}, namespace: {smf}}}\ngnbs: {{{gnbs}{n3}}}\n\
             ues: {{address: {}}}\nsteps: [{{end: }}]\n",
            N4_SMFS[0],
            ue_address(0),
        );
        let (code, result, said) = play(play_text(&lab, &text, &[]));
        assert_eq!(code, Some(3), "{said}");
        let error = result["error"].as_str().unwrap();
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    drop(daemon);
}
