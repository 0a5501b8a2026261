//! Functions of other hosts: what they were asked and have not answered, and what waits for room on the way to them.

use std::collections::{BTreeMap, BTreeSet};

use sluice_bus::{Envelope, Event, Kind, Transport, Unsent};
use sluice_sbi::{CallId, Instant, Nf, Now, Place, Problem, RequestId, Slot};

use crate::choice::Choice;
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
    /// Requests of an instance that was lost, for which another one was asked.
    pub again: u64,
    /// Replies to hosts that are gone, or that had no room until the deadline.
    pub unanswered: u64,
    /// Replies to calls that nobody waits for any more.
    pub late: u64,
    /// Octets that are no envelope of the host that sent them.
    pub unreadable: u64,
}

/// News of an instance of a function of another host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Which instance.
    pub place: Place,
    /// Why it is not reached any more; none if it is from now on.
    pub lost: Option<&'static str>,
}

/// A call that another host was asked.
struct Asked {
    /// Whichever instance, until one is chosen.
    to: Place,
    until: Instant,
    /// Request, where another instance can take it if this one is lost.
    message: Option<Slot>,
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
    choice: Choice,
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

    /// Calls go to these instances only where there is no other from now on.
    pub fn drain(&mut self, draining: BTreeSet<Place>) {
        self.choice.drain(draining);
    }

    /// Has a request or a reply leave with the next [`Remote::send`]; a reply that takes its place if there are too many.
    pub fn post(&mut self, envelope: Envelope) -> Option<Came> {
        if self.waiting.len() >= WAITING {
            return self.give_up(&envelope);
        }
        if envelope.kind == Kind::Request {
            let asked = Asked {
                to: envelope.to,
                until: envelope.deadline,
                message: None,
            };
            self.asked.insert((envelope.from, envelope.call), asked);
        }
        self.waiting.push(envelope);
        None
    }

    /// Sends an envelope, where any instance may take it to one that has room.
    fn put(&mut self, mut envelope: Envelope) -> Result<(), Unsent> {
        let any = envelope.to;
        if !any.is_any() {
            return self.carry(envelope);
        }
        let (mut tried, mut is_full) = (Vec::new(), false);
        // A transport may reach the first before it says so.
        let first = || Place::from(any.nf);
        while let Some(chosen) = match tried.is_empty() {
            true => Some(self.choice.next(any.nf, &[]).unwrap_or_else(first)),
            false => self.choice.next(any.nf, &tried),
        } {
            envelope.to = chosen;
            let call = (envelope.from, envelope.call);
            let has_other = self.choice.has_other(chosen);
            let message = has_other.then(|| envelope.message.clone());
            match self.carry(envelope) {
                Ok(()) => {
                    if let Some(asked) = self.asked.get_mut(&call) {
                        (asked.to, asked.message) = (chosen, message);
                    }
                    return Ok(());
                }
                Err(Unsent::Full(back)) => (envelope, is_full) = (back, true),
                Err(Unsent::Unreachable(back)) => envelope = back,
            }
            tried.push(chosen);
        }
        envelope.to = any;
        Err(match is_full {
            true => Unsent::Full(envelope),
            false => Unsent::Unreachable(envelope),
        })
    }

