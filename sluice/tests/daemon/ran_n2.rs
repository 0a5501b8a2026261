//! `sluice ran` with N1 and N2, a core and the daemon: sessions with data, idle UEs that come back.

#[allow(dead_code, reason = "other tests use more of it")]
#[path = "../../../tools/ran/tests/all/common/core.rs"]
mod core;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_ids::Dnn;
use sluice_smf::{NetworkConfig, UpfConfig};

use self::core::{CoreThread, K_HEX, OPC_HEX, Plan};
use super::kit::*;

/// usrsctp is one for all of a process: only one core of ours at a time has its port.
static ONE_CORE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_CORE.lock().unwrap_or_else(PoisonError::into_inner)
}

const SERVER6: &str = "2001:db8:6::2";

/// A laboratory with the daemon and a core, whose AMF has the first address of N4 and whose SMF has
/// it, too. N3 is of one family.
fn lab(label: &str, is_n3_ipv6: bool) -> Option<(Lab, Daemon, CoreThread)> {
    let lab = Lab::new(label)?;
    let n6 = lab.n6.a();
    n6.add_ipv6_address(SERVER6.parse().unwrap(), 64).unwrap();
    let route = "-6 route add 2001:db8:60::/48 via 2001:db8:6::1 dev n6\n";
    lab.dn.ip_batch(route).unwrap();
    let mut config = Config::new();
    if is_n3_ipv6 {
        lab.add_ipv6_on_n3();
        config = config.n3_is_ipv6();
    }
    config.interfaces[1] = format!(
        "name: n6, port: n6, addresses: [{N6_UPF}/24, '2001:db8:6::1/64'], gateway: {SERVER}, \
         n6: {{network_instance: core}}"
    );
    config.pools = vec![
        "network_instance: core, prefix: 10.60.0.0/24, allocate: true".to_owned(),
        "network_instance: core, prefix: '2001:db8:60::/48', allocate: true".to_owned(),
    ];
    let daemon = Daemon::start(&lab, &config);
    let network = |name| NetworkConfig {
        instance: "core".to_owned(),
        ..NetworkConfig::new(Dnn::new(name).unwrap())
    };
    let smf = sluice_smf::Config {
        n4: IpAddr::V4(N4_SMFS[0]),
        started_unix_s: 1_790_000_000,
        upfs: vec![UpfConfig {
            n3: [!is_n3_ipv6, is_n3_ipv6],
            ..UpfConfig::new(SocketAddr::from((N4_UPF, 8805)))
        }],
        networks: vec![network("internet"), network("lab")],
        upf_return_ms: sluice_smf::UPF_RETURN_MS,
        back_off_s: sluice_smf::BACK_OFF_S,
    };
    let plan = Plan {
        amf: N4_SMFS[0],
        udp_port: None,
        subscribers: 4,
        smf: Some((smf, SocketAddr::from((N4_SMFS[0], 8805)))),
    };
    let core = CoreThread::start(lab.smf.ns(), plan);
    Some((lab, daemon, core))
}

