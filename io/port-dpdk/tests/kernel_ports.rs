//! Ports on kernel interfaces: the kernel pings, the port answers.
//!
//! Each test runs in a network namespace of its own, which ends with it.

mod common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::*;
use sluice_port::{Burst, LinkState, Packet, PortIo};
use sluice_port_dpdk::devargs::PacketRings;
use sluice_port_dpdk::*;

/// The address that only the port answers for; the kernel has 10.9.0.1 on the peer.
const OUR_ADDRESS: [u8; 4] = [10, 9, 0, 2];

#[test]
fn the_kernel_pings_the_port() {
    in_namespace("the_kernel_pings_the_port", || {
        veth(1500);
        let pool = pool(16_383);
        let port = open(&pool, 1);
        assert_eq!(port.driver(), "net_af_packet");
        let mut io = worker(&pool, &port);
        answer_while(
            &mut io,
            ping(&["-c", "50", "-i", "0.01", "-s", "1472", "-M", "do"]),
        );
        let stats = port.stats().unwrap();
        assert!(
            stats.rx_packets >= 51 && stats.tx_packets >= 51,
            "{stats:?}"
        );
        drop((io, port));
        assert_eq!(pool.available(), pool.packets());
    });
}

#[test]
fn frames_of_the_largest_size_pass() {
    in_namespace("frames_of_the_largest_size_pass", || {
        let mtu = devargs::AF_PACKET_MAX_FRAME_BYTES - 14;
        veth(mtu);
        let pool = pool(16_383);
        let port = open(&pool, 1);
        let mut io = worker(&pool, &port);
        let payload = (mtu - 28).to_string();
        answer_while(
            &mut io,
            ping(&["-c", "10", "-i", "0.01", "-s", &payload, "-M", "do"]),
        );
    });
}

#[test]
fn jumbo_frames_pass_in_buffers_made_for_them() {
    in_namespace("jumbo_frames_pass_in_buffers_made_for_them", || {
        veth(9000);
        let config = PoolConfig {
            packets: 4095,
            data_room_bytes: Some(9400),
            numa_node: None,
        };
        let pool = MbufPool::create(&eal(), config).unwrap();
        let max_frame_bytes = 9014;
        let rings = PacketRings {
            max_frame_bytes,
            ..PacketRings::new(1)
        };
        let devargs = devargs::af_packet_with(0, "n3", rings);
        let port = Port::open(&pool, &PortConfig::new("n3", devargs)).unwrap();
        let mut io = worker(&pool, &port);
        answer_while(
            &mut io,
            ping(&["-c", "10", "-i", "0.01", "-s", "8972", "-M", "do"]),
        );
    });
}

#[test]
fn fragments_come_as_they_were_sent_and_a_full_ring_is_told_of() {
    in_namespace(
        "fragments_come_as_they_were_sent_and_a_full_ring_is_told_of",
        || {
            veth(1500);
            let pool = pool(16_383);
            for queues in [1, 2] {
                let port = open(&pool, queues);
                let mut io = worker(&pool, &port);
                if queues == 2 {
                    io.attach_rx(port.rx_queue(1).unwrap()).unwrap();
                }
                let mac = port
                    .info(PORT)
                    .mac
                    .map(|byte| format!("{byte:02x}"))
                    .join(":");
                ip(&["neigh", "replace", "10.9.0.2", "lladdr", &mac, "dev", "gnb"]);
                // 14 pieces of an echo request each; nobody answers.
                let mut ping = ping(&["-c", "3", "-i", "0.01", "-W", "0.1", "-s", "20000"]);
                let (mut pieces, mut received) = (0, Burst::new());
                let deadline = Instant::now() + Duration::from_secs(20);
                while pieces < 42 && Instant::now() < deadline {
                    for queue in 0..queues {
                        io.rx(PORT, sluice_port::QueueId(queue), &mut received, 32);
                    }
                    for packet in received.drain() {
                        let ip = packet.data().get(12..14) == Some(&[8, 0]);
                        pieces += u32::from(ip && packet.len() <= 1514);
                        packet.free();
                    }
                }
                ping.wait().unwrap();
                assert_eq!(pieces, 42, "by {queues} queues");
                assert_eq!(port.stats().unwrap().rx_missed, 0);
                // More than the slots of all queues, and nobody takes them.
                for _ in 0..5 {
                    flood(2000);
                }
                assert!(port.stats().unwrap().rx_missed >= 10_000 - 2 * 2048 - 64);
                let again = port.stats().unwrap().rx_missed;
                assert_eq!(again, port.stats().unwrap().rx_missed);
            }
        },
    );
}

