//! The SMF with its thread and socket, against a UPF that keeps books, over loopback UDP.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Clock};

use crate::common::upf::FakeUpf;
use crate::common::{gnb, plan};
use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_n4::{Instant, Outbox};
use sluice_smf_emulator::{Change, Dialect, Report, Smf, SmfConfig, SmfError};
use sluice_wire::ids::{Seid, UrrId};

type Act = Box<dyn FnOnce(&mut FakeUpf, Instant, &mut Socket) + Send>;

/// A UPF on a thread.
struct Upf {
    address: SocketAddrV4,
    acts: Sender<Act>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<FakeUpf>>,
}

struct Socket(UdpSocket);

impl Outbox for Socket {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.send_to(bytes, to).unwrap();
    }
}

impl Upf {
    fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        let SocketAddr::V4(address) = socket.local_addr().unwrap() else {
            panic!("IPv4")
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (acts, todo) = channel::<Act>();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut upf = FakeUpf::new(*address.ip(), 0xe000_0001);
            let mut socket = Socket(socket);
            let mut room = vec![0; 65_536];
            while !stopped.load(Ordering::Relaxed) {
                while let Ok(act) = todo.try_recv() {
                    act(&mut upf, now(), &mut socket);
                }
                if let Ok((length, from)) = socket.0.recv_from(&mut room) {
                    upf.handle(now(), from, &room[..length], &mut socket);
                }
                upf.endpoint.tick(now(), &mut socket);
            }
            upf
        });
        Self {
            address,
            acts,
            stop,
            thread: Some(thread),
        }
    }

    fn does(&self, act: impl FnOnce(&mut FakeUpf, Instant, &mut Socket) + Send + 'static) {
        self.acts.send(Box::new(act)).unwrap();
    }

    fn stop(mut self) -> FakeUpf {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn now() -> Instant {
    Instant(clock::monotonic_ns())
}

fn config(dialect: Dialect, upf: SocketAddrV4) -> SmfConfig {
    let ns = Ns::current().unwrap();
    let n4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    SmfConfig {
        t1_ms: 200,
        n1: 2,
        ..SmfConfig::new(dialect, &ns, n4, upf)
    }
}

#[test]
fn a_session_lives_and_dies_in_every_dialect() {
    for dialect in Dialect::ALL {
        let upf = Upf::start();
        let smf = Smf::start(&config(dialect, upf.address)).unwrap();
        let peer = smf.associate().unwrap();
        assert!(!peer.is_lost && peer.features.up.is_some());
        let session = smf.establish(plan(dialect, 2)).unwrap();
        smf.modify(session.cp_seid, gnb(1)).unwrap();
        smf.path_switch(session.cp_seid, gnb(2)).unwrap();
        smf.idle(session.cp_seid).unwrap();
        let back = smf.activate(session.cp_seid, gnb(3)).unwrap();
        assert_eq!(back.uplink == Some(session.uplink), dialect != Dialect::Oai);
        smf.drop_downlink(session.cp_seid).unwrap();
        let usage = smf.delete(session.cp_seid).unwrap();
        if dialect == Dialect::Ts {
            let traffic = usage.traffic(UrrId(1));
            assert_eq!(
                (traffic.uplink_octets, traffic.downlink_packets),
                (1000, 20)
            );
        }
        smf.release().unwrap();
        smf.stop().unwrap();
        let upf = upf.stop();
        assert!(
            upf.sessions.is_empty() && upf.associations.is_empty(),
            "{dialect}"
        );
    }
}

#[test]
fn many_sessions_are_established_and_deleted_in_a_window() {
    const SESSIONS: u32 = 2000;
    let upf = Upf::start();
    let smf = Smf::start(&config(Dialect::Ts, upf.address)).unwrap();
    smf.associate().unwrap();
    let one = plan(Dialect::Ts, 0);
    let first = one.ue.ipv4().unwrap();
    let plans = (0..SESSIONS).map(|n| {
        let mut plan = one.clone();
        plan.ue = Ipv4Addr::from_bits(first.to_bits() + n).into();
        plan
    });
    let established: Vec<_> = smf
        .establish_many(plans, 64)
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(established.len(), SESSIONS as usize);
    let mut teids: Vec<_> = established
        .iter()
        .map(|session| session.uplink.teid)
        .collect();
    teids.sort_unstable();
    teids.dedup();
    assert_eq!(teids.len(), SESSIONS as usize, "each its own");
    let seids: Vec<_> = established.iter().map(|session| session.cp_seid).collect();
    let changes = seids.iter().map(|seid| (*seid, Change::Connect(gnb(1))));
    assert!(
        smf.change_many(changes, 64)
            .unwrap()
            .iter()
            .all(Result::is_ok)
    );
    assert_eq!(smf.session_count().unwrap(), SESSIONS as usize);
    let mut deleted = smf
        .delete_many(seids.into_iter().chain([Seid(0)]), 64)
        .unwrap();
    let last = deleted.pop().unwrap();
    assert!(
        matches!(last, Err(SmfError::NoSuchSession(Seid(0)))),
        "{last:?}"
    );
    assert!(deleted.iter().all(Result::is_ok));
    assert!(upf.stop().sessions.is_empty());
}

#[test]
fn heartbeats_go_on_while_nobody_asks_anything() {
    let upf = Upf::start();
    let mut config = config(Dialect::Ts, upf.address);
    config.heartbeat_interval_ms = 20;
    let smf = Smf::start(&config).unwrap();
    smf.associate().unwrap();
    wait_until(|| count(&smf, "sent_heartbeat_request") >= 3);
    let answered = count(&smf, "received_heartbeat_response");
    assert!(answered >= 2, "{answered}");
    drop(upf.stop());
    wait_until(|| smf.peer().unwrap().is_some_and(|peer| peer.is_lost));
}

#[test]
fn reports_of_the_upf_are_answered_while_the_smf_rests() {
    let upf = Upf::start();
    let smf = Smf::start(&config(Dialect::Open5gs, upf.address)).unwrap();
    smf.associate().unwrap();
    let session = smf.establish(plan(Dialect::Open5gs, 2)).unwrap();
    let old = gnb(1).f_teid();
    upf.does(move |upf, now, out| upf.report(now, session.cp_seid, old, out));
    let mut reports = Vec::new();
    wait_until(|| {
        reports.extend(smf.take_reports().unwrap().0);
        !reports.is_empty()
    });
    let [Report::Session(report)] = reports.as_slice() else {
        panic!("{reports:?}")
    };
    assert_eq!(report.error_indications, [gnb(1)]);
    smf.delete(session.cp_seid).unwrap();
    assert_eq!(upf.stop().answers.len(), 1);
}

#[test]
fn nobody_there_is_an_error_and_stopping_ends_all_waiting() {
    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = nobody.local_addr().unwrap() else {
        panic!("IPv4")
    };
    let mut config = config(Dialect::Ts, address);
    (config.t1_ms, config.n1) = (20, 1);
    let smf = Smf::start(&config).unwrap();
    let error = smf.associate().unwrap_err();
    assert!(matches!(error, SmfError::NoAnswer { .. }), "{error}");
    assert!(matches!(
        smf.establish(plan(Dialect::Ts, 2)),
        Err(SmfError::NotAssociated)
    ));
    assert!(smf.establish_many([], 8).unwrap().is_empty());
    smf.stop().unwrap();

    config.t1_ms = 60_000;
    let smf = Smf::start(&config).unwrap();
    let handle = smf.handle().clone();
    let waiting = std::thread::spawn(move || handle.associate());
    let handle = smf.handle().clone();
    wait_until(|| count(&handle, "sent_association_setup_request") == 1);
    smf.stop().unwrap();
    assert!(matches!(waiting.join().unwrap(), Err(SmfError::Stopped)));
    assert!(matches!(handle.session_count(), Err(SmfError::Stopped)));
}

fn count(smf: &sluice_smf_emulator::SmfHandle, name: &str) -> u64 {
    let counters = smf.counters().unwrap();
    counters
        .iter()
        .find(|(counter, _)| *counter == name)
        .expect("a counter")
        .1
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let begin = Clock::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(10), "too late");
        std::thread::sleep(Duration::from_millis(5));
    }
}
