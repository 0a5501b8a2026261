//! The state of a simulated network, advanced event by event.

use std::collections::BTreeMap;

use sluice_port::{Burst, LinkState, QueueId};

use crate::link::{Fate, Link, LinkConfig};
use crate::port::{Port, SimPortConfig};
use crate::rng::Rng;
use crate::{HeapPacket, Ledger};

pub(crate) struct NetState {
    pub(crate) now_ns: u64,
    pub(crate) ports: Vec<Port>,
    pub(crate) ledger: Ledger,
    /// By time, then in the order in which they were made.
    events: BTreeMap<(u64, u64), Event>,
    last_event: u64,
    seed: u64,
}

enum Event {
    /// The oldest packet of the queue has left.
    Sent { port: usize, queue: QueueId },
    /// A frame reaches the port.
    Arrives { port: usize, frame: Vec<u8> },
}

impl NetState {
    pub(crate) fn new(seed: u64) -> Self {
        let (ports, events) = (Vec::new(), BTreeMap::new());
        Self {
            now_ns: 0,
            ports,
            ledger: Ledger::default(),
            events,
            last_event: 0,
            seed,
        }
    }

    pub(crate) fn add_port(&mut self, config: SimPortConfig) -> usize {
        self.ports.push(Port::new(config));
        self.ports.len() - 1
    }

    /// Links one direction. Each has random numbers of its own.
    pub(crate) fn link(&mut self, from: usize, to: usize, config: LinkConfig) {
        let rng = Rng::new(self.seed, from as u64);
        self.ports[from].link = Some(Link::new(to, config, rng));
    }

    /// Lets everything happen that is due by `to_ns`. Time does not go back.
    pub(crate) fn advance_to(&mut self, to_ns: u64) {
        while let Some(next) = self
            .events
            .first_entry()
            .filter(|next| next.key().0 <= to_ns)
        {
            let ((at_ns, _), event) = next.remove_entry();
            self.now_ns = self.now_ns.max(at_ns);
            self.happen(event);
        }
        self.now_ns = self.now_ns.max(to_ns);
    }

    /// When the next thing happens.
    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        self.events.keys().next().map(|(at_ns, _)| *at_ns)
    }

    /// Puts a frame in front of a port at a time, at the earliest now.
    pub(crate) fn inject(&mut self, port: usize, at_ns: u64, frame: Vec<u8>) {
        self.ledger.injected += 1;
        if at_ns <= self.now_ns {
            self.arrive(port, frame);
        } else {
            self.ledger.in_flight += 1;
            self.schedule(at_ns, Event::Arrives { port, frame });
        }
    }

    /// Accepts packets from the front of `burst` as long as the queue has room.
    /// Returns how many.
    pub(crate) fn transmit(
        &mut self,
        port: usize,
        queue: QueueId,
        burst: &mut Burst<HeapPacket>,
    ) -> usize {
        let leave_ns = self.ports[port].accept(self.now_ns, queue, burst);
        self.ledger.accepted += leave_ns.len() as u64;
        let count = leave_ns.len();
        for at_ns in leave_ns {
            self.schedule(at_ns, Event::Sent { port, queue });
        }
        count
    }

    /// Where every frame is.
    pub(crate) fn ledger(&self) -> Ledger {
        let mut ledger = self.ledger;
        for (rx, tx) in self.ports.iter().map(Port::waiting) {
            ledger.in_rx_queues += rx;
            ledger.in_tx_queues += tx;
        }
        ledger
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Sent { port, queue } => {
                if let Some(frame) = self.ports[port].send_next(self.now_ns, queue) {
                    self.carry(port, frame);
                }
            }
            Event::Arrives { port, frame } => {
                self.ledger.in_flight -= 1;
                self.arrive(port, frame);
            }
        }
    }

    /// Sends a frame that left `port` over its link.
    fn carry(&mut self, port: usize, frame: Vec<u8>) {
        let from = &mut self.ports[port];
        if from.state == LinkState::Down {
            from.stats.tx_errors += 1;
            self.ledger.lost += 1;
            return;
        }
        let Some(link) = &mut from.link else {
            from.output.push_back((self.now_ns, frame));
            self.ledger.output += 1;
            return;
        };
        let (to, fate) = (link.to, link.next_fate());
        match fate {
            Fate::Lost => self.ledger.lost += 1,
            Fate::Arrives { after_ns } => self.fly(to, after_ns, frame),
            Fate::ArrivesTwice { after_ns } => {
                self.ledger.duplicated += 1;
                self.fly(to, after_ns, frame.clone());
                self.fly(to, after_ns, frame);
            }
        }
    }

    fn fly(&mut self, port: usize, after_ns: u64, frame: Vec<u8>) {
        self.ledger.in_flight += 1;
        self.schedule(
            self.now_ns.saturating_add(after_ns),
            Event::Arrives { port, frame },
        );
    }

    fn arrive(&mut self, port: usize, frame: Vec<u8>) {
        let port = &mut self.ports[port];
        if port.state == LinkState::Down {
            self.ledger.lost += 1;
        } else if !port.receive(self.now_ns, frame) {
            self.ledger.missed += 1;
        }
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.last_event += 1;
        self.events.insert((at_ns, self.last_event), event);
    }
}
