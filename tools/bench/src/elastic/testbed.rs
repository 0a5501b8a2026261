//! Testbed of two workers: one on this thread together with the control core, one on a thread of
//! its own, and sessions established over N4.

use super::nic_model::{Steering, slots};
use super::source::{Flows, Pace, Source};
use super::steered::{Table, steerer};
use super::turns::{Turns, turn};
use super::watch::Watch;
use crate::Failure;
use crate::path::smf::Smf;
use crate::path::testbed::{Size, establish, start};
use crate::path::topology::{N3, N6};
use crate::path::traffic::Flow;
use crate::path::variant::Variant;
use serde_json::Value;
use sluice_control::core::UpfControl;
use sluice_datapath::ids::WorkerId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::migration::port_steering::Steerer;
use sluice_datapath::tables::Polled;
use sluice_datapath::worker::Worker;
use sluice_host::{clock, thread};
use sluice_mem::shard::ShardId;
use sluice_port::{Packet, QueueId};
use sluice_testbed::upf::{Upf, time};
use sluice_upf_daemon::config;
use sluice_upf_daemon::scaling::Scaling;
use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// The control core has a turn after so many turns of the worker beside it, or when so much time went
/// by: with a CPU of its own, as the daemon has it, it would not wait for turns full of packets.
const CONTROL_EVERY: u32 = 4;
const CONTROL_NS: u64 = 20_000;

/// By then all packets have left, whatever else the machine does: what is set up next relies on it, and
/// a virtual machine's CPU may be gone for seconds.
const DRAIN_NS: u64 = 30_000_000_000;
/// Packets of each source are so far apart while every UE sends its first.
const ONCE_APART_NS: f64 = 1_000.0;
/// Number of turns without a step after which the card's change is complete.
const QUIET_TURNS: u32 = 64;

/// Both workers and the control core.
pub struct Testbed<P: Packet> {
    pub core: UpfControl<P>,
    pub watch: Arc<Watch>,
    pub flows: Arc<[Flow]>,
    pub steering: Arc<Steering>,
    near: Worker<Source<P>>,
    near_turns: Turns,
    far: SecondWorker<P>,
    smf: Smf<P>,
    turns: u32,
    /// When the control core had its last turn.
    controlled_ns: u64,
    scaling: Option<Scaling>,
    steerer: Option<Steerer<Table>>,
}

