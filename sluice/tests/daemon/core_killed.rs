//! The core is killed while UEs of `sluice ran` talk, and begins again with its contexts: UEs of a gNB that retains
//! them notice nothing, others are idle and come back (TS 38.413, 8.7.1; TS 23.527).

use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice::cli::core_args::CoreQuery;
use sluice::ctl;
use sluice_core_runtime::Node;
use sluice_host::process::Process;
use sluice_ids::{Plmn, Snssai, Tac};
use sluice_n2::{FromAmf, FromRan, Gnb, NgSetupRequest, PlmnSlices, SupportedArea};
use sluice_sctp::{
    AllowList, Carrier, Config as SctpConfig, Endpoint, Event, NGAP_PORT, NGAP_PPID, Peer,
    Sctp as _,
};
use tempfile::TempDir;

use super::kit::*;

pub(super) const K: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
pub(super) const OPC: &str = "cd63cb71954a9f4e48a5994e37a02baf";

/// A `sluice core` in the laboratory's namespace of N4.
pub(super) struct Core {
    process: Process,
    pub(super) socket: PathBuf,
    log: PathBuf,
}

impl Core {
    /// Starts it with the contexts in a folder and these subscribers, under a name of this life of it; when
    /// this returns, it serves.
    pub(super) fn start(lab: &Lab, contexts: &Path, subscribers: &str, life: &str) -> Self {
        let text = |socket: &Path| config(socket, contexts, subscribers);
        Self::start_with(lab, text, life)
    }

    /// The same with the text of a file that has this control socket.
    pub(super) fn start_with(lab: &Lab, text: impl Fn(&Path) -> String, life: &str) -> Self {
        let (socket, file) = (lab.path("core.ctl"), lab.path("core.yaml"));
        let log = lab.path(&format!("core-{life}.log"));
        std::fs::write(&file, text(&socket)).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let program = Path::new(SLUICE).with_file_name("sluice-core");
        let mut command = lab.smf.command(&program.to_string_lossy());
        command.arg("-c").arg(file).env_remove("SLUICE_LOG");
        let err = File::create(&log).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(err);
        let mut core = Self {
            process: Process::spawn(&mut command).unwrap(),
            socket,
            log,
        };
        eventually("the core answers", || {
            let ended = core.process.status();
            assert!(ended.is_none(), "the core ended:\n{}", core.log());
            ctl::ask(&core.socket, &CtlQuery::Status).is_ok()
        });
        core
    }

    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(super) fn ask(&self, query: &CtlQuery) -> Value {
        ctl::ask(&self.socket, query).unwrap_or_else(|e| panic!("{e}\n{}", self.log()))
    }

    /// UEs that are registered, and that are connected.
    fn ues(&self) -> (u64, u64) {
        let status = self.ask(&CtlQuery::Status);
        let number = |key: &str| status[key].as_u64().unwrap();
        (number("ues_registered"), number("ues_connected"))
    }
}

fn config(socket: &Path, contexts: &Path, subscribers: &str) -> String {
    format!(
        "control_socket: {}\nplmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
         n2: {{listen: {amf}, gnbs: 198.18.4.0/24}}\nn4: {{listen: {amf}}}\nupfs: {{n4: {N4_UPF}}}\n\
         data_networks: {{name: internet, network_instance: core, ipv6: false}}\n\
         contexts: {{folder: {}, most_mib: 256}}\n{subscribers}",
        socket.display(),
        contexts.display(),
        amf = N4_SMFS[0],
    )
}

/// Four subscribers in core.yaml itself.
pub(super) fn a_few() -> String {
    let subscriber = |n: u8| {
        format!("  - {{imsi: '00101{n:010}', k: {K}, opc: {OPC}, networks: {{name: internet}}}}\n")
    };
    let all: String = (1..=4).map(subscriber).collect();
    format!("subscribers:\n{all}")
}

