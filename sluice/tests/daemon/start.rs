//! What the daemon says when it cannot start: exit code, file, line, key and what was expected.

use super::kit::*;
use sluice_host::tool;
use std::process::Command;

/// A change to the file, the exit code, and words of the message in their order.
struct Case {
    name: &'static str,
    change: fn(&mut Config),
    words: &'static [&'static str],
}

const CASES: [Case; 9] = [
    Case {
        name: "missing-interface",
        change: |c| c.ports[0] = "name: n3, device: 'net_af_packet0,iface=nope'".to_owned(),
        words: &[
            ":6: ports[0].device: ",
            "no network interface 'nope'",
            "; expected one that",
        ],
    },
    Case {
        name: "missing-interface-xdp",
        change: |c| c.ports[1] = "name: n6, device: 'net_af_xdp0,iface=eth77'".to_owned(),
        words: &[
            ":7: ports[1].device: ",
            "no network interface 'eth77'",
            "; expected one that",
        ],
    },
    Case {
        name: "bad-argument",
        change: |c| c.ports[1] = "name: n6, device: 'net_af_packet1,iface=n6,speed=9'".to_owned(),
        words: &[
            ":7: ports[1].device: ",
            "iface=n6,speed=9",
            "; expected a device that is there",
        ],
    },
    Case {
        name: "no-argument",
        change: |c| c.ports[0] = "name: n3, device: net_af_packet0".to_owned(),
        words: &[
            ":6: ports[0].device: ",
            "net_af_packet0",
            "cannot be attached",
        ],
    },
    Case {
        name: "no-driver",
        change: |c| c.ports[0] = "name: n3, device: 'net_nosuch0,iface=n3'".to_owned(),
        words: &[":6: ports[0].device: ", "net_nosuch0", "cannot be attached"],
    },
    Case {
        name: "no-pci-device",
        change: |c| c.ports[0] = "name: n3, device: '0000:ff:1f.7'".to_owned(),
        words: &[":6: ports[0].device: ", "0000:ff:1f.7", "No such device"],
    },
    Case {
        name: "no-n4-address",
        change: |c| c.n4 = "listen: [198.18.4.1, 192.0.2.77], peers: 198.18.4.2".to_owned(),
        words: &[
            ":2: n4.listen[1]: ",
            "192.0.2.77:8805",
            "; expected an address of this machine",
        ],
    },
    Case {
        name: "no-folder",
        change: |c| c.socket = Some("/proc/sluice/upf.sock".to_owned()),
        words: &[
            ": control_socket: ",
            "/proc/sluice/upf.sock",
            "; expected a path of its own",
        ],
    },
    Case {
        name: "no-memory",
        // A terabyte: whoever else has huge pages here has fewer.
        change: |c| c.dpdk = "memory_mb: 1048576, mbufs: 16383, huge_pages: required".to_owned(),
        words: &["starting DPDK: ", "huge pages", "vm.nr_hugepages"],
    },
];

#[test]
fn what_this_machine_lacks_is_named_with_its_line() {
    let Some(lab) = Lab::new("start") else { return };
    for case in &CASES {
        let mut config = Config::new();
        (case.change)(&mut config);
        let mut daemon = Daemon::spawn(&lab, case.name, &config);
        let (code, _) = daemon.wait();
        let log = daemon.log();
        assert_eq!(code, Some(3), "{}:\n{log}", case.name);
        let line = log.lines().last().unwrap();
        let mut rest = line.strip_prefix("sluice upf: ").expect(line);
        for word in case.words {
            let at = rest
                .find(word)
                .unwrap_or_else(|| panic!("{word} is not in: {line}"));
            rest = &rest[at + word.len()..];
        }
        let left = config.socket.is_none() && daemon.socket.exists();
        assert!(!left, "{}: the socket is still there", case.name);
    }
}

#[test]
fn a_second_daemon_is_refused_and_the_first_goes_on() {
    let Some(lab) = Lab::new("twice") else { return };
    let first = Daemon::start(&lab, &Config::new());
    let socket = first.socket.to_str().unwrap().to_owned();
    let mut again = Config::new();
    again.socket = Some(socket.clone());
    again.ports[0] = "name: n3, device: net_null0".to_owned();
    again.ports[1] = "name: n6, device: net_null1".to_owned();
    let mut same_socket = Daemon::spawn(&lab, "same-socket", &again);
    assert_eq!(same_socket.wait().0, Some(3));
    let log = same_socket.log();
    let words = format!("control_socket: {socket} cannot be used: another daemon answers");
    assert!(log.contains(&words), "{log}");
    // Another socket, but the same interfaces: both would get every packet.
    let mut same_ports = Daemon::spawn(&lab, "same-ports", &Config::new());
    assert_eq!(same_ports.wait().0, Some(3));
    let log = same_ports.log();
    let is_there =
        log.contains(":6: ports[0].device: ") && log.contains(" is used by another UPF, process ");
    assert!(is_there, "{log}");
    // Another socket and other ports, but the same address on N4.
    let mut other = Config::new();
    other.ports[0] = "name: n3, device: net_null0".to_owned();
    other.ports[1] = "name: n6, device: net_null1".to_owned();
    let mut same_n4 = Daemon::spawn(&lab, "same-n4", &other);
    assert_eq!(same_n4.wait().0, Some(3));
    let log = same_n4.log();
    for word in [
        ":2: n4.listen[0]: ",
        "198.18.4.1:8805",
        "in use",
        "no other program",
    ] {
        assert!(log.contains(word), "{word}: {log}");
    }
    assert!(!same_n4.socket.exists());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 3, 84), 3);
}

#[test]
fn a_file_in_place_of_the_socket_is_left_alone() {
    let Some(lab) = Lab::new("file") else { return };
    let path = lab.path("upf.sock");
    std::fs::write(&path, "precious").unwrap();
    let mut daemon = Daemon::spawn(&lab, "upf", &Config::new());
    assert_eq!(daemon.wait().0, Some(3));
    let log = daemon.log();
    assert!(
        log.contains("there is something that is no socket"),
        "{log}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_bad_file_ends_with_2_before_anything_is_opened() {
    let Some(lab) = Lab::new("badfile") else {
        return;
    };
    let mut config = Config::new();
    config.ports[0].push_str(", mtu: big");
    let mut daemon = Daemon::spawn(&lab, "upf", &config);
    assert_eq!(daemon.wait().0, Some(2));
    let log = daemon.log();
    let words = "upf.yaml:6: ports[0].mtu: got 'big'; expected auto or a whole number of bytes";
    assert!(log.contains(words), "{log}");
    assert!(!daemon.socket.exists());
}

#[test]
fn without_rights_the_capability_is_named() {
    let Some(lab) = Lab::new("norights") else {
        return;
    };
    if !tool::is_installed("setpriv") {
        println!("skipped: needs setpriv");
        return;
    }
    let file = lab.path("upf.yaml");
    let text = Config::new().text(&lab.path("upf.sock"));
    std::fs::write(&file, text).unwrap();
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", SLUICE])
        .args(["upf", "-c"])
        .arg(&file)
        .env_remove("SLUICE_LOG")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let words = "packet sockets need CAP_NET_RAW: run as root (sudo)";
    assert!(
        said.contains(":6: ports[0].device: ") && said.contains(words),
        "{said}"
    );
}
