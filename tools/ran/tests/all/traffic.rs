//! UEs' packets through two gNBs and a small UPF: nothing lost, every byte counted (needs root).

use std::time::Duration;

use crate::common::{GNB_A, GNB_B, Lab, UE_1, UE_2, UPF_A, UPF_B, is_root, qfi, teid, wait_until};
use sluice_host::netns;
use sluice_host::process::Process;
use sluice_host::tool;
use sluice_host::tun::Tun;
use sluice_ran::{FTeid, Flow, Gnb, HandoverTarget, RanError, UeId, UeReport};

fn report(gnb: &Gnb, ue: UeId) -> UeReport {
    gnb.handle().ue(ue).expect("attached")
}

/// Detaches and compares the UE's counters with the kernel's own of its device.
fn check_against_kernel(gnb: &Gnb, ue: UeId) -> (UeReport, Tun) {
    let detached = gnb.handle().detach(ue).expect("attached");
    let kernel = detached.tun.counters().expect("counters");
    let counters = &detached.report.counters;
    let up = Flow {
        packets: kernel.tx_packets,
        bytes: kernel.tx_bytes,
    };
    let down = Flow {
        packets: kernel.rx_packets,
        bytes: kernel.rx_bytes,
    };
    assert_eq!((counters.uplink, counters.downlink), (up, down));
    assert_eq!((kernel.tx_dropped, counters.drops.total()), (0, 0));
    (detached.report, detached.tun)
}

#[test]
fn a_ping_between_two_ues_is_counted_to_the_byte_on_every_side() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("ping");
    let (ue1, ue2) = (lab.attach_1(), lab.attach_2());
    let target = UE_2.to_string();
    let ping = [
        "-c", "20", "-l", "20", "-i", "5", "-s", "100", "-W", "5", &target,
    ];
    let text = tool::run(lab.ns_ue1.command("ping").args(ping)).expect("ping");
    assert!(text.contains(" 0% packet loss"), "{text}");
    let flow = Flow {
        packets: 20,
        bytes: 20 * 128,
    };
    let (one, _) = check_against_kernel(&lab.gnb_a, ue1);
    let (two, _) = check_against_kernel(&lab.gnb_b, ue2);
    for (report, flow_id) in [(&one, 5), (&two, 9)] {
        assert_eq!(
            (report.counters.uplink, report.counters.downlink),
            (flow, flow)
        );
        assert_eq!(
            report.counters.downlink_by_qfi.get(&qfi(flow_id)),
            Some(&flow)
        );
        assert_eq!(report.counters.downlink_by_qfi.len(), 1);
    }
    let seen = lab.upf.seen();
    assert_eq!(seen.uplink.get(&(GNB_A, 0x11, 5)), Some(&(20, 20 * 128)));
    assert_eq!(seen.uplink.get(&(GNB_B, 0x12, 9)), Some(&(20, 20 * 128)));
    let counters = lab.gnb_a.stop().expect("running");
    assert_eq!((counters.uplink, counters.downlink), (flow, flow));
    // GTP-U 8, sequence and next type 4, container 4.
    assert_eq!(
        counters.received,
        Flow {
            packets: 20,
            bytes: 20 * (128 + 16)
        }
    );
    assert_eq!(counters.unaccounted(), 0);
}

#[test]
fn ten_handovers_under_load_lose_no_uplink_packet_and_count_what_comes_late() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("ho");
    let (ue1, ue2) = (lab.attach_1(), lab.attach_2());
    let mut server = iperf_server(&lab);
    let target = UE_2.to_string();
    let load = ["-u", "-b", "20M", "-l", "1200", "-t", "2", "--bidir"];
    std::thread::scope(|scope| {
        let mut client = lab.ns_ue1.command("iperf3");
        client.args(["-c", &target, "-p", "5201"]).args(load);
        let running = scope.spawn(move || tool::run(&mut client));
        for round in 0..10 {
            std::thread::sleep(Duration::from_millis(150));
            move_ue1(&lab, ue1, round % 2 == 0);
        }
        running.join().expect("thread").expect("iperf3");
    });
    assert!(
        server
            .wait(Duration::from_secs(10))
            .is_some_and(|status| status.success())
    );
    let end = |gnb: &Gnb, ue| report(gnb, ue).counters;
    // What UE 1 sent has gone over both gNBs and the UPF to UE 2, all of it; what UE 2 sent
    // has come to UE 1, or late to an endpoint that it had left.
    wait_until("all of UE 1's packets at UE 2", || {
        end(&lab.gnb_a, ue1).uplink == end(&lab.gnb_b, ue2).downlink
    });
    let late = |gnb: &Gnb, number| {
        gnb.handle()
            .tunnel(teid(number))
            .expect("kept")
            .late
            .packets
    };
    let late = || late(&lab.gnb_a, 0xa1) + late(&lab.gnb_b, 0xb1);
    wait_until("all of UE 2's packets at UE 1", || {
        let arrived = end(&lab.gnb_a, ue1).downlink.packets;
        end(&lab.gnb_b, ue2).uplink.packets == arrived + late()
    });
    println!("ten handovers: {} packets came late", late());
    let (one, _tun) = check_against_kernel(&lab.gnb_a, ue1);
    check_against_kernel(&lab.gnb_b, ue2);
    let seen = lab.upf.seen();
    let packets = |gnb| seen.uplink.get(&(gnb, 0x11, 5)).expect("used").0;
    assert!(packets(GNB_A) > 0 && packets(GNB_B) > 0);
    assert_eq!(packets(GNB_A) + packets(GNB_B), one.counters.uplink.packets);
    let (a, b) = (lab.gnb_a.stop().expect("a"), lab.gnb_b.stop().expect("b"));
    assert_eq!((a.unaccounted(), b.unaccounted()), (0, 0));
}

