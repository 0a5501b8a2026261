//! Transport of envelopes as services: calls that leave as requests, and requests of others as calls.

mod calls;
mod exchanges;
mod tokens;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::{Duration, Instant as Clock};

use sluice_bus::{Envelope, Event, Kind, Transport, Unsent};
use sluice_host::poll::{Alarm, Poller};
use sluice_sbi::server::CALL_MS;
use sluice_sbi::{CallId, Instant, Nf, Place, Problem, Requester};
use sluice_sbi_http2::{Counters, Event as Happened, Failure, Http};
use sluice_services::{
    Came, Consumer, Deviation, Memory, OnResponse, Outgoing, Producer, Request, Response, Route,
    To, accept, directory, nnrf,
};

use calls::Call;
use exchanges::{EXCHANGES, Exchange};

use crate::directory::Directory;
use crate::guard::Guard;
use crate::load;
use crate::overload::{self, Congestion, Reductions};
use crate::scp::{self, Bindings};
use crate::wallet::{self, Waiting, Wallet};

/// How long the NRF has to answer a question of the directory, and a server a look whether it is there.
const LOOK_WITHIN: Duration = Duration::from_secs(2);
/// How long whoever is notified has to take it.
const NOTIFY_WITHIN: Duration = Duration::from_secs(5);
/// Time between two looks for requests whose function never answered.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Most requests that wait for functions which have not come yet.
const PARKED: usize = 1_024;
/// Most of what happened that is taken at a time.
const TAKEN: usize = 64;
/// Services of an NRF, in paths.
const OF_NRF: [&str; 4] = ["nnrf-nfm", "nnrf-disc", "bootstrapping", "oauth2"];

/// Request under way.
enum Asked {
    /// Of a call of a function.
    Call(Box<Call>),
    /// Of the directory.
    Instances(Nf),
    /// Look whether a server is there.
    Look(String),
    /// Subscription of the directory.
    Subscription(Nf),
    /// Request whose response changes nothing: a notification of the NRF, or one of several of a function, the end of a
    /// subscription.
    Told,
    /// Access token.
    Token(wallet::Key),
}

/// Request for the NRF, which takes documents and no messages.
pub struct NrfRequest {
    /// To be named in the answer.
    pub exchange: u64,
    /// Request.
    pub request: Request,
}

/// Services of a program: readable when there may be something to receive.
pub struct Services {
    http: Http,
    memory: Memory,
    directory: Directory,
    /// Instances that have too much to do.
    reductions: Reductions,
    /// What resources of others are bound to.
    bindings: Bindings,
    /// Functions of this program.
    own: Vec<Place>,
    asked: BTreeMap<u64, Asked>,
    next: u64,
    exchanges: BTreeMap<CallId, Exchange>,
    next_call: u64,
    events: VecDeque<Event>,
    for_nrf: VecDeque<NrfRequest>,
    /// Requests for functions that have not come yet, just after the start.
    parked: Vec<Envelope>,
    poller: Poller,
    alarm: Alarm,
    sweep: Clock,
    congestion: Congestion,
    /// The last answer has asked consumers for less: the next tells them how it is then.
    asks_for_less: bool,
    /// Access of those that ask.
    guard: Guard,
    /// Tokens of the functions; none of those that need none.
    wallet: Option<Wallet>,
}