/// Many in a database.
fn many(lab: &Lab, count: u32) -> String {
    let (file, csv) = (lab.path("subscribers.db"), lab.path("sims.csv"));
    let mut rows = "imsi,k,opc,dnn\n".to_owned();
    for number in 1..=count {
        writeln!(rows, "00101{number:010},{K},{OPC},internet").unwrap();
    }
    std::fs::write(&csv, rows).unwrap();
    let (file, csv) = (file.display().to_string(), csv.display().to_string());
    for last in [&["init"][..], &["import", &csv]] {
        let mut command = Command::new(SLUICE);
        command.args(["ctl", "subscribers", "--file", &file]);
        let output = command.args(last).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    format!("subscriber_database: {{file: {file}}}\n")
}

/// Two gNBs with two UEs each; one gNB retains its UEs.
fn scenario(lab: &Lab) -> String {
    let (gnb, smf) = (lab.gnb.name(), lab.smf.name());
    let second = Ipv4Addr::from_bits(N3_GNB.to_bits() + 1);
    let path = |name: &str| lab.path(name).display().to_string();
    let gnbs = |name: &str, n3: Ipv4Addr, n2: usize, more: &str| {
        format!(
            "  - {{name: {name}, n3: {n3}, namespace: {gnb}, n2: {{amf: {}, local: {}, namespace: {smf}, \
             plmn: '00101', sctp_port: {}, id: {n2}{more}}}}}\n",
            N4_SMFS[0],
            N4_SMFS[n2],
            38_500 + n2,
        )
    };
    let ues = |name: &str, first: u8| {
        format!(
            "  - {{name: {name}, count: 2, gnbs: {name}, imsi: '00101{first:010}', sim: {{k: {K}, opc: {OPC}, \
             sessions: [{{dnn: internet, slice: 1, type: ipv4}}]}}}}\n"
        )
    };
    let steps = format!(
        "  - attach:
  - check: {{registered: 4, connected: 4, sessions: 4, attached: 4, gnbs_up: 2, registrations: 4, within: 20s}}
  - ping: {{to: {SERVER}, wait: 5s}}
  - check: {{ping_sent: 20, ping_lost: 0}}
  - ping: {{ues: keeps, to: {SERVER}, count: 300, interval: 50ms, wait: 10s, background: true}}
  - wait: 500ms
  - run: {{command: 'touch {}'}}
  - run: {{command: 'while [ ! -e {} ]; do sleep 0.1; done', timeout: 100s}}
  - check: {{ping_sent: 600, ping_lost: 0, n2_lost: 2, gnbs_up: 2, registered: 4, connected: 2, attached: 2, within: 10s}}
  - run: {{ues: keeps, command: 'ping -q -c 3 -W 5 -I $UE_ADDRESS {SERVER}', timeout: 30s}}
  - run: {{namespace: {}, command: 'for n in 1 2 3 4 5 6 7 8 9; do ping -q -c 3 -W 10 10.60.0.$n & done; wait; true', timeout: 60s}}
  - check: {{connected: 4, attached: 4, pagings: at least 2, services: at least 2}}
  - ping: {{to: {SERVER}, wait: 5s}}
  - check: {{ping_sent: 20, ping_lost: 0}}
  - check: {{registrations: 4, failures: 0, refusals: 0, n2_errors: 0, drops_tun_refused: 0, since: start}}
  - run: {{command: 'touch {}; while [ ! -e {} ]; do sleep 0.1; done', timeout: 60s}}
",
        path("talk"),
        path("back"),
        lab.dn.name(),
        path("done"),
        path("seen"),
    );
    format!(
        "gnbs:\n{}{}ues:\n{}{}steps:\n{steps}",
        gnbs("keeps", N3_GNB, 1, ", retains_ues: true"),
        gnbs("loses", second, 2, ""),
        ues("keeps", 1),
        ues("loses", 3),
    )
}

/// `sluice ran` while it plays; a failed test leaves none behind.
pub(super) struct Playing(Option<Child>);

impl Playing {
    pub(super) fn start(lab: &Lab, scenario: &str) -> Self {
        let file = lab.path("killed.yaml");
        std::fs::write(&file, scenario).unwrap();
        let mut command = Command::new(SLUICE);
        command.args(["ran", "--json", "--once", "-c"]).arg(&file);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap()))
    }

    /// Waits until the script has made a file.
    pub(super) fn comes_to(&mut self, lab: &Lab, name: &str) {
        for _ in 0..12_000 {
            if lab.path(name).exists() {
                return;
            }
            let ended = self.0.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{:#?}", self.end());
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the script did not come to {name}");
    }

    pub(super) fn end(&mut self) -> (Option<i32>, String, String) {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn ues_of_a_gnb_that_retains_them_lose_no_packet_and_others_come_back_when_the_core_is_killed() {
    let Some(lab) = Lab::new("corekill") else {
        return;
    };
    let second = Ipv4Addr::from_bits(N3_GNB.to_bits() + 1);
    lab.n3.a().add_address(second, 24).unwrap();
    let mut config = Config::new();
    config.pools = vec!["network_instance: core, prefix: 10.60.0.0/24, allocate: true".to_owned()];
    let daemon = Daemon::start(&lab, &config);
    let memory = TempDir::new_in("/dev/shm").unwrap();
    let contexts = memory.path().join("contexts");
    let mut core = Core::start(&lab, &contexts, &a_few(), "first");
    let mut ran = Playing::start(&lab, &scenario(&lab));
    ran.comes_to(&lab, "talk");
    assert_eq!(core.ues(), (4, 4));
    // SIGKILL.
    core.process.kill();
    std::thread::sleep(Duration::from_secs(1));
    let core = Core::start(&lab, &contexts, &a_few(), "second");
    assert_eq!(core.ues().0, 4, "{}", core.log());
    eventually("both gNBs are back, one with its UEs", || {
        core.ask(&CtlQuery::Status)["gnbs"] == 2 && core.ues() == (4, 2)
    });
    File::create(lab.path("back")).unwrap();
    ran.comes_to(&lab, "done");
    let counters = core.ask(&CtlQuery::Counters);
    assert_eq!(counters["amf"]["registrations"], 0, "{counters:#}");
    assert_eq!(core.ues(), (4, 4));
    assert_eq!(daemon.ask(&CtlQuery::Status)["sessions"], 4);
    File::create(lab.path("seen")).unwrap();
    let (code, out, err) = ran.end();
    assert_eq!(code, Some(0), "{out}\n{err}\n{}", core.log());
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    eventually("all have left", || core.ues() == (0, 0));
    eventually("no session is left", || {
        daemon.ask(&CtlQuery::Status)["sessions"] == 0
    });
}

/// One gNB with many UEs, a session each; half of them are idle.
fn crowd(lab: &Lab, count: u32) -> String {
    let (gnb, smf) = (lab.gnb.name(), lab.smf.name());
    let path = |name: &str| lab.path(name).display().to_string();
    let half = count / 2;
    format!(
        "gnbs: {{n3: {N3_GNB}, namespace: {gnb}, n2: {{amf: {}, local: {}, namespace: {smf}, plmn: '00101'}}}}
ues: {{count: {count}, sim: {{k: {K}, opc: {OPC}, devices: false, sessions: [{{dnn: internet, slice: 1, type: ipv4}}]}}}}
steps:
  - attach: {{rate: 150}}
  - check: {{registered: {count}, connected: {count}, sessions: {count}, failures: 0, within: 60s}}
  - idle: {{ues: 1-{half}, rate: 300}}
  - check: {{connected: {}, failures: 0, within: 60s}}
  - run: {{command: 'touch {}; while [ ! -e {} ]; do sleep 0.1; done', timeout: 300s}}
  - check: {{gnbs_up: 1, n2_lost: 1, registered: {count}, connected: 0, within: 60s}}
  - run: {{command: 'touch {}'}}
  - check: {{connected: {}, services: at least {}, pagings: at least {}, failures: 0, within: 300s}}
  - service: {{ues: 1-{half}, rate: 150}}
  - check: {{connected: {count}, services: {half}, failures: 0, within: 60s}}
  - check: {{registrations: {count}, establishments: {count}, refusals: 0, failures: 0, since: start}}
  - run: {{command: 'touch {}; while [ ! -e {} ]; do sleep 0.1; done', timeout: 60s}}
  - deregister: {{rate: 300, switch_off: true}}
  - check: {{registered: 0, within: 60s}}
",
        N4_SMFS[0],
        N4_SMFS[1],
        count - half,
        path("talk"),
        path("back"),
        path("idle"),
        count - half,
        count - half,
        count - half,
        path("done"),
        path("seen"),
    )
}

/// How long a core that was started at a time takes until it has answered the NG Setup of a gNB of ours.
fn accepts_n2(lab: &Lab, started: Instant) -> Duration {
    let all = AllowList::new(vec!["0.0.0.0/0".parse().unwrap()]);
    let carrier = Carrier::ip(lab.smf.ns(), N4_SMFS[2].into()).unwrap();
    let mut node = Node::new(
        Endpoint::open(SctpConfig::new(38_600, all)).unwrap(),
        carrier,
    );
    let peer = Peer {
        address: N4_SMFS[0].into(),
        udp_port: 0,
    };
    let plmn = Plmn::new("001", "01").unwrap();
    let plmns = vec![PlmnSlices {
        plmn,
        slices: vec![Snssai::new(1, None)],
    }];
    let tac = Tac([0, 0, 1]);
    let request = FromRan::NgSetupRequest(NgSetupRequest {
        gnb: Gnb {
            plmn,
            id: 99,
            bits: 24,
        },
        name: None,
        areas: vec![SupportedArea { tac, plmns }],
        retains_ues: false,
    });
    let association = node.sctp.connect(peer, NGAP_PORT).unwrap();
    node.flush();
    while started.elapsed() < SOON {
        for event in node.turn(Duration::from_millis(1)).unwrap() {
            match event {
                Event::Up { .. } => {
                    let octets = request.encode();
                    node.sctp.send(association, 0, NGAP_PPID, &octets).unwrap();
                    node.flush();
                }
                Event::Message { octets, .. } => {
                    let answer = FromAmf::decode(&octets);
                    assert!(matches!(answer, Ok(FromAmf::NgSetupResponse(_))));
                    let took = started.elapsed();
                    node.close();
                    return took;
                }
                Event::Lost { why, .. } => panic!("{why:?}"),
            }
        }
    }
    panic!("N2 is not accepted");
}

/// Sends a packet to the UEs of these numbers, one after the other.
fn call(lab: &Lab, core: &Core, numbers: impl Iterator<Item = u32>) {
    let socket = lab.dn.ns().run(|| UdpSocket::bind((SERVER, 0))).unwrap();
    let socket = socket.unwrap();
    for number in numbers {
        let imsi = format!("00101{number:010}");
        let told = core.ask(&CtlQuery::Core(CoreQuery::Ue { imsi }));
        let address = told["ue"]["sessions"][0]["addresses"][0].as_str();
        let address = address.unwrap_or_else(|| panic!("{told:#}"));
        let address: Ipv4Addr = address.parse().unwrap();
        socket.send_to(b"come", (address, 9)).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn many_ues_come_back_by_service_request_or_paging_after_the_core_was_killed() {
    let Some(lab) = Lab::new("coremany") else {
        return;
    };
    let count: u32 = std::env::var("SLUICE_RAN_UES").map_or(200, |text| text.parse().unwrap());
    let route = format!("route add 10.60.0.0/16 via {N6_UPF} dev n6\n");
    lab.dn.ip_batch(&route).unwrap();
    let mut config = Config::new();
    config.pools = vec!["network_instance: core, prefix: 10.60.0.0/16, allocate: true".to_owned()];
    config.limits = "sessions: 16384".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let memory = TempDir::new_in("/dev/shm").unwrap();
    let contexts = memory.path().join("contexts");
    let subscribers = many(&lab, count);
    let mut core = Core::start(&lab, &contexts, &subscribers, "first");
    let mut ran = Playing::start(&lab, &crowd(&lab, count));
    ran.comes_to(&lab, "talk");
    let half = u64::from(count / 2);
    assert_eq!(core.ues(), (count.into(), u64::from(count) - half));
    // SIGKILL.
    core.process.kill();
    let started = Instant::now();
    let core = Core::start(&lab, &contexts, &subscribers, "second");
    let took = accepts_n2(&lab, started);
    println!(
        "N2 is accepted {} ms after the start, with {count} UEs",
        took.as_millis()
    );
    assert_eq!(core.ues().0, u64::from(count), "{}", core.log());
    File::create(lab.path("back")).unwrap();
    // The gNB is back without its UEs, so they are idle.
    ran.comes_to(&lab, "idle");
    eventually("all are idle", || core.ues() == (count.into(), 0));
    call(&lab, &core, count / 2 + 1..=count);
    ran.comes_to(&lab, "done");
    assert_eq!(core.ues(), (count.into(), count.into()));
    let counters = core.ask(&CtlQuery::Counters);
    assert_eq!(counters["amf"]["registrations"], 0, "{counters:#}");
    assert_eq!(counters["smf"]["established"], 0, "{counters:#}");
    assert_eq!(counters["smf"]["restored"], 0, "{counters:#}");
    assert_eq!(daemon.ask(&CtlQuery::Status)["sessions"], count);
    File::create(lab.path("seen")).unwrap();
    let (code, out, err) = ran.end();
    assert_eq!(code, Some(0), "{out}\n{err}\n{}", core.log());
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["checks_failed"], 0, "{result:#}");
    eventually("no session is left", || {
        daemon.ask(&CtlQuery::Status)["sessions"] == 0
    });
}
