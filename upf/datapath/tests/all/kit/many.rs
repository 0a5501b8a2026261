//! Many UEs on several workers, ports with a queue for each, numbered packets, and a fair lot that
//! says who takes the next step.

use super::*;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::message::ToControl;
use sluice_datapath::tables::Polled;
use sluice_port_sim::hash::RssHash;
use sluice_port_sim::steer::{FlowRule, RuleId};
use std::collections::HashMap;

/// How many UEs.
#[derive(Clone, Copy)]
pub struct Ues(pub u32);

/// A change of steering on its way.
enum Steering {
    /// The owner is asked to expect the new poller.
    Asked { ue: u32, to: u8 },
    /// The port has the new rule, which takes effect later.
    Ruled { ue: u32, from: u8, to: u8 },
    /// The old poller empties its queue.
    Draining { ue: u32 },
}

pub struct World {
    pub kit: Kit,
    ues: u32,
    /// Numbers given, and seen on the wire, for each UE and direction.
    sent: HashMap<(u32, bool), u32>,
    seen: HashMap<(u32, bool), u32>,
    arrived: u64,
    injected: u64,
    /// Octets of inner packets that left, by UE and direction.
    pub left: HashMap<(u32, bool), u64>,
    /// What workers told the control core, where somebody wants it.
    pub told: Option<Vec<ToControl<HeapPacket>>>,
    steering: Option<Steering>,
    /// Rule and queue of downlink packets of a UE.
    rules: HashMap<u32, (RuleId, u8)>,
    rules_made: u32,
    state: u64,
}

/// Where the UE number lies in a downlink frame: the low octets of the destination.
const DESTINATION_AT: usize = 14 + 16;
/// Entries of a new port's indirection table.
const RETA_ENTRIES: usize = 128;

impl World {
    pub fn new(workers: u16, ues: Ues, seed: u64) -> Self {
        let ports = [Self::port("n3", workers), Self::port("n6", workers)];
        Self::with_ports(workers, ues, seed, ports)
    }

    /// A port with a queue each way for each worker.
    pub fn port(name: &str, workers: u16) -> SimPortConfig {
        SimPortConfig {
            rx_queues: workers,
            tx_queues: workers,
            rx_queue_packets: 4096,
            tx_queue_packets: 4096,
            // 100 octets take 8 ns: frames wait in their transmit queues.
            rate_bps: Some(100_000_000_000),
            tx_delays_ns: vec![3_000, 0, 9_000],
            hash: RssHash::UeAddress,
            steering_delay_ns: 1_500,
            ..SimPortConfig::named(name)
        }
    }

