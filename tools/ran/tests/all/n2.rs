//! UEs with SIMs and a core over SCTP: what a script makes of N1 and N2.

use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::Value;
use sluice_host::env_check::{self, Need};
use sluice_host::netns::Netns;

use crate::common::core::{CoreThread, K_HEX, OPC_HEX, Plan, home_key_hex};
use crate::common::wait_until;

const AMF: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);

/// A namespace whose loopback has AMF and gNBs, unless there is no right to make one.
fn place(label: &str) -> Option<Netns> {
    let needs = [Need::NetworkAdmin, Need::Tun, Need::Tool("ip")];
    if let Some(lack) = env_check::missing(&needs).first() {
        println!("skipped: needs root ({lack})");
        return None;
    }
    let ns = Netns::create(label).unwrap();
    ns.ns().ip_batch("link set lo up\n").unwrap();
    Some(ns)
}

fn core(ns: &Netns, subscribers: u32, udp_port: Option<u16>) -> CoreThread {
    let plan = Plan {
        amf: AMF,
        udp_port,
        subscribers,
        smf: None,
    };
    CoreThread::start(ns.ns(), plan)
}

/// Two gNBs, and a group of UEs with these keys of `sim` and their number.
fn scenario(ns: &Netns, n2: &str, count: u32, sim: &str, steps: &str) -> String {
    let name = ns.name();
    format!(
        "gnbs: {{count: 2, n3: 127.0.2.1, namespace: {name}, n2: {{amf: {AMF}, plmn: '00101'{n2}}}}}\n\
         ues: {{count: {count}, sim: {{k: {K_HEX}, opc: {OPC_HEX}{sim}}}}}\nsteps:\n{steps}"
    )
}

/// Exit code, result, and what was said meanwhile.
fn play(text: &str) -> (Option<i32>, Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("n2.yaml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-ran"));
    command.args(["--json", "--once", "-c"]).arg(&file);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout);
    let result = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{said}"));
    (output.status.code(), result, said)
}

#[track_caller]
fn all_held(outcome: &(Option<i32>, Value, String)) {
    let (code, result, said) = outcome;
    assert_eq!(*code, Some(0), "{said}\n{result:#}");
    assert_eq!(result["checks_failed"], 0, "{said}");
}

#[test]
fn ues_register_come_back_and_leave_over_ip_and_over_udp() {
    for (label, n2, udp_port) in [
        ("ranip", "", None),
        (
            "ranudp",
            ", over: udp, udp_port: 9900, amf_udp_port: 9899",
            Some(9899),
        ),
    ] {
        let Some(ns) = place(label) else { return };
        let core = core(&ns, 8, udp_port);
        let steps = "
  - register: {rate: 100}
  - check: {gnbs_up: 2, registered: 8, connected: 0, registrations: 8, within: 10s}
  - service: {}
  - check: {services: 8, service_p99_ms: at least 0.01}
  - idle: {}
  - check: {connected: 0, within: 10s}
  - register: {ues: 1-4, kind: periodic}
  - check: {registrations: 4, refusals: 0, n2_lost: 0, n2_errors: 0}
  - deregister: {ues: 1-2}
  - check: {registered: 6, deregistrations: 2, failures: 0, since: start}
";
        let sim = format!(", home_key: {{public: {}}}", home_key_hex());
        let outcome = play(&scenario(&ns, n2, 8, &sim, steps));
        all_held(&outcome);
        let registrations = &outcome.1["procedures"]["registration"];
        assert_eq!(registrations["done"], 8, "{:#}", outcome.1);
        assert!(registrations["p99_ms"].as_f64() > Some(0.0));
        // Those that were left have deregistered at the end, and the associations ended in order.
        wait_until("nobody is registered", || core.status().registered == 0);
        wait_until("gNBs are gone", || core.status().gnbs == 0);
    }
}

#[test]
fn what_ues_do_wrong_is_refused_and_told_with_its_cause() {
    let Some(ns) = place("ranwrong") else { return };
    let core = core(&ns, 4, None);
    let steps = "
  - misbehave: {ues: 1, what: sqn}
  - register: {ues: 1}
  - check: {registered: 1, refusals: 0}
  - misbehave: {ues: 2, what: res}
  - register: {ues: 2}
  - check: {registered: 1, refusals: 1, failures: 1}
  - misbehave: {ues: 2, what: nothing}
  - misbehave: {ues: 2, what: guti}
  - register: {ues: 2}
  - check: {registered: 2, refusals: 0}
  - misbehave: {ues: 1, what: mac}
  - service: {ues: 1}
  - check: {refusals: 1, failures: 1}
  - misbehave: {ues: 3, what: silent}
  - register: {ues: 3, limit: 1s}
  - check: {timeouts: 1, failures: 1}
  - register: {ues: '5'}
  - check: {refusals: 1, failures: 1, registered: at least 1}
  - reset_n2: {gnbs: 'gnb1,gnb2'}
  - check: {connected: 0}
  - restart_gnb: {gnbs: gnb2}
  - check: {gnbs_up: 2, within: 10s}
";
    let outcome = play(&scenario(&ns, "", 5, "", steps));
    all_held(&outcome);
    let (_, result, said) = outcome;
    assert!(said.contains("Authentication Reject"), "{said}");
    assert!(said.contains("no answer in time"), "{said}");
    let reasons = &result["procedures"]["registration"]["reasons"];
    assert!(
        reasons
            .as_object()
            .is_some_and(|reasons| reasons.len() >= 3),
        "{result:#}"
    );
    drop(core);
}

#[test]
fn many_register_at_a_rate_whatever_becomes_of_those_before() {
    let Some(ns) = place("ranmany") else { return };
    let count: u32 = std::env::var("SLUICE_RAN_UES").map_or(600, |text| text.parse().unwrap());
    let core = core(&ns, count, None);
    let steps = format!(
        "
  - register: {{rate: 300}}
  - check: {{registered: {count}, registrations: {count}, connected: 0, within: 10s}}
  - check: {{refusals: 0, timeouts: 0, cut_off: 0, failures: 0, n2_errors: 0, since: start}}
  - cycle: {{ues: 1-100, at_once: 16, for: 1s}}
  - check: {{deregistrations: at least 100, failures: 0}}
  - cycle: {{ues: 1-100, at_once: 16, for: 1s, procedures: [service, idle]}}
  - check: {{deregistrations: at least 20, failures: 0}}
"
    );
    let outcome = play(&scenario(&ns, "", count, ", devices: false", &steps));
    all_held(&outcome);
    let done = |name: &str| outcome.1["procedures"][name]["done"].as_u64().unwrap();
    // Each UE that came back was idle before it deregistered.
    let (services, idles) = (done("service_request"), done("AN_release"));
    assert!(services >= 20 && idles + 16 >= services, "{:#}", outcome.1);
    wait_until("nobody is registered", || core.status().registered == 0);
}

#[test]
fn an_amf_that_refuses_or_is_not_there_is_told_with_what_to_do() {
    let Some(ns) = place("rannone") else { return };
    let (code, result, said) = play(&scenario(&ns, "", 1, "", "  - register:\n"));
    assert_eq!(code, Some(1), "{said}");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("N2 of gnb1 with the AMF at 127.0.1.1:38412"),
        "{error}"
    );
    let core = core(&ns, 1, None);
    let (code, result, said) = play(&scenario(&ns, ", tac: 9", 1, "", "  - register:\n"));
    assert_eq!(code, Some(1), "{said}");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("the AMF has refused NG Setup of gnb1"),
        "{error}"
    );
    assert!(error.contains("its plmn, tac and slices"), "{error}");
    drop(core);
}