impl<P: Packet + Send + 'static> Testbed<P> {
    /// Establishes sessions of this kind and starts the second worker on `cpus[1]`.
    pub fn build(
        sessions: u32,
        cpus: [usize; 2],
        variant: Variant,
        pools: [Box<dyn FnMut() -> Option<P> + Send>; 2],
        on_thread: impl FnOnce() -> Box<dyn Any> + Send + 'static,
    ) -> Result<Self, Failure> {
        let watch = Arc::new(Watch::new(sessions as usize));
        let (steering, [near, far]) = (Arc::new(Steering::new()), slots());
        let source =
            |worker, slots, pool| Source::new(worker, watch.clone(), pool, slots, steering.clone());
        let [of_near, of_far] = pools;
        let sources = [source(0, near, of_near), source(1, far, of_far)];
        let mut upf = start(Size::of(sessions).with(&variant), sources)?;
        let mut smf = Smf::new(sessions, variant);
        let flows = establish(&mut upf, &mut smf)?;
        let Upf { core, workers } = upf;
        let [near, far] = workers.try_into().map_err(|_| "two workers")?;
        let turns = |worker: usize| Turns::new(core.end().stats()[worker].clone());
        let (near_turns, far_turns) = (turns(0), turns(1));
        thread::pin(&[cpus[0]]).map_err(|e| e.to_string())?;
        let far = SecondWorker::start(far, far_turns, cpus[1], on_thread)?;
        Ok(Self {
            core,
            watch,
            flows,
            steering,
            near,
            near_turns,
            far,
            smf,
            turns: 0,
            controlled_ns: 0,
            scaling: None,
            steerer: None,
        })
    }

    /// A turn of the near worker, and now and then of the control core.
    pub fn turn(&mut self) {
        let now_ns = turn(&mut self.near, &mut self.near_turns);
        self.turns += 1;
        if self.turns >= CONTROL_EVERY || now_ns > self.controlled_ns + CONTROL_NS {
            self.control();
            self.turns = 0;
            self.controlled_ns = clock::monotonic_ns();
            self.near.io().excuse(self.controlled_ns - now_ns);
        }
    }

    fn control(&mut self) {
        self.core.turn(time(), &mut self.smf);
        if let Some(scaling) = &mut self.scaling {
            scaling.turn(&mut self.core);
        }
        if let Some(steerer) = &mut self.steerer {
            steerer.turn(self.core.end_mut());
        }
    }

    pub fn turn_for(&mut self, ns: u64) {
        let until = clock::monotonic_ns() + ns;
        while clock::monotonic_ns() < until {
            self.turn();
        }
    }

    /// Does something to both sources, and waits for it.
    pub fn sources<T: Send + 'static>(
        &mut self,
        act: impl Fn(usize, &mut Source<P>) -> T + Clone + Send + 'static,
    ) -> [T; 2] {
        self.workers(move |number, worker, _| act(number, worker.io()))
    }

    /// Does something to both workers at the same time, and waits for it.
    pub fn workers<T: Send + 'static>(
        &mut self,
        act: impl Fn(usize, &mut Worker<Source<P>>, &mut Turns) -> T + Clone + Send + 'static,
    ) -> [T; 2] {
        let (answer, answered) = channel();
        let far = act.clone();
        let order: Order<P> = Box::new(move |worker, turns| {
            let _ = answer.send(far(1, worker, turns));
        });
        self.far.order(order);
        let near = act(0, &mut self.near, &mut self.near_turns);
        loop {
            if let Ok(far) = answered.try_recv() {
                return [near, far];
            }
            self.turn();
        }
    }

    /// Nothing comes any more, and what was under way has left.
    pub fn drain(&mut self) {
        self.sources(|_, source| source.set_pace(Pace::Still));
        let until_ns = clock::monotonic_ns() + DRAIN_NS;
        let mut under_way = true;
        while under_way && clock::monotonic_ns() < until_ns {
            self.turn_for(100_000);
            let left = self.watch.sum(|eye| &eye.left) + self.core.ledger().dropped_total();
            under_way = self.watch.sum(|eye| &eye.made) > left;
        }
    }

    /// Each UE sends a packet: what comes to its public port has a way from then on. Packets go up, and none is under
    /// way.
    pub fn send_once(&mut self) -> Result<(), Failure> {
        let home = |flow: &Flow| (flow.ue % SHARDS % 2) as usize;
        let queue = |shard: u32| shard as usize % 2;
        self.set_flows(queue, move |_, flow| home(flow), |_, _| false);
        self.sources(|_, source| source.set_pace(Pace::every(ONCE_APART_NS)));
        let until_ns = clock::monotonic_ns() + DRAIN_NS;
        let mut silent = usize::MAX;
        while silent > 0 && clock::monotonic_ns() < until_ns {
            self.turn_for(1_000_000);
            let sent = self.watch.numbers();
            silent = sent.iter().step_by(2).filter(|sent| **sent == 0).count();
        }
        self.drain();
        match silent {
            0 => Ok(()),
            _ => Err(format!(
                "packets of {silent} UEs did not reach the data network: {} made, {} missed; {}",
                self.watch.sum(|eye| &eye.made),
                self.watch.sum(|eye| &eye.missed),
                self.core.ledger()
            )),
        }
    }

    /// Packets of a shard come in at the queue that `queue` says, packets of each flow are made by
    /// the source that `maker` says, and those flows are hot that `hot` says. None is under way.
    pub fn set_flows(
        &mut self,
        queue: impl Fn(u32) -> usize,
        maker: impl Fn(usize, &Flow) -> usize + Clone + Send + 'static,
        hot: impl Fn(usize, &Flow) -> bool + Clone + Send + 'static,
    ) {
        self.steering.set(queue);
        let all = self.flows.clone();
        self.sources(move |worker, source| {
            source.set_flows(&Flows {
                all: all.clone(),
                own: &|place, flow| maker(place, flow) == worker,
                hot: &hot,
            });
        });
    }

    /// Lets shards go where `owner` says, and waits for it.
    pub fn own(&mut self, owner: impl Fn(u32) -> u8) {
        for shard in 0..SHARDS {
            let shard_id = ShardId(shard as u16);
            self.core
                .end_mut()
                .move_shard(shard_id, WorkerId(owner(shard)));
        }
        self.settle();
    }

    /// Each worker polls the queues of its number again, whatever scaling made of that.
    pub fn poll_own_queues(&mut self) {
        for (worker, port) in [(0, N3), (0, N6), (1, N3), (1, N6)] {
            let queue = QueueId(worker.into());
            self.core
                .end_mut()
                .move_queue(Polled { port, queue }, WorkerId(worker));
        }
        self.settle();
    }

    /// Until no move is under way.
    pub fn settle(&mut self) {
        while self.core.end().mover().progress().1 > 0 {
            self.turn();
        }
    }

    /// From now on the load decides who owns what, and the card follows, by the daemon's code; or
    /// nobody decides. Shards lie as they are dealt at first, and no packet is under way. What was
    /// decided until now.
    pub fn scale(&mut self, scaling: Option<config::Scaling>) -> Option<Value> {
        self.scale_with(scaling, true)
    }

    /// As [`scale`](Self::scale); the card follows, or stays as it is.
    pub fn scale_with(&mut self, scaling: Option<config::Scaling>, follows: bool) -> Option<Value> {
        let was = self.scaling();
        self.scaling = None;
        self.let_the_card_follow();
        let follows = follows && scaling.is_some();
        self.steerer = follows.then(|| steerer(&self.steering));
        self.scaling = scaling.map(|config| Scaling::new(config, &mut self.core));
        was
    }

    /// Decisions of scaling so far, while it is on.
    pub fn scaling(&self) -> Option<Value> {
        self.scaling.as_ref().map(Scaling::view)
    }

    /// Waits until the card's change is in force: a group that is moving would stay on its way.
    fn let_the_card_follow(&mut self) {
        let mut quiet = 0;
        while self.steerer.is_some() && quiet < QUIET_TURNS {
            self.turn();
            let steps = self
                .steerer
                .as_mut()
                .map_or(0, |steerer| steerer.turn(self.core.end_mut()));
            let left = self.core.end().mover().progress().1;
            quiet = if steps == 0 && left == 0 {
                quiet + 1
            } else {
                0
            };
        }
    }

    pub fn end(mut self) {
        self.drain();
        self.far.end();
        self.near.stop();
    }
}