/// Sends this many datagrams to the port.
fn flood(datagrams: u32) {
    let socket = std::net::UdpSocket::bind("10.9.0.1:0").expect("a socket");
    for _ in 0..datagrams {
        socket
            .send_to(&[0; 100], "10.9.0.2:9")
            .expect("the link takes it");
    }
}

#[test]
fn two_queues_share_the_frames() {
    in_namespace("two_queues_share_the_frames", || {
        veth(1500);
        let pool = pool(16_383);
        let port = open(&pool, 2);
        let info = port.info(PORT);
        assert_eq!((info.rx_queues, info.tx_queues), (2, 2));
        let mut io = worker(&pool, &port);
        io.attach_rx(port.rx_queue(1).unwrap()).unwrap();
        answer_while(&mut io, ping(&["-c", "20", "-i", "0.01"]));
    });
}

#[test]
fn a_tap_port_makes_an_interface_that_the_kernel_uses() {
    in_namespace("a_tap_port_makes_an_interface_that_the_kernel_uses", || {
        let pool = pool(16_383);
        let port = Port::open(&pool, &PortConfig::new("tap", devargs::tap(0, "n6"))).unwrap();
        let mut io = worker(&pool, &port);
        ip(&["link", "set", "n6", "up"]);
        ip(&["addr", "add", "10.9.0.1/24", "dev", "n6"]);
        // A tap device has one address for both its ends; ours must differ from the kernel's.
        let ping = ping(&["-c", "20", "-i", "0.01"]);
        answer_as(&mut io, [2, 0, 0, 0, 0, 9], ping);
    });
}

#[test]
fn the_mtu_the_link_and_promiscuity_are_the_interfaces() {
    in_namespace(
        "the_mtu_the_link_and_promiscuity_are_the_interfaces",
        || {
            veth(1500);
            let pool = pool(16_383);
            let mut config = PortConfig::new("n3", devargs::af_packet(0, "n3", 1));
            config.mtu_bytes = Some(1400);
            config.mac = Some([2, 0, 0, 0, 0, 9]);
            let port = Port::open(&pool, &config).unwrap();
            assert_eq!(
                (port.mtu_bytes(), port.info(PORT).mtu_bytes),
                (Ok(1400), 1400)
            );
            let link = ip(&["-d", "link", "show", "n3"]);
            assert!(link.contains("mtu 1400"), "{link}");
            assert!(
                link.contains("promiscuity 1"),
                "a foreign address needs it: {link}"
            );
            assert_eq!(port.link(), Ok(LinkState::Up));
            let counters = port.extended_stats().unwrap();
            assert!(
                counters.iter().any(|(name, _)| name == "rx_good_packets"),
                "{counters:?}"
            );
        },
    );
}

