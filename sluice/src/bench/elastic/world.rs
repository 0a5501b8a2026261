//! Two workers as `sluice upf` has them, one on this thread together with the control core, one on a
//! thread of its own, and sessions established over N4.

use super::card::{Steering, slots};
use super::source::{Flows, Pace, Source};
use super::steered::{Table, steerer};
use super::turns::{Turns, turn};
use super::watch::Watch;
use crate::bench::path::scene::{self, N3, N6};
use crate::bench::path::smf::{Answers, Smf, Teids};
use crate::bench::path::traffic::Flow;
use crate::bench::path::world::{Failure, N4_ADDRESS, Size, shuffle, time};
use crate::config;
use crate::upf::elastic::Scaling;
use serde_json::Value;
use sluice_host::{clock, thread};
use sluice_mem::shard::ShardId;
use sluice_n4::NodeId;
use sluice_node::control::Control;
use sluice_node::core::Core;
use sluice_node::session::{Config, UpFunction};
use sluice_path::assembly::{Plan, assemble};
use sluice_path::layout::Layout;
use sluice_path::limits::SHARDS;
use sluice_path::steer::Steerer;
use sluice_path::tables::Polled;
use sluice_path::worker::Worker;
use sluice_port::{Packet, QueueId};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The control core has a turn after so many turns of the worker beside it, or when so much time went
/// by: with a CPU of its own, as the daemon has it, it would not wait for turns full of packets.
const CONTROL_EVERY: u32 = 4;
const CONTROL_NS: u64 = 20_000;

/// So many turns without a step are the end of what the card was asked for.
const QUIET_TURNS: u32 = 64;

/// By then all packets have left, whatever else the machine does.
const DRAIN_NS: u64 = 1_000_000_000;

/// Something to be done by the second worker's thread, between two turns.
type Order<P> = Box<dyn FnOnce(&mut Worker<Source<P>>, &mut Turns) + Send>;

/// Both workers and the control core.
pub struct World<P: Packet> {
    pub core: Core<P>,
    pub watch: Arc<Watch>,
    pub flows: Arc<[Flow]>,
    pub steering: Arc<Steering>,
    near: Worker<Source<P>>,
    near_turns: Turns,
    far: Option<std::thread::JoinHandle<()>>,
    orders: Option<Sender<Order<P>>>,
    answers: Answers<P>,
    turns: u32,
    /// When the control core had its last turn.
    controlled_ns: u64,
    scaling: Option<Scaling>,
    steerer: Option<Steerer<Table>>,
}

impl<P: Packet + Send + 'static> World<P> {
    /// Establishes the sessions, whose packets have a PDU Session Container or none, and starts the
    /// second worker on `cpus[1]`.
    pub fn build(
        sessions: u32,
        cpus: [usize; 2],
        container: bool,
        mut pools: [Box<dyn FnMut() -> Option<P> + Send>; 2],
        on_thread: impl FnOnce() -> Box<dyn std::any::Any> + Send + 'static,
    ) -> Result<Self, Failure> {
        let watch = Arc::new(Watch::new(sessions as usize));
        let pool_of = |at: usize, pools: &mut [_; 2]| {
            core::mem::replace(&mut pools[at], Box::new(|| None) as Box<_>)
        };
        let (steering, [near, far]) = (Arc::new(Steering::new()), slots());
        let source = |worker, slots, pools: &mut _| {
            let pool = pool_of(worker, pools);
            Source::new(worker, watch.clone(), pool, slots, steering.clone())
        };
        let sources = [source(0, near, &mut pools), source(1, far, &mut pools)];
        let (mut core, mut workers) = start(sessions, sources)?;
        let mut answers = Answers::new(sessions, Teids::Ours);
        establish((sessions, container), &mut core, &mut workers, &mut answers)?;
        shuffle(&mut answers.flows);
        let flows: Arc<[Flow]> = core::mem::take(&mut answers.flows).into();
        let [near, far] = workers;
        let turns = |worker: usize| Turns::new(core.end().stats()[worker].clone());
        let (near_turns, far_turns) = (turns(0), turns(1));
        thread::pin(&[cpus[0]]).map_err(|e| e.to_string())?;
        let (orders, taken) = channel();
        let far = std::thread::Builder::new()
            .name("far-worker".to_owned())
            .spawn(move || {
                let _registered = on_thread();
                let _ = thread::pin(&[cpus[1]]);
                run(far, far_turns, &taken);
            })
            .map_err(|e| e.to_string())?;
        Ok(Self {
            core,
            watch,
            flows,
            steering,
            near,
            near_turns,
            far: Some(far),
            orders: Some(orders),
            answers,
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
        self.core.turn(time(), &mut self.answers);
        if let Some(scaling) = &mut self.scaling {
            scaling.turn(&mut self.core);
        }
        if let Some(steerer) = &mut self.steerer {
            steerer.turn(self.core.end_mut());
        }
    }

    /// From now on the load decides who owns what, and the card follows, by the daemon's code; or
    /// nobody decides. Shards lie as they are dealt at first, and no packet is under way. What was
    /// decided until now.
    pub fn scale(&mut self, scaling: Option<config::Scaling>) -> Option<Value> {
        self.scale_with(scaling, true)
    }

    /// What scaling has decided so far, while it is on.
    pub fn scaling(&self) -> Option<Value> {
        self.scaling.as_ref().map(Scaling::view)
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

    /// What the card is being asked for comes into force: a group on its way would stay there.
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
            self.core.end_mut().move_shard(shard_id, owner(shard));
        }
        self.settle();
    }

    /// Each worker polls the queues of its number again, whatever scaling made of that.
    pub fn poll_own_queues(&mut self) {
        for (worker, port) in [(0, N3), (0, N6), (1, N3), (1, N6)] {
            let queue = QueueId(worker.into());
            self.core
                .end_mut()
                .move_queue(Polled { port, queue }, worker);
        }
        self.settle();
    }

    /// Turns for so long.
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
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
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

    /// Until no move is under way.
    pub fn settle(&mut self) {
        while self.core.end().mover().progress().1 > 0 {
            self.turn();
        }
    }

    /// Ends both workers.
    pub fn end(mut self) {
        self.drain();
        drop(self.orders.take());
        if let Some(far) = self.far.take() {
            let _ = far.join();
        }
        self.near.stop();
    }
}