/// Something to be done by the second worker's thread, between two turns.
type Order<P> = Box<dyn FnOnce(&mut Worker<Source<P>>, &mut Turns) + Send>;

/// The thread, as those see it who have orders for it. Without them it ends.
struct SecondWorker<P: Packet> {
    thread: JoinHandle<()>,
    orders: Sender<Order<P>>,
}

impl<P: Packet + Send + 'static> SecondWorker<P> {
    /// Starts it on a CPU of its own.
    fn start(
        worker: Worker<Source<P>>,
        turns: Turns,
        cpu: usize,
        on_thread: impl FnOnce() -> Box<dyn Any> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (orders, taken) = channel();
        let thread = Builder::new()
            .name("far-worker".to_owned())
            .spawn(move || {
                let _registered = on_thread();
                let _ = thread::pin(&[cpu]);
                run(worker, turns, &taken);
            })
            .map_err(|e| e.to_string())?;
        Ok(Self { thread, orders })
    }

    fn order(&self, order: Order<P>) {
        let _ = self.orders.send(order);
    }

    /// Waits until the worker has stopped.
    fn end(self) {
        drop(self.orders);
        let _ = self.thread.join();
    }
}

/// Turns, with an order between two of them now and then, until the thread is to end.
fn run<P: Packet>(mut worker: Worker<Source<P>>, mut turns: Turns, orders: &Receiver<Order<P>>) {
    use std::sync::mpsc::TryRecvError::{Disconnected, Empty};
    let mut taken = 0_u32;
    loop {
        turn(&mut worker, &mut turns);
        taken = taken.wrapping_add(1);
        if taken.is_multiple_of(64) {
            match orders.try_recv() {
                Ok(order) => order(&mut worker, &mut turns),
                Err(Empty) => {}
                Err(Disconnected) => break,
            }
        }
    }
    worker.stop();
}
