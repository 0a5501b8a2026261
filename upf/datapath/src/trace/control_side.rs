//! Trace control, control core side: filters, and records from workers.

use crate::limits::TRACE_RECORDS;
use crate::trace::{Filter, Record, TraceOrder, Tracing};
use sluice_mem::ring::{Consumer, spsc};

/// The records of all workers.
#[derive(Default)]
pub(crate) struct TraceControl {
    rings: Vec<Ring>,
    /// The filter that workers have, or are about to have; none: they follow nothing.
    set: Option<Filter>,
    /// The filter that they are to have.
    wanted: Option<Filter>,
    numbers: u32,
    mark: u8,
    step: TraceState,
}

/// How far the workers are with the last word.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum TraceState {
    /// They have it.
    #[default]
    Told,
    /// So many have not said yet that they know of the next tracing.
    Expecting(usize),
}

struct Ring {
    number: u32,
    records: Consumer<Record>,
    /// The worker writes into it no more.
    is_over: bool,
}

impl TraceControl {
    /// From now on this is to be followed.
    pub fn want(&mut self, filter: Option<Filter>) {
        self.wanted = filter;
    }

    /// A worker knows of the next tracing.
    pub fn expected(&mut self) {
        if let TraceState::Expecting(left) = &mut self.step {
            *left = left.saturating_sub(1);
        }
    }

    /// What the workers have to be told, one for each of them: as long as one has not answered
    /// to the last word, there is no other.
    pub fn next_orders(&mut self, workers: usize) -> Option<Vec<TraceOrder>> {
        match self.step {
            TraceState::Expecting(0) => {
                self.step = TraceState::Told;
                return Some((0..workers).map(|_| TraceOrder::Follow).collect());
            }
            TraceState::Expecting(_) => return None,
            TraceState::Told => {}
        }
        let current = self.rings.iter().filter(|ring| !ring.is_over).count();
        let expected = if self.set.is_some() { workers } else { 0 };
        if self.wanted == self.set || current != expected {
            return None;
        }
        self.set.clone_from(&self.wanted);
        let Some(filter) = self.wanted.clone() else {
            return Some((0..workers).map(|_| TraceOrder::End).collect());
        };
        self.step = TraceState::Expecting(workers);
        self.mark = self.mark % u8::MAX + 1;
        Some((0..workers).map(|_| self.expect(&filter)).collect())
    }

    fn expect(&mut self, filter: &Filter) -> TraceOrder {
        let (ring, records) = spsc(TRACE_RECORDS, 0);
        let number = self.numbers;
        self.numbers = number.wrapping_add(1);
        self.rings.push(Ring {
            number,
            records,
            is_over: false,
        });
        TraceOrder::Expect(Box::new(Tracing {
            number,
            mark: self.mark,
            filter: filter.clone(),
            ring,
        }))
    }

    /// A worker gives back what it followed with.
    pub fn returned(&mut self, tracing: &Tracing) {
        let ring = self
            .rings
            .iter_mut()
            .find(|ring| ring.number == tracing.number);
        if let Some(ring) = ring {
            ring.is_over = true;
        }
    }

    /// The next record of any worker, a worker's in their order.
    pub fn next(&mut self) -> Option<Record> {
        let next = self.rings.iter_mut().find_map(|ring| ring.records.pop());
        if next.is_none() {
            self.rings.retain(|ring| !ring.is_over);
        }
        next
    }

    /// Nothing is followed, and nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.wanted.is_none() && self.set.is_none() && self.rings.is_empty()
    }
}
