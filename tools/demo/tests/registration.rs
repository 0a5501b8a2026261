//! `sluice demo --core` from outside: UEs register with `sluice core` through SCTP, and have sessions at
//! `sluice upf` and traffic.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sluice_host::env_check::{self, Need};

/// What the demo cannot do without, if anything is missing. Cargo builds the other programs for tests of
/// their own.
fn lacking() -> Option<String> {
    let tools = [
        "ip", "ethtool", "tcpdump", "tshark", "ping", "curl", "nginx", "iperf3",
    ];
    let needs = [&[Need::NetworkAdmin, Need::Tun], &tools.map(Need::Tool)[..]].concat();
    let beside = |name| Path::new(env!("CARGO_BIN_EXE_sluice-demo")).with_file_name(name);
    let programs = ["sluice", "sluice-core"].map(beside);
    let missing = programs.iter().find(|program| !program.exists());
    let missing = missing.map(|program| {
        let program = program.display();
        format!("{program} is not built: scripts/build.sh dev demo core")
    });
    let lacking = env_check::missing(&needs);
    missing.or(lacking.first().map(ToString::to_string))
}

#[test]
fn phones_register_through_sctp_and_tshark_has_no_complaint() {
    if let Some(lacking) = lacking() {
        println!("skipped: {lacking}");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_sluice-demo"))
        .args(["--core", "--once", "--json", "--ues", "3"])
        .output()
        .expect("the demo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&report["checks_failed"], &report["error"]),
        (&0.into(), &Value::Null)
    );
    assert!(report["checks_passed"].as_u64() >= Some(50), "{said}");
    assert_eq!(report["ues"].as_array().map(Vec::len), Some(3));
    let capture = &report["captures"][0];
    assert_eq!(capture["complaints"], 0, "{capture}");
    assert!(capture["messages"].as_u64() >= Some(40), "{capture}");
    // Each step of the figures (TS 23.502, 4.2.2.2.2 and 4.3.2.2.1) is there for each UE.
    let ladder = report["ladder"].as_array().expect("lines");
    let lines_with = |what: &str| {
        let lines = ladder.iter().filter_map(Value::as_str);
        lines.filter(|line| line.contains(what)).count()
    };
    for what in [
        "UE   -> AMF   Registration Request",
        "AMF  -> UE    Authentication Request",
        "AMF  -> UE    Security Mode Command",
        "AMF  -> UE    Registration Accept",
        "UE   -> AMF   Registration Complete",
        "SMF  -> UPF   N4 Session Establishment Request",
        "SMF  -> UE    PDU Session Establishment Accept",
    ] {
        assert_eq!(lines_with(what), 3, "{what}: {ladder:#?}");
    }
    // Once as it had something to say, once as it was called.
    assert_eq!(lines_with("UE   -> AMF   Service Request"), 2);
}
