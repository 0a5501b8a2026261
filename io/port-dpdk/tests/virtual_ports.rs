//! Ports that need no network: null, ring and pcap files.

mod common;

use std::time::{Duration, Instant};

use common::*;
use sluice_port::{Burst, LinkState, Packet, PortIo};
use sluice_port_dpdk::*;

#[test]
fn a_null_port_gives_and_takes_packets_and_none_is_lost() {
    let pool = pool(4095);
    let port = Port::open(
        &pool,
        &PortConfig::new("null", devargs::null(10, 122, false)),
    )
    .unwrap();
    assert_eq!(port.driver(), "net_null");
    let mut io = worker(&pool, &port);
    let mut burst = Burst::new();
    for _ in 0..1000 {
        assert_eq!(io.rx(PORT, QUEUE, &mut burst, 64), 64);
        assert!(burst.iter().all(|packet| packet.len() == 122));
        send(&mut io, &mut burst);
    }
    let stats = port.stats().unwrap();
    assert_eq!((stats.rx_packets, stats.tx_packets), (64_000, 64_000));
    assert_eq!(io.link(PORT), LinkState::Up);
    drop((io, port));
    assert_eq!(pool.available(), pool.packets());
}

#[test]
fn a_ring_port_returns_packets_in_order_and_unchanged() {
    let pool = pool(2047);
    let port = Port::open(&pool, &PortConfig::new("ring", devargs::ring(11))).unwrap();
    let mut io = worker(&pool, &port);
    let mut burst = Burst::new();
    for fill in 0..200 {
        burst
            .push(packet(&pool, 60 + usize::from(fill), fill))
            .unwrap();
    }
    send(&mut io, &mut burst);
    let progress = io.tx_progress(PORT, QUEUE).unwrap();
    assert_eq!((progress.accepted, progress.sent), (200, 200));
    assert_eq!(io.rx(PORT, QUEUE, &mut burst, usize::MAX), 200);
    for (packet, fill) in burst.iter().zip(0u8..) {
        assert_eq!(packet.len(), 60 + usize::from(fill));
        assert!(packet.data().iter().all(|byte| *byte == fill));
    }
    burst.free();
    assert_eq!(pool.available(), pool.packets());
}

#[test]
fn a_full_ring_port_leaves_the_rest_with_the_sender() {
    let pool = pool(4095);
    let port = Port::open(&pool, &PortConfig::new("full", devargs::ring(12))).unwrap();
    let mut io = worker(&pool, &port);
    let mut accepted = 0;
    let mut burst = Burst::new();
    loop {
        burst
            .push(packet(&pool, 60, (accepted % 251) as u8))
            .unwrap();
        if io.tx(PORT, QUEUE, &mut burst) == 0 {
            break;
        }
        accepted += 1;
    }
    assert_eq!(burst.len(), 1);
    assert_eq!(pool.packets() - pool.available(), accepted + 1);
    assert_eq!(io.rx(PORT, QUEUE, &mut burst, 1), 1);
    assert_eq!(burst.get(1).unwrap().data()[0], 0, "the oldest comes first");
    let mut rest = Burst::new();
    while io.rx(PORT, QUEUE, &mut rest, 256) > 0 {
        rest.free();
    }
    burst.free();
    assert_eq!(pool.available(), pool.packets());
}

