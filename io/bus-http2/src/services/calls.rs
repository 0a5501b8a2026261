//! Calls of functions that leave as requests.

use std::time::{Duration, Instant as Clock};

use sluice_bus::{Envelope, Event, Kind, Unsent};
use sluice_host::clock::monotonic_ns;
use sluice_sbi::{CallId, Done, Instant, Nf, Place, Problem, Slot};
use sluice_services::{Consumer, OnResponse, Outgoing, To, begin};

use super::{Asked, PARKED, Services};
use crate::scp;

/// Call under way.
pub(super) struct Call {
    pub(super) from: Place,
    pub(super) call: CallId,
    pub(super) to: Place,
    /// API root that was asked; none of a resource or a callback that is elsewhere.
    pub(super) root: Option<String>,
    /// The first request has left: the rest goes, too.
    has_begun: bool,
    /// Name of a notification.
    callback: Option<String>,
    pub(super) until: Clock,
    pub(super) then: OnResponse,
}

impl Services {
    /// Goes on with a call: its request leaves, or it is answered. The request comes back as the reason if its receiver is not
    /// reached.
    pub(super) fn go_on(&mut self, consumer: Consumer, mut call: Call) -> Result<(), ()> {
        let (outgoing, then) = match consumer {
            Consumer::Done(message) => {
                self.reply(&call, message, 0);
                return Ok(());
            }
            Consumer::Tell(all) => {
                for outgoing in all {
                    self.tell(outgoing, call.callback.as_deref());
                }
                self.reply(&call, Done::ALL.into(), 0);
                return Ok(());
            }
            Consumer::Send(outgoing, then) => (*outgoing, then),
        };
        let Outgoing { to, mut request } = outgoing;
        let scp = self.directory.scp().cloned();
        let root = match to {
            To::Root(root) => {
                call.root = None;
                scp.map_or(root.clone(), |scp| {
                    scp::target(&mut request, &root);
                    self.bindings.tell(&mut request, &root);
                    if let Some(name) = &call.callback {
                        scp::callback(&mut request, name);
                    }
                    scp.root
                })
            }
            To::Nrf => {
                call.root = None;
                self.directory.nrf().to_owned()
            }
            To::Function => {
                let path = request.uri().path();
                let service = path.split('/').nth(1).unwrap_or_default();
                let root = self.directory.root(call.to, service).ok_or(())?;
                let (method, now) = (request.method(), Clock::now());
                if !call.has_begun && !self.reductions.lets(call.to, method, path, now) {
                    if self.directory.has_other(call.to) {
                        return Err(());
                    }
                    self.reply(&call, Problem::Overload.into(), 0);
                    return Ok(());
                }
                let server = match scp {
                    Some(scp) if call.to.nf != Nf::Nrf => {
                        match scp.discovers {
                            true => {
                                let plmn = self.memory.own.plmn;
                                scp::discover(&mut request, call.to.nf, call.from.nf, plmn);
                            }
                            false => scp::target(&mut request, &root),
                        }
                        scp.root
                    }
                    _ => root,
                };
                call.root = Some(server.clone());
                server
            }
        };
        call.then = then;
        call.has_begun = true;
        let until = call.until;
        self.ask(Asked::Call(Box::new(call)), &root, request, until);
        Ok(())
    }

    pub(super) fn reply(&mut self, call: &Call, message: Slot, load: u8) {
        self.events.push_back(Event::Came(Envelope {
            from: call.to,
            to: call.from,
            call: call.call,
            kind: Kind::Reply,
            load,
            deadline: Instant(0),
            message,
        }));
    }

    pub(super) fn send_request(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        if self.parked.len() < PARKED && self.directory.may_come(envelope.to.nf, Clock::now()) {
            self.parked.push(envelope);
            return Ok(());
        }
        let Some(consumer) = begin(&envelope.message, &mut self.memory) else {
            return Err(Unsent::Unreachable(envelope));
        };
        let left = envelope.deadline.0.saturating_sub(monotonic_ns());
        let call = Call {
            from: envelope.from,
            call: envelope.call,
            to: envelope.to,
            root: None,
            has_begun: false,
            callback: scp::callback_of(&envelope.message),
            until: Clock::now() + Duration::from_nanos(left),
            then: Box::new(|_, _| Consumer::Done(Problem::Protocol.into())),
        };
        self.go_on(consumer, call)
            .map_err(|()| Unsent::Unreachable(envelope))
    }

    /// Sends what has waited for functions that have come now, or will not come any more.
    pub(super) fn unpark(&mut self) {
        for envelope in std::mem::take(&mut self.parked) {
            let (from, to, call) = (envelope.from, envelope.to, envelope.call);
            // Whoever asked has given up by its own deadline.
            let is_over = envelope.deadline.0 <= monotonic_ns();
            if is_over || self.send_request(envelope).is_err() {
                self.events.push_back(Event::Came(Envelope {
                    from: to,
                    to: from,
                    call,
                    kind: Kind::Reply,
                    load: 0,
                    deadline: Instant(0),
                    message: Problem::NotReached.into(),
                }));
            }
        }
    }
}
