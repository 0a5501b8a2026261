//! Faults of a transport between hosts: envelopes that are lost, late or sent twice, by a seed.

use std::collections::VecDeque;

use sluice_bus::{Envelope, Event, Transport, Unsent};

/// Exchanges after which a late envelope leaves, at the most.
const LATE_MOST: u64 = 8;

/// A transport that loses, delays and repeats.
pub struct Lossy<T> {
    inner: T,
    /// Of a hundred envelopes so many are lost, as many are late, and as many come twice.
    percent: u64,
    state: u64,
    late: VecDeque<(u64, Envelope)>,
}

impl<T: Transport> Lossy<T> {
    pub fn new(inner: T, percent: u64, seed: u64) -> Self {
        Self {
            inner,
            percent,
            state: seed,
            late: VecDeque::new(),
        }
    }

    fn below(&mut self, most: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 32) % most
    }
}

impl<T: Transport> Transport for Lossy<T> {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        let (chance, percent) = (self.below(100), self.percent);
        if chance < percent {
            return Ok(());
        }
        if chance < 2 * percent {
            let after = 1 + self.below(LATE_MOST);
            self.late.push_back((after, envelope));
            return Ok(());
        }
        if chance < 3 * percent {
            self.inner.send(envelope.clone())?;
        }
        self.inner.send(envelope)
    }

    fn flush(&mut self) {
        for _ in 0..self.late.len() {
            let Some((after, envelope)) = self.late.pop_front() else {
                break;
            };
            match after {
                // One that finds no room or nobody then is lost.
                0 | 1 => drop(self.inner.send(envelope)),
                _ => self.late.push_back((after - 1, envelope)),
            }
        }
        self.inner.flush();
    }

    fn receive(&mut self) -> Option<Event> {
        self.inner.receive()
    }

    fn may_sleep(&mut self) -> bool {
        self.inner.may_sleep()
    }
}