    fn carry(&mut self, mut envelope: Envelope) -> Result<(), Unsent> {
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
            Event::Up {
                functions,
                instance,
            } => {
                for nf in functions {
                    let place = Place::from(nf).at(instance.number);
                    self.choice.add(nf, instance);
                    self.changed.push(Reached { place, lost: None });
                }
            }
            Event::Unreadable => self.counters.unreadable += 1,
            Event::Lost {
                functions,
                number,
                why,
            } => {
                for nf in functions {
                    let place = Place::from(nf).at(number);
                    let lost = Some(why);
                    self.changed.push(Reached { place, lost });
                    self.choice.remove(place);
                    self.lose(place, came);
                }
            }
        }
    }

    /// An instance is gone, with all that it was asked: what another one can take it is asked, of the rest the callers hear
    /// at once.
    fn lose(&mut self, place: Place, came: &mut Vec<Came>) {
        let has_other = self.choice.has_other(place);
        let lost = self.asked.extract_if(.., |_, asked| asked.to == place);
        let lost: Vec<((Place, CallId), Asked)> = lost.collect();
        for ((from, call), asked) in lost {
            if let Some(message) = asked.message.filter(|_| has_other) {
                self.counters.again += 1;
                came.extend(self.post(Envelope {
                    from,
                    to: Place::any(place.nf),
                    call,
                    kind: Kind::Request,
                    load: 0,
                    deadline: asked.until,
                    message,
                }));
            } else {
                self.counters.refused += 1;
                came.push(Came::Reply(from, call, Problem::NotReached.into()));
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
                Some(asked) if asked.to == from => {
                    self.choice.hear(from, envelope.load);
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
                load: 0,
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

    /// Two instances of the UDM: what they were sent, and what they send.
    #[derive(Clone, Default)]
    struct Two {
        sent: Rc<RefCell<Vec<Envelope>>>,
        events: Rc<RefCell<Vec<Event>>>,
    }

    impl Transport for Two {
        fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
            self.sent.borrow_mut().push(envelope);
            Ok(())
        }

        fn flush(&mut self) {}

        fn receive(&mut self) -> Option<Event> {
            self.events.borrow_mut().pop()
        }

        fn may_sleep(&mut self) -> bool {
            true
        }
    }

    fn udm(number: u8) -> Place {
        Place::from(Nf::Udm).at(number)
    }

    impl Two {
        fn connected(&self) -> Remote {
            let mut remote = Remote::default();
            remote.connect(Box::new(self.clone()), &[Nf::Udm]);
            for number in 0..2 {
                let instance = sluice_sbi::Instance {
                    number,
                    ..Default::default()
                };
                self.tell(
                    &mut remote,
                    Event::Up {
                        functions: vec![Nf::Udm],
                        instance,
                    },
                );
            }
            remote
        }

        fn tell(&self, remote: &mut Remote, event: Event) -> Vec<Came> {
            self.events.borrow_mut().push(event);
            remote.receive(Now::default())
        }

        fn lose(&self, remote: &mut Remote, number: u8) -> Vec<Came> {
            let why = "its program is gone";
            let functions = vec![Nf::Udm];
            self.tell(
                remote,
                Event::Lost {
                    functions,
                    number,
                    why,
                },
            )
        }

        /// Asks, and gives who was asked.
        fn ask(&self, remote: &mut Remote, to: Place, slot: u32) -> Place {
            let posted = remote.post(Envelope {
                from: Nf::Amf.into(),
                to,
                call: CallId(Key {
                    slot,
                    generation: 1,
                }),
                kind: Kind::Request,
                load: 0,
                deadline: Instant(3_000_000_000),
                message: Problem::NotReached.into(),
            });
            assert!(posted.is_none());
            self.send(remote)
        }

        fn send(&self, remote: &mut Remote) -> Place {
            remote.wait_for(0);
            assert!(remote.send(Now::default(), 0).is_empty());
            self.sent.borrow().last().expect("it was sent").to
        }
    }

    #[test]
    fn what_a_lost_instance_was_asked_another_one_is_asked_unless_it_alone_can_answer() {
        let two = Two::default();
        let mut remote = two.connected();
        let any = Place::any(Nf::Udm);
        let (first, second) = (two.ask(&mut remote, any, 1), two.ask(&mut remote, any, 2));
        assert_eq!((first, second), (udm(0), udm(1)), "they take turns");
        assert_eq!(two.ask(&mut remote, udm(0), 3), udm(0), "named");
        let came = two.lose(&mut remote, 0);
        let [Came::Reply(_, CallId(Key { slot: 3, .. }), message)] = &came[..] else {
            panic!("{}", came.len());
        };
        assert_eq!(**message, Problem::NotReached.into());
        assert_eq!(two.send(&mut remote), udm(1));
        let again = two.sent.borrow().last().expect("sent").call;
        assert_eq!((again.0.slot, remote.counters().again), (1, 1));
        // Nobody else is there: all callers hear at once.
        assert_eq!(two.lose(&mut remote, 1).len(), 2);
        assert_eq!(remote.counters().refused, 3);
    }

    #[test]
    fn who_was_asked_answers_and_tells_its_load() {
        let two = Two::default();
        let mut remote = two.connected();
        let any = Place::any(Nf::Udm);
        let asked = two.ask(&mut remote, any, 1);
        let reply = |from, load| {
            let request = two.sent.borrow().last().expect("sent").clone();
            Event::Came(Envelope {
                from,
                to: request.from,
                kind: Kind::Reply,
                load,
                ..request
            })
        };
        assert!(
            two.tell(&mut remote, reply(udm(1), 0)).is_empty(),
            "not asked"
        );
        assert_eq!(two.tell(&mut remote, reply(asked, 100)).len(), 1);
        // What is full is asked no more for a while.
        let next = (2..12).map(|slot| two.ask(&mut remote, any, slot));
        assert_eq!(next.collect::<Vec<_>>(), [udm(1); 10]);
        remote.drain(BTreeSet::from([udm(1)]));
        assert_eq!(two.ask(&mut remote, any, 12), udm(0));
    }
}
