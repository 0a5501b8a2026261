//! Testbed of two workers: one on this thread together with the control core, one on a thread of
//! its own, and sessions established over N4.

mod assignment;
mod scaling;
mod second_worker;
mod start;

use super::nic_model::{Steering, slots};
use super::source::{Pace, Source};
use super::steered::Table;
use super::turns::{Turns, turn};
use super::watch::Watch;
use crate::path::smf::{Answers, Variant};
use crate::path::testbed::{Failure, shuffle, time};
use crate::path::traffic::Flow;
use second_worker::{Order, SecondWorker};
use sluice::upf::scaling::Scaling;
use sluice_control::core::Core;
use sluice_datapath::migration::port_steering::Steerer;
use sluice_datapath::worker::Worker;
use sluice_host::{clock, thread};
use sluice_port::Packet;
use start::{establish, start};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// The control core has a turn after so many turns of the worker beside it, or when so much time went
/// by: with a CPU of its own, as the daemon has it, it would not wait for turns full of packets.
const CONTROL_EVERY: u32 = 4;
const CONTROL_NS: u64 = 20_000;

/// By then all packets have left, whatever else the machine does.
const DRAIN_NS: u64 = 1_000_000_000;

/// Both workers and the control core.
pub struct Testbed<P: Packet> {
    pub core: Core<P>,
    pub watch: Arc<Watch>,
    pub flows: Arc<[Flow]>,
    pub steering: Arc<Steering>,
    near: Worker<Source<P>>,
    near_turns: Turns,
    far: SecondWorker<P>,
    answers: Answers<P>,
    turns: u32,
    /// When the control core had its last turn.
    controlled_ns: u64,
    scaling: Option<Scaling>,
    steerer: Option<Steerer<Table>>,
}

impl<P: Packet + Send + 'static> Testbed<P> {
    /// Establishes the sessions, whose packets have a PDU Session Container or none, and starts the
    /// second worker on `cpus[1]`.
    pub fn build(
        sessions: u32,
        cpus: [usize; 2],
        container: bool,
        pools: [Box<dyn FnMut() -> Option<P> + Send>; 2],
        on_thread: impl FnOnce() -> Box<dyn std::any::Any> + Send + 'static,
    ) -> Result<Self, Failure> {
        let watch = Arc::new(Watch::new(sessions as usize));
        let (steering, [near, far]) = (Arc::new(Steering::new()), slots());
        let source =
            |worker, slots, pool| Source::new(worker, watch.clone(), pool, slots, steering.clone());
        let [of_near, of_far] = pools;
        let sources = [source(0, near, of_near), source(1, far, of_far)];
        let (mut core, mut workers) = start(sessions, sources)?;
        let mut answers = Answers::new(sessions, Variant::Usual);
        establish((sessions, container), &mut core, &mut workers, &mut answers)?;
        shuffle(&mut answers.flows);
        let flows: Arc<[Flow]> = core::mem::take(&mut answers.flows).into();
        let [near, far] = workers;
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

    /// Ends both workers.
    pub fn end(mut self) {
        self.drain();
        self.far.end();
        self.near.stop();
    }
}
