//! Events for the program: a queue from the thread, and the descriptor that wakes the program.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sluice_host::poll::Waker;
use sluice_services::{Request, Response};

use crate::failure::Failure;

/// Something that came.
#[derive(Debug)]
pub enum Event {
    /// Response to a request that left.
    Response {
        /// Number that the request was sent with.
        id: u64,
        /// Response, of any status.
        response: Response,
    },
    /// A request that left has no response.
    Failed {
        /// Number that the request was sent with.
        id: u64,
        /// Reason.
        why: Failure,
    },
    /// Request, to be answered by [`Http::answer`](crate::Http::answer).
    Request {
        /// Number for the answer.
        exchange: u64,
        /// Sender.
        peer: Peer,
        /// Request, with the whole URI.
        request: Request,
        /// Time until which its sender waits (3gpp-Sbi-Max-Rsp-Time).
        until: Option<Instant>,
    },
    /// The sender of a request waits no more.
    Abandoned {
        /// Number of the request.
        exchange: u64,
    },
}

/// Sender of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Address.
    pub address: SocketAddr,
    /// NF instances that its certificate names (TS 33.310, 6.1.3c.3); none of a peer without a certificate.
    pub instances: Option<Arc<[String]>>,
}

/// Queue from the thread to the program.
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    waker: Waker,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    is_asleep: bool,
    trouble: Option<String>,
}

impl Inbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            waiting: Mutex::default(),
            waker: Waker::new()?,
        })
    }

    pub(crate) fn push(&self, event: Event) {
        let mut waiting = self.lock();
        waiting.events.push_back(event);
        if std::mem::take(&mut waiting.is_asleep) {
            self.waker.wake();
        }
    }

    /// Tells that a request is abandoned; one that the program has not seen, it never sees.
    pub(crate) fn abandon(&self, exchange: u64) {
        let mut waiting = self.lock();
        let is_it = |event: &Event| matches!(event, Event::Request { exchange: one, .. } if *one == exchange);
        if let Some(at) = waiting.events.iter().position(is_it) {
            waiting.events.remove(at);
            return;
        }
        drop(waiting);
        self.push(Event::Abandoned { exchange });
    }

    pub(crate) fn take(&self) -> Option<Event> {
        self.lock().events.pop_front()
    }

    pub(crate) fn may_sleep(&self) -> bool {
        let mut waiting = self.lock();
        self.waker.clear();
        waiting.is_asleep = true;
        waiting.events.is_empty()
    }

    pub(crate) fn set_trouble(&self, trouble: Option<String>) {
        self.lock().trouble = trouble;
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it is locked.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}