impl Services {
    /// Of these functions, by a server that runs.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(
        http: Http,
        mut memory: Memory,
        directory: Directory,
        own: Vec<Place>,
    ) -> io::Result<Self> {
        let (poller, alarm) = (Poller::new()?, Alarm::new()?);
        poller.add(&http, 0)?;
        poller.add(&alarm, 1)?;
        directory.nrf().clone_into(&mut memory.nrf);
        Ok(Self {
            http,
            memory,
            directory,
            reductions: Reductions::default(),
            bindings: Bindings::default(),
            congestion: Congestion::default(),
            own,
            asked: BTreeMap::new(),
            next: 1,
            exchanges: BTreeMap::new(),
            next_call: 1,
            events: VecDeque::new(),
            for_nrf: VecDeque::new(),
            parked: Vec::new(),
            poller,
            alarm,
            sweep: Clock::now(),
            asks_for_less: false,
            guard: Guard::default(),
            wallet: None,
        })
    }

    /// Identities of the program and its core.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Counts of its HTTP/2.
    pub fn counters(&self) -> Counters {
        self.http.counters()
    }

    /// Instances of the core have these places, by their identities.
    pub fn set_own(&mut self, own: BTreeMap<String, Place>) {
        self.directory.set_own(own);
    }

    /// Functions that this program looks for at the NRF.
    pub fn wanted(&self) -> Vec<Nf> {
        self.directory.functions().collect()
    }

    /// The next request for the NRF.
    pub fn take_nrf_request(&mut self) -> Option<NrfRequest> {
        self.for_nrf.pop_front()
    }

    /// Answers a request for the NRF.
    pub fn answer(&mut self, exchange: u64, response: Response) {
        self.http.answer(exchange, response);
    }

    /// Sends a notification of the NRF to an absolute URI; false if that is none.
    pub fn notify(&mut self, uri: &str, request: Request) -> bool {
        let outgoing = Outgoing {
            to: To::Function,
            request,
        };
        outgoing
            .at(uri)
            .is_some_and(|outgoing| self.tell(outgoing, None))
    }

    /// Sends a notification whose answer nobody waits for; false if it goes to no URI of its own.
    fn tell(&mut self, outgoing: Outgoing, callback: Option<&str>) -> bool {
        let Outgoing { to, mut request } = outgoing;
        let To::Root(mut root) = to else {
            return false;
        };
        if let Some(scp) = self.directory.scp() {
            scp::target(&mut request, &root);
            if let Some(name) = callback {
                scp::callback(&mut request, name);
            }
            root.clone_from(&scp.root);
        }
        let until = Clock::now() + NOTIFY_WITHIN;
        self.ask(Asked::Told, &root, request, until);
        true
    }

    fn ask(&mut self, asked: Asked, root: &str, request: Request, until: Clock) {
        let id = self.next;
        self.next += 1;
        let consumer = self.consumer(&asked);
        self.asked.insert(id, asked);
        self.leave(
            consumer,
            Waiting {
                id,
                root: root.to_owned(),
                request,
                until,
            },
        );
    }

    fn take(&mut self, happened: Happened) {
        match happened {
            Happened::Response { id, response } => self.take_response(id, response),
            Happened::Failed { id, why } => self.take_failure(id, &why),
            Happened::Request {
                exchange,
                peer,
                request,
                until,
            } => match self.may_ask(&request, &peer) {
                Ok(()) => self.take_request(exchange, request, until),
                Err(refusal) => self.http.answer(exchange, *refusal),
            },
            Happened::Abandoned { exchange } => self.abandon(exchange),
        }
    }

    fn take_request(&mut self, exchange: u64, request: Request, until: Option<Clock>) {
        let has = |nf| self.own.iter().any(|place| place.nf == nf);
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        if OF_NRF.contains(&service) && has(Nf::Nrf) {
            if service == "nnrf-disc" {
                self.count_deviations(&request);
            }
            self.for_nrf.push_back(NrfRequest { exchange, request });
            return;
        }
        if service == nnrf::STATUS {
            let response = match nnrf::notified(&request) {
                Ok((nf, response)) => {
                    self.directory.has_news(nf, Clock::now());
                    response
                }
                Err(refusal) => *refusal,
            };
            return self.http.answer(exchange, response);
        }
        if !overload::has_place(request.headers(), self.exchanges.len(), EXCHANGES) {
            return self.http.answer(exchange, self.congestion.refuse());
        }
        let until = until.unwrap_or_else(|| Clock::now() + Duration::from_millis(CALL_MS));
        match accept(&request, &mut self.memory) {
            Producer::Done(response) => self.http.answer(exchange, response),
            Producer::Ask(nf, message, then) => {
                self.ask_function(exchange, nf, message, until, then);
            }
        }
    }

    /// Counts what a discovery lacks, and what its answer has for it.
    fn count_deviations(&mut self, discovery: &Request) {
        let Some(route) = Route::of(discovery) else {
            return;
        };
        let deviations = &mut self.memory.deviations;
        if route.query("requester-snssais").is_none() {
            deviations.count(Deviation::Requester);
        }
        if route.is_of_free5gc {
            deviations.count(Deviation::ApiPrefix);
        }
    }

    fn take_response(&mut self, id: u64, response: Response) {
        let now = Clock::now();
        match self.asked.remove(&id) {
            Some(Asked::Call(call)) => {
                self.look_at_token(call.from.nf, &response);
                let load = load::read(response.headers());
                self.bindings.hear(&response);
                if call.root.is_some() {
                    self.reductions.hear(call.to, &response, now);
                }
                let came = Came {
                    from: call.to.instance(),
                    response,
                };
                self.take_answer(*call, came, load);
            }
            Some(Asked::Instances(nf)) => {
                let found = directory::read(&response);
                let events = self.directory.heard(nf, found, now);
                self.events.extend(events);
            }
            Some(Asked::Look(root)) => {
                let events = self.directory.reach(&root, now);
                self.events.extend(events);
            }
            Some(Asked::Subscription(nf)) => {
                self.directory
                    .subscribed(nf, nnrf::subscribed(&response), now);
            }
            Some(Asked::Token(key)) => self.take_token(&key, Ok(&response)),
            Some(Asked::Told) | None => {}
        }
    }

    fn take_answer(&mut self, mut call: Call, came: Came, load: u8) {
        let nothing: OnResponse = Box::new(|_, _| Consumer::Done(Problem::Protocol.into()));
        let then = std::mem::replace(&mut call.then, nothing);
        match then(came, &mut self.memory) {
            Consumer::Done(message) => self.reply(&call, message, load),
            consumer @ (Consumer::Send(..) | Consumer::Tell(_)) => {
                let (from, to, id) = (call.from, call.to, call.call);
                if self.go_on(consumer, call).is_err() {
                    self.events.push_back(Event::Came(Envelope {
                        from: to,
                        to: from,
                        call: id,
                        kind: Kind::Reply,
                        load: 0,
                        deadline: Instant(0),
                        message: Problem::NotReached.into(),
                    }));
                }
            }
        }
    }

    fn take_failure(&mut self, id: u64, why: &Failure) {
        let now = Clock::now();
        let why_text = "its server is not reached";
        match self.asked.remove(&id) {
            Some(Asked::Call(call)) => {
                let problem = problem_of(why);
                // The host asks another instance what this one was asked, or has the callers told. A stream that was reset says
                // nothing of others.
                if matches!(why, Failure::Connect { .. })
                    && let Some(root) = &call.root
                {
                    let events = self.directory.lose(root, why_text, now);
                    self.events.extend(events);
                }
                self.reply(&call, problem.into(), 0);
            }
            Some(Asked::Instances(nf)) => {
                self.directory.heard(nf, None, now);
                if matches!(why, Failure::Connect { .. }) {
                    let nrf = self.directory.nrf().to_owned();
                    let events = self.directory.lose(&nrf, why_text, now);
                    self.events.extend(events);
                }
            }
            Some(Asked::Look(root)) => {
                let events = self.directory.lose(&root, why_text, now);
                self.events.extend(events);
            }
            Some(Asked::Subscription(nf)) => self.directory.subscribed(nf, None, now),
            Some(Asked::Token(key)) => self.take_token(&key, Err(why.to_string())),
            Some(Asked::Told) | None => {}
        }
    }

    /// Asks what the directory is to know, and forgets exchanges that are over.
    fn tend(&mut self) {
        let now = Clock::now();
        if !self.parked.is_empty() {
            self.unpark();
        }
        for (nf, consumer) in self.directory.take_due(now) {
            let nrf = self.directory.nrf().to_owned();
            let own = &self.memory.own;
            let requester = Requester::new(consumer, own.slice, Some(own.plmn));
            let request = directory::query(nf, requester);
            self.ask(Asked::Instances(nf), &nrf, request, now + LOOK_WITHIN);
        }
        for (nf, consumer, old) in self.directory.take_subscriptions(now) {
            let nrf = self.directory.nrf().to_owned();
            let old = old.as_deref().and_then(nnrf::unsubscribe);
            if let Some(Outgoing {
                to: To::Root(root),
                request,
            }) = old
            {
                self.ask(Asked::Told, &root, request, now + NOTIFY_WITHIN);
            }
            let request = nnrf::subscribe(nf, consumer, &self.memory.own).request;
            self.ask(Asked::Subscription(nf), &nrf, request, now + LOOK_WITHIN);
        }
        for root in self.directory.take_probes(now) {
            let request = directory::look();
            self.ask(Asked::Look(root.clone()), &root, request, now + LOOK_WITHIN);
        }
        if self.sweep <= now {
            self.sweep = now + SWEEP_EVERY;
            self.directory.tidy();
            self.end_exchanges(now);
        }
        let due = self.directory.next_due();
        let sweep = (!self.exchanges.is_empty()).then_some(self.sweep);
        // Whoever looks for another reason finds out that it is time, too.
        let _ = self.alarm.set([due, sweep].into_iter().flatten().min());
    }
}