    pub fn with_ports(
        workers: u16,
        Ues(ues): Ues,
        seed: u64,
        [n3, n6]: [SimPortConfig; 2],
    ) -> Self {
        let kit = Kit::with_queues(workers, n3, n6);
        let mut world = Self {
            kit,
            ues,
            sent: HashMap::new(),
            seen: HashMap::new(),
            arrived: 0,
            injected: 0,
            left: HashMap::new(),
            told: None,
            steering: None,
            rules: HashMap::new(),
            rules_made: 0,
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        (0..ues).for_each(|ue| world.establish(ue));
        world
    }

    /// Below `n`.
    pub fn lot(&mut self, n: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % n
    }

    /// A UE goes idle: what comes for it is held.
    pub fn idle(&mut self, ue: u32) {
        self.idle_with(ue, None);
    }

    /// The same with a suggestion of how much.
    pub fn idle_with(&mut self, ue: u32, suggested: Option<u8>) {
        self.set_downlink(ue, holding(self.downlink_of(ue), suggested));
    }

    /// It is back.
    pub fn activate(&mut self, ue: u32) {
        self.set_downlink(ue, self.downlink_of(ue));
    }

    fn set_downlink(&mut self, ue: u32, image: SessionEntry) {
        let entry = self.kit.layout.pool_entry(INTERNET, address(ue).into());
        let entry = entry.unwrap().0;
        let again = held(entry, HeldOrder::Again);
        self.kit.send(entry, &[set(entry, image), again]);
    }

    pub fn downlink_of(&self, ue: u32) -> SessionEntry {
        let mut down = downlink();
        (down.key, down.ue_ip) = (address(ue).into(), address(ue).into());
        down.head.teid = GNB_TEID + ue;
        down
    }

    fn establish(&mut self, ue: u32) {
        let [ul, dl] = self.entries(ue);
        let ops = [set(ul, self.uplink_of(ue)), set(dl, self.downlink_of(ue))];
        self.kit.apply(ul, &ops, &[]);
    }

    /// The entries of a UE: uplink and downlink.
    pub fn entries(&self, ue: u32) -> [u32; 2] {
        let address = u32::from(address(ue));
        let downlink = self.kit.layout.pool_entry(INTERNET, address);
        [address % SHARDS, downlink.unwrap().0]
    }

    pub fn uplink_of(&self, ue: u32) -> SessionEntry {
        let [slot, _] = self.entries(ue);
        let teid = self.kit.layout.teid(slot, 5).unwrap();
        SessionEntry {
            ue_ip: address(ue).into(),
            ..uplink(teid)
        }
    }

    /// Numbered packets of UEs and directions by lot.
    pub fn inject(&mut self, packets: u32) {
        for _ in 0..packets {
            let ue = self.lot(self.ues.into()) as u32;
            let up = self.lot(2) == 0;
            self.inject_of(ue, up);
        }
    }

    /// The next packet of a UE and direction.
    pub fn inject_of(&mut self, ue: u32, up: bool) {
        let number = self.sent.entry((ue, up)).or_default();
        *number += 1;
        let payload = [ue.to_be_bytes(), number.to_be_bytes()].concat();
        self.injected += 1;
        if up {
            let inner = udp_packet(address(ue), SERVER, (4000, 80), &payload);
            let slot = u32::from(address(ue)) % SHARDS;
            let teid = self.kit.layout.teid(slot, 5).unwrap().get();
            self.kit.n3.inject(&gtpu_frame(GNB, teid, 9, &inner));
        } else {
            let packet = udp_packet(SERVER, address(ue), (80, 4000), &payload);
            let frame = frame(N6_MAC, DN_MAC, EtherType::IPV4, &packet);
            self.kit.n6.inject(&frame);
        }
    }

    /// One turn of one worker, a little later.
    pub fn turn(&mut self, worker: usize) {
        self.kit.now_ns += 300;
        self.kit.net.advance_to(self.kit.now_ns);
        let now_ns = self.kit.now_ns;
        self.kit.workers[worker].turn(now_ns);
        self.look();
    }

    /// Turns of workers by lot, and now and then of the control core.
    pub fn some_turns(&mut self, turns: u32) {
        for _ in 0..turns {
            let worker = self.lot(self.kit.workers.len() as u64) as usize;
            self.turn(worker);
            if self.lot(3) == 0 {
                self.control();
            }
        }
    }

    pub fn settle(&mut self) {
        self.settle_for(3_000);
        assert_eq!(
            self.kit.control.mover().progress().1,
            0,
            "a move does not end"
        );
    }

    pub fn settle_for(&mut self, rounds: u32) {
        for _ in 0..rounds {
            (0..self.kit.workers.len()).for_each(|w| self.turn(w));
            self.control();
        }
    }

    fn control(&mut self) {
        while let Some(message) = self.kit.control.receive_message() {
            if let ToControl::Expecting(_) = message {
                self.rule();
            }
            if let Some(told) = &mut self.told {
                told.push(message);
            }
        }
    }

    pub fn want(&mut self, shard: u16, to: u8) {
        assert!(self.kit.control.move_shard(ShardId(shard), WorkerId(to)));
    }

    pub fn move_ue(&mut self, ue: u32, to: u8) {
        self.want(shard(ue), to);
    }

    pub fn move_one(&mut self) {
        let (ue, to) = (
            self.lot(self.ues.into()),
            self.lot(self.kit.workers.len() as u64),
        );
        self.move_ue(ue as u32, to as u8);
    }

    /// All receive queues go to one worker.
    pub fn requeue_all(&mut self, to: u8) {
        for queue in 0..self.kit.workers.len() as u16 {
            (0..2).for_each(|port| {
                assert!(
                    self.kit
                        .control
                        .move_queue(polled(port, queue), WorkerId(to))
                )
            });
        }
    }

    /// All shards that a port would steer together go to a worker.
    pub fn move_group(&mut self) {
        let ue = self.lot(self.ues.into()) as u32;
        let to = self.lot(self.kit.workers.len() as u64) as u8;
        self.move_group_of(ue, to);
    }

    pub fn move_group_of(&mut self, ue: u32, to: u8) {
        let group = usize::from(shard(ue)) % 128;
        (group..4096)
            .step_by(128)
            .for_each(|shard| self.want(shard as u16, to));
    }

    /// A receive queue goes to another worker.
    pub fn requeue_one(&mut self) {
        let (port, workers) = (self.lot(2) as u16, self.kit.workers.len() as u64);
        let (queue, to) = (self.lot(workers) as u16, self.lot(workers) as u8);
        assert!(
            self.kit
                .control
                .move_queue(polled(port, queue), WorkerId(to))
        );
    }

    pub fn is_steering(&self) -> bool {
        self.steering.is_some()
    }

    /// One step of steering a UE's downlink packets to another queue; 1 when a change is complete.
    pub fn steer_on(&mut self) -> u64 {
        match self.steering {
            None => {
                let ue = self.lot(self.ues.into()) as u32;
                let to = self.lot(self.kit.workers.len() as u64) as u8;
                let known = self.rules.get(&ue).is_some_and(|(_, at)| *at != to);
                // A UE's first rule only fixes where it goes; its hash said so before.
                let first = !self.rules.contains_key(&ue);
                if (known || first) && self.kit.control.expect(ShardId(shard(ue)), WorkerId(to)) {
                    self.steering = Some(Steering::Asked { ue, to });
                }
                0
            }
            Some(Steering::Ruled { ue, from, to }) if self.kit.n6.steering_is_settled() => {
                let (port, queue) = (PortId(1), QueueId(from.into()));
                let queues = [Polled { port, queue }].into_iter().collect();
                let shard = ShardId(shard(ue));
                self.kit
                    .control
                    .drain(shard, WorkerId(from), queues, WorkerId(to));
                self.steering = Some(Steering::Draining { ue });
                0
            }
            Some(Steering::Draining { ue })
                if !self.kit.control.mover().is_moving(ShardId(shard(ue))) =>
            {
                self.steering = None;
                1
            }
            _ => 0,
        }
    }

    /// The owner expects the new poller: the new rule first, then the old one goes.
    fn rule(&mut self) {
        let Some(Steering::Asked { ue, to }) = self.steering else {
            panic!("nobody asked");
        };
        let old = self.rules.get(&ue).copied();
        let from = old.map_or_else(|| self.hashed_to(ue), |(_, at)| at);
        self.rules_made += 1;
        let rule = FlowRule {
            // Of two rules for a UE the newer counts.
            priority: u32::MAX - self.rules_made,
            offset: DESTINATION_AT,
            value: address(ue).octets().to_vec(),
            mask: vec![0xff; 4],
            queue: QueueId(to.into()),
        };
        let id = self.kit.n6.add_rule(rule).unwrap();
        if let Some((old, _)) = old {
            self.kit.n6.remove_rule(old).unwrap();
        }
        self.rules.insert(ue, (id, to));
        self.steering = Some(Steering::Ruled { ue, from, to });
    }

    /// The queue that the port's hash chooses for a UE's downlink packets.
    fn hashed_to(&self, ue: u32) -> u8 {
        let packet = udp_packet(SERVER, address(ue), (80, 4000), &[0; 8]);
        let frame = frame(N6_MAC, DN_MAC, EtherType::IPV4, &packet);
        let entry = RssHash::UeAddress.of(&frame).unwrap() as usize % RETA_ENTRIES;
        (entry % self.kit.workers.len()) as u8
    }

    pub fn forget_server(&mut self) {
        set_server_known(&mut self.kit.tables, false);
        self.kit.control.publish(self.kit.tables.clone());
    }

    pub fn find_server(&mut self) {
        set_server_known(&mut self.kit.tables, true);
        self.kit.control.publish(self.kit.tables.clone());
    }

    /// Every packet on the wire is the next of its UE and direction, or a later one.
    fn look(&mut self) {
        for (up, port) in [(true, &self.kit.n6), (false, &self.kit.n3)] {
            for frame in output(port) {
                let number = frame.last_chunk::<8>().unwrap();
                let [ue, number] =
                    [0, 4].map(|at| u32::from_be_bytes(*number[at..].first_chunk::<4>().unwrap()));
                let seen = self.seen.entry((ue, up)).or_default();
                assert!(
                    *seen < number,
                    "UE {ue}, uplink {up}: {number} behind {seen}"
                );
                *seen = number;
                self.arrived += 1;
                let around = if up { 14 } else { 14 + 44 };
                *self.left.entry((ue, up)).or_default() += (frame.len() - around) as u64;
            }
        }
    }

    pub fn close_without_loss(self) {
        self.close_in_order(0);
    }

    /// Order was looked at all the time; this many packets are missing.
    pub fn close_in_order(mut self, lost: u64) {
        self.settle_for(50);
        assert_eq!(
            self.injected - self.arrived,
            lost,
            "{}",
            self.kit.control.ledger()
        );
        self.kit.close();
    }
}

pub fn address(ue: u32) -> Ipv4Addr {
    // Spread over the shards.
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 0, 0)) + ue * 37)
}

pub fn shard(ue: u32) -> u16 {
    (u32::from(address(ue)) % SHARDS) as u16
}