/// Hands UE 1 over, and then tells the UPF.
fn move_ue1(lab: &Lab, ue1: UeId, to_b: bool) {
    let (from, to, address, downlink, upf) = if to_b {
        (&lab.gnb_a, &lab.gnb_b, GNB_B, teid(0xb1), UPF_B)
    } else {
        (&lab.gnb_b, &lab.gnb_a, GNB_A, teid(0xa1), UPF_A)
    };
    let uplink = FTeid {
        address: upf.into(),
        teid: teid(0x11),
    };
    let target = HandoverTarget {
        downlink_teid: downlink,
        uplink,
    };
    from.handle()
        .hand_over(ue1, to.handle(), target)
        .expect("handover");
    lab.upf.route(UE_1, address, downlink, qfi(5));
}

#[test]
fn after_a_handover_the_old_gnb_delivers_nothing_and_counts_the_end_marker() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("late");
    let ue1 = lab.attach_1();
    let (a, b) = (lab.gnb_a.handle(), lab.gnb_b.handle());
    let uplink = FTeid {
        address: UPF_B.into(),
        teid: teid(0x11),
    };
    let target = HandoverTarget {
        downlink_teid: teid(0xb1),
        uplink,
    };
    a.hand_over(ue1, b, target).expect("handover");
    // The UPF has not heard of it: a packet, and then the End Marker, to the old endpoint.
    let late = packet_to(UE_1, 0xa1);
    lab.upf.send(&late, GNB_A);
    lab.upf
        .send(&sluice_wire::gtpu::end_marker(teid(0xa1)), GNB_A);
    lab.upf.send(&packet_to(UE_1, 0xb1), GNB_B);
    wait_until("End Marker", || {
        a.tunnel(teid(0xa1)).expect("kept").end_markers == 1
    });
    wait_until("delivery", || {
        report(&lab.gnb_b, ue1).counters.downlink.packets == 1
    });
    let old = a.forget_tunnel(teid(0xa1)).expect("kept");
    assert_eq!(
        old.late,
        Flow {
            packets: 1,
            bytes: 28
        }
    );
    assert_eq!(a.counters().expect("running").downlink, Flow::default());
    assert_eq!(
        lab.upf.seen().error_indications,
        [] as [u32; 0],
        "late is not unknown"
    );
    assert!(matches!(
        a.tunnel(teid(0xa1)),
        Err(RanError::UnknownTunnel { .. })
    ));
    lab.upf.send(&late, GNB_A);
    wait_until("Error Indication", || {
        lab.upf.seen().error_indications == [0xa1]
    });
    check_against_kernel(&lab.gnb_b, ue1);
}

#[test]
fn a_handover_that_is_refused_leaves_the_ue_where_it_was() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("refuse");
    let (ue1, _ue2) = (lab.attach_1(), lab.attach_2());
    let uplink = FTeid {
        address: UPF_B.into(),
        teid: teid(0x11),
    };
    let taken = HandoverTarget {
        downlink_teid: teid(0xb2),
        uplink,
    };
    let (a, b) = (lab.gnb_a.handle(), lab.gnb_b.handle());
    let refused = a.hand_over(ue1, b, taken).expect_err("taken");
    assert!(matches!(refused, RanError::TeidTaken { .. }), "{refused}");
    assert_eq!(report(&lab.gnb_a, ue1).uplink.address, UPF_A);
    let target = UE_2.to_string();
    tool::run(
        lab.ns_ue1
            .command("ping")
            .args(["-c", "1", "-W", "2", &target]),
    )
    .expect("ping");
    // Nor does a gNB that has stopped take the UE along.
    let b = b.clone();
    lab.gnb_b.stop().expect("running");
    let free = HandoverTarget {
        downlink_teid: teid(0xb3),
        uplink,
    };
    assert!(matches!(
        a.hand_over(ue1, &b, free),
        Err(RanError::Stopped(_))
    ));
    assert_eq!(a.ues().expect("running"), [ue1]);
}

