//! How the daemon ends and comes back: signals, SMFs that live or do not, SIGKILL.

use std::time::Duration;

use sluice::cli::args::CtlQuery;
use sluice_host::capture::Capture;
use sluice_host::tshark::judge;
use sluice_smf_emulator::{Report, Smf, SmfHandle, Traffic, UrrUsage};
use sluice_wire::pfcp::MessageType;

use super::kit::*;

/// More than any end without a wait takes, and less than the periods that it must not wait for.
const QUICK: Duration = Duration::from_secs(20);

#[test]
fn sigterm_asks_the_smf_for_release_and_ends_when_it_is_done() {
    let Some(lab) = Lab::new("term") else { return };
    // More than the test may take: the end must come from the release.
    let config = Config::new().n4("graceful_release_s", 60);
    let mut daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues = [0, 1].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
    assert_eq!(ues[0].ping(&lab, 4, 84), 4);
    daemon.process.terminate();
    eventually("the SMF is asked", || asked_for_release(&smf));
    // Packets flow on, `ctl` is answered, but no new session begins.
    assert_eq!(ues[1].ping(&lab, 3, 84), 3);
    assert_eq!(daemon.ask(&CtlQuery::Status)["sessions"], 2);
    let late = Ue::plan(N3_GNB, 2);
    assert!(smf.establish(late).unwrap_err().cause().is_some());
    for (ue, pings) in ues.iter().zip([4, 3]) {
        let usage = smf.delete(ue.cp_seid()).unwrap();
        let traffic = usage.urrs.iter().map(UrrUsage::traffic);
        let traffic = traffic.fold(Traffic::default(), Traffic::plus);
        let bytes = pings * 84;
        assert_eq!(
            (traffic.uplink_octets, traffic.downlink_octets),
            (bytes, bytes)
        );
        let kernel = ue.counters();
        assert_eq!((kernel.tx_bytes, kernel.rx_bytes), (bytes, bytes));
    }
    smf.release().unwrap();
    ended_in_order(&mut daemon, Duration::ZERO..QUICK);
}

#[test]
fn an_smf_that_releases_at_the_end_of_the_period_is_still_answered() {
    let Some(lab) = Lab::new("period") else {
        return;
    };
    let mut daemon = Daemon::start(&lab, &Config::new().n4("graceful_release_s", 10));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let _ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    daemon.process.terminate();
    // The emulated SMF releases by itself when the period is over that it was told: 6 s.
    ended_in_order(&mut daemon, Duration::from_millis(5500)..QUICK);
    eventually("the release is answered", || smf.peer().unwrap().is_none());
    let counters = smf.counters().unwrap();
    let answers = counters.received(MessageType::ASSOCIATION_RELEASE_RESPONSE);
    assert_eq!(answers, 1);
}

#[test]
fn the_last_usage_is_reported_before_the_association_goes() {
    let Some(lab) = Lab::new("farewell") else {
        return;
    };
    for smf_announces in [false, true] {
        let mut daemon = Daemon::start(&lab, &Config::new());
        let pcap = lab.path("n4.pcap");
        let n4 = Capture::start(&lab.smf, "n4", "udp", &pcap).unwrap();
        let (smf, gnb) = (lab.smf(), lab.gnb());
        let ues = [0, 1, 2].map(|n| Ue::attach(&lab, &smf, gnb.handle(), n));
        for (ue, pings) in ues.iter().zip([4, 3, 0]) {
            assert!(pings == 0 || ue.ping(&lab, pings, 84) == pings);
        }
        if smf_announces {
            smf.release_after_reports().unwrap();
            assert_eq!(daemon.ask(&CtlQuery::Status)["sessions"], 0);
            assert!(smf.peer().unwrap().is_none());
        }
        daemon.process.terminate();
        ended_in_order(&mut daemon, Duration::ZERO..QUICK);
        let (reports, _) = smf.take_reports().unwrap();
        let reports = reports.iter().map(|report| match report {
            Report::Session(report) => report,
            Report::Node(report) => panic!("{report:?}"),
        });
        let mut told: Vec<_> = reports
            .inspect(|report| assert!(report.is_final && report.is_known))
            .map(|report| (report.cp_seid, report.usage.urrs[0].traffic()))
            .collect();
        told.sort_by_key(|(seid, _)| *seid);
        let told: Vec<_> = told
            .iter()
            .map(|(_, t)| (t.uplink_octets, t.downlink_octets))
            .collect();
        assert_eq!(told, [(4 * 84, 4 * 84), (3 * 84, 3 * 84)]);
        smf.stop().unwrap();
        n4.stop().unwrap();
        let verdict = judge(&pcap).unwrap();
        assert!(verdict.is_clean(), "{:?}", verdict.complaints);
    }
}

