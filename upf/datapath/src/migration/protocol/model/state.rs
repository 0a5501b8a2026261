//! State of the model check: workers, rings, control core and network card as values.

use super::super::*;

/// A packet: its flow, and its number in it.
type Packet = (u8, u8);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum ModelMessage {
    Packet(Packet),
    Own(ShardId),
    Switch(Switch),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Command {
    Turn(MoveShard),
    Expect(ShardId, WorkerId),
    /// To the old poller: send this switch when what the queue held has been polled.
    Drain(Switch),
    Transaction(ShardId, u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Table(Vec<WorkerId>);

impl Routes for Table {
    fn set(&mut self, shard: ShardId, to: WorkerId) {
        self.0[usize::from(shard.0)] = to;
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModelWorker {
    pub(super) moves: Moves<Packet, u8>,
    routes: Table,
    owned: Vec<bool>,
    /// Its receive queue.
    queue: VecDeque<Packet>,
    commands: VecDeque<Command>,
    /// A shard that it has to give once its packets have left.
    giving: Vec<(ShardId, WorkerId)>,
    /// Switches that wait until so many more packets have been polled.
    draining: Vec<(Switch, usize)>,
}

/// What the control core is asked for, in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Wish {
    Move(u16, WorkerId),
    /// The card is to send the shard's flows to another worker's queue.
    Steer(u16, WorkerId),
    Transaction(u16, u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Steering {
    /// The owner has been told to expect the new poller.
    Told(u16, WorkerId),
    /// The card has been told; the effect comes when it likes, for one flow after the other.
    Asked(u16, WorkerId),
    /// The old poller empties its queue.
    Draining,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModelState {
    pub(super) workers: Vec<ModelWorker>,
    /// `rings[from][to]`.
    rings: Vec<Vec<VecDeque<ModelMessage>>>,
    room: usize,
    /// For each flow: its shard, the queue that the card puts it into, packets yet to come.
    flows: Vec<(u16, WorkerId, VecDeque<u8>)>,
    wishes: VecDeque<Wish>,
    owners: Vec<WorkerId>,
    moving: Vec<bool>,
    steering: Option<Steering>,
    /// Last packet executed of each flow, and last transaction of each shard.
    seen: Vec<u8>,
    applied: Vec<u8>,
    executed: usize,
    pub(super) dropped: usize,
}

/// A step that some part of the world can take.
#[derive(Clone, Copy, Debug)]
pub(super) enum ModelStep {
    Arrive(usize),
    Poll(usize),
    Take(usize, usize),
    Obey(usize),
    Give(usize),
    Drained(usize),
    Wish,
    CardActs,
}

impl ModelState {
    pub(super) fn new(
        workers: usize,
        owners: &[WorkerId],
        flows: &[(u16, WorkerId, u8)],
        room: usize,
    ) -> Self {
        let worker = |me: usize| ModelWorker {
            moves: Moves::new(WorkerId::at(me), workers, room, 2, owners.len()),
            routes: Table(owners.to_vec()),
            owned: owners.iter().map(|o| usize::from(*o) == me).collect(),
            queue: VecDeque::new(),
            commands: VecDeque::new(),
            giving: vec![],
            draining: vec![],
        };
        Self {
            workers: (0..workers).map(worker).collect(),
            rings: vec![vec![VecDeque::new(); workers]; workers],
            room,
            flows: flows
                .iter()
                .map(|(shard, at, count)| (*shard, *at, (1..=*count).collect()))
                .collect(),
            wishes: VecDeque::new(),
            owners: owners.to_vec(),
            moving: vec![false; owners.len()],
            steering: None,
            seen: vec![0; flows.len()],
            applied: vec![0; owners.len()],
            executed: 0,
            dropped: 0,
        }
    }

    /// Where nothing is steered it does not matter when packets arrive, only when they are polled.
    pub(super) fn wishing(mut self, wishes: &[Wish]) -> Self {
        self.wishes = wishes.iter().copied().collect();
        if !wishes.iter().any(|w| matches!(w, Wish::Steer(..))) {
            while let Some(flow) = self.flows.iter().position(|f| !f.2.is_empty()) {
                self.take(ModelStep::Arrive(flow));
            }
        }
        self
    }

    pub(super) fn steps(&self) -> Vec<ModelStep> {
        let n = self.workers.len();
        let mut steps: Vec<ModelStep> = (0..self.flows.len())
            .filter(|f| !self.flows[*f].2.is_empty())
            .map(ModelStep::Arrive)
            .collect();
        for (w, worker) in self.workers.iter().enumerate() {
            let able = [
                (!worker.queue.is_empty(), ModelStep::Poll(w)),
                (!worker.commands.is_empty(), ModelStep::Obey(w)),
                (!worker.giving.is_empty(), ModelStep::Give(w)),
                (
                    worker.draining.iter().any(|d| d.1 == 0),
                    ModelStep::Drained(w),
                ),
            ];
            steps.extend(able.iter().filter(|(can, _)| *can).map(|(_, step)| *step));
            let waiting = (0..n).filter(|from| !self.rings[*from][w].is_empty());
            steps.extend(waiting.map(|from| ModelStep::Take(from, w)));
        }
        if self.wishes.front().is_some_and(|w| self.may(w)) {
            steps.push(ModelStep::Wish);
        }
        if matches!(self.steering, Some(Steering::Asked(..))) {
            steps.push(ModelStep::CardActs);
        }
        steps
    }

    /// The control core: one change of a shard at a time; others overlap.
    fn may(&self, wish: &Wish) -> bool {
        match *wish {
            Wish::Move(shard, _) => !self.moving[usize::from(shard)],
            Wish::Steer(shard, _) => !self.moving[usize::from(shard)] && self.steering.is_none(),
            Wish::Transaction(..) => true,
        }
    }

    pub(super) fn take(&mut self, step: ModelStep) {
        match step {
            ModelStep::Arrive(flow) => {
                let (_, at, coming) = &mut self.flows[flow];
                let packet = (flow as u8, coming.pop_front().unwrap());
                self.workers[usize::from(*at)].queue.push_back(packet);
            }
            ModelStep::Poll(w) => {
                let packet = self.workers[w].queue.pop_front().unwrap();
                for (_, left) in &mut self.workers[w].draining {
                    *left = left.saturating_sub(1);
                }
                self.polled(w, packet);
            }
            ModelStep::Take(from, w) => {
                let message = self.rings[from][w].pop_front().unwrap();
                self.message(w, from, message);
            }
            ModelStep::Obey(w) => {
                let command = self.workers[w].commands.pop_front().unwrap();
                self.obey(w, command);
            }
            ModelStep::Give(w) => {
                let (shard, to) = self.workers[w].giving.remove(0);
                assert!(self.workers[w].owned[usize::from(shard.0)]);
                self.workers[w].owned[usize::from(shard.0)] = false;
                self.token(w, to, ModelMessage::Own(shard));
                self.workers[w].moves.gave(shard);
            }
            ModelStep::Drained(w) => self.drained(w),
            ModelStep::Wish => self.wish(),
            ModelStep::CardActs => self.card_acts(),
        }
    }

    fn polled(&mut self, w: usize, packet: Packet) {
        let shard = self.shard(packet);
        match self.workers[w].routes.0[usize::from(shard.0)] {
            ON_HOLD => self.hold(w, w, packet),
            to if usize::from(to) == w => self.execute(w, packet),
            to => self.send(w, to, packet),
        }
    }

    fn message(&mut self, w: usize, from: usize, message: ModelMessage) {
        let worker = &mut self.workers[w];
        match message {
            ModelMessage::Packet(packet) => {
                let shard = self.shard(packet);
                let worker = &self.workers[w];
                let owned = worker.owned[usize::from(shard.0)];
                match worker.moves.way(shard, WorkerId::at(from), owned) {
                    Disposition::Execute => self.execute(w, packet),
                    Disposition::Hold => self.hold(w, from, packet),
                    Disposition::Pass(to) => self.send(w, to, packet),
                }
            }
            ModelMessage::Own(shard) => {
                worker.owned[usize::from(shard.0)] = true;
                worker
                    .moves
                    .own(shard, WorkerId::at(from), &mut worker.routes);
                self.release(w, shard);
            }
            ModelMessage::Switch(switch) => self.switch(w, switch),
        }
    }

    fn switch(&mut self, w: usize, switch: Switch) {
        let worker = &mut self.workers[w];
        match worker.moves.switch(switch, &mut worker.routes) {
            Some(to) => self.token(w, to, ModelMessage::Switch(switch)),
            None => self.release(w, switch.shard),
        }
    }

    fn release(&mut self, w: usize, shard: ShardId) {
        while let Some(number) = self.workers[w].moves.next_transaction(shard) {
            self.apply(w, shard, number);
        }
        while let Some(packet) = self.workers[w].moves.next_released(shard) {
            self.execute(w, packet);
        }
        if self.workers[w].moves.settle(shard) {
            self.moving[usize::from(shard.0)] = false;
            if self.steering == Some(Steering::Draining) {
                self.steering = None;
            }
        }
    }

    fn obey(&mut self, w: usize, command: Command) {
        let worker = &mut self.workers[w];
        match command {
            Command::Turn(turn) => match worker.moves.turn(turn, &mut worker.routes) {
                MoveAction::Tell(to, switch) => self.token(w, to, ModelMessage::Switch(switch)),
                MoveAction::Give(to) => worker.giving.push((turn.shard, to)),
            },
            Command::Expect(shard, producer) => {
                worker.moves.expect(shard, producer, &mut worker.routes);
                self.steering = Some(Steering::Asked(shard.0, producer));
            }
            Command::Drain(switch) => worker.draining.push((switch, worker.queue.len())),
            Command::Transaction(shard, number) => {
                if worker.owned[usize::from(shard.0)] {
                    self.apply(w, shard, number);
                } else {
                    worker.moves.hold_transaction(shard, number);
                }
            }
        }
    }

    fn drained(&mut self, w: usize) {
        let draining = &mut self.workers[w].draining;
        let at = draining.iter().position(|d| d.1 == 0).unwrap();
        let (switch, _) = draining.remove(at);
        if usize::from(switch.to) == w {
            self.switch(w, switch);
        } else {
            self.token(w, switch.to, ModelMessage::Switch(switch));
        }
    }

    fn wish(&mut self) {
        match self.wishes.pop_front().unwrap() {
            Wish::Move(shard, to) => {
                let from = std::mem::replace(&mut self.owners[usize::from(shard)], to);
                assert_ne!(from, to, "a move to where it is");
                self.moving[usize::from(shard)] = true;
                let shard = ShardId(shard);
                for worker in &mut self.workers {
                    let turn = MoveShard { shard, from, to };
                    worker.commands.push_back(Command::Turn(turn));
                }
            }
            Wish::Steer(shard, to) => {
                self.moving[usize::from(shard)] = true;
                self.steering = Some(Steering::Told(shard, to));
                let owner = usize::from(self.owners[usize::from(shard)]);
                let expect = Command::Expect(ShardId(shard), to);
                self.workers[owner].commands.push_back(expect);
            }
            Wish::Transaction(shard, number) => {
                let owner = usize::from(self.owners[usize::from(shard)]);
                let transaction = Command::Transaction(ShardId(shard), number);
                self.workers[owner].commands.push_back(transaction);
            }
        }
    }

    /// Each flow comes by a port of its own, which acts when it likes; then the old poller is asked.
    fn card_acts(&mut self) {
        let Some(Steering::Asked(shard, to)) = self.steering else {
            return;
        };
        let flows = self.flows.iter_mut();
        let mut still = flows.filter(|f| f.0 == shard && f.1 != to);
        let old = still
            .next()
            .map_or(to, |flow| std::mem::replace(&mut flow.1, to));
        if still.next().is_some() {
            return;
        }
        self.steering = Some(Steering::Draining);
        let switch = Switch {
            shard: ShardId(shard),
            to: self.owners[usize::from(shard)],
            producer: to,
        };
        let drain = Command::Drain(switch);
        self.workers[usize::from(old)].commands.push_back(drain);
    }

    fn execute(&mut self, w: usize, (flow, number): Packet) {
        let shard = self.flows[usize::from(flow)].0;
        assert!(
            self.workers[w].owned[usize::from(shard)],
            "executed by another than the owner"
        );
        let seen = &mut self.seen[usize::from(flow)];
        assert!(*seen < number, "flow {flow}: {number} behind {seen}");
        *seen = number;
        self.executed += 1;
    }

    fn apply(&mut self, w: usize, shard: ShardId, number: u8) {
        assert!(self.workers[w].owned[usize::from(shard.0)]);
        let applied = &mut self.applied[usize::from(shard.0)];
        assert!(*applied < number, "transaction {number} behind {applied}");
        *applied = number;
    }

    fn hold(&mut self, w: usize, from: usize, packet: Packet) {
        let shard = self.shard(packet);
        let held = self.workers[w]
            .moves
            .hold(shard, WorkerId::at(from), packet);
        self.dropped += usize::from(held.is_err());
    }

    fn send(&mut self, w: usize, to: WorkerId, packet: Packet) {
        let ring = &mut self.rings[w][usize::from(to)];
        if ring
            .iter()
            .filter(|m| matches!(m, ModelMessage::Packet(_)))
            .count()
            < self.room
        {
            ring.push_back(ModelMessage::Packet(packet));
        } else {
            self.dropped += 1;
        }
    }

    fn token(&mut self, w: usize, to: WorkerId, token: ModelMessage) {
        let n = self.workers.len();
        let ring = &mut self.rings[w][usize::from(to)];
        ring.push_back(token);
        let tokens = ring
            .iter()
            .filter(|m| !matches!(m, ModelMessage::Packet(_)));
        let moving = self.moving.iter().filter(|m| **m).count();
        assert!(
            tokens.count() <= n * moving,
            "tokens of a move that is over"
        );
    }

    fn shard(&self, packet: Packet) -> ShardId {
        ShardId(self.flows[usize::from(packet.0)].0)
    }

    /// Packets to come and waiting in receive queues.
    pub(super) fn packets(&self) -> usize {
        let coming: usize = self.flows.iter().map(|f| f.2.len()).sum();
        coming + self.workers.iter().map(|w| w.queue.len()).sum::<usize>()
    }

    pub(super) fn check(&self) {
        for shard in 0..self.owners.len() {
            let owners = self.workers.iter().filter(|w| w.owned[shard]).count();
            assert!(owners <= 1, "two owners of shard {shard}");
        }
    }

    pub(super) fn check_end(&self, packets: usize) {
        assert!(
            self.wishes.is_empty() && !self.moving.contains(&true),
            "a move never ends: {self:?}"
        );
        assert_eq!(
            self.executed + self.dropped,
            packets,
            "packets are lost: {self:?}"
        );
        for (w, worker) in self.workers.iter().enumerate() {
            assert!(
                worker.moves.is_quiet() && worker.moves.held() == 0,
                "worker {w}: {self:?}"
            );
            assert_eq!(worker.routes.0, self.owners, "routes of worker {w}");
            let owned = self.owners.iter().map(|o| usize::from(*o) == w);
            assert!(
                owned.eq(worker.owned.iter().copied()),
                "rights of worker {w}"
            );
        }
    }
}
