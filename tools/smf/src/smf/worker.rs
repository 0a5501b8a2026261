//! The SMF thread: event loop, datagrams, calls of handles.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use sluice_host::clock;
use sluice_host::poll::{Poller, Ready, Waker};
use sluice_host::udp::{RecvBatch, UdpSocket};
use sluice_n4::{Counters, Instant};
use sluice_wire::ids::Seid;

use super::batch::Batch;
use super::handle::Control;
use super::wire::Wire;
use crate::{Change, Done, Machine, SessionPlan, SmfError, Ticket};

const WAKE: u64 = 0;
const N4: u64 = 1;

/// Something that the UPF must answer.
pub(super) enum Work {
    Associate,
    Release,
    ReleaseAfterReports,
    Establish(Box<SessionPlan>),
    Change(Seid, Change),
    Delete(Seid),
}

/// Results of several operations, in their order.
pub(super) type Outcomes = Vec<Result<Done, SmfError>>;

/// Requests of handles.
pub(super) enum Command {
    Do(Work, Sender<Result<Done, SmfError>>),
    Many(Vec<Work>, usize, Sender<Outcomes>),
    Look(Box<dyn FnOnce(&mut Machine) + Send>),
    Stop,
}

/// Receiver of an outcome.
enum Waiter {
    Caller(Sender<Result<Done, SmfError>>),
    Batch { batch: u64, index: usize },
}

/// All that the SMF's thread owns.
pub(super) struct SmfThread {
    machine: Machine,
    wire: Wire,
    poller: Poller,
    waker: Waker,
    commands: Receiver<Command>,
    stopping: bool,
    waiters: HashMap<Ticket, Waiter>,
    batches: HashMap<u64, Batch>,
    last_batch: u64,
}

impl SmfThread {
    pub fn new(machine: Machine, socket: UdpSocket) -> io::Result<(Self, Control)> {
        let (poller, waker) = (Poller::new()?, Waker::new()?);
        poller.add(&waker, WAKE)?;
        poller.add(&socket, N4)?;
        let (sender, commands) = channel();
        let control = Control {
            commands: sender,
            waker: waker.clone(),
        };
        let worker = Self {
            machine,
            wire: Wire::new(socket),
            poller,
            waker,
            commands,
            stopping: false,
            waiters: HashMap::new(),
            batches: HashMap::new(),
            last_batch: 0,
        };
        Ok((worker, control))
    }

    /// Works until it is told to stop.
    pub fn run(mut self) -> Counters {
        let mut incoming = Wire::room();
        let mut ready = Ready::with_capacity(2);
        while !self.stopping {
            if self.poller.wait(&mut ready, self.timeout()).is_err() {
                // Only a bug of ours could make it fail; an SMF that spins helps nobody.
                break;
            }
            for token in ready.tokens() {
                match token {
                    WAKE => self.obey(),
                    _ => self.receive(&mut incoming),
                }
            }
            self.machine.tick(now(), &mut self.wire);
            self.settle();
            self.wire.flush();
        }
        self.machine.counters()
    }

    fn timeout(&self) -> Option<Duration> {
        let deadline = self.machine.next_deadline()?;
        // A part of a millisecond would be cut off and the wait end too early.
        let rest = Duration::from_nanos(deadline.ns_since(now()));
        Some(rest.saturating_add(Duration::from_micros(10)))
    }

    fn receive(&mut self, incoming: &mut RecvBatch) {
        let count = self.wire.receive(incoming);
        let now = now();
        for datagram in incoming.iter().take(count) {
            self.machine
                .handle(now, datagram.from, datagram.bytes, &mut self.wire);
        }
    }

    fn obey(&mut self) {
        self.waker.clear();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Do(work, reply) => {
                    let ticket = self.begin(work);
                    self.waiters.insert(ticket, Waiter::Caller(reply));
                }
                Command::Many(works, window, reply) => {
                    self.last_batch += 1;
                    self.batches
                        .insert(self.last_batch, Batch::new(works, window, reply));
                    self.fill(self.last_batch);
                }
                Command::Look(look) => look(&mut self.machine),
                Command::Stop => self.stopping = true,
            }
        }
    }

    fn begin(&mut self, work: Work) -> Ticket {
        let (now, machine, wire) = (now(), &mut self.machine, &mut self.wire);
        match work {
            Work::Associate => machine.associate(now, wire),
            Work::Release => machine.release(now, wire),
            Work::ReleaseAfterReports => machine.release_after_reports(now, wire),
            Work::Establish(plan) => machine.establish(now, *plan, wire),
            Work::Change(cp_seid, change) => machine.change(now, cp_seid, change, wire),
            Work::Delete(cp_seid) => machine.delete(now, cp_seid, wire),
        }
    }

    /// Begins as much of a batch as its window allows, and ends it when nothing is left.
    fn fill(&mut self, id: u64) {
        while let Some((index, work)) = self.batches.get_mut(&id).and_then(Batch::begin) {
            let ticket = self.begin(work);
            self.waiters
                .insert(ticket, Waiter::Batch { batch: id, index });
        }
        if self.batches.get(&id).is_some_and(Batch::is_done)
            && let Some(batch) = self.batches.remove(&id)
        {
            batch.reply();
        }
    }

    /// Tells outcomes to those who wait for them.
    fn settle(&mut self) {
        while let Some((ticket, outcome)) = self.machine.next_outcome() {
            match self.waiters.remove(&ticket) {
                Some(Waiter::Caller(reply)) => {
                    // Whoever asked may have gone.
                    let _ = reply.send(outcome);
                }
                Some(Waiter::Batch { batch, index }) => {
                    if let Some(batch) = self.batches.get_mut(&batch) {
                        batch.end(index, outcome);
                    }
                    self.fill(batch);
                }
                None => {}
            }
        }
    }
}

fn now() -> Instant {
    Instant(clock::monotonic_ns())
}