#[test]
fn tcp_at_full_speed_is_counted_to_the_byte_and_loses_nothing_unnamed() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("iperf");
    let (ue1, ue2) = (lab.attach_1(), lab.attach_2());
    let mut server = iperf_server(&lab);
    let target = UE_2.to_string();
    let client = ["-c", &target, "-p", "5201", "-t", "3", "-J"];
    let text = tool::run(lab.ns_ue1.command("iperf3").args(client)).expect("iperf3");
    assert!(
        server
            .wait(Duration::from_secs(10))
            .is_some_and(|status| status.success())
    );
    let mbit = received_mbit_per_second(&text);
    println!("iperf3, UE to UE over two gNBs: {mbit:.0} Mbit/s");
    std::thread::sleep(Duration::from_millis(100));
    check_against_kernel(&lab.gnb_a, ue1);
    check_against_kernel(&lab.gnb_b, ue2);
    let counters = lab.gnb_a.stop().expect("running");
    assert_eq!((counters.unaccounted(), counters.drops.total()), (0, 0));
}

#[test]
fn an_idle_gnb_sleeps_also_when_a_device_is_gone() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("idle");
    let ue1 = lab.attach_1();
    assert!(busy_in_one_second("a-idle") < Duration::from_millis(200));
    lab.ns_ue1.ip_batch("link delete dev ue\n").expect("delete");
    wait_until("loss", || report(&lab.gnb_a, ue1).tun_lost);
    assert!(busy_in_one_second("a-idle") < Duration::from_millis(200));
}

#[test]
fn nothing_is_left_behind() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("trace");
    lab.attach_1();
    let mine = format!("sluice-{}-trace-", std::process::id());
    let left = || {
        netns::names()
            .expect("list")
            .into_iter()
            .filter(|n| n.starts_with(&mine))
            .count()
    };
    assert_eq!(left(), 5);
    let handle = lab.gnb_a.handle().clone();
    drop(lab);
    assert_eq!(left(), 0);
    assert!(matches!(handle.counters(), Err(RanError::Stopped(_))));
}

/// A G-PDU of downlink with an IPv4 packet of 28 bytes for `ue`.
fn packet_to(ue: std::net::Ipv4Addr, tunnel: u32) -> Vec<u8> {
    use sluice_wire::gtpu::{ShortContainer, g_pdu_header_with_container};
    let container = ShortContainer::downlink(qfi(5), false);
    let header = g_pdu_header_with_container(teid(tunnel), container, 28).expect("short");
    let mut packet = [0; 28];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 28]);
    packet[16..20].copy_from_slice(&ue.octets());
    [&header[..], &packet[..]].concat()
}

/// Processor time that the thread of that name uses in a second.
fn busy_in_one_second(thread: &str) -> Duration {
    let before = processor_time(thread);
    std::thread::sleep(Duration::from_secs(1));
    processor_time(thread) - before
}

fn processor_time(thread: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task")
        .expect("tasks")
        .flatten();
    let mut paths = tasks.map(|task| task.path());
    let is_it = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == thread)
    };
    let path = paths.find(is_it).expect("running");
    let text = std::fs::read_to_string(path.join("schedstat")).expect("schedstat");
    let nanoseconds = text.split(' ').next().expect("a number");
    Duration::from_nanos(nanoseconds.parse().expect("a number"))
}

/// iperf3 at UE 2, ready for one client on port 5201.
fn iperf_server(lab: &Lab) -> Process {
    let mut command = lab.ns_ue2.command("iperf3");
    command
        .args(["-s", "-1", "-p", "5201"])
        .stdout(std::process::Stdio::null());
    let server = Process::spawn(&mut command).expect("iperf3");
    wait_until("iperf3 listens", || {
        let text = tool::run(lab.ns_ue2.command("ss").args(["-Hlnt"])).expect("ss");
        text.contains(":5201")
    });
    server
}

/// `"key": number` behind the last `section` of iperf3's JSON.
fn number(json: &str, section: &str, key: &str) -> f64 {
    let part = json
        .rsplit(&format!("\"{section}\":"))
        .next()
        .expect("section");
    let part = part.split(&format!("\"{key}\":")).nth(1).expect("key");
    let end = part.find([',', '\n', '}']).expect("end");
    part[..end].trim().parse().expect("number")
}

fn received_mbit_per_second(json: &str) -> f64 {
    number(json, "sum_received", "bits_per_second") / 1e6
}
