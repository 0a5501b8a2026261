//! Messages from workers to the control core: ends of transactions, moves and traces are counted here, the
//! rest is given to the caller.

use super::ControlEnd;
use crate::message::ToControl;

impl<P> ControlEnd<P> {
    /// The next message of any worker.
    pub fn receive_message(&mut self) -> Option<ToControl<P>> {
        for worker in 0..self.rings.len() {
            while let Some(message) = self.rings[worker].from_worker.pop() {
                match message {
                    ToControl::Done(_) => {
                        self.under_way[worker] -= 1;
                        self.push_backlog(worker);
                    }
                    ToControl::Moved(shard) => {
                        if self.resteers.ended(shard) {
                            self.mover.stood_still(shard);
                        } else {
                            self.mover.ended(shard);
                        }
                        self.begin_moves();
                        continue;
                    }
                    ToControl::Requeued(polled) => {
                        self.mover.requeued(polled);
                        self.begin_moves();
                        continue;
                    }
                    ToControl::Expecting(shard) if self.resteers.expecting(shard) => continue,
                    ToControl::TraceExpected => {
                        self.trace.expected();
                        self.begin_trace();
                        continue;
                    }
                    ToControl::Traced(tracing) => {
                        self.trace.returned(&tracing);
                        self.begin_trace();
                        continue;
                    }
                    _ => {}
                }
                return Some(message);
            }
        }
        None
    }
}
