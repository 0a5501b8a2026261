//! Services of the functions of a core in virtual time: each call as the HTTP requests and responses that its carrier would
//! have, without socket, thread or clock. Each function has an API root and a memory of its own, as if it had a program of
//! its own, and finds the others by the NRF's HTTP services.

mod fates;
mod network;
mod program;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use fates::Chance;
pub use fates::{Fate, is_spent, next};
pub use network::Exchange;
use network::Network;
use sluice_bus::{Envelope, Event, Transport, Unsent};
use sluice_core_host::Home;
use sluice_sbi::{Instant, Nf, Now};
use sluice_wiring::Core;

thread_local! {
    /// Clock of all cores of a test.
    static NOW: Cell<Instant> = const { Cell::new(Instant(0)) };
    /// Networks of the cores that a test has.
    static ALL: RefCell<Vec<Weak<RefCell<Network>>>> = const { RefCell::new(Vec::new()) };
    /// Network of the core that sent last.
    static SENT: RefCell<Option<Rc<RefCell<Network>>>> = const { RefCell::new(None) };
}

/// A core's way to its network.
struct Link(Rc<RefCell<Network>>);

impl Transport for Link {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        self.0.borrow_mut().send(NOW.get(), envelope)
    }

    fn flush(&mut self) {
        SENT.set(Some(Rc::clone(&self.0)));
    }

    fn receive(&mut self) -> Option<Event> {
        self.0.borrow_mut().receive(NOW.get())
    }

    fn may_sleep(&mut self) -> bool {
        true
    }
}

/// Has all functions of a core call each other by services, with faults in percent, by a seed.
pub(crate) fn connect(core: &mut Core, home: &Home, (percent, seed): (u64, u64)) {
    let chance = Chance::new(percent, seed);
    let network = Rc::new(RefCell::new(Network::new(home, chance)));
    ALL.with_borrow_mut(|all| all.push(Rc::downgrade(&network)));
    core.connect(Box::new(Link(network)), &Nf::ALL);
}

/// Time of what is exchanged from now on.
pub(crate) fn set_now(now: Instant) {
    NOW.set(now);
}

/// Has the NRF of the core that sent last answer what it was asked; false if it was asked nothing.
pub(crate) fn serve_nrf(core: &mut Core, now: Now) -> bool {
    let Some(network) = SENT.take() else {
        return false;
    };
    let mut has_served = false;
    loop {
        let Some((asked, request)) = network.borrow_mut().take_nrf_request() else {
            return has_served;
        };
        has_served = true;
        if let Some(response) = core.registry().serve(now, &request) {
            network.borrow_mut().respond(now.instant, &asked, response);
        }
    }
}

/// When something arrives, or a wait ends, after the time that was set last: what a core did not carry until then is one's that
/// a test does not look at any more.
pub(crate) fn next_deadline() -> Instant {
    ALL.with_borrow_mut(|all| {
        all.retain(|one| one.strong_count() > 0);
        let networks = all.iter().filter_map(Weak::upgrade);
        let deadlines = networks.map(|one| one.borrow().next_deadline());
        let to_come = deadlines.filter(|deadline| *deadline > NOW.get());
        to_come.min().unwrap_or(Instant::NEVER)
    })
}

/// Exchanges since the last call, in their order, of the core that a test made last; the first call has none.
pub fn record() -> Vec<Exchange> {
    let last = ALL.with_borrow(|all| all.last().and_then(Weak::upgrade));
    last.map(|one| one.borrow_mut().record())
        .unwrap_or_default()
}

/// How many requests of each method and service, `POST nausf-auth`, there were since the last call, of the core that a test
/// made last.
pub fn take_requests() -> BTreeMap<String, u64> {
    let last = ALL.with_borrow(|all| all.last().and_then(Weak::upgrade));
    last.map(|one| one.borrow_mut().take_requests())
        .unwrap_or_default()
}
