//! Core and UPF in one process: they associate, no datagram of theirs passes the kernel, both answer, and
//! one signal ends both in order.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use sluice_host::env_check::{self, Need};
use sluice_host::netns::Netns;
use sluice_host::process::Process;
use sluice_program::ask::ask_for;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// Heartbeats go by in this time.
const A_WHILE: Duration = Duration::from_secs(3);

const BOX: &str = env!("CARGO_BIN_EXE_sluice-box");

struct Files {
    dir: TempDir,
}

impl Files {
    fn new(upf_address: &str) -> Self {
        let this = Self {
            dir: TempDir::with_prefix("sluice-box-").unwrap(),
        };
        let (core, upf) = (this.path("core.sock"), this.path("upf.sock"));
        this.write(
            "core.yaml",
            &format!(
                "control_socket: {}\nplmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
                 n2: {{listen: 127.0.0.5, over: udp, gnbs: 127.0.0.0/8}}\n\
                 n4: {{listen: 127.0.0.6}}\n\
                 upfs: {{n4: {upf_address}}}\ndata_networks: {{name: internet}}\n",
                core.display()
            ),
        );
        this.write(
            "upf.yaml",
            &format!(
                "control_socket: {}\nn4: {{listen: 127.0.0.7, peers: 127.0.0.6, heartbeat_s: 1}}\n\
                 dpdk: {{memory_mb: 128, mbufs: 16383, huge_pages: never}}\nlimits: {{sessions: 64}}\n\
                 metrics: {{listen: none}}\n\
                 ports:\n  - {{name: n3, device: net_null0}}\n  - {{name: n6, device: net_null1}}\n\
                 interfaces:\n  - {{name: n3, port: n3, addresses: 192.0.2.1/24, n3: {{}}}}\n  \
                 - {{name: n6, port: n6, addresses: 198.51.100.1/24, gateway: 198.51.100.2, \
                 n6: {{network_instance: internet}}}}\n\
                 pools:\n  - {{network_instance: internet, prefix: 10.45.0.0/16, allocate: true}}\n",
                upf.display()
            ),
        );
        this
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        let owner_alone = fs::Permissions::from_mode(0o600);
        fs::set_permissions(self.path(name), owner_alone).unwrap();
    }

    fn arguments(&self, command: &mut Command) {
        command
            .arg("-c")
            .arg(self.path("core.yaml"))
            .arg("-u")
            .arg(self.path("upf.yaml"))
            .env_remove("SLUICE_LOG")
            .stdin(Stdio::null());
    }
}

fn log(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// UDP datagrams that the kernel of the namespace has delivered.
fn datagrams(ns: &Netns) -> u64 {
    let mut command = ns.command("cat");
    let output = command.arg("/proc/net/snmp").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut of_udp = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    // Behind the line of names.
    let numbers = of_udp.nth(1).unwrap().split(' ').next().unwrap();
    numbers.parse().unwrap()
}

#[test]
fn core_and_upf_associate_without_a_socket_and_end_together() {
    if let Some(lack) = env_check::missing(&[Need::NetworkAdmin, Need::Tool("ip")]).first() {
        println!("skipped: needs root ({lack})");
        return;
    }
    let ns = Netns::create("box").unwrap();
    let files = Files::new("127.0.0.7");
    let mut command = ns.command(BOX);
    files.arguments(&mut command);
    let said = files.path("log");
    let err = File::create(&said).unwrap();
    command.stdout(err.try_clone().unwrap()).stderr(err);
    let mut process = Process::spawn(&mut command).unwrap();
    let until = Instant::now() + SOON;
    let is_up = |process: &mut Process| {
        assert_eq!(process.status(), None, "{}", log(&said));
        assert!(Instant::now() < until, "{}", log(&said));
        let status = ask_for(&files.path("core.sock"), "status");
        status.is_ok_and(|status| status["upfs"][0]["associated"] == true)
    };
    while !is_up(&mut process) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let peers = ask_for(&files.path("upf.sock"), "peers").unwrap();
    assert!(peers.to_string().contains("127.0.0.6"), "{peers}");
    std::thread::sleep(A_WHILE);
    let counters = ask_for(&files.path("core.sock"), "counters").unwrap();
    let received = counters["n4"]["received"].as_u64().unwrap();
    assert!(received >= 2, "the association and heartbeats: {counters}");
    assert_eq!(datagrams(&ns), 0, "all of them came by the ring");
    process.terminate();
    let status = process
        .wait(SOON)
        .unwrap_or_else(|| panic!("still there:\n{}", log(&said)));
    assert_eq!(status.code(), Some(0), "{}", log(&said));
    assert!(!files.path("core.sock").exists() && !files.path("upf.sock").exists());
}

#[test]
fn files_that_do_not_name_each_other_are_refused() {
    let files = Files::new("127.0.0.9");
    for check in [&["--check=file"][..], &[]] {
        let mut command = Command::new(BOX);
        files.arguments(&mut command);
        let output = command.args(check).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = "core.yaml: upfs: none of them is this UPF; expected for one of them n4: 127.0.0.7:8805";
        assert!(said.contains(expected), "{said}");
    }
    let files = Files::new("127.0.0.7");
    let mut command = Command::new(BOX);
    files.arguments(&mut command);
    let output = command.arg("--check=file").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
