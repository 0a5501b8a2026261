//! Ring backlog: messages for a worker whose ring is full.
//!
//! Not the next worker's fault as a rule: its CPU was taken away for some milliseconds, by the kernel
//! or a hypervisor. To stop polling would be a way to wait for it too, but then the packets of all
//! other workers wait as well, and are lost in the port's queue: one slow worker would slow everybody
//! down. So what is for it waits here, in a bounded number of places for all workers together, and
//! nobody else notices. Ring and list are one queue: while anything waits here, packets and tokens go
//! behind it, so every order stays as if the ring were longer.

use crate::ids::WorkerId;
use crate::limits::{HANDOVER_LATE, TOKENS, TRACE_TOKENS};
use crate::message::Handover;
use crate::migration::protocol::hold::{Hold, List};
use sluice_mem::ring::Producer;

/// The rings to all other workers, and what finds no place on them.
pub struct RingBacklog<P> {
    /// `None` at one's own place.
    rings: Vec<Option<Producer<Handover<P>>>>,
    /// Beside `rings`.
    lists: Vec<List>,
    places: Hold<Handover<P>>,
}

impl<P> RingBacklog<P> {
    /// With `rings` by number of the worker.
    pub fn new(rings: Vec<Option<Producer<Handover<P>>>>) -> Self {
        // Tokens always find a place.
        let others = rings.iter().flatten().count();
        let places = match others {
            0 => 0,
            others => HANDOVER_LATE + (TOKENS + TRACE_TOKENS) * others,
        };
        Self {
            lists: vec![List::default(); rings.len()],
            places: Hold::new(places),
            rings,
        }
    }

    /// Workers, oneself included.
    pub fn workers(&self) -> usize {
        self.rings.len()
    }

    /// What waits for a place on a ring.
    #[inline]
    pub fn late(&self) -> usize {
        self.places.len()
    }

    /// Puts something on its way to a worker; it comes back if there is no room for it.
    #[inline]
    pub fn put(&mut self, to: WorkerId, what: Handover<P>) -> Result<(), Handover<P>> {
        let to = usize::from(to);
        let Some(ring) = self.rings.get_mut(to).and_then(Option::as_mut) else {
            return Err(what);
        };
        if self.places.len() == 0 {
            return match ring.push(what) {
                Ok(()) => Ok(()),
                Err(what) => self.wait(to, what),
            };
        }
        self.put_behind(to, what)
    }

    /// As [`put`](Self::put), in a place reserved for tokens. False if there is no such worker.
    pub fn put_token(&mut self, to: WorkerId, token: Handover<P>) -> bool {
        let to = usize::from(to);
        let Some(ring) = self.rings.get_mut(to).and_then(Option::as_mut) else {
            return false;
        };
        if self.lists[to].is_empty() {
            ring.push_reserved(token).is_ok()
        } else {
            self.places
                .push(&mut self.lists[to], WorkerId(0), token)
                .is_ok()
        }
    }

    /// Puts on the rings what has a place there by now; says to whom.
    #[cold]
    pub fn flush(&mut self, mut put: impl FnMut(usize)) {
        for (to, (ring, list)) in self.rings.iter_mut().zip(&mut self.lists).enumerate() {
            let Some(ring) = ring.as_mut().filter(|_| !list.is_empty()) else {
                continue;
            };
            let mut room = ring.room();
            while room > 0
                && let Some(what) = self.places.take(list, |_| true)
            {
                let pushed = ring.push(what);
                debug_assert!(pushed.is_ok(), "a ring with room takes what it is given");
                room -= 1;
                put(to);
            }
        }
    }

    /// Takes out what waits, in any order: the worker ends.
    pub fn drain(&mut self) -> Option<Handover<P>> {
        self.places.take_any()
    }

    #[cold]
    fn put_behind(&mut self, to: usize, what: Handover<P>) -> Result<(), Handover<P>> {
        if self.lists[to].is_empty()
            && let Some(ring) = &mut self.rings[to]
        {
            return match ring.push(what) {
                Ok(()) => Ok(()),
                Err(what) => self.wait(to, what),
            };
        }
        self.wait(to, what)
    }