#[test]
fn a_pcap_port_writes_what_it_is_sent_and_reads_it_back() {
    let pool = pool(1023);
    let folder = std::env::temp_dir().join(format!("sluice-pcap-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (empty, written) = (folder.join("in.pcap"), folder.join("out.pcap"));
    std::fs::write(&empty, EMPTY_PCAP).unwrap();
    let send_and_close = || {
        let devargs = devargs::pcap_files(13, &empty, &written);
        let port = Port::open(&pool, &PortConfig::new("write", devargs)).unwrap();
        let mut io = worker(&pool, &port);
        let mut burst = Burst::new();
        burst.push(packet(&pool, 99, 7)).unwrap();
        send(&mut io, &mut burst);
    };
    send_and_close();
    let devargs = devargs::pcap_files(14, &written, &folder.join("unused.pcap"));
    let port = Port::open(&pool, &PortConfig::new("read", devargs)).unwrap();
    let mut io = worker(&pool, &port);
    let mut burst = Burst::new();
    assert_eq!(io.rx(PORT, QUEUE, &mut burst, 8), 1);
    assert_eq!(burst.get(0).unwrap().data(), [7; 99]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The head of a capture file of Ethernet frames, without any.
const EMPTY_PCAP: [u8; 24] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
];

#[test]
fn memif_carries_packets_from_one_end_to_the_other() {
    let pool = pool(8191);
    let socket = std::env::temp_dir().join(format!("sluice-memif-{}", std::process::id()));
    let open = |number, role| {
        let devargs = devargs::memif(number, role, &socket, 0);
        Port::open(&pool, &PortConfig::new("memif", devargs)).unwrap()
    };
    let server = open(20, devargs::MemifRole::Server);
    let client = open(21, devargs::MemifRole::Client);
    let (mut to, mut from) = (worker(&pool, &client), worker(&pool, &server));
    wait_until(|| to.link(PORT) == LinkState::Up && from.link(PORT) == LinkState::Up);
    let mut burst = Burst::new();
    for fill in 0..100 {
        burst.push(packet(&pool, 1000, fill)).unwrap();
    }
    send(&mut to, &mut burst);
    wait_until(|| from.rx(PORT, QUEUE, &mut burst, 256) > 0 && burst.len() == 100);
    for (packet, fill) in burst.iter().zip(0u8..) {
        assert_eq!(packet.data(), [fill; 1000]);
    }
    std::fs::remove_file(&socket).ok();
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "it does not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_queue_has_one_user_and_returns_when_he_drops_it() {
    let pool = pool(1023);
    let port = Port::open(&pool, &PortConfig::new("one", devargs::ring(15))).unwrap();
    let mut io = worker(&pool, &port);
    assert!(port.rx_queue(0).is_none(), "taken");
    assert!(port.rx_queue(1).is_none(), "not there");
    let queue = io.detach_rx(PORT, QUEUE).unwrap();
    let mut burst = Burst::new();
    burst.push(packet(&pool, 60, 1)).unwrap();
    send(&mut io, &mut burst);
    assert_eq!(io.rx(PORT, QUEUE, &mut burst, 1), 0, "given up");
    drop(queue);
    io.attach_rx(port.rx_queue(0).unwrap()).unwrap();
    assert_eq!(io.rx(PORT, QUEUE, &mut burst, 1), 1);
}

#[test]
fn a_worker_on_a_registered_thread_gets_its_queues_as_values() {
    let pool = pool(4095);
    let port = Port::open(&pool, &PortConfig::new("moved", devargs::ring(16))).unwrap();
    let mut io = worker(&pool, &port);
    let run = move || {
        let _registered = register_thread(&eal()).unwrap();
        assert_eq!(
            register_thread(&eal()).err(),
            Some(Errno(17)),
            "known already"
        );
        let mut burst = Burst::new();
        for _ in 0..100 {
            burst.push(io.alloc().unwrap()).unwrap();
            send(&mut io, &mut burst);
            assert_eq!(io.rx(PORT, QUEUE, &mut burst, 8), 1);
            burst.free();
        }
    };
    std::thread::spawn(run).join().unwrap();
    assert_eq!(
        pool.available(),
        pool.packets(),
        "also those in the thread's cache"
    );
}

#[test]
fn ports_that_cannot_be_opened_say_why() {
    let pool = pool(1023);
    let open = |devargs: &str| Port::open(&pool, &PortConfig::new("x", devargs)).err();
    assert_eq!(open(""), Some(PortError::BadDevargs(String::new())));
    let refused = open("net_af_packet17,iface=there-is-none").unwrap();
    assert!(
        matches!(
            refused,
            PortError::Refused {
                step: PortStep::Probe,
                ..
            }
        ),
        "{refused}"
    );
    assert!(refused.to_string().contains("there-is-none"));
    let first = Port::open(&pool, &PortConfig::new("x", devargs::ring(18))).unwrap();
    assert_eq!(
        open("net_ring18"),
        Some(PortError::InUse("net_ring18".into()))
    );
    drop(first);
    assert_eq!(
        open("net_ring18"),
        None,
        "detached, so it can be opened again"
    );
}

#[test]
fn queues_are_clamped_to_what_the_device_has() {
    let pool = pool(1023);
    let mut config = PortConfig::new("clamped", devargs::ring(19));
    (config.rx_queues, config.tx_queues) = (5, 1);
    let port = Port::open(&pool, &config).unwrap();
    let info = port.info(PORT);
    assert!(info.rx_queues >= 1 && info.rx_queues <= 5);
    assert_eq!((info.tx_queues, info.name.as_str()), (1, "clamped"));
    assert!(port.rx_queue(info.rx_queues).is_none());
}
