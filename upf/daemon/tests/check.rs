//! `sluice upf --check` from outside: exit codes, and what goes to which output.
#![forbid(unsafe_code)]

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output};
use tempfile::NamedTempFile;

const EXAMPLE: &str = include_str!("../../../docs/upf.yaml");

/// A file that needs nothing of the machine.
const SMALL: &str = "\
control_socket: /tmp/sluice-check.ctl
n4: {listen: '127.0.0.1:8899', peers: 127.0.0.2}
dpdk: {memory_mb: 64, mbufs: 8191}
limits: {sessions: 64}
ports: [{name: p0, device: net_null0}, {name: p1, device: net_null1}]
interfaces:
- {name: n3, port: p0, addresses: 198.51.100.1/24, n3: {}}
- {name: n6, port: p1, addresses: 203.0.113.2/24, gateway: 203.0.113.1, n6: {network_instance: core}}
pools: [{network_instance: core, prefix: 10.45.0.0/24}]
";

fn check_machine(text: &str) -> (Option<i32>, String, String) {
    let file = file(text);
    run(&["-c", file.path().to_str().expect("UTF-8"), "--check"])
}

fn upf(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sluice-upf"))
        .args(arguments)
        .env_remove("SLUICE_LOG")
        .output()
        .expect("the binary runs")
}

/// Exit code, standard output, standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = upf(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".yaml").expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room for it");
    file
}

fn check(text: &str, more: &[&str]) -> (String, (Option<i32>, String, String)) {
    let file = file(text);
    let name = file.path().to_str().expect("UTF-8").to_owned();
    let arguments = [&["-c", &name, "--check=file"], more].concat();
    let result = run(&arguments);
    (name, result)
}

#[test]
fn a_good_file_ends_with_0_and_a_summary_on_standard_output() {
    let (name, (code, out, err)) = check(EXAMPLE, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out.lines().next(), Some(format!("{name}: ok").as_str()));
    assert!(out.contains("upf1.example.org on 192.0.2.10:8805"), "{out}");
}