    #[cold]
    fn wait(&mut self, to: usize, what: Handover<P>) -> Result<(), Handover<P>> {
        if self.places.len() >= HANDOVER_LATE {
            return Err(what);
        }
        self.places.push(&mut self.lists[to], WorkerId(0), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migration::protocol::Switch;
    use sluice_mem::ring::{Consumer, spsc};
    use sluice_mem::shard::ShardId;
    use sluice_port::PortId;

    const PLACES: usize = 512;

    fn outbox() -> (RingBacklog<u32>, Consumer<Handover<u32>>) {
        let (producer, consumer) = spsc(PLACES + TOKENS, TOKENS);
        (RingBacklog::new(vec![None, Some(producer)]), consumer)
    }

    fn packet(number: u32) -> Handover<u32> {
        Handover::Fragment(number, PortId(0))
    }

    /// Told apart from packets by its size.
    fn token(number: u16) -> Handover<u32> {
        Handover::Switch(Switch {
            shard: ShardId(number),
            to: WorkerId(1),
            producer: WorkerId(0),
        })
    }

    fn number(what: &Handover<u32>) -> u32 {
        match what {
            Handover::Fragment(number, _) => *number,
            Handover::Switch(switch) => switch.shard.0.into(),
            _ => u32::MAX,
        }
    }

    #[test]
    fn packets_and_tokens_keep_their_order_whoever_is_late() {
        let (mut outbox, mut consumer) = outbox();
        let (mut sent, mut came, mut seed, mut late) = (0, 0, 1_u32, 0);
        let mut tokens = 0;
        while sent < 32_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match seed >> 29 {
                0..=4 => outbox
                    .put(WorkerId(1), packet(sent))
                    .unwrap_or_else(|_| panic!()),
                5 => {
                    tokens += 1;
                    assert!(outbox.put_token(WorkerId(1), token(sent as u16)));
                }
                _ => {
                    outbox.flush(|to| assert_eq!(to, 1));
                    // Now it is away, now it takes more than comes.
                    let taken = if sent / 4_000 % 2 == 0 { 0 } else { 12 };
                    for _ in 0..taken {
                        let Some(what) = consumer.pop() else { break };
                        assert_eq!(number(&what), came);
                        came += 1;
                    }
                    continue;
                }
            }
            sent += 1;
            late = late.max(outbox.late());
        }
        assert!(tokens > 100 && late > 1_000, "{tokens} tokens, {late} late");
        while came < sent {
            outbox.flush(|_| ());
            while let Some(what) = consumer.pop() {
                assert_eq!(number(&what), came);
                came += 1;
            }
        }
        assert_eq!(outbox.late(), 0);
    }

    #[test]
    fn full_is_full_for_packets_and_not_for_tokens() {
        let (mut outbox, mut consumer) = outbox();
        let mut sent = 0;
        while outbox.put(WorkerId(1), packet(sent)).is_ok() {
            sent += 1;
        }
        let ring = sent as usize - outbox.late();
        assert!(ring >= PLACES && outbox.late() == HANDOVER_LATE);
        (0..TOKENS).for_each(|n| assert!(outbox.put_token(WorkerId(1), token(n as u16))));
        let mut came = 0;
        while outbox.late() > 0 {
            outbox.flush(|_| ());
            while consumer.pop().is_some() {
                came += 1;
            }
        }
        assert_eq!(came, sent as usize + TOKENS);
        assert!(
            outbox.put(WorkerId(0), packet(0)).is_err() && !outbox.put_token(WorkerId(2), token(0))
        );
    }

    #[test]
    fn what_is_left_at_the_end_is_given_back() {
        let (mut outbox, _consumer) = outbox();
        let ring = (0..2_000)
            .filter(|n| outbox.put(WorkerId(1), packet(*n)).is_ok())
            .count()
            - outbox.late();
        let left = std::iter::from_fn(|| outbox.drain()).count();
        assert_eq!(left + ring, 2_000);
    }
}
