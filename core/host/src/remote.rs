//! Functions of other hosts: what they were asked and have not answered, and what waits for room on the way to them.

use std::collections::{BTreeMap, BTreeSet};

use sluice_bus::{Envelope, Event, Kind, Transport, Unsent};
use sluice_sbi::{CallId, Instant, Nf, Now, Place, Problem, RequestId, Slot};

use crate::held::Held;

/// Envelopes that wait for room, for all hosts together; what exceeds it is refused at once.
const WAITING: usize = 8_192;

/// Envelopes taken in one turn, so that gNBs and UPFs are not kept waiting.
const BURST: usize = 256;

/// Time between two attempts to send what waits for room.
const RETRY_MS: u64 = 1;

/// Time between two looks for calls whose end nobody heard of.
const SWEEP_MS: u64 = 1_000;

/// Counts of what went to other hosts, and came from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Envelopes that left.
    pub sent: u64,
    /// Envelopes that came.
    pub received: u64,
    /// Attempts that found no room: the envelope waits.
    pub full: u64,
    /// Requests that were refused here: nobody has the function, or its host is gone, or it had no room until the
    /// deadline.
    pub refused: u64,
    /// Replies to hosts that are gone, or that had no room until the deadline.
    pub unanswered: u64,
    /// Replies to calls that nobody waits for any more.
    pub late: u64,
    /// Octets that are no envelope of the host that sent them.
    pub unreadable: u64,
}

/// News of a function of another host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Which.
    pub nf: Nf,
    /// Why it is not reached any more; none if it is from now on.
    pub lost: Option<&'static str>,
}

/// A call that another host was asked.
struct Asked {
    to: Nf,
    until: Instant,
}

/// Outcome of what came from other hosts.
pub(crate) enum Came {
    Request(Place, RequestId, Slot),
    Reply(Place, CallId, Slot),
}

/// Ways to other hosts.
#[derive(Default)]
pub(crate) struct Remote {
    /// Functions that other hosts have, whether they are reached or not.
    functions: BTreeSet<Nf>,
    transports: Vec<Box<dyn Transport>>,
    asked: BTreeMap<(Place, CallId), Asked>,
    waiting: Held<Envelope>,
    retry: Instant,
    sweep: Instant,
    counters: Counters,
    /// Functions that came or went since the last question.
    changed: Vec<Reached>,
}

impl Remote {
    pub fn connect(&mut self, transport: Box<dyn Transport>, functions: &[Nf]) {
        self.transports.push(transport);
        self.functions.extend(functions);
    }

    pub fn is_used(&self) -> bool {
        !self.transports.is_empty()
    }

