//! `sluice upf` that neither chooses tunnels nor gives addresses (no FTUP, no UEIP): `sluice core` does both, and UEs of
//! `sluice ran` ping by IPv4 and IPv6, wherever they go.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sluice::cli::args::CtlQuery;

use super::core_killed::{Core, K, OPC};
use super::kit::*;

/// core.yaml with pools, and the address of the UPF towards gNBs.
fn core_yaml(socket: &Path) -> String {
    let subscriber = |n: u8| {
        format!("  - {{imsi: '00101{n:010}', k: {K}, opc: {OPC}, networks: {{name: internet}}}}\n")
    };
    let subscribers: String = (1..=2).map(subscriber).collect();
    format!(
        "control_socket: {}\nplmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
         n2: {{listen: {amf}, gnbs: 198.18.4.0/24}}\nn4: {{listen: {amf}}}\n\
         upfs: {{n4: {N4_UPF}, n3: {N3_UPF}, instance_coding: labels}}\n\
         data_networks: {{name: internet, network_instance: core, pools: [10.60.0.0/24, '2001:db8:60::/48']}}\n\
         subscribers:\n{subscribers}",
        socket.display(),
        amf = N4_SMFS[0],
    )
}

#[test]
fn ues_ping_and_move_at_a_upf_for_which_the_core_chooses() {
    let Some(lab) = Lab::new("plainupf") else {
        return;
    };
    lab.add_ipv6();
    let second = Ipv4Addr::from_bits(N3_GNB.to_bits() + 1);
    lab.n3.a().add_address(second, 24).unwrap();
    let mut config = Config::with_ipv6().n4("choose_fteid", false);
    config
        .pools
        .push("network_instance: core, prefix: '2001:db8:60::/48'".to_owned());
    let daemon = Daemon::start(&lab, &config);
    let core = Core::start_with(&lab, core_yaml, "only");
    let (gnb, smf) = (lab.gnb.name(), lab.smf.name());
    let scenario = format!(
        "gnbs: {{count: 2, n3: {N3_GNB}, namespace: {gnb}, n2: {{amf: {}, local: {}, namespace: {smf}, plmn: '00101'}}}}
ues: {{count: 2, namespace: group, sim: {{k: {K}, opc: {OPC}, sessions: [{{dnn: internet, slice: 1, type: ipv4v6}}]}}}}
steps:
  - attach:
  - check: {{registered: 2, sessions: 2, attached: 2, gnbs_up: 2, within: 20s}}
  - check: {{ipv6_ready: 2, within: 20s}}
  - ping: {{to: {SERVER}, wait: 5s}}
  - ping: {{to: '{SERVER_V6}', wait: 5s}}
  - check: {{ping_sent: 20, ping_lost: 0}}
  - idle: {{ues: 1}}
  - check: {{connected: 1, within: 10s}}
  - service: {{ues: 1}}
  - idle: {{ues: 2}}
  - check: {{connected: 1, within: 10s}}
  - run: {{namespace: {}, command: 'ping -q -c 3 -W 10 10.60.0.2 && ping -q -c 3 -W 10 10.60.0.3', timeout: 60s}}
  - check: {{connected: 2, attached: 2, pagings: at least 1, within: 10s}}
  - handover: {{by: xn}}
  - handover: {{by: n2}}
  - check: {{path_switches: 2, n2_handovers: 2, failures: 0, n2_errors: 0}}
  - ping: {{to: {SERVER}, wait: 5s}}
  - ping: {{to: '{SERVER_V6}', wait: 5s}}
  - check: {{ping_lost: 0, attached: 2, connected: 2}}
  - run: {{namespace: {}, command: 'ping -q -c 3 -W 10 10.60.0.2 && ping -q -c 3 -W 10 10.60.0.3', timeout: 60s}}
",
        N4_SMFS[0],
        N4_SMFS[1],
        lab.dn.name(),
        lab.dn.name(),
    );
    let file = lab.path("plain.yaml");
    std::fs::write(&file, scenario).unwrap();
    let mut command = Command::new(SLUICE);
    let output = command
        .args(["ran", "--json", "--once", "-c"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout);
    let result: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{said}\n{}", core.log()));
    assert_eq!(
        output.status.code(),
        Some(0),
        "{said}\n{result:#}\n{}",
        core.log()
    );
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    let status = core.ask(&CtlQuery::Status);
    assert_eq!(status["upfs"][0]["lacks"], Value::Null, "{status:#}");
    eventually("no session is left", || {
        daemon.ask(&CtlQuery::Status)["sessions"] == 0
    });
}