fn play(lab: &Lab, gnbs: u8, n3: IpAddr, ues: &str, steps: &str) -> Value {
    let (gnb, smf) = (lab.gnb.name(), lab.smf.name());
    let text = format!(
        "gnbs: {{count: {gnbs}, n3: '{n3}', namespace: {gnb}, n2: {{amf: {}, local: {}, namespace: {smf}, \
         plmn: '00101'}}}}\n\
         ues: {{count: 4, {ues}, sim: {{k: {K_HEX}, opc: {OPC_HEX}, sessions: \
         [{{dnn: internet, slice: 1, type: ipv4v6}}, {{id: 2, dnn: lab}}]}}}}\nsteps:\n{steps}",
        N4_SMFS[0], N4_SMFS[1]
    );
    let file = lab.path("n2.yaml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(SLUICE);
    let output = command
        .args(["ran", "--json", "--once", "-c"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout);
    let result: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{said}"));
    assert_eq!(output.status.code(), Some(0), "{said}\n{result:#}");
    result
}

#[test]
fn ues_get_sessions_by_n1_and_n2_talk_and_come_back_when_they_have_data() {
    let _alone = alone();
    for (label, namespace, n3) in [
        ("rann2g", "group", IpAddr::from(N3_GNB)),
        ("rann2e", "each", N3_GNB.into()),
        ("rann2six", "group", N3_GNB_V6.into()),
    ] {
        let Some((lab, daemon, core)) = lab(label, n3.is_ipv6()) else {
            return;
        };
        let steps = format!(
            "  - attach: {{rate: 20}}
  - check: {{registered: 4, sessions: 8, attached: 8, establishments: 8, within: 10s}}
  - check: {{ipv6_ready: 4, within: 20s}}
  - ping: {{to: {SERVER}, wait: 5s}}
  - ping: {{to: '{SERVER6}', wait: 5s}}
  - check: {{ping_sent: 40, ping_lost: 0, drops: 0, unexpected: 0}}
  - idle: {{ues: 1-2}}
  - check: {{connected: 2, attached: 4, within: 10s}}
  - service: {{ues: 1}}
  - check: {{connected: 3, attached: 6, services: 1}}
  - run: {{ues: all, command: 'ping -q -c 2 -W 5 -I $UE_ADDRESS {SERVER}', timeout: 30s}}
  - run: {{ues: 2, command: 'ping -q -c 2 -W 5 -I $UE_ADDRESS {SERVER}', timeout: 30s}}
  - check: {{connected: 4, attached: 8, services: 1}}
  - idle: {{ues: 3}}
  - run: {{namespace: {}, command: 'for n in 2 3 4 5 6 7 8 9; do ping -q -c 2 -W 5 10.60.0.$n & done; wait', timeout: 30s}}
  - check: {{connected: 4, attached: 8, services: 1, pagings: at least 1}}
  - ping: {{to: '{SERVER6}', wait: 5s}}
  - move_tunnels: {{ues: 1-2}}
  - ping: {{to: {SERVER}, wait: 5s}}
  - check: {{ping_lost: 0, attached: 8, error_indications: 0, error_indications_sent: 0, failures: 0}}
  - release: {{ues: 3, session: 2}}
  - check: {{sessions: 7, attached: 7, releases: 1}}
  - detach: {{ues: 4}}
  - check: {{registered: 3, sessions: 5, attached: 5, failures: 0, since: start}}
",
            lab.dn.name()
        );
        let result = play(&lab, 1, n3, &format!("namespace: {namespace}"), &steps);
        assert_eq!(result["checks_failed"], 0, "{result:#}");
        eventually("all have left", || core.status().registered == 0);
        eventually("no session is left", || {
            daemon.ask(&CtlQuery::Status)["sessions"] == 0
        });
    }
}

/// Two UEs at two gNBs change places by Xn and by N2, and ping all the while.
#[test]
fn ues_are_handed_over_by_xn_and_n2_and_their_data_goes_on() {
    let _alone = alone();
    let Some((lab, daemon, core)) = lab("rann2ho", false) else {
        return;
    };
    let second = Ipv4Addr::from_bits(N3_GNB.to_bits() + 1);
    lab.n3.a().add_address(second, 24).unwrap();
    let steps = format!(
        "  - attach: {{ues: 1-2}}
  - check: {{registered: 2, sessions: 4, attached: 4, gnbs_up: 2, within: 10s}}
  - ping: {{ues: 1-2, to: {SERVER}, count: 100, interval: 20ms, wait: 5s, background: true}}
  - wait: 200ms
  - handover: {{ues: 1-2, by: xn}}
  - wait: 200ms
  - handover: {{ues: 1-2, by: n2}}
  - wait: 200ms
  - handover: {{ues: 1-2, by: n2, to: gnb2}}
  - check: {{path_switches: 2, n2_handovers: 4, failures: 0, n2_errors: 0}}
  - check: {{ping_sent: 200, ping_lost: at most 60, since: start}}
  - ping: {{ues: 1-2, to: {SERVER}, count: 10, wait: 5s}}
  - check: {{ping_sent: 20, ping_lost: 0, connected: 2, attached: 4}}
"
    );
    let result = play(&lab, 2, N3_GNB.into(), "namespace: group", &steps);
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    eventually("all have left", || core.status().registered == 0);
    eventually("no session is left", || {
        daemon.ask(&CtlQuery::Status)["sessions"] == 0
    });
}

/// Packets of the data network have idle UEs paged: once, and in a closed loop; how long each paging takes is told.
#[test]
fn ues_are_paged_in_a_closed_loop_for_packets_of_the_data_network() {
    let _alone = alone();
    let Some((lab, _daemon, core)) = lab("rann2page", false) else {
        return;
    };
    let (dn, gnb) = (lab.dn.name(), lab.gnb.name());
    let steps = format!(
        "  - attach: {{ues: 4}}
  - page: {{ues: 4, data_network: {dn}}}
  - check: {{connected: 1, paged: 1, pagings: at least 1, idles: 1, services: 0, failures: 0}}
  - ping: {{ues: 4, to: {SERVER}, wait: 5s}}
  - check: {{ping_lost: 0, unexpected: 0}}
  - cycle: {{ues: 1-3, at_once: 2, for: 4s, procedures: [establish, page, release], data_network: {dn}}}
  - check: {{paged: at least 1, failures: 0, refusals: 0, timeouts: 0, cut_off: 0}}
  - page: {{ues: 4, data_network: {gnb}}}
  - check: {{paged: 0, failures: 1, cut_off: 1}}
  - release: {{ues: 4}}
  - page: {{ues: 4, data_network: {dn}}}
  - check: {{paged: 0, failures: 1, timeouts: 0}}
"
    );
    let result = play(&lab, 1, N3_GNB.into(), "namespace: group", &steps);
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    let paging = &result["procedures"]["paging"];
    assert!(paging["done"].as_u64() >= Some(2), "{result:#}");
    assert!(paging["p50_ms"].as_f64() > Some(0.0), "{result:#}");
    let why = "the namespace data_network cannot send to the UE's address";
    assert_eq!(paging["reasons"][why], 1, "{result:#}");
    eventually("all have left", || core.status().registered == 0);
}