    /// Whether another host has a function.
    pub fn has(&self, nf: Nf) -> bool {
        self.functions.contains(&nf)
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Functions that are reached now or are not any more, since the last call.
    pub fn take_changed(&mut self) -> Vec<Reached> {
        std::mem::take(&mut self.changed)
    }

    /// Has a request or a reply leave with the next [`Remote::send`]; a reply that takes its place if there are too many.
    pub fn post(&mut self, envelope: Envelope) -> Option<Came> {
        if self.waiting.len() >= WAITING {
            return self.give_up(&envelope);
        }
        if envelope.kind == Kind::Request {
            let asked = Asked {
                to: envelope.to.nf,
                until: envelope.deadline,
            };
            self.asked.insert((envelope.from, envelope.call), asked);
        }
        self.waiting.push(envelope);
        None
    }

    fn put(&mut self, mut envelope: Envelope) -> Result<(), Unsent> {
        for transport in &mut self.transports {
            match transport.send(envelope) {
                Ok(()) => {
                    self.counters.sent += 1;
                    return Ok(());
                }
                Err(Unsent::Full(back)) => return Err(Unsent::Full(back)),
                Err(Unsent::Unreachable(back)) => envelope = back,
            }
        }
        Err(Unsent::Unreachable(envelope))
    }

    /// An envelope that does not leave: who asks is told so at once, a reply is lost and counted.
    fn give_up(&mut self, envelope: &Envelope) -> Option<Came> {
        let Envelope { from, call, .. } = *envelope;
        match envelope.kind {
            Kind::Request => {
                self.asked.remove(&(from, call));
                self.counters.refused += 1;
                Some(Came::Reply(from, call, Problem::NotReached.into()))
            }
            Kind::Reply => {
                self.counters.unanswered += 1;
                None
            }
        }
    }

    /// Takes what came since the last call, in its order, at most a burst, and what becomes of calls that a host took with it.
    pub fn receive(&mut self, now: Now) -> Vec<Came> {
        let mut came = Vec::new();
        self.sweep(now);
        for at in 0..self.transports.len() {
            for _ in 0..BURST {
                let Some(event) = self.transports.get_mut(at).and_then(|one| one.receive()) else {
                    break;
                };
                self.take(event, &mut came);
            }
        }
        came
    }

    fn take(&mut self, event: Event, came: &mut Vec<Came>) {
        match event {
            Event::Came(envelope) => came.extend(self.open(envelope)),
            Event::Up(functions) => {
                let up = functions.iter().map(|nf| Reached {
                    nf: *nf,
                    lost: None,
                });
                self.changed.extend(up);
            }
            Event::Unreadable => self.counters.unreadable += 1,
            Event::Lost { functions, why } => {
                let lost = functions.iter().map(|nf| Reached {
                    nf: *nf,
                    lost: Some(why),
                });
                self.changed.extend(lost);
                let lost = self.asked.iter();
                let lost = lost.filter(|(_, asked)| functions.contains(&asked.to));
                let lost: Vec<(Place, CallId)> = lost.map(|(call, _)| *call).collect();
                for (from, call) in lost {
                    self.asked.remove(&(from, call));
                    self.counters.refused += 1;
                    came.push(Came::Reply(from, call, Problem::NotReached.into()));
                }
            }
        }
    }

    fn open(&mut self, envelope: Envelope) -> Option<Came> {
        self.counters.received += 1;
        let Envelope { from, to, call, .. } = envelope;
        match envelope.kind {
            Kind::Request => {
                let id = RequestId { from, call };
                Some(Came::Request(to, id, envelope.message))
            }
            // Who answers is who was asked: nobody else ends a call.
            Kind::Reply => match self.asked.get(&(to, call)) {
                Some(asked) if asked.to == from.nf => {
                    self.asked.remove(&(to, call));
                    Some(Came::Reply(to, call, envelope.message))
                }
                _ => {
                    self.counters.late += 1;
                    None
                }
            },
        }
    }

    /// Envelopes since the last call wait for this put of contexts.
    pub fn wait_for(&mut self, put: u64) {
        self.waiting.wait_for(put);
    }

    /// Sends what waits for no later put than `released`, in its order, and wakes receivers; an envelope that has waited
    /// too long is given up.
    pub fn send(&mut self, now: Now, released: u64) -> Vec<Came> {
        let mut given_up = Vec::new();
        while let Some(envelope) = self.waiting.next(released) {
            if envelope.deadline <= now.instant {
                given_up.extend(self.give_up(&envelope));
                continue;
            }
            match self.put(envelope) {
                Ok(()) => {}
                Err(Unsent::Full(envelope)) => {
                    self.counters.full += 1;
                    self.waiting.put_back(envelope);
                    self.retry = now.instant.plus_ms(RETRY_MS);
                    break;
                }
                Err(Unsent::Unreachable(envelope)) => given_up.extend(self.give_up(&envelope)),
            }
        }
        self.transports.iter_mut().for_each(|one| one.flush());
        given_up
    }

    /// Forgets calls that are over: those who asked have given up by their own deadlines, and an answer is late.
    fn sweep(&mut self, now: Now) {
        if self.sweep <= now.instant {
            self.asked.retain(|_, asked| now.instant < asked.until);
            self.sweep = now.instant.plus_ms(SWEEP_MS);
        }
    }

    /// Whether the host may sleep: nothing came, and nothing waits that could leave.
    pub fn may_sleep(&mut self) -> bool {
        // All are told, also when one of them has something.
        let mut may = true;
        for transport in &mut self.transports {
            may &= transport.may_sleep();
        }
        may
    }

    /// When what waits for room is to be tried again.
    pub fn next_deadline(&self, released: u64) -> Instant {
        if self.waiting.is_empty() || self.waiting.is_held(released) {
            Instant::NEVER
        } else {
            self.retry
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use sluice_sbi::Key;

    use super::*;

    /// Takes all that is sent.
    #[derive(Default)]
    struct Takes(Rc<RefCell<Vec<CallId>>>);

    impl Transport for Takes {
        fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
            self.0.borrow_mut().push(envelope.call);
            Ok(())
        }

        fn flush(&mut self) {}

        fn receive(&mut self) -> Option<Event> {
            None
        }

        fn may_sleep(&mut self) -> bool {
            true
        }
    }

    #[test]
    fn a_question_waits_for_the_contexts_that_it_follows_from() {
        let (sent, now) = (Rc::new(RefCell::default()), Now::default());
        let mut remote = Remote::default();
        remote.connect(Box::new(Takes(sent.clone())), &[Nf::Smf]);
        let call = |slot| {
            CallId(Key {
                slot,
                generation: 1,
            })
        };
        for slot in 1..=2 {
            let posted = remote.post(Envelope {
                from: Nf::Amf.into(),
                to: Nf::Smf.into(),
                call: call(slot),
                kind: Kind::Request,
                deadline: now.instant.plus_ms(3_000),
                message: Problem::NotReached.into(),
            });
            assert!(posted.is_none());
            remote.wait_for(slot.into());
        }
        assert!(remote.send(now, 0).is_empty() && sent.borrow().is_empty());
        // The host sleeps until the store has answered.
        assert_eq!(remote.next_deadline(0), Instant::NEVER);
        assert!(remote.send(now, 1).is_empty());
        assert_eq!(*sent.borrow(), [call(1)]);
        assert!(remote.send(now, 2).is_empty());
        assert_eq!(*sent.borrow(), [call(1), call(2)]);
    }
}
