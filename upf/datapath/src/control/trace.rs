//! Packet tracing, control side ([`crate::trace`]): the workers are told what to look for, and
//! their records come in.

use super::ControlEnd;
use super::send_queue::Order;
use crate::trace::{Filter, Record};

impl<P> ControlEnd<P> {
    /// Follows packets from now on, or none; at once, or when the workers have answered to the word
    /// before.
    pub fn trace(&mut self, filter: Option<Filter>) {
        self.trace.want(filter);
        self.begin_trace();
    }

    pub(super) fn begin_trace(&mut self) {
        let orders = self.trace.next_orders(self.rings.len());
        for (worker, order) in orders.into_iter().flatten().enumerate() {
            self.order(worker, Order::Trace(order));
        }
    }

    /// The next record of a followed packet.
    pub fn next_record(&mut self) -> Option<Record> {
        self.trace.next()
    }

    /// Nothing is followed, and no record will come any more.
    pub fn trace_is_over(&self) -> bool {
        self.trace.is_over()
    }
}
