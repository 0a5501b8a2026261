//! Start and stop of a trace, worker side.

use super::TraceOrder;
use crate::ids::WorkerId;
use crate::message::{Handover, ToControl};
use crate::worker::Worker;
use sluice_port::PortIo;

impl<I: PortIo> Worker<I> {
    /// The control core's word about following.
    #[cold]
    pub(crate) fn trace_order(&mut self, order: TraceOrder) {
        match order {
            TraceOrder::Expect(tracing) => {
                self.tracer.expect(tracing);
                self.tell_control(ToControl::TraceExpected);
            }
            TraceOrder::Follow => {
                if let Some(old) = self.tracer.begin() {
                    self.tell_control(ToControl::Traced(old));
                }
            }
            TraceOrder::End => {
                self.tracer.end();
                for worker in 0..self.rings.to_workers.workers() {
                    let worker = WorkerId::at(worker);
                    if worker != self.id {
                        self.send_token(worker, Handover::TraceEnd);
                    }
                }
            }
        }
    }

    /// Gives back what packets were followed with, once none is under way. Packets of shards that
    /// move may be with any worker.
    #[cold]
    pub(crate) fn end_trace(&mut self) {
        let others = self.rings.to_workers.workers() - 1;
        if self.moves.is_quiet()
            && let Some(old) = self.tracer.over(others)
        {
            self.tell_control(ToControl::Traced(old));
        }
    }
}
