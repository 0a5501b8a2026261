//! Requests of others under way, answered by functions of this program. Creations that nobody hears of are taken away again.

use std::time::{Duration, Instant as Clock, SystemTime};

use sluice_bus::{Envelope, Event, Kind};
use sluice_host::clock::monotonic_ns;
use sluice_sbi::server::CALL_MS;
use sluice_sbi::{CallId, Instant, Key, Message, Nf, Place, Problem, Slot};
use sluice_services::{OnAnswer, Producer, is_creation, problem, undo, unknown};

use super::Services;
use crate::{load, overload, scp};

/// Requests that may wait for functions: consumers are asked for less from half of them on.
pub(super) const EXCHANGES: usize = 8_192;
/// How long a function may take to create what nobody waits for any more.
const UNDONE_WITHIN: Duration = Duration::from_secs(60);

/// Request of somebody else that waits for a function.
pub(super) struct Exchange {
    number: u64,
    nf: Nf,
    until: Clock,
    /// The function creates something.
    creates: bool,
    /// Nobody waits for the answer any more.
    is_over: bool,
    then: OnAnswer,
}

impl Services {
    pub(super) fn send_reply(&mut self, envelope: &Envelope) {
        // Whoever asked has gone, or the time is over.
        let Some(exchange) = self.exchanges.remove(&envelope.call) else {
            return;
        };
        let Exchange {
            number,
            nf,
            until,
            is_over,
            then,
            ..
        } = exchange;
        if is_over {
            return self.undo(nf, &envelope.message);
        }
        match then(&envelope.message, &mut self.memory) {
            Producer::Done(mut response) => {
                if let Some(instance) = self.memory.own.instances.get(&nf) {
                    let (load, now, id) = (envelope.load, SystemTime::now(), instance.to_string());
                    load::tell(response.headers_mut(), load, &id, now);
                    scp::bind(&mut response, &id);
                    let less = overload::reduction(self.exchanges.len(), EXCHANGES);
                    if less > 0 || self.asks_for_less {
                        overload::tell(response.headers_mut(), less, &id, now);
                    }
                    self.asks_for_less = less > 0;
                }
                self.http.answer(number, response);
            }
            Producer::Ask(nf, message, then) => self.ask_function(number, nf, message, until, then),
        }
    }

    /// Has a function take away again what it has created, as nobody hears of it.
    fn undo(&mut self, nf: Nf, answer: &Message) {
        let to = self.own.iter().copied().find(|place| place.nf == nf);
        if let (Some(to), Some(message)) = (to, undo(answer)) {
            let call = self.name_call();
            self.pass_on(
                call,
                to,
                message,
                Clock::now() + Duration::from_millis(CALL_MS),
            );
        }
    }

    /// Asks a function of this program for somebody else.
    pub(super) fn ask_function(
        &mut self,
        number: u64,
        nf: Nf,
        message: Slot,
        until: Clock,
        then: OnAnswer,
    ) {
        let Some(to) = self.own.iter().copied().find(|place| place.nf == nf) else {
            return self.http.answer(number, unknown());
        };
        let call = self.name_call();
        let exchange = Exchange {
            number,
            nf,
            until,
            creates: is_creation(&message),
            is_over: false,
            then,
        };
        self.exchanges.insert(call, exchange);
        self.pass_on(call, to, message, until);
    }

    fn name_call(&mut self) -> CallId {
        let call = self.next_call;
        self.next_call += 1;
        CallId(Key {
            slot: call as u32,
            generation: (call >> 32) as u16,
        })
    }

    /// A function of this program gets a message of somebody else.
    fn pass_on(&mut self, call: CallId, to: Place, message: Slot, until: Clock) {
        let left = until.saturating_duration_since(Clock::now());
        let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        self.events.push_back(Event::Came(Envelope {
            from: Place::outside(to.nf),
            to,
            call,
            kind: Kind::Request,
            load: 0,
            deadline: Instant(monotonic_ns().saturating_add(left_ns)),
            message,
        }));
    }

    /// The function answers all the same, and nobody hears of it.
    pub(super) fn abandon(&mut self, number: u64) {
        let mut exchanges = self.exchanges.values_mut();
        if let Some(exchange) = exchanges.find(|one| one.number == number) {
            exchange.is_over = true;
        }
    }

    /// Requests whose time is over are answered. Functions may create something for them all the same for a while.
    pub(super) fn end_exchanges(&mut self, now: Clock) {
        let ends = |one: &Exchange| one.until <= now && !one.is_over;
        for one in self.exchanges.values_mut().filter(|one| ends(one)) {
            self.http
                .answer(one.number, problem::tell(Problem::Timeout));
            one.is_over = true;
        }
        let may_create = |one: &Exchange| one.creates && now < one.until + UNDONE_WITHIN;
        self.exchanges
            .retain(|_, one| !one.is_over || may_create(one));
    }
}
