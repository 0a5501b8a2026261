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
    let captures = report["captures"].as_array().expect("a list");
    let of = |interface: &str| captures.iter().find(|one| one["interface"] == interface);
    for interface in ["N2", "N1, deciphered"] {
        let capture = of(interface).expect("a capture");
        assert_eq!(capture["complaints"], 0, "{capture}");
        assert!(capture["messages"].as_u64() >= Some(40), "{capture}");
    }
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
    // One UE as it had something to say, and each as it was called; both handovers, and a flow that
    // comes and goes.
    assert!(
        lines_with("UE   -> AMF   Service Request") >= 4,
        "{ladder:#?}"
    );
    for what in [
        "gNB  -> AMF   Path Switch Request",
        "gNB  -> AMF   Handover Notify",
    ] {
        assert!(lines_with(what) >= 3, "{what}: {ladder:#?}");
    }
    assert!(lines_with("SMF  -> UE    PDU Session Modification Command") >= 6);
    assert_eq!(report["loss_packets"], 0, "{said}");
    for ue in report["ues"].as_array().expect("UEs") {
        assert!(ue["pages_answered"].as_u64() >= Some(1), "{ue}");
        let by: Vec<_> = ue["handovers"].as_array().expect("a list").iter().collect();
        let by: Vec<_> = by.iter().map(|one| one["by"].as_str()).collect();
        assert_eq!(by, [Some("Xn"), Some("N2")], "{ue}");
        let flow = &ue["dedicated_flow"];
        assert_eq!(
            (&flow["uplink_packets"], &flow["downlink_packets"]),
            (&20.into(), &20.into())
        );
    }
}
