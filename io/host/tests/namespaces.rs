//! Namespaces, veth pairs, TUN devices and captures against the real kernel (needs root).

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use sluice_host::capture::Capture;
use sluice_host::env_check;
use sluice_host::netns::{self, Netns, Ns};
use sluice_host::packet::PacketSocket;
use sluice_host::pcap::Frame;
use sluice_host::process::Process;
use sluice_host::stream::Stream;
use sluice_host::tool;
use sluice_host::tshark::judge;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_host::udp::{BATCH_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_host::veth::{Veth, VethEnd};

const A: Ipv4Addr = Ipv4Addr::new(10, 70, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 70, 0, 2);

/// Says so and gives `false` where namespaces cannot be made.
fn is_root() -> bool {
    let missing = env_check::missing(&[
        env_check::Need::NetworkAdmin,
        env_check::Need::Tun,
        env_check::Need::Tool("ip"),
        env_check::Need::Tool("ethtool"),
        env_check::Need::Tool("ping"),
        env_check::Need::Tool("tcpdump"),
        env_check::Need::Tool("tshark"),
    ]);
    for lack in &missing {
        println!("skipped: needs root ({lack})");
    }
    missing.is_empty()
}

struct Pair {
    a: Netns,
    b: Netns,
    veth: Veth,
}

fn pair(label: &str) -> Pair {
    let a = Netns::create(&format!("{label}-a")).expect("namespace");
    let b = Netns::create(&format!("{label}-b")).expect("namespace");
    let veth = Veth::create(
        &VethEnd::bare(&a, "va")
            .with_address(A, 24)
            .with_mac([2, 0, 0, 0, 0, 1]),
        &VethEnd::bare(&b, "vb").with_address(B, 24),
        1600,
    );
    Pair {
        a,
        b,
        veth: veth.expect("veth"),
    }
}

#[test]
fn a_namespace_lives_as_long_as_its_value_also_through_a_panic() {
    if !is_root() {
        return;
    }
    let mut ns = Netns::create("raii").expect("create");
    let name = ns.name().to_owned();
    assert!(netns::names().expect("list").contains(&name));
    let inside = ns
        .run(|| std::fs::read_link("/proc/thread-self/ns/net"))
        .expect("enter");
    let outside = std::fs::read_link("/proc/thread-self/ns/net").expect("link");
    assert_ne!(inside.expect("link"), outside);
    let text = tool::run(ns.command("ip").args(["-br", "link"])).expect("ip");
    assert!(
        text.contains("lo") && text.contains("UP"),
        "loopback is up: {text}"
    );
    ns.delete().expect("delete");
    ns.delete().expect("again");
    drop(ns);
    let panicked = std::panic::catch_unwind(|| {
        let ns = Netns::create("panic").expect("create");
        ns.run(|| std::panic::panic_any("inside")).expect("enter");
    });
    assert_eq!(
        panicked.expect_err("passed on").downcast_ref(),
        Some(&"inside")
    );
    let left = netns::names().expect("list");
    let mine = format!("sluice-{}-", std::process::id());
    assert!(
        !left
            .iter()
            .any(|n| n == &name || *n == format!("{mine}panic")),
        "{left:?}"
    );
}

#[test]
fn what_a_dead_process_left_is_swept_with_the_processes_inside() {
    if !is_root() {
        return;
    }
    // A child that has ended and been reaped: its id is free.
    let mut dead = Process::spawn(&mut Command::new("true")).expect("true");
    let pid = dead.child().id();
    dead.wait(Duration::from_secs(5)).expect("ends");
    let name = format!("sluice-{pid}-stale");
    tool::run(Command::new("ip").args(["netns", "add", &name])).expect("add");
    let ns = Ns::named(&name).expect("open");
    let mut sleeper = Process::spawn(ns.command("sleep").arg("60")).expect("sleep");
    let deadline = Instant::now() + Duration::from_secs(5);
    let inside = || tool::run(Command::new("ip").args(["netns", "pids", &name])).expect("pids");
    while inside().trim().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let living = Netns::create("living").expect("create");
    let swept = netns::sweep().expect("sweep");
    assert!(swept.contains(&name), "{swept:?}");
    assert!(
        sleeper.wait(Duration::from_secs(5)).is_some(),
        "the process inside was ended"
    );
    let left = netns::names().expect("list");
    assert!(
        left.iter().any(|n| n == living.name()) && !left.contains(&name),
        "{left:?}"
    );
}

#[test]
fn a_veth_pair_has_every_offload_off_and_passes_packets() {
    if !is_root() {
        return;
    }
    let Pair { a, b, mut veth } = pair("veth");
    for link in [veth.a(), veth.b()] {
        assert_eq!(link.offloads_on().expect("read"), Vec::<String>::new());
    }
    assert_eq!(veth.a().mac().expect("mac"), [2, 0, 0, 0, 0, 1]);
    veth.set_static_neighbours(A, B).expect("neighbours");
    let before = veth.b().counters().expect("counters");
    tool::run(a.command("ping").args([
        "-c",
        "2",
        "-l",
        "2",
        "-i",
        "5",
        "-s",
        "56",
        &B.to_string(),
    ]))
    .expect("ping");
    let after = veth.b().counters().expect("counters");
    // Two echo requests: 14 Ethernet + 20 IP + 8 ICMP + 56; no ARP, no IPv6.
    assert_eq!(after.rx_bytes - before.rx_bytes, 2 * 98);
    assert_eq!(after.rx_packets - before.rx_packets, 2);
    tool::run(
        a.command("ethtool")
            .args(["-K", "va", "tso", "on", "tx", "on"]),
    )
    .expect("on");
    assert!(
        !veth.a().offloads_on().expect("read").is_empty(),
        "a change is seen"
    );
    veth.delete().expect("delete");
    veth.delete().expect("again");
    assert!(
        !sluice_host::link::Link::new(&b, "vb")
            .expect("name")
            .exists()
            .expect("read")
    );
}

#[test]
fn a_veth_pair_reaches_into_the_current_namespace() {
    if !is_root() {
        return;
    }
    let here = Ns::current().expect("namespace");
    let there = Netns::create("there").expect("create");
    let name = format!("s{}", std::process::id());
    for flip in [false, true] {
        let (near, far) = (VethEnd::bare(&here, &name), VethEnd::bare(&there, "far"));
        let veth = if flip {
            Veth::create(&far, &near, 1500)
        } else {
            Veth::create(&near, &far, 1500)
        };
        let veth = veth.expect("veth");
        let ends = [veth.a().clone(), veth.b().clone()];
        assert!(ends.iter().all(|end| end.exists().expect("read")));
        drop(veth);
        assert!(ends.iter().all(|end| !end.exists().expect("read")));
    }
}

#[test]
fn the_mtu_of_an_interface_is_read_and_set_in_its_namespace() {
    if !is_root() {
        return;
    }
    let pair = pair("mtu");
    let link = pair.veth.b();
    assert_eq!(link.mtu().expect("mtu"), 1600);
    link.set_mtu(9000).expect("set");
    assert_eq!(link.mtu().expect("mtu"), 9000);
    let shown = tool::run(pair.b.ip().args(["link", "show", "vb"])).expect("ip");
    assert!(shown.contains("mtu 9000"), "{shown}");
    let error = link.set_mtu(20).expect_err("too small for IPv4");
    assert!(
        error.to_string().contains("vb an MTU of 20 bytes"),
        "{error}"
    );
}

#[test]
fn an_interface_runs_as_long_as_both_ends_are_up() {
    if !is_root() {
        return;
    }
    let mut pair = pair("run");
    let (a, b) = (pair.veth.a().clone(), pair.veth.b().clone());
    // The kernel notes a carrier that came or went in its own time.
    let becomes = |running: bool| {
        let deadline = Instant::now() + Duration::from_secs(10);
        while b.is_running().expect("flags") != Some(running) {
            assert!(Instant::now() < deadline, "does not become {running}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    becomes(true);
    a.down().expect("down");
    becomes(false);
    pair.veth.delete().expect("delete");
    assert_eq!(b.is_running().expect("flags"), None);
}

#[test]
fn a_packet_socket_keeps_the_tags_that_the_kernel_takes_off() {
    if !is_root() {
        return;
    }
    let pair = pair("tag");
    let [a, b] = [pair.veth.a(), pair.veth.b()].map(|link| PacketSocket::open(link).expect("open"));
    let addresses = [[2, 0, 0, 0, 9, 9], [2, 0, 0, 0, 9, 8]].concat();
    // VLAN 30 with priority 5 around an EtherType for experiments; then the same untagged.
    let mut before = None;
    for tag in [&[0x81, 0, 0xa0, 30][..], &[]] {
        let frame = [&addresses, tag, &[0x88, 0xb5], &[7; 60][..]].concat();
        // The kernel lets frames pass some time after both ends are up: what it lost is sent again, and may come twice.
        let deadline = Instant::now() + Duration::from_secs(30);
        let got = loop {
            a.send(&frame).expect("send");
            match b.recv(Duration::from_secs(1)).expect("recv") {
                Some(got) if before.as_ref() != Some(&got) => break got,
                _ => assert!(Instant::now() < deadline, "no frame comes"),
            }
        };
        assert_eq!(got, frame);
        before = Some(frame);
    }
    // What it sent itself does not come back.
    assert_eq!(a.recv(Duration::from_millis(20)).expect("recv"), None);
}

#[test]
fn a_second_device_of_the_same_name_is_refused_with_the_tools_own_words() {
    if !is_root() {
        return;
    }
    let Pair { a, b, veth } = pair("twice");
    let again = Veth::create(&VethEnd::bare(&a, "va"), &VethEnd::bare(&b, "vc"), 1500);
    let text = again.expect_err("exists").to_string();
    assert!(text.contains("ip -n") && text.contains("exists"), "{text}");
    assert!(
        veth.a().exists().expect("read"),
        "the first pair is untouched"
    );
}

#[test]
fn a_tun_device_carries_packets_and_the_kernel_counts_the_same_bytes() {
    if !is_root() {
        return;
    }
    let ns = Netns::create("tun").expect("create");
    let address = Ipv4Addr::new(10, 45, 0, 2);
    let config = TunConfig {
        name: "ue0".into(),
        address: Some(address),
        mtu: 1400,
        route: TunRoute::Default,
    };
    let tun = Tun::create(&ns, &config).expect("tun");
    assert_eq!(
        tun.recv(&mut [0; 2000]).expect("read"),
        None,
        "nothing by itself"
    );
    let there = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 7);
    let socket = UdpSocket::bind(&ns, SocketAddrV4::new(address, 7)).expect("bind");
    socket.send(b"to the network", there, None).expect("send");
    let mut packet = [0; 2000];
    let length = tun.recv(&mut packet).expect("read").expect("a packet");
    assert_eq!(length, 20 + 8 + 14);
    // Send it back as if the far end answered: addresses and ports swapped.
    let (source, destination) = (packet[12..16].to_vec(), packet[16..20].to_vec());
    packet[12..16].copy_from_slice(&destination);
    packet[16..20].copy_from_slice(&source);
    assert!(tun.send(&packet[..length]).expect("write"));
    assert!(socket.wait(Duration::from_secs(5)).expect("poll"));
    let mut batch = RecvBatch::new(4, 100);
    socket.recv(&mut batch).expect("recv");
    let got: Vec<_> = batch
        .iter()
        .map(|d| (d.bytes.to_vec(), d.from, d.to))
        .collect();
    assert_eq!(
        got,
        [(b"to the network".to_vec(), there.into(), address.into())]
    );
    let counters = tun.counters().expect("counters");
    assert_eq!((counters.tx_bytes, counters.tx_packets), (length as u64, 1));
    assert_eq!((counters.rx_bytes, counters.rx_packets), (length as u64, 1));
    let link = tun.link().clone();
    drop(tun);
    // A program that another test starts may hold the device until it runs.
    let until = Instant::now() + Duration::from_secs(5);
    while link.exists().expect("read") {
        assert!(Instant::now() < until, "the device stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn devices_with_routes_by_source_share_a_namespace() {
    if !is_root() {
        return;
    }
    let ns = Netns::create("tuns").expect("create");
    let tun = |index: u8| {
        let config = TunConfig {
            name: format!("ue{index}"),
            address: Some(Ipv4Addr::new(10, 45, 0, index)),
            mtu: 1400,
            route: TunRoute::BySource {
                table: 100 + u32::from(index),
            },
        };
        Tun::create(&ns, &config).expect("tun")
    };
    let tuns = [tun(2), tun(3)];
    let there = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 9);
    for tun in &tuns {
        let from = if tun.link().name() == "ue2" { 2 } else { 3 };
        let local = SocketAddrV4::new(Ipv4Addr::new(10, 45, 0, from), 0);
        let socket = UdpSocket::bind(&ns, local).expect("bind");
        socket.send(b"x", there, None).expect("send");
        let mut packet = [0; 100];
        assert_eq!(tun.recv(&mut packet).expect("read"), Some(29));
        assert_eq!(packet[15], from);
    }
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("sluice-{}-{name}.pcap", std::process::id()))
}

/// Sends `messages` from A to B on `port` while a capture runs on A's end; gives the capture.
fn captured(label: &str, port: u16, filter: &str, messages: &[&[u8]]) -> (PathBuf, u64) {
    let Pair { a, b, veth } = pair(label);
    veth.set_static_neighbours(A, B).expect("neighbours");
    let path = scratch(label);
    let capture = Capture::start(&a, "va", filter, &path).expect("capture");
    let sender = UdpSocket::bind(&a, SocketAddrV4::new(A, port)).expect("bind");
    let _receiver = UdpSocket::bind(&b, SocketAddrV4::new(B, port)).expect("bind");
    let mut batch = SendBatch::new(BATCH_MAX, 1500);
    let to = SocketAddrV4::new(B, port);
    for message in messages {
        assert!(batch.push_bytes(message, to, None));
        if batch.is_full() {
            sender.flush(&mut batch, Duration::from_secs(1), |i, e| {
                panic!("{i}: {e}")
            });
        }
    }
    sender.flush(&mut batch, Duration::from_secs(1), |i, e| {
        panic!("{i}: {e}")
    });
    let count = capture.stop().expect("stop");
    assert_eq!(count.dropped, 0);
    (path, count.captured)
}

/// Heartbeat Request, sequence number 1, with a Recovery Time Stamp (TS 29.244, 7.4.2.1).
const HEARTBEAT: [u8; 16] = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 0xe8, 0, 0, 0];
/// Echo Request, sequence number 1 (TS 29.281, 7.2.1).
const ECHO: [u8; 12] = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];

#[test]
fn every_packet_sent_before_the_stop_is_in_the_capture() {
    if !is_root() {
        return;
    }
    let messages = vec![&ECHO[..]; 20_000];
    let (path, count) = captured("burst", 2152, "udp port 2152", &messages);
    assert_eq!(count, 20_000);
    let verdict = judge(&path).expect("tshark");
    std::fs::remove_file(path).expect("remove");
    assert_eq!(verdict.frames, 20_000);
    assert!(verdict.is_clean(), "{:?}", verdict.complaints.first());
}

#[test]
fn tshark_accepts_sound_pfcp_and_names_what_is_wrong() {
    if !is_root() {
        return;
    }
    let mut bad_ie = HEARTBEAT;
    bad_ie[11] = 9; // The Recovery Time Stamp claims more than the message has.
    let messages = [
        &HEARTBEAT[..],
        &bad_ie[..],
        &HEARTBEAT[..7],
        b"no PFCP at all",
    ];
    let (path, count) = captured("pfcp", 8805, "", &messages);
    assert_eq!(count, 4);
    let verdict = judge(&path).expect("tshark");
    std::fs::remove_file(path).expect("remove");
    assert_eq!(verdict.frames, 4, "{verdict:?}");
    let numbers = ["frame 2 ", "frame 3 ", "frame 4 "];
    assert_eq!(verdict.complaints.len(), numbers.len(), "{verdict:?}");
    for (complaint, number) in verdict.complaints.iter().zip(numbers) {
        assert!(complaint.starts_with(number), "{complaint}");
    }
}

#[test]
fn a_stream_hands_over_the_beginning_of_every_frame() {
    if !is_root() {
        return;
    }
    let Pair { a, b, veth } = pair("stream");
    veth.set_static_neighbours(A, B).expect("neighbours");
    let each = |seen: &mut Vec<(usize, u32)>, frame: Frame<'_>| {
        seen.push((frame.bytes.len(), frame.wire_bytes));
    };
    let filter = "udp port 2152";
    let stream = Stream::start(&a, "va", filter, 64, Vec::new(), each).expect("stream");
    let sender = UdpSocket::bind(&a, SocketAddrV4::new(A, 2152)).expect("bind");
    let _receiver = UdpSocket::bind(&b, SocketAddrV4::new(B, 2152)).expect("bind");
    let mut batch = SendBatch::new(BATCH_MAX, 1500);
    for number in 0..5000 {
        let message = &[7; 1000][..if number % 2 == 0 { 10 } else { 1000 }];
        assert!(batch.push_bytes(message, SocketAddrV4::new(B, 2152), None));
        if batch.is_full() || number == 4999 {
            sender.flush(&mut batch, Duration::from_secs(1), |i, e| {
                panic!("{i}: {e}")
            });
        }
    }
    let (count, seen) = stream.stop().expect("stop");
    assert_eq!((count.captured, count.dropped), (5000, 0));
    assert_eq!(seen.len(), 5000);
    // Ethernet, IPv4 and UDP make 42.
    assert!(seen.chunks(2).all(|two| two == [(52, 52), (64, 1042)]));
}

