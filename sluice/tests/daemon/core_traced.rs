//! `sluice ctl trace IMSI` with a core, a UPF and a UE that talks: all that is said of it and with it in one file.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use sluice_host::tool;
use tempfile::TempDir;

use super::core_killed::{Core, K, OPC, Playing, a_few};
use super::kit::*;

const IMSI: &str = "001010000000001";
/// Packets of each session that are sent while it is followed.
const PINGS: u32 = 5;

/// A UE with two sessions, and another one with one.
fn scenario(lab: &Lab) -> String {
    let (gnb, smf) = (lab.gnb.name(), lab.smf.name());
    let path = |name: &str| lab.path(name).display().to_string();
    let session = |id: u8| format!("{{id: {id}, dnn: internet, slice: 1, type: ipv4}}");
    let sim = |sessions: &str| format!("sim: {{k: {K}, opc: {OPC}, sessions: [{sessions}]}}");
    format!(
        "gnbs: {{n3: {N3_GNB}, namespace: {gnb}, n2: {{amf: {}, local: {}, namespace: {smf}, plmn: '00101'}}}}
ues:
  - {{name: followed, count: 1, imsi: '{IMSI}', {}}}
  - {{name: other, count: 1, imsi: '001010000000002', {}}}
steps:
  - attach:
  - check: {{sessions: 3, attached: 3, failures: 0, within: 20s}}
  - run: {{command: 'touch {}; while [ ! -e {} ]; do sleep 0.1; done', timeout: 60s}}
  - run: {{namespace: {}, command: 'for n in 1 2 3 4 5 6; do ping -q -c {PINGS} -W 5 10.60.0.$n & done; wait; true', timeout: 60s}}
",
        N4_SMFS[0],
        N4_SMFS[1],
        sim(&format!("{}, {}", session(1), session(2))),
        sim(&session(1)),
        path("up"),
        path("followed"),
        lab.dn.name(),
    )
}

#[test]
fn all_reference_points_of_a_ue_with_two_sessions_are_in_one_file_and_nothing_of_others() {
    let Some(lab) = Lab::new("coretrace") else {
        return;
    };
    let mut config = Config::new();
    config.pools = vec!["network_instance: core, prefix: 10.60.0.0/24, allocate: true".to_owned()];
    let daemon = Daemon::start(&lab, &config);
    let memory = TempDir::new_in("/dev/shm").unwrap();
    let core = Core::start(&lab, &memory.path().join("contexts"), &a_few(), "only");
    let mut ran = Playing::start(&lab, &scenario(&lab));
    ran.comes_to(&lab, "up");
    let file = lab.path("followed.pcapng");
    let mut trace = Command::new(SLUICE);
    trace.args(["ctl", "--socket"]).arg(&core.socket);
    trace.args(["trace", IMSI, "--seconds", "120", "--upf-socket"]);
    trace.arg(&daemon.socket).arg("-w").arg(&file);
    let trace = trace.stdout(std::process::Stdio::piped()).spawn().unwrap();
    eventually("the trace has begun", || file.exists());
    std::thread::sleep(Duration::from_secs(2));
    File::create(lab.path("followed")).unwrap();
    let (code, out, err) = ran.end();
    assert_eq!(code, Some(0), "{out}\n{err}\n{}", core.log());
    // All has been said: the trace need not wait for its own end, and has waited for the slowest machine.
    let pid = trace.id().to_string();
    let interrupted = Command::new("kill").args(["-INT", &pid]).status();
    assert!(interrupted.unwrap().success());
    let traced = trace.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&traced.stdout).into_owned();
    assert!(traced.status.success(), "{text}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&file);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=l"]);
    for field in ["frame.interface_name", "ip.src", "ip.dst", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let rows = tool::run(&mut command).unwrap();
    let mut seen: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for row in rows.lines() {
        let [at, from, to, malformed] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        assert_eq!(malformed, "", "{row}");
        let server = SERVER.to_string();
        let ue = if from == server { to } else { from };
        *seen
            .entry(at.to_owned())
            .or_default()
            .entry(ue.to_owned())
            .or_default() += 1;
    }
    // It leaves while it is followed: N1, N2 and N4 have that.
    for at in ["N1", "N2", "N4"] {
        assert!(seen.contains_key(at), "{at}: {seen:?}");
    }
    // Both sessions, there and back, and not the other UE.
    for at in ["n3", "n6"] {
        let counts: Vec<u32> = seen[at].values().copied().collect();
        assert_eq!(counts, [2 * PINGS, 2 * PINGS], "{at}: {seen:?}\n{text}");
    }
}