/// The far worker's thread, until the world ends.
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

type Workers<P> = [Worker<Source<P>>; 2];

fn start<P: Packet>(
    sessions: u32,
    sources: [Source<P>; 2],
) -> Result<(Core<P>, Workers<P>), Failure> {
    let size = Size::of(sessions);
    let pool = scene::pool(sessions);
    let layout = Layout::new(size.endpoints, &[pool], sessions).map_err(|e| e.to_string())?;
    let plan = Plan {
        layout: layout.clone(),
        blocks: size.blocks,
        workers: 2,
    };
    let (seeds, mut end, foreign) = assemble(&plan).map_err(|e| e.to_string())?;
    let control = Control::new(scene::control_config(pool)).map_err(|e| e.to_string())?;
    let config = Config {
        sessions: sessions as usize,
        ..Config::new(layout, plan.blocks, N4_ADDRESS, [1, 2])
    };
    let n4 = sluice_n4::Config {
        heartbeat_interval_ms: 0,
        ..sluice_n4::Config::new(NodeId::v4(N4_ADDRESS), time().wall)
    };
    let mut grown = seeds.into_iter().zip(sources).map(|(seed, source)| {
        let queue = QueueId(seed.id().into());
        let polled = [N3, N6].map(|port| Polled { port, queue });
        end.polls(seed.id(), &polled);
        seed.grow(source, polled.to_vec(), queue)
    });
    let workers = grown.next().zip(grown.next()).ok_or("two workers")?;
    drop(grown);
    let core = Core::new(control, UpFunction::new(config, n4, foreign), end);
    Ok((core, workers.into()))
}

fn establish<P: Packet>(
    (sessions, container): (u32, bool),
    core: &mut Core<P>,
    workers: &mut Workers<P>,
    answers: &mut Answers<P>,
) -> Result<(), Failure> {
    let mut smf = Smf::new(Teids::Ours);
    smf.set_container(container);
    let mut message = [0; 2048];
    let too_long = |_| "a request is too long";
    let len = smf.associate(&mut message, time().wall).map_err(too_long)?;
    core.datagram(time(), smf.address(), &message[..len], answers);
    for index in 0..sessions {
        let len = smf.establish(&mut message, index).map_err(too_long)?;
        core.datagram(time(), smf.address(), &message[..len], answers);
        while core.end().under_way() > 64 || index + 1 == sessions && core.end().under_way() > 0 {
            workers.iter_mut().for_each(|w| {
                w.turn(clock::monotonic_ns());
            });
            core.turn(time(), answers);
        }
    }
    match answers.established == sessions as usize {
        true => Ok(()),
        false => Err(format!(
            "{} of {sessions} sessions were established ({:?})",
            answers.established, answers.refused
        )),
    }
}
