//! Network of the functions of a core: requests and responses on their way, and who waits for them.

use std::collections::{BTreeMap, VecDeque};

use sluice_bus::{Envelope, Event, Kind, Unsent};
use sluice_core_host::Home;
use sluice_sbi::{CallId, Done, Instant, Key, Message, Nf, Place, Problem, Slot};
use sluice_services::{
    Came, Consumer, Memory, OnAnswer, OnResponse, Outgoing, Producer, Request, Response, To,
    accept, begin, is_creation, undo, unknown,
};

use super::fates::{Chance, Fate};
use super::program::{self, Program};

/// A request that arrived, and its response.
pub struct Exchange {
    pub consumer: Nf,
    pub producer: Nf,
    pub request: Request,
    /// None before the function has answered.
    pub response: Option<Response>,
}

/// A request that is for a function.
#[derive(Clone)]
pub(crate) struct Asked {
    /// Number of the request; one that goes again has the same.
    number: u64,
    consumer: Nf,
    producer: Nf,
    /// End of the consumer's wait.
    until: Instant,
    /// How long the answer takes, in milliseconds; none of one that never arrives.
    answer: Option<u64>,
}

/// A request or a response on its way.
enum OnWay {
    Request(Asked, Request),
    Response(u64, Response),
}

/// A call under way.
struct Call {
    from: Place,
    call: CallId,
    to: Place,
    until: Instant,
    next: Next,
}

/// A request that a function works on.
struct Exchanging {
    asked: Asked,
    /// Whether the function creates something that is taken away again if nobody hears of it.
    creates: bool,
    then: OnAnswer,
}

/// Outcome that a call waits for.
enum Next {
    /// The NRF says where the receiver of this request is.
    Found(Box<Outgoing>, OnResponse),
    /// The receiver answers.
    Response(OnResponse),
}

pub(crate) struct Network {
    programs: BTreeMap<Nf, Program>,
    on_way: BTreeMap<(Instant, u64), OnWay>,
    /// Calls, by the number of the request that each waits for.
    calls: BTreeMap<u64, Call>,
    exchanges: BTreeMap<CallId, Exchanging>,
    for_nrf: VecDeque<(Asked, Request)>,
    events: VecDeque<Event>,
    chance: Chance,
    numbers: u64,
    /// How many requests of each method and service there were.
    requests: BTreeMap<String, u64>,
    /// Exchanges by their numbers, while they are recorded.
    recorded: Option<BTreeMap<u64, Exchange>>,
}

impl Network {
    pub fn new(home: &Home, chance: Chance) -> Self {
        let programs = Nf::ALL.map(|nf| (nf, Program::new(nf, home)));
        Self {
            programs: programs.into(),
            on_way: BTreeMap::new(),
            calls: BTreeMap::new(),
            exchanges: BTreeMap::new(),
            for_nrf: VecDeque::new(),
            events: VecDeque::new(),
            chance,
            numbers: 0,
            requests: BTreeMap::new(),
            recorded: None,
        }
    }

    fn program(&mut self, nf: Nf) -> &mut Program {
        self.programs.get_mut(&nf).expect("each has one")
    }

