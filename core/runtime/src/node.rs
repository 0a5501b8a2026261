//! An SCTP endpoint and the socket that carries it, with the host's clock.

use std::io;
use std::time::Duration;

use sluice_host::{clock, poll};
use sluice_sctp::{Carrier, Counters, Endpoint, Event, Sctp as _, limits};

/// Datagrams that are taken before what they caused is sent.
const BURST: usize = 64;

/// An endpoint and its socket.
#[derive(Debug)]
pub struct Node {
    /// The endpoint; what is told to it leaves with the next [`Node::turn`] or [`Node::flush`].
    pub sctp: Endpoint,
    carrier: Carrier,
    room: Box<[u8]>,
}

impl Node {
    /// Of its parts.
    pub fn new(sctp: Endpoint, carrier: Carrier) -> Self {
        let room = vec![0; limits::DATAGRAM_BYTES].into_boxed_slice();
        Self {
            sctp,
            carrier,
            room,
        }
    }

    /// Sleeps until there is a datagram, at most `patience` and not beyond SCTP's next deadline; then
    /// takes what came, and sends. What has happened is returned.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn turn(&mut self, patience: Duration) -> io::Result<Vec<Event>> {
        let patience = patience.min(Duration::from_millis(self.sctp.next_ms()));
        poll::wait_readable(&self.carrier, patience)?;
        for _ in 0..BURST {
            let Some((from, datagram)) = self.carrier.receive(&mut self.room)? else {
                break;
            };
            self.sctp.input(from, datagram);
        }
        self.sctp.time(clock::monotonic_ns() / 1_000_000);
        self.flush();
        Ok(self.sctp.take_events())
    }

    /// Sends what waits. What cannot be sent is lost, as on any network: SCTP sends it again, and
    /// notices when a peer cannot be reached.
    pub fn flush(&mut self) {
        for (to, datagram) in self.sctp.take_datagrams() {
            let _ = self.carrier.send(to, &datagram);
        }
    }

    /// What the endpoint has counted.
    pub fn counters(&self) -> Counters {
        self.sctp.counters()
    }

    /// Aborts all associations, tells the peers and closes.
    pub fn close(self) {
        for (to, datagram) in self.sctp.close() {
            let _ = self.carrier.send(to, &datagram);
        }
    }
}
