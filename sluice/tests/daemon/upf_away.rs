//! A UPF process under a core process: it is told to end, killed, and stays away, while UEs of `sluice ran` have sessions
//! (TS 23.527, 4.3; TS 29.244, 5.18). No step rests on how long another takes: files of the test and of the script are
//! their signals.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sluice::cli::args::CtlQuery;

use super::core_killed::{Core, K, OPC, Playing, a_few};
use super::kit::*;

/// For what has to wait for heartbeats, also where other tests have the processors.
const AT_LAST: Duration = Duration::from_secs(180);
/// Echoes of each UE at a time, and the octets of one as an IP packet.
const ECHOES: u64 = 5;
const ECHO_OCTETS: u64 = 20 + 8 + 1_000;
const UES: u64 = 2;

fn core(lab: &Lab, upf_return_s: u32) -> Core {
    core_with(lab, upf_return_s, "")
}

/// With further keys of the UPF.
fn core_with(lab: &Lab, upf_return_s: u32, of_upf: &str) -> Core {
    let records = lab.path("records.jsonl");
    let text = |socket: &Path| {
        format!(
            "control_socket: {}\nplmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
             n2: {{listen: {amf}, gnbs: 198.18.4.0/24}}\nn4: {{listen: {amf}, upf_return_s: {upf_return_s}}}\n\
             upfs: {{n4: {N4_UPF}{of_upf}}}\n\
             data_networks: {{name: internet, network_instance: core, ipv6: false, charging_octets: 1000000000}}\n\
             charging_records: {}\n{}",
            socket.display(),
            records.display(),
            a_few(),
            amf = N4_SMFS[0],
        )
    };
    Core::start_with(lab, text, "only")
}

fn upf(lab: &Lab) -> Daemon {
    upf_of(lab, Config::new())
}

fn upf_of(lab: &Lab, mut config: Config) -> Daemon {
    config.pools = vec!["network_instance: core, prefix: 10.60.0.0/24, allocate: true".to_owned()];
    Daemon::start(lab, &config)
}

/// Datagrams of N4 at the core: all, and those that went by rings.
fn datagrams(core: &Core) -> (u64, u64) {
    let n4 = core.ask(&CtlQuery::Counters)["n4"].clone();
    let of = |key: &str| n4[key].as_u64().unwrap();
    (of("sent") + of("received"), of("by_rings"))
}

/// A step that tells the test that the script has come so far, and waits for the test.
fn meet(lab: &Lab, here: &str, there: &str) -> String {
    let path = |name: &str| lab.path(name).display().to_string();
    format!(
        "  - run: {{command: 'touch {}; while [ ! -e {} ]; do sleep 0.1; done', timeout: 500s}}\n",
        path(here),
        path(there),
    )
}

/// Two UEs at a gNB, with these steps.
fn scenario(lab: &Lab, steps: &str) -> String {
    let (gnb, smf) = (lab.gnb.name(), lab.smf.name());
    format!(
        "gnbs: {{n3: {N3_GNB}, namespace: {gnb}, n2: {{amf: {}, local: {}, namespace: {smf}, plmn: '00101'}}}}\n\
         ues: {{count: {UES}, sim: {{k: {K}, opc: {OPC}, sessions: [{{dnn: internet, slice: 1, type: ipv4}}]}}}}\n\
         steps:\n  - attach:\n  - check: {{registered: {UES}, sessions: {UES}, attached: {UES}, within: 60s}}\n{steps}",
        N4_SMFS[0], N4_SMFS[1],
    )
}

fn echoes() -> String {
    let sent = UES * ECHOES;
    format!(
        "  - ping: {{to: {SERVER}, count: {ECHOES}, payload_bytes: 1000, wait: 20s}}\n  \
         - check: {{ping_sent: {sent}, ping_lost: 0}}\n"
    )
}

fn sessions(daemon: &Daemon) -> u64 {
    daemon.ask(&CtlQuery::Status)["sessions"].as_u64().unwrap()
}

/// Octets to and from UEs by the last record of each session.
fn billed(lab: &Lab) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(lab.path("records.jsonl")).unwrap_or_default();
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = records.filter(|record| record["is_last"] == true);
    let octets = |record: &Value, key: &str| record[key].as_u64().unwrap();
    last.map(|record| {
        (
            octets(&record, "downlink_octets"),
            octets(&record, "uplink_octets"),
        )
    })
    .collect()
}

fn end(lab: &Lab, core: &Core, ran: &mut Playing) {
    let (code, out, err) = ran.end();
    assert_eq!(code, Some(0), "{out}\n{err}\n{}", core.log());
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    eventually_within(AT_LAST, "each session has its last record", || {
        billed(lab).len() as u64 >= UES
    });
}

