//! Tokens of services: those that requests leave with, and rules for those that come.

use std::time::{Instant as Clock, SystemTime};

use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use sluice_sbi::{Nf, Refused};
use sluice_sbi_http2::{Failure, Peer};
use sluice_services::{Request, Response};

use super::{Asked, LOOK_WITHIN, Services};
use crate::guard::{Counters as GuardCounters, Guard};
use crate::wallet::{Counters as WalletCounters, Key, Step, Waiting, Wallet};

impl Services {
    /// The same with rules for those that ask, and tokens to ask others with.
    #[must_use]
    pub fn with_tokens(self, guard: Guard, wallet: Option<Wallet>) -> Self {
        Self {
            guard,
            wallet,
            ..self
        }
    }

    /// Whether its functions ask for tokens.
    pub fn asks_for_tokens(&self) -> bool {
        self.wallet.is_some()
    }

    /// Counts of rules for those that ask, and of tokens that were asked for.
    pub fn token_counters(&self) -> (GuardCounters, WalletCounters) {
        let wallet = self.wallet.as_ref().map(Wallet::counters);
        (self.guard.counters(), wallet.unwrap_or_default())
    }

    /// Refusals that operators are to hear of, since the last call.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        let mut refused = self.guard.take_refused();
        let of_tokens = self.wallet.iter_mut().map(Wallet::take_refused);
        refused.extend(of_tokens.flatten());
        refused.extend(self.congestion.take_refused(Clock::now()));
        refused
    }

    /// Sends a request, if it needs no token or has one; else it waits.
    pub(super) fn leave(&mut self, consumer: Option<Nf>, waiting: Waiting) {
        let step = match (&mut self.wallet, consumer) {
            (Some(wallet), Some(consumer)) => wallet.send(consumer, waiting, Clock::now()),
            _ => Step::Leave(waiting),
        };
        match step {
            Step::Leave(one) => self.call(one),
            Step::LeaveAndAsk(one, key) => {
                self.call(one);
                self.ask_token(key);
            }
            Step::Ask(key) => self.ask_token(key),
            Step::Wait => {}
            Step::Full(id) => self.take_failure(id, &Failure::Busy),
        }
    }

    fn call(&mut self, one: Waiting) {
        self.http.call(one.id, &one.root, one.request, one.until);
    }

    /// Function that asks, if its request may want a token.
    pub(super) fn consumer(&self, asked: &Asked) -> Option<Nf> {
        match asked {
            Asked::Call(call) => Some(call.from.nf),
            Asked::Instances(nf) | Asked::Subscription(nf) => self.directory.consumer(*nf),
            Asked::Look(_) | Asked::Told | Asked::Token(_) => None,
        }
    }

    fn ask_token(&mut self, key: Key) {
        let instance = self.memory.instance(key.consumer());
        let Some(wallet) = &mut self.wallet else {
            return;
        };
        let request = wallet.question(&key, instance);
        let nrf = self.directory.nrf().to_owned();
        self.ask(Asked::Token(key), &nrf, request, Clock::now() + LOOK_WITHIN);
    }

    /// The NRF has given a token, or has not: requests that waited for it leave, or fail.
    pub(super) fn take_token(&mut self, key: &Key, answer: Result<&Response, String>) {
        let Some(wallet) = &mut self.wallet else {
            return;
        };
        match wallet.heard(key, answer, Clock::now()) {
            Ok(waiting) => {
                for one in waiting {
                    self.call(one);
                }
            }
            Err((waiting, why)) => {
                for one in waiting {
                    self.take_failure(one.id, &Failure::Token(why.clone()));
                }
            }
        }
    }

    /// A producer that does not take a token may take another one.
    pub(super) fn look_at_token(&mut self, consumer: Nf, response: &Response) {
        let is_challenged = response.headers().contains_key(WWW_AUTHENTICATE);
        let is_rejected = is_challenged || response.status() == StatusCode::UNAUTHORIZED;
        if let Some(wallet) = self.wallet.as_mut().filter(|_| is_rejected) {
            wallet.rejected(consumer, response, Clock::now());
        }
    }

    /// Whether a peer may ask this; the response that refuses it else.
    pub(super) fn may_ask(&mut self, request: &Request, peer: &Peer) -> Result<(), Box<Response>> {
        let (own, now_unix_s) = (&self.memory.own, unix_s());
        self.guard.check(request, peer, own, now_unix_s)
    }
}

/// Seconds since 1970.
fn unix_s() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
