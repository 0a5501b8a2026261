//! Link state of ports.

use super::devices::DevicePort;
use crate::config::Port as Given;
use sluice_host::link::Link;
use sluice_host::netns::Ns;
use sluice_port::LinkState;
use std::time::{Duration, Instant};

/// From one look at the links to the next.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is known of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Packets can pass.
    Up,
    /// They cannot.
    Down,
    /// The kernel interface beneath was deleted; it takes a restart to use a new one.
    Gone,
    /// The driver does not tell.
    Unknown,
}

impl State {
    /// As `ctl` and logs write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

/// The links of all ports.
pub struct Links<P> {
    watched: Vec<Watched<P>>,
    next: Instant,
}

struct Watched<P> {
    name: String,
    port: P,
    /// DPDK takes links of kernel interfaces to be up whatever happens.
    kernel: Option<Link>,
    /// What it was at the last look; none before the first one.
    state: Option<State>,
}

impl<P: DevicePort> Links<P> {
    /// Of `ports`, opened as `given`.
    pub fn new(given: &[Given], ports: &[P]) -> Self {
        let watched = given.iter().zip(ports).map(|(given, port)| {
            let name = given.kernel_interface().or(given.made_interface());
            let kernel = name.and_then(|name| Link::new(&Ns::current().ok()?, name).ok());
            Watched {
                name: given.name.value.clone(),
                port: port.clone(),
                kernel,
                state: None,
            }
        });
        Self {
            watched: watched.collect(),
            // The kernel and drivers bring a port's link up after its start.
            next: Instant::now() + LOOK_EVERY,
        }
    }

    /// Looks again if it is time to.
    pub fn look(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + LOOK_EVERY;
        for link in &mut self.watched {
            let state = link.now();
            if is_news(link.state, state) {
                match state {
                    State::Up => tracing::info!("port {}: its link is up", link.name),
                    _ => tracing::warn!("port {}: its link is {}", link.name, state.name()),
                }
            }
            link.state = Some(state);
        }
    }

    /// The states now, in the order of the ports.
    pub fn states(&self) -> impl Iterator<Item = State> {
        self.watched.iter().map(Watched::now)
    }
}

/// Whether a look is worth a line: what is up from the start needs no word.
fn is_news(before: Option<State>, now: State) -> bool {
    before.unwrap_or(State::Up) != now
}

impl<P: DevicePort> Watched<P> {
    fn now(&self) -> State {
        if let Some(link) = &self.kernel {
            return match link.is_running() {
                Ok(Some(true)) => State::Up,
                Ok(Some(false)) => State::Down,
                Ok(None) => State::Gone,
                Err(_) => State::Unknown,
            };
        }
        match self.port.link() {
            Some(LinkState::Up) => State::Up,
            Some(LinkState::Down) => State::Down,
            None => State::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_told_of_when_it_changes_and_at_first_where_it_is_not_up() {
        for (before, now, is_told) in [
            (None, State::Up, false),
            (None, State::Down, true),
            (Some(State::Up), State::Up, false),
            (Some(State::Up), State::Gone, true),
            (Some(State::Down), State::Up, true),
            (Some(State::Down), State::Down, false),
        ] {
            assert_eq!(is_news(before, now), is_told, "{before:?} {now:?}");
        }
    }

    #[test]
    fn links_have_time_to_come_up_before_the_first_look() {
        let links = Links::<sluice_port_dpdk::Port>::new(&[], &[]);
        assert!(links.next >= Instant::now() + LOOK_EVERY / 2);
    }
}