#[test]
fn tshark_leaves_what_is_inside_a_tunnel_alone() {
    if !is_root() {
        return;
    }
    // A G-PDU (TS 29.281, 7.3.1) whose T-PDU is an IPv4 header with a wrong checksum and
    // length, and one that is cut short in its own header.
    let mut sound = [0; 8 + 20];
    sound[..8].copy_from_slice(&[0x30, 255, 0, 20, 0, 0, 0, 1]);
    sound[8..12].copy_from_slice(&[0x45, 0, 0xff, 0xff]);
    let (path, _) = captured("gtpu", 2152, "", &[&sound, &sound[..5]]);
    let verdict = judge(&path).expect("tshark");
    std::fs::remove_file(path).expect("remove");
    assert_eq!(verdict.frames, 2);
    assert_eq!(verdict.complaints.len(), 1, "{verdict:?}");
    assert!(verdict.complaints[0].starts_with("frame 2 "), "{verdict:?}");
}

#[test]
fn a_capture_that_cannot_be_says_why() {
    if !is_root() {
        return;
    }
    let ns = Netns::create("nocap").expect("create");
    let error = Capture::start(&ns, "nope", "", &scratch("nocap")).expect_err("no interface");
    let text = error.to_string();
    assert!(
        text.contains("tcpdump") && text.contains("No such device"),
        "{text}"
    );
}
