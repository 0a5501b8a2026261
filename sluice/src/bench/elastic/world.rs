//! Two workers as `sluice upf` has them, one on this thread together with the control core, one on a
//! thread of its own, and sessions established over N4.

use super::source::{Pace, Source};
use super::watch::Watch;
use crate::bench::path::scene::{self, N3, N6};
use crate::bench::path::smf::{Answers, Smf, Teids};
use crate::bench::path::traffic::Flow;
use crate::bench::path::world::{Failure, N4_ADDRESS, Size, shuffle, time};
use sluice_host::{clock, thread};
use sluice_n4::NodeId;
use sluice_node::control::Control;
use sluice_node::core::Core;
use sluice_node::session::{Config, UpFunction};
use sluice_path::assembly::{Plan, assemble};
use sluice_path::layout::Layout;
use sluice_path::tables::Polled;
use sluice_path::worker::Worker;
use sluice_port::{Packet, QueueId};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The control core has a turn after so many turns of the worker beside it.
const CONTROL_EVERY: u32 = 4;

/// Something to be done by the second worker's thread, between two turns.
type Order<P> = Box<dyn FnOnce(&mut Worker<Source<P>>) + Send>;

/// Both workers and the control core.
pub struct World<P: Packet> {
    pub core: Core<P>,
    pub watch: Arc<Watch>,
    pub flows: Arc<[Flow]>,
    near: Worker<Source<P>>,
    far: Option<std::thread::JoinHandle<()>>,
    orders: Option<Sender<Order<P>>>,
    answers: Answers<P>,
    turns: u32,
}

impl<P: Packet + Send + 'static> World<P> {
    /// Establishes the sessions and starts the second worker on `cpus[1]`.
    pub fn build(
        sessions: u32,
        cpus: [usize; 2],
        mut pools: [Box<dyn FnMut() -> Option<P> + Send>; 2],
        on_thread: impl FnOnce() -> Box<dyn std::any::Any> + Send + 'static,
    ) -> Result<Self, Failure> {
        let watch = Arc::new(Watch::new(sessions as usize));
        let pool_of = |at: usize, pools: &mut [_; 2]| {
            core::mem::replace(&mut pools[at], Box::new(|| None) as Box<_>)
        };
        let sources = [0, 1].map(|w| Source::new(w, watch.clone(), pool_of(w, &mut pools)));
        let (mut core, mut workers) = start(sessions, sources)?;
        let mut answers = Answers::new(sessions, Teids::Ours);
        establish(sessions, &mut core, &mut workers, &mut answers)?;
        shuffle(&mut answers.flows);
        let flows: Arc<[Flow]> = core::mem::take(&mut answers.flows).into();
        let [near, far] = workers;
        thread::pin(&[cpus[0]]).map_err(|e| e.to_string())?;
        let (orders, taken) = channel();
        let far = std::thread::Builder::new()
            .name("far-worker".to_owned())
            .spawn(move || {
                let _registered = on_thread();
                let _ = thread::pin(&[cpus[1]]);
                run(far, &taken);
            })
            .map_err(|e| e.to_string())?;
        Ok(Self {
            core,
            watch,
            flows,
            near,
            far: Some(far),
            orders: Some(orders),
            answers,
            turns: 0,
        })
    }

    /// A turn of the near worker, and now and then of the control core.
    pub fn turn(&mut self) {
        self.near.turn(clock::monotonic_ns());
        self.turns += 1;
        if self.turns.is_multiple_of(CONTROL_EVERY) {
            self.core.turn(time(), &mut self.answers);
        }
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
        let near = act(0, self.near.io());
        let (answer, answered) = channel();
        let order: Order<P> = Box::new(move |worker| {
            let _ = answer.send(act(1, worker.io()));
        });
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
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
        self.turn_for(2_000_000);
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
fn run<P: Packet>(mut worker: Worker<Source<P>>, orders: &Receiver<Order<P>>) {
    use std::sync::mpsc::TryRecvError::{Disconnected, Empty};
    let mut turns = 0_u32;
    loop {
        worker.turn(clock::monotonic_ns());
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(64) {
            match orders.try_recv() {
                Ok(order) => order(&mut worker),
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
    sessions: u32,
    core: &mut Core<P>,
    workers: &mut Workers<P>,
    answers: &mut Answers<P>,
) -> Result<(), Failure> {
    let mut smf = Smf::new(Teids::Ours);
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