/// Problem of a request without a response.
fn problem_of(why: &Failure) -> Problem {
    match why {
        Failure::Deadline => Problem::Timeout,
        Failure::Busy => Problem::Overload,
        Failure::Connect { .. } | Failure::Lost { .. } | Failure::Token(_) => Problem::NotReached,
        Failure::Root(_) | Failure::TooLong(_) | Failure::Redirects(_) | Failure::Request(_) => {
            Problem::Protocol
        }
    }
}

impl Transport for Services {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        match envelope.kind {
            Kind::Request => self.send_request(envelope),
            Kind::Reply if envelope.to.is_outside() => {
                self.send_reply(&envelope);
                Ok(())
            }
            Kind::Reply => Err(Unsent::Unreachable(envelope)),
        }
    }

    fn flush(&mut self) {}

    fn receive(&mut self) -> Option<Event> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        // What is answered at once makes no event: nobody's flood of it keeps the host here.
        for _ in 0..TAKEN {
            let Some(happened) = self.http.next() else {
                break;
            };
            self.take(happened);
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
        }
        self.tend();
        self.events.pop_front()
    }

    fn may_sleep(&mut self) -> bool {
        self.tend();
        self.events.is_empty() && self.for_nrf.is_empty() && self.http.may_sleep()
    }
}

impl AsFd for Services {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

/// Services that their program looks at, too, while its host has them.
#[derive(Clone)]
pub struct SharedServices(Rc<RefCell<Services>>);

impl From<Services> for SharedServices {
    fn from(services: Services) -> Self {
        Self(Rc::new(RefCell::new(services)))
    }
}

impl SharedServices {
    /// The services, for a moment.
    pub fn with<T>(&self, look: impl FnOnce(&mut Services) -> T) -> T {
        look(&mut self.0.borrow_mut())
    }
}

impl Transport for SharedServices {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        self.0.borrow_mut().send(envelope)
    }

    fn flush(&mut self) {
        self.0.borrow_mut().flush();
    }

    fn receive(&mut self) -> Option<Event> {
        self.0.borrow_mut().receive()
    }

    fn may_sleep(&mut self) -> bool {
        self.0.borrow_mut().may_sleep()
    }
}