#[test]
fn a_bad_file_ends_with_2_and_every_problem_on_standard_error() {
    let bad = EXAMPLE
        .replace("heartbeat_s: 10 ", "heartbeat_s: ten ")
        .replace("gateway: [203.0.113.1,", "gateway: [192.0.2.1,");
    let (name, (code, out, err)) = check(&bad, &[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    let line = |text: &str| bad.lines().position(|l| l.contains(text)).expect("there") + 1;
    let expected = [
        format!(
            "{name}:{}: n4.heartbeat_s: got 'ten'; \
             expected a whole number of seconds from 0 to 3600",
            line("heartbeat_s: ten")
        ),
        format!(
            "{name}:{}: interfaces[1].gateway[0]: 192.0.2.1 is not on the link; \
             expected an address in 203.0.113.0/24",
            line("gateway: [192.0.2.1,")
        ),
    ];
    assert_eq!(err.lines().collect::<Vec<_>>(), expected);
}

/// The example's interfaces, address and driver are not here: each is told of, and the exit code is 3.
#[test]
fn what_this_machine_lacks_is_told_line_by_line() {
    let example = EXAMPLE
        .replace(
            "net_af_packet0,iface=eth1",
            "net_af_packet0,iface=sluice-none",
        )
        .replace("net_af_packet1,iface=eth2", "0000:fe:1f.7")
        + "\n";
    let file = file(&example);
    let name = file.path().to_str().expect("UTF-8");
    let (code, out, err) = run(&["-c", name, "--check"]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    for told in [
        "ports[0].device: this machine has no network interface 'sluice-none'; expected one that",
        "ports[1].device: this machine has no PCI device 0000:fe:1f.7; expected one that",
        "n4.listen[0]: 192.0.2.10:8805 cannot be listened on: ",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
    let (code, out, _) = run(&["-c", name, "--check", "--json"]);
    assert_eq!(code, Some(3));
    let object: Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!(object["ok"], false);
    assert!(
        object["problems"]
            .as_array()
            .is_some_and(|all| all.len() >= 3)
    );
}

#[test]
fn what_is_there_is_not_complained_of() {
    let text = SMALL.replace("net_null1", "net_nul1");
    let (code, _, err) = check_machine(&text);
    assert_eq!(code, Some(3), "{err}");
    let told = "ports[1].device: DPDK has no driver for net_nul1; expected a device";
    assert!(
        err.lines()
            .filter(|line| line.contains(": expected") || line.contains("; expected"))
            .count()
            == 1,
        "{err}"
    );
    assert!(err.contains(told), "{err}");
    let (code, out, err) = check_machine(SMALL);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(": ok"), "{out}");
}

#[test]
fn what_virtual_devices_need_beside_a_driver_is_told() {
    let xdp = SMALL
        .replace("net_null0", "'net_af_xdp0,iface=lo'")
        .replace("mbufs: 8191", "mbufs: 8191, huge_pages: never");
    let (code, _, err) = check_machine(&xdp);
    assert_eq!(code, Some(3), "{err}");
    let told = "ports[0].device: XDP sockets need 64 MiB of huge pages";
    assert!(err.contains(told), "{err}");
    let device = "'net_memif0,role=client,socket=/nowhere/memif.sock'";
    let (code, _, err) = check_machine(&SMALL.replace("net_null0", device));
    assert_eq!(code, Some(0), "its server may come later: {err}");
    let told = "ports[0].device: no memif server has made the socket /nowhere/memif.sock yet";
    assert!(err.contains("warning: ") && err.contains(told), "{err}");
}

#[test]
fn json_is_one_object_alone_on_standard_output() {
    let (name, (code, out, err)) = check(EXAMPLE, &["--json"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let object: Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!(object["ok"], true);
    assert_eq!(object["file"], name);
    assert_eq!(object["summary"]["n4"]["node_id"], "upf1.example.org");
    assert_eq!(object["summary"]["pools"][0]["prefix"], "10.45.0.0/16");

    let (_, (code, out, err)) = check("n4: {}\n", &["--json"]);
    assert_eq!(code, Some(2));
    let object: Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!(object["ok"], false);
    let problems = object["problems"].as_array().expect("a list");
    assert_eq!(problems.len(), err.lines().count());
    assert!(
        problems
            .iter()
            .any(|p| p["key"] == "n4.listen" && p["line"] == 1)
    );
}

#[test]
fn warnings_go_to_standard_error_and_do_not_fail() {
    let without_peers = EXAMPLE.replace("  peers: [192.0.2.20, 192.0.2.64/28]\n", "");
    let (name, (code, out, err)) = check(&without_peers, &["--json"]);
    assert_eq!(code, Some(0));
    let object: Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!(object["warnings"][0]["key"], "n4.peers");
    assert!(err.starts_with(&format!("warning: {name}:")), "{err}");
}

/// A text of the example, what stands there instead, the key and words of what was expected.
const MISTAKES: &[[&str; 4]] = &[
    [
        "tx_queues: auto ",
        "tx_queues: many ",
        "ports[0].tx_queues",
        "auto or a whole number",
    ],
    [
        "mtu: 1544 ",
        "mut: 1544 ",
        "ports[0].mut",
        "one of name, device",
    ],
    ["name: p1", "name: p0", "ports[1].name", "another one"],
    [
        "iface=eth2",
        "iface=eth1",
        "ports[1].device",
        "one port with several roles",
    ],
    [
        "- name: internet\n    port: p1",
        "- name: internet\n    port: p9",
        "interfaces[1].port",
        "one of p0, p1",
    ],
    [
        "gateway: 198.51.100.254",
        "gateway: 10.9.9.9",
        "interfaces[0].gateway",
        "an address in 198.51.100.0/24",
    ],
    [
        "side: core",
        "side: left",
        "interfaces[0].n9[0].side",
        "access or core",
    ],
    [
        "prefix: 10.45.0.0/16",
        "prefix: 203.0.113.0/28",
        "pools[0].prefix",
        "addresses that no link has",
    ],
    ["count: auto ", "count: 64 ", "workers.count", "at most"],
    [
        "memory_mb: 512 ",
        "memory_mb: 64 ",
        "dpdk.memory_mb",
        "fewer mbufs",
    ],
    [
        "log: info ",
        "log: loud ",
        "log",
        "error, warn, info, debug or trace",
    ],
    [
        "control_socket: /run",
        "control_socket: run",
        "control_socket",
        "an absolute path",
    ],
];

#[test]
fn each_kind_of_mistake_is_named_with_its_line_and_key() {
    let without_comments = EXAMPLE.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with('#') => "\n".to_owned(),
        _ => format!("{line}\n"),
    });
    let good: String = without_comments.collect();
    for [old, new, key, expected] in MISTAKES {
        assert!(good.contains(old), "{old}");
        let bad = good.replacen(old, new, 1);
        let (name, (code, out, err)) = check(&bad, &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{new}: {err}");
        let mut words = err.lines().next().unwrap_or_default().splitn(3, ':');
        assert_eq!(words.next(), Some(name.as_str()), "{err}");
        let line: usize = words.next().and_then(|n| n.parse().ok()).expect("a line");
        let shown = bad.lines().nth(line - 1).expect("a line of the file");
        let last = key.rsplit('.').next().unwrap_or(key);
        assert!(shown.contains(&format!("{last}:")), "{err}{shown}");
        let rest = words.next().unwrap_or_default();
        assert!(rest.starts_with(&format!(" {key}: ")), "{key}: {err}");
        let (_, told) = rest.split_once("; expected ").expect("what was expected");
        assert!(told.contains(expected), "{expected}: {err}");
    }
}
