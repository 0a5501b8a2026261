//! Counters of the service-based interfaces, one for each bound and each way to fail.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counter that the thread counts and the program reads.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// One more.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters since the start.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// Counters that the thread counts.
        #[derive(Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: Count,)*
        }

        impl Tally {
            pub(crate) fn read(&self) -> Counters {
                Counters { $($name: self.$name.0.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Connections that the server took.
    connections,
    /// Connections refused: the server has as many as it takes.
    connections_refused,
    /// Connections refused: their peer has as many as it may have.
    peer_connections_refused,
    /// Connections closed: they were not opened in time.
    half_open,
    /// Connections closed: TLS failed.
    tls_refused,
    /// Connections closed: their peer does not speak HTTP/2.
    other_protocols,
    /// Connections closed: their peer broke HTTP/2, or a bound of frames (headers, resets that came early).
    protocol_errors,
    /// Connections closed: a PING had no answer, or nothing could be written for too long.
    silent,
    /// Connections closed: their peer reset too many streams.
    reset_floods,
    /// Requests that came.
    requests,
    /// Requests refused: their peer has as many streams as it may have.
    streams_refused,
    /// Requests refused: the peer's bodies are longer together than they may be.
    octets_refused,
    /// Requests refused: the body is too long.
    bodies_too_long,
    /// Requests refused: the body did not end in time.
    bodies_late,
    /// Requests refused: too many have no answer yet.
    requests_refused,
    /// Streams that peers reset.
    resets,
    /// Requests that came and were abandoned by their peer.
    abandoned,
    /// Answers that were not sent: the peer has too many octets of others to take first.
    answers_not_read,
    /// Answers that were not taken in time.
    answers_late,
    /// Requests that left.
    calls,
    /// Requests that did not leave: too many have no answer yet.
    calls_refused,
    /// Requests without a response.
    calls_failed,
    /// Connections to API roots.
    connections_opened,
    /// Requests that were sent again on a new connection.
    retries,
    /// Redirections that were followed.
    redirects,
    /// Files of TLS that were read anew.
    tls_renewals,
    /// Files of TLS that changed and cannot be used.
    tls_renewals_failed,
}
