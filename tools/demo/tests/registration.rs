//! `sluice demo --core` from outside: UEs register through SCTP between two namespaces.

use std::process::Command;

use serde_json::Value;
use sluice_host::env_check::{self, Need};

#[test]
fn phones_register_through_sctp_and_tshark_has_no_complaint() {
    let tools = ["ip", "ethtool", "tcpdump", "tshark"].map(Need::Tool);
    let lacking = env_check::missing(&[&[Need::NetworkAdmin], &tools[..]].concat());
    if let Some(first) = lacking.first() {
        println!("skipped: {first}");
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
    assert!(report["checks_passed"].as_u64() >= Some(15), "{said}");
    assert_eq!(report["ues"].as_array().map(Vec::len), Some(3));
    let capture = &report["captures"][0];
    assert_eq!(capture["complaints"], 0, "{capture}");
    assert!(capture["messages"].as_u64() >= Some(30), "{capture}");
    // Each step of the figure (TS 23.502, 4.2.2.2.2) is there for each UE.
    let ladder = report["ladder"].as_array().expect("lines");
    let lines_with = |what: &str| {
        let lines = ladder.iter().filter_map(Value::as_str);
        lines.filter(|line| line.ends_with(what)).count()
    };
    for what in [
        "UE   -> AMF   Registration Request",
        "AMF  -> UE    Authentication Request",
        "AMF  -> UE    Security Mode Command",
        "AMF  -> UE    Registration Accept",
        "UE   -> AMF   Registration Complete",
    ] {
        assert_eq!(lines_with(what), 3, "{what}: {ladder:#?}");
    }
    assert_eq!(lines_with("Service Request"), 1);
}