/// Runs `body` in a child of this test binary, in a fresh network namespace: the child comes
/// here again, with a mark in its environment. `test` is the name of the calling test.
fn in_namespace(test: &str, body: impl FnOnce()) {
    const MARK: &str = "SLUICE_TEST_IN_NAMESPACE";
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let Some(options) = UNSHARE_OPTIONS.iter().find(|options| can_unshare(options)) else {
        println!("skipped: this machine gives no network namespace without root");
        return;
    };
    let me = std::env::current_exe().expect("the test binary has a path");
    let mut child = Command::new("unshare");
    child
        .args(*options)
        .arg(me)
        .args(["--exact", test, "--nocapture"])
        .env(MARK, "1");
    let output = child.output().expect("unshare runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// As root, else as root of a user namespace, which many machines allow.
const UNSHARE_OPTIONS: [&[&str]; 2] = [&["--net"], &["--net", "--map-root-user"]];

fn can_unshare(options: &[&str]) -> bool {
    let probe = Command::new("unshare")
        .args(options)
        .arg("true")
        .stderr(Stdio::null())
        .status();
    probe.is_ok_and(|status| status.success())
}

/// A pair of interfaces: `gnb` is the kernel's, `n3` the port's.
fn veth(mtu: u32) {
    let mtu = mtu.to_string();
    let pair = [
        "link", "add", "n3", "mtu", &mtu, "type", "veth", "peer", "name", "gnb",
    ];
    ip(&pair);
    ip(&["link", "set", "gnb", "mtu", &mtu, "up"]);
    ip(&["link", "set", "n3", "up"]);
    ip(&["addr", "add", "10.9.0.1/24", "dev", "gnb"]);
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .expect("iproute2 is installed");
    assert!(output.status.success(), "ip {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn open(pool: &MbufPool, queues: u16) -> Port {
    let mut config = PortConfig::new("n3", devargs::af_packet(0, "n3", queues));
    (config.rx_queues, config.tx_queues) = (queues, queues);
    Port::open(pool, &config).expect("the port opens")
}

fn ping(arguments: &[&str]) -> Child {
    let mut ping = Command::new("ping");
    ping.args(["-q", "-W", "2"]).args(arguments).arg("10.9.0.2");
    ping.stdout(Stdio::null())
        .spawn()
        .expect("ping is installed")
}

/// Answers for [`OUR_ADDRESS`] until `ping` ends, which must have had all its answers.
fn answer_while(io: &mut DpdkIo, ping: Child) {
    let mac = io.ports()[0].mac;
    answer_as(io, mac, ping);
}

fn answer_as(io: &mut DpdkIo, mac: [u8; 6], mut ping: Child) {
    let queues = io.ports()[0].rx_queues;
    let deadline = Instant::now() + Duration::from_secs(20);
    let (mut received, mut answers) = (Burst::new(), Burst::new());
    loop {
        for queue in 0..queues {
            io.rx(PORT, sluice_port::QueueId(queue), &mut received, 32);
        }
        for mut packet in received.drain() {
            if answer(packet.data_mut(), mac) {
                answers.push(packet).expect("room");
            } else {
                packet.free();
            }
        }
        send(io, &mut answers);
        if let Some(status) = ping.try_wait().expect("ping is ours") {
            assert!(status.success(), "ping missed answers: {status}");
            return;
        }
        assert!(Instant::now() < deadline, "ping does not end");
    }
}

/// Turns an ARP or echo request for us into its answer.
fn answer(frame: &mut [u8], mac: [u8; 6]) -> bool {
    let asks = match frame.get(12..14) {
        Some([8, 6]) => {
            frame.len() >= 42 && frame[20..22] == [0, 1] && frame[38..42] == OUR_ADDRESS
        }
        Some([8, 0]) => frame.len() >= 42 && frame[23] == 1 && frame[30..34] == OUR_ADDRESS,
        _ => false,
    };
    if !asks {
        return false;
    }
    frame.copy_within(6..12, 0);
    frame[6..12].copy_from_slice(&mac);
    if frame[13] == 6 {
        frame[21] = 2;
        frame.copy_within(22..32, 32);
        frame[22..28].copy_from_slice(&mac);
        frame[28..32].copy_from_slice(&OUR_ADDRESS);
    } else {
        frame.copy_within(26..30, 30);
        frame[26..30].copy_from_slice(&OUR_ADDRESS);
        // Echo request (8) to reply (0): the checksum grows by what the type loses.
        frame[34] = 0;
        let sum = u32::from(u16::from_be_bytes([frame[36], frame[37]])) + 0x0800;
        let sum = (sum & 0xffff) as u16 + (sum >> 16) as u16;
        frame[36..38].copy_from_slice(&sum.to_be_bytes());
    }
    true
}