    fn memory(&mut self, nf: Nf) -> &mut Memory {
        &mut self.program(nf).memory
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// A function calls another one, or answers one.
    pub fn send(&mut self, now: Instant, envelope: Envelope) -> Result<(), Unsent> {
        if envelope.kind == Kind::Reply {
            if let Some(exchanging) = self.exchanges.remove(&envelope.call) {
                self.answered(now, exchanging, &envelope.message);
            }
            return Ok(());
        }
        if let Message::RegisterNf(request) = &*envelope.message {
            let (nf, instance) = (request.profile.kind, request.profile.instance);
            for program in self.programs.values_mut() {
                program.memory.own.instances.insert(nf, instance);
            }
        }
        let memory = self.memory(envelope.from.nf);
        let Some(step) = begin(&envelope.message, memory) else {
            panic!("no service carries {}", envelope.message.name());
        };
        let Envelope { from, call, to, .. } = envelope;
        let until = envelope.deadline;
        let nothing: OnResponse = Box::new(|_, _| Consumer::Done(Problem::Protocol.into()));
        let next = Next::Response(nothing);
        self.consume(
            now,
            Call {
                from,
                call,
                to,
                until,
                next,
            },
            step,
        );
        Ok(())
    }

    /// A function has answered. Its program knows whether anybody hears of it: the stream is reset by one that does not wait
    /// any more.
    fn answered(&mut self, now: Instant, exchanging: Exchanging, message: &Message) {
        let Exchanging {
            asked,
            creates,
            then,
        } = exchanging;
        let heard = asked.answer.map(|ms| now.plus_ms(ms));
        let is_heard = heard.is_some_and(|at| at < asked.until);
        if creates
            && !is_heard
            && let Some(message) = undo(message)
        {
            let call = self.call();
            self.request(&asked, call, message);
        }
        let step = then(message, self.memory(asked.producer));
        self.produce(now, asked, step);
    }

    /// Name of a call.
    fn call(&mut self) -> CallId {
        let number = self.number();
        CallId(Key {
            slot: number as u32,
            generation: (number >> 32) as u16,
        })
    }

    /// The function that was asked gets a message.
    fn request(&mut self, asked: &Asked, call: CallId, message: Slot) {
        self.came(Envelope {
            from: Place::outside(asked.consumer),
            to: asked.producer.into(),
            call,
            kind: Kind::Request,
            load: 0,
            deadline: asked.until,
            message,
        });
    }

    /// Next event for the functions; requests and responses arrive, and waits end.
    pub fn receive(&mut self, now: Instant) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let first = self.on_way.first_entry();
            if let Some(first) = first.filter(|first| first.key().0 <= now) {
                match first.remove() {
                    OnWay::Request(asked, request) => self.arrive(now, asked, request),
                    OnWay::Response(number, response) => self.answer(now, number, response),
                }
                continue;
            }
            let mut over = self.calls.iter().filter(|(_, call)| call.until <= now);
            let over = over.next().map(|(number, _)| *number)?;
            let call = self.calls.remove(&over)?;
            self.reply(&call, Problem::Timeout.into());
        }
    }

    /// When something arrives, or a wait ends, the first time.
    pub fn next_deadline(&self) -> Instant {
        let arrival = self.on_way.keys().next().map(|(at, _)| *at);
        let waits = self.calls.values().map(|call| call.until);
        waits.chain(arrival).min().unwrap_or(Instant::NEVER)
    }

    /// The next request for the NRF.
    pub fn take_nrf_request(&mut self) -> Option<(Asked, Request)> {
        self.for_nrf.pop_front()
    }

    /// Exchanges that were recorded, in their order; others are recorded from now on.
    pub fn record(&mut self) -> Vec<Exchange> {
        let recorded = self.recorded.replace(BTreeMap::new());
        recorded.unwrap_or_default().into_values().collect()
    }

    pub fn take_requests(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.requests)
    }

    /// A response goes on its way.
    pub fn respond(&mut self, now: Instant, asked: &Asked, response: Response) {
        if let Some(recorded) = &mut self.recorded
            && let Some(exchange) = recorded.get_mut(&asked.number)
        {
            exchange.response = Some(response.clone());
        }
        if let Some(ms) = asked.answer {
            self.put(now.plus_ms(ms), OnWay::Response(asked.number, response));
        }
    }

    fn put(&mut self, at: Instant, what: OnWay) {
        let number = self.number();
        self.on_way.insert((at, number), what);
    }

    /// Goes on with a call: its next request leaves, or it is answered.
    fn consume(&mut self, now: Instant, mut call: Call, step: Consumer) {
        let (outgoing, then) = match step {
            Consumer::Done(message) => return self.reply(&call, message),
            Consumer::Tell(all) => {
                for outgoing in all {
                    self.tell(now, &call, outgoing);
                }
                return self.reply(&call, Done::ALL.into());
            }
            Consumer::Send(outgoing, then) => (outgoing, then),
        };
        let producer = match &outgoing.to {
            To::Root(root) => match program::at(root) {
                Some(nf) => nf,
                None => return self.reply(&call, Problem::NotReached.into()),
            },
            To::Nrf => Nf::Nrf,
            To::Function if call.to.nf == Nf::Nrf => Nf::Nrf,
            To::Function => {
                let program = self.program(call.from.nf);
                match program.receiver(call.to.nf, &outgoing.request) {
                    Some(nf) => nf,
                    None => return self.look(now, call, outgoing, then),
                }
            }
        };
        let fate = self.chance.of(&outgoing.request);
        call.next = Next::Response(then);
        self.ask(now, call, producer, outgoing.request, fate);
    }

    /// A notification leaves, whose answer nobody waits for.
    fn tell(&mut self, now: Instant, call: &Call, outgoing: Outgoing) {
        let To::Root(root) = &outgoing.to else {
            return;
        };
        let Some(producer) = program::at(root) else {
            return;
        };
        let asked = Asked {
            number: self.number(),
            consumer: call.from.nf,
            producer,
            until: call.until,
            answer: None,
        };
        self.put(now, OnWay::Request(asked, outgoing.request));
    }

    /// Asks the NRF where the function is that a call is for.
    fn look(&mut self, now: Instant, mut call: Call, outgoing: Box<Outgoing>, then: OnResponse) {
        let question = self.program(call.from.nf).question(call.to.nf);
        call.next = Next::Found(outgoing, then);
        self.ask(now, call, Nf::Nrf, question, Fate::Served);
    }

    fn ask(&mut self, now: Instant, call: Call, producer: Nf, request: Request, fate: Fate) {
        let line = format!("{} {}", request.method(), program::service(&request));
        *self.requests.entry(line).or_default() += 1;
        let asked = Asked {
            number: self.number(),
            consumer: call.from.nf,
            producer,
            until: call.until,
            answer: Some(0),
        };
        self.calls.insert(asked.number, call);
        let answered = |answer| Asked {
            answer,
            ..asked.clone()
        };
        let (at, asked) = match fate {
            Fate::Served => (now, asked),
            Fate::RequestLost => return,
            Fate::RequestLate(ms) => (now.plus_ms(ms), asked),
            Fate::Twice => {
                let again = OnWay::Request(answered(None), request.clone());
                self.put(now, again);
                (now, asked)
            }
            Fate::AnswerLost => (now, answered(None)),
            Fate::AnswerLate(ms) => (now, answered(Some(ms))),
        };
        self.put(at, OnWay::Request(asked, request));
    }

    /// A request arrives at a function; one whose stream was reset before is none.
    fn arrive(&mut self, now: Instant, asked: Asked, request: Request) {
        if asked.until <= now {
            return;
        }
        if let Some(recorded) = &mut self.recorded {
            let exchange = Exchange {
                consumer: asked.consumer,
                producer: asked.producer,
                request: request.clone(),
                response: None,
            };
            recorded.insert(asked.number, exchange);
        }
        if asked.producer == Nf::Nrf {
            return self.for_nrf.push_back((asked, request));
        }
        let step = accept(&request, self.memory(asked.producer));
        self.produce(now, asked, step);
    }

    /// Goes on with a request: a function is asked, or the response leaves.
    fn produce(&mut self, now: Instant, asked: Asked, step: Producer) {
        match step {
            Producer::Done(response) => self.respond(now, &asked, response),
            // A program has its own function alone.
            Producer::Ask(nf, ..) if nf != asked.producer => self.respond(now, &asked, unknown()),
            Producer::Ask(_, message, then) => {
                let (call, creates) = (self.call(), is_creation(&message));
                self.request(&asked, call, message);
                let exchanging = Exchanging {
                    asked,
                    creates,
                    then,
                };
                self.exchanges.insert(call, exchanging);
            }
        }
    }

    /// A response arrives; nobody hears of one that comes after the end of the wait.
    fn answer(&mut self, now: Instant, number: u64, response: Response) {
        let Some(mut call) = self.calls.remove(&number) else {
            return;
        };
        let nothing: OnResponse = Box::new(|_, _| Consumer::Done(Problem::Protocol.into()));
        match std::mem::replace(&mut call.next, Next::Response(nothing)) {
            Next::Response(then) => {
                let from = call.to.instance();
                let memory = self.memory(call.from.nf);
                let step = then(Came { from, response }, memory);
                self.consume(now, call, step);
            }
            Next::Found(outgoing, then) => {
                let of = call.to.nf;
                let program = self.program(call.from.nf);
                program.heard(of, &response);
                match program.receiver(of, &outgoing.request) {
                    Some(_) => self.consume(now, call, Consumer::Send(outgoing, then)),
                    None => self.reply(&call, Problem::NotReached.into()),
                }
            }
        }
    }

    fn reply(&mut self, call: &Call, message: Slot) {
        self.came(Envelope {
            from: call.to,
            to: call.from,
            call: call.call,
            kind: Kind::Reply,
            load: 0,
            deadline: Instant(0),
            message,
        });
    }

    fn came(&mut self, envelope: Envelope) {
        self.events.push_back(Event::Came(envelope));
    }
}