#[test]
fn sessions_come_back_with_a_upf_that_was_stopped_or_killed_and_what_a_stopped_one_counted_is_billed()
 {
    let Some(lab) = Lab::new("upfaway") else {
        return;
    };
    let mut daemon = upf(&lab);
    let core = core(&lab, 3_600);
    let steps = [
        echoes(),
        meet(&lab, "first", "stopped"),
        echoes(),
        meet(&lab, "second", "killed"),
        echoes(),
        format!(
            "  - check: {{registrations: {UES}, establishments: {UES}, sessions: {UES}, failures: 0, since: start}}\n  \
             - deregister: {{switch_off: true}}\n  - check: {{registered: 0, within: 60s}}\n"
        ),
    ];
    let mut ran = Playing::start(&lab, &scenario(&lab, &steps.concat()));
    // SIGTERM: the UPF reports what it has counted before it ends.
    ran.comes_to(&lab, "first");
    daemon.process.terminate();
    assert_eq!(daemon.wait().0, Some(0), "{}", daemon.log());
    drop(daemon);
    let mut daemon = upf(&lab);
    eventually_within(AT_LAST, "sessions are back after SIGTERM", || {
        sessions(&daemon) == UES
    });
    File::create(lab.path("stopped")).unwrap();
    // SIGKILL: what it has counted is lost with it.
    ran.comes_to(&lab, "second");
    daemon.process.kill();
    drop(daemon);
    let daemon = upf(&lab);
    eventually_within(AT_LAST, "sessions are back after SIGKILL", || {
        sessions(&daemon) == UES
    });
    File::create(lab.path("killed")).unwrap();
    end(&lab, &core, &mut ran);
    let counters = core.ask(&CtlQuery::Counters);
    assert_eq!(counters["smf"]["restored"], 2 * UES, "{counters:#}");
    // All of the first life and of the third one; kernels may have sent something of their own besides.
    let whole = 2 * ECHOES * ECHO_OCTETS;
    for (down, up) in billed(&lab) {
        assert!(down >= whole && up >= whole, "{down} {up} {whole}");
    }
    assert_eq!(daemon.ledger()["balances"], true);
}

#[test]
fn a_upf_that_stays_away_for_too_long_loses_its_sessions_and_ues_may_ask_anew() {
    let Some(lab) = Lab::new("upfgone") else {
        return;
    };
    let mut daemon = upf(&lab);
    let core = core(&lab, 1);
    let steps = [
        echoes(),
        meet(&lab, "first", "gone"),
        format!("  - check: {{attached: 0, registered: {UES}, within: 120s}}\n"),
        meet(&lab, "second", "back"),
        format!("  - establish:\n  - check: {{sessions: {UES}, attached: {UES}, within: 60s}}\n"),
        // Kernels learn where the new UPF is by what they send first, which may be lost.
        format!(
            "  - ping: {{to: {SERVER}, count: 1, wait: 5s}}\n  - check: {{ping_sent: {UES}}}\n"
        ),
        echoes(),
        "  - deregister: {switch_off: true}\n  - check: {registered: 0, within: 60s}\n".to_owned(),
    ];
    let mut ran = Playing::start(&lab, &scenario(&lab, &steps.concat()));
    ran.comes_to(&lab, "first");
    daemon.process.kill();
    drop(daemon);
    eventually_within(AT_LAST, "the core releases the sessions", || {
        billed(&lab).len() as u64 == UES
    });
    File::create(lab.path("gone")).unwrap();
    ran.comes_to(&lab, "second");
    let daemon = upf(&lab);
    eventually_within(AT_LAST, "the core is associated again", || {
        core.ask(&CtlQuery::Status)["upfs"][0]["associated"] == true
    });
    assert_eq!(sessions(&daemon), 0);
    File::create(lab.path("back")).unwrap();
    end(&lab, &core, &mut ran);
    eventually("no session is left", || sessions(&daemon) == 0);
    assert_eq!(billed(&lab).len() as u64, 2 * UES);
}

#[test]
fn n4_goes_by_rings_to_a_upf_that_gives_them_and_by_udp_while_they_are_gone() {
    let Some(lab) = Lab::new("upfrings") else {
        return;
    };
    let rings = lab.path("n4.sock");
    let upf = || upf_of(&lab, Config::new().n4("rings", rings.display()));
    let mut daemon = upf();
    let core = core_with(&lab, 3_600, &format!(", rings: {}", rings.display()));
    let says = |what: &str, times: usize| {
        eventually_within(AT_LAST, what, || core.log().matches(what).count() == times);
    };
    says("goes by rings", 1);
    let steps = [
        echoes(),
        meet(&lab, "first", "killed"),
        echoes(),
        "  - deregister: {switch_off: true}\n  - check: {registered: 0, within: 60s}\n".to_owned(),
    ];
    let mut ran = Playing::start(&lab, &scenario(&lab, &steps.concat()));
    ran.comes_to(&lab, "first");
    let (_, before) = datagrams(&core);
    // An establishment and a modification of each UE, with their answers.
    assert!(before >= 4 * UES, "{before} by rings");
    daemon.process.kill();
    drop(daemon);
    says("goes by UDP: its rings are gone", 1);
    let daemon = upf();
    says("goes by rings", 2);
    eventually_within(AT_LAST, "sessions are back", || sessions(&daemon) == UES);
    File::create(lab.path("killed")).unwrap();
    end(&lab, &core, &mut ran);
    let (_, after) = datagrams(&core);
    assert!(after > before, "{after} by rings after {before}");
    eventually("no session is left", || sessions(&daemon) == 0);
    assert_eq!(daemon.ledger()["balances"], true);
}
