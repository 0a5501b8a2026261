//! Thread of the second worker.

use crate::elastic::source::Source;
use crate::elastic::turns::{Turns, turn};
use crate::path::testbed::Failure;
use sluice_datapath::worker::Worker;
use sluice_host::thread;
use sluice_port::Packet;
use std::any::Any;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// Something to be done by the second worker's thread, between two turns.
pub(super) type Order<P> = Box<dyn FnOnce(&mut Worker<Source<P>>, &mut Turns) + Send>;

/// The thread, as those see it who have orders for it. Without them it ends.
pub(super) struct SecondWorker<P: Packet> {
    thread: JoinHandle<()>,
    orders: Sender<Order<P>>,
}

impl<P: Packet + Send + 'static> SecondWorker<P> {
    /// Starts it on a CPU of its own.
    pub fn start(
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

    pub fn order(&self, order: Order<P>) {
        let _ = self.orders.send(order);
    }

    /// Waits until the worker has stopped.
    pub fn end(self) {
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
