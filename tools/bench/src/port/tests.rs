//! The benchmark without DPDK and without a clock: both ends on simulated ports in one thread. Do
//! path and plain loop give back what they should, and does the far end find what is wrong or lost?

use super::peer::{Answer, PacketBalance, Peer, Traffic};
use super::ports::{Testbed, Wire, WorkerPorts};
use crate::path::fifo::Check;
use crate::path::topology::{N3, N6};
use crate::path::traffic::{Direction, Flow, Frames};
use sluice_port::{Packet, PortIo};
use sluice_port_sim::{HeapPool, LinkConfig, SimIo, SimNet, SimPortConfig};

const SESSIONS: u32 = 100;
const PACKETS: usize = 1_000;

/// A UPF and the far end of its ports.
struct Scene {
    net: SimNet,
    pool: HeapPool,
    testbed: Testbed<SimIo>,
    peer: Peer<WorkerPorts<SimIo>>,
}

impl Scene {
    fn new(link: LinkConfig) -> Self {
        let (net, pool) = (SimNet::new(1), HeapPool::default());
        let names = ["near-n3", "near-n6", "far-n3", "far-n6"];
        let [n3, n6, far_n3, far_n6] = names.map(|name| net.add_port(SimPortConfig::named(name)));
        net.connect(&n3, &far_n3, link);
        net.connect(&n6, &far_n6, link);
        let direct = [N3, N6].map(|port| Wire { rx: port, tx: port });
        let near = WorkerPorts::over(net.io(&[n3, n6], pool.clone()), direct);
        let far = WorkerPorts::over(net.io(&[far_n3, far_n6], pool.clone()), direct);
        let mut testbed = Testbed::build(SESSIONS).unwrap();
        testbed.set_doors(near);
        let peer = Peer::new(far, &testbed.flows).unwrap();
        Self {
            net,
            pool,
            testbed,
            peer,
        }
    }

    /// Sends, and lets the near end `turn`, until nothing moves.
    fn play(
        &mut self,
        traffic: Traffic,
        mut turn: impl FnMut(&mut Testbed<SimIo>),
    ) -> PacketBalance {
        self.peer.start(traffic);
        for _ in 0..200 {
            let returned = self.peer.turn() as u64;
            turn(&mut self.testbed);
            self.net.advance_to(self.net.now_ns() + 1_000 + returned);
        }
        self.peer.stop();
        PacketBalance {
            path: self.peer.count(),
            ledger: self.testbed.ledger(),
            ..PacketBalance::default()
        }
    }

    fn end(mut self) {
        self.testbed.set_doors(WorkerPorts::closed());
        self.testbed.stop();
        drop(self.peer);
        assert_eq!((self.pool.live(), self.pool.leaked()), (0, 0));
    }
}

fn turned(testbed: &mut Testbed<SimIo>) {
    testbed.turn();
}

fn traffic(open: [bool; 2], answer: Answer) -> Traffic {
    Traffic {
        open,
        answer,
        check: Check::Every,
        at_most: PACKETS,
        window: 200,
    }
}

#[test]
fn all_packets_come_back_through_the_path_as_they_should() {
    let mut scene = Scene::new(LinkConfig::default());
    let both = traffic([true, true], Answer::Path);
    let balance = scene.play(both, turned);
    assert_eq!((balance.path.sent, balance.path.returned), (2_000, 2_000));
    assert_eq!((balance.path.compared, balance.path.wrong), (2_000, 0));
    assert_eq!(balance.ledger.transmitted, 2_000);
    assert_eq!((balance.lost(), balance.fault()), ([0; 4], None));
    scene.end();
}

#[test]
fn the_plain_loop_gives_packets_back_as_they_were_sent() {
    let mut scene = Scene::new(LinkConfig::default());
    let uplink = traffic([true, false], Answer::Same);
    let balance = scene.play(uplink, |testbed| assert_eq!(testbed.turn_io(32).1, 0));
    assert_eq!((balance.path.sent, balance.path.returned), (1_000, 1_000));
    assert_eq!((balance.path.compared, balance.path.wrong), (1_000, 0));
    scene.end();
}

#[test]
fn packets_that_nothing_was_done_to_are_not_what_the_path_makes() {
    let mut scene = Scene::new(LinkConfig::default());
    let both = traffic([true, true], Answer::Path);
    let balance = scene.play(both, |testbed| assert_eq!(testbed.turn_io(32).1, 0));
    assert_eq!((balance.path.returned, balance.path.wrong), (2_000, 2_000));
    let fault = balance.fault().unwrap();
    assert!(
        fault.starts_with("2000 of 2000 packets are wrong; "),
        "{fault}"
    );
    scene.end();
}

#[test]
fn packets_lost_on_the_way_are_missed_where_they_were_lost() {
    let lossy = LinkConfig {
        loss_ppm: 100_000,
        ..LinkConfig::default()
    };
    let mut scene = Scene::new(lossy);
    let both = traffic([true, true], Answer::Path);
    let balance = scene.play(both, turned);
    let [before, within, behind, limit] = balance.lost();
    assert!(before > 0 && behind > 0, "{balance:?}");
    assert_eq!((within, limit), (0, 0));
    let under_way = balance.path.sent - balance.path.returned;
    assert_eq!(before + behind, under_way);
    assert_eq!(scene.peer.under_way(), under_way);
    scene.end();
}

#[test]
fn no_more_packets_are_under_way_than_the_window_holds() {
    let mut scene = Scene::new(LinkConfig::default());
    let both = traffic([true, true], Answer::Path);
    let balance = scene.play(both, |_| {});
    assert_eq!((balance.path.sent, balance.path.returned), (400, 0));
    // The next order finds none of them.
    scene.play(both, turned);
    scene.end();
}

#[test]
fn a_flow_is_the_same_for_another_process() {
    let flow = Flow::new(0x8000_0007, 0x1000_0009, "10.64.3.4".parse().unwrap());
    assert_eq!(Flow::from_bytes(flow.to_bytes()), flow);
    let mut frames = [[0; 122]; 2];
    let made = [flow, Flow::from_bytes(flow.to_bytes())];
    for (frame, flow) in frames.iter_mut().zip(made) {
        Frames::default().fill(Direction::Uplink, &flow, frame);
    }
    assert_eq!(frames[0], frames[1]);
}

#[test]
fn closed_doors_give_and_take_nothing() {
    let mut doors = WorkerPorts::<SimIo>::closed();
    let mut burst = sluice_port::Burst::new();
    let queue = sluice_port::QueueId(0);
    assert_eq!(doors.rx(N3, queue, &mut burst, 32), 0);
    let pool = HeapPool::default();
    let mut packet = pool.alloc().unwrap();
    packet.append(60).unwrap();
    burst.push(packet).unwrap();
    assert_eq!((doors.tx(N6, queue, &mut burst), burst.len()), (0, 1));
}