#[test]
fn with_a_dead_smf_sigterm_waits_for_the_period_and_ends() {
    let Some(lab) = Lab::new("termdead") else {
        return;
    };
    let mut daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    smf.stop().unwrap();
    daemon.process.terminate();
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    ended_in_order(&mut daemon, Duration::from_secs(1)..QUICK);
}

/// So many SMFs that set up an association and are never heard again.
const SILENT: u8 = 40;

#[test]
fn many_silent_smfs_do_not_make_the_end_later() {
    let Some(lab) = Lab::new("termmany") else {
        return;
    };
    let graceful = Duration::from_secs(3);
    let config = Config::new().n4("graceful_release_s", graceful.as_secs());
    let mut daemon = Daemon::start(&lab, &config);
    let socket = PfcpSocket::open(&lab, N4_SMFS[0]);
    for n in 0..SILENT {
        socket.send(&association_setup([10, 9, 9, n], n.into()));
    }
    let associations = || {
        daemon.ask(&CtlQuery::Peers)["associations"]
            .as_array()
            .unwrap()
            .len()
    };
    eventually("all are there", || associations() == usize::from(SILENT));
    daemon.process.terminate();
    // One after the other they would take 40 times as long; a busy machine ends the process late.
    ended_in_order(&mut daemon, graceful / 2..graceful * u32::from(SILENT / 4));
}

#[test]
fn without_associations_and_with_a_period_of_0_the_end_comes_at_once() {
    let Some(lab) = Lab::new("termnone") else {
        return;
    };
    let quick = Duration::ZERO..QUICK;
    let mut daemon = Daemon::start(&lab, &Config::new().n4("graceful_release_s", 60));
    daemon.process.terminate();
    ended_in_order(&mut daemon, quick.clone());
    let mut daemon = Daemon::start(&lab, &Config::new().n4("graceful_release_s", 0));
    let smf = lab.smf();
    daemon.process.interrupt();
    ended_in_order(&mut daemon, quick);
    assert!(!asked_for_release(&smf));
}

#[test]
fn a_second_signal_ends_the_wait() {
    let Some(lab) = Lab::new("signals") else {
        return;
    };
    for interrupts in [[false, true], [true, false]] {
        let config = Config::new().n4("graceful_release_s", 60);
        let mut daemon = Daemon::start(&lab, &config);
        let smf = lab.smf();
        signal(&mut daemon, interrupts[0]);
        eventually("the SMF is asked", || asked_for_release(&smf));
        assert!(daemon.process.status().is_none());
        signal(&mut daemon, interrupts[1]);
        ended_in_order(&mut daemon, Duration::ZERO..QUICK);
    }
}

#[test]
fn after_sigkill_the_same_file_starts_again_and_sessions_come_back() {
    let Some(lab) = Lab::new("kill") else { return };
    let mut daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    let before = recovery_time_stamp(&smf);
    daemon.process.kill();
    assert!(daemon.socket.exists(), "a killed process removes nothing");
    assert_eq!(ctl_at(&daemon.socket, &["status"]).code, Some(3));
    // The time stamp counts whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    let daemon = Daemon::start(&lab, &Config::new());
    eventually("the SMF sees the restart", || {
        recovery_time_stamp(&smf) > before
    });
    eventually("the SMF sets up its association", || {
        smf.associate().is_ok()
    });
    eventually("the SMF has dropped its sessions", || {
        smf.session_count().unwrap() == 0
    });
    assert_eq!(daemon.ask(&CtlQuery::Status)["sessions"], 0);
    assert_eq!(ue.ping_in_vain(&lab, 1, 84), 0);
    ue.establish_again(&smf, gnb.handle());
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    assert!(daemon.dropped("unknown_teid") > 0);
}

fn signal(daemon: &mut Daemon, interrupt: bool) {
    match interrupt {
        true => daemon.process.interrupt(),
        false => daemon.process.terminate(),
    }
}

/// It ended within so much time, by itself and well, and left nothing behind.
fn ended_in_order(daemon: &mut Daemon, within: std::ops::Range<Duration>) {
    let (code, took) = daemon.wait();
    let log = daemon.log();
    assert_eq!(code, Some(0), "{log}");
    assert!(within.contains(&took), "{took:?}\n{log}");
    assert!(!daemon.socket.exists());
    let books = log
        .lines()
        .find(|line| line.contains("received"))
        .expect(&log);
    assert!(
        books.contains(" = transmitted") && !log.contains("ERROR"),
        "{log}"
    );
}

fn asked_for_release(smf: &SmfHandle) -> bool {
    let counters = smf.counters().unwrap();
    counters.received(MessageType::ASSOCIATION_UPDATE_REQUEST) > 0
}

fn recovery_time_stamp(smf: &Smf) -> Option<u32> {
    smf.peer().unwrap().map(|peer| peer.recovery_time_stamp.0)
}
