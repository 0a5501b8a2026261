//! Transport of envelopes to the hosts of other functions.

use sluice_sbi::{Instance, Nf};

use crate::envelope::Envelope;

/// Why an envelope did not leave. It comes back, so that nothing is lost in silence.
#[derive(Debug)]
pub enum Unsent {
    /// Whoever is to receive it has no room now; it may be sent again.
    Full(Envelope),
    /// Nobody of that name is reached.
    Unreachable(Envelope),
}

/// News of a transport.
#[derive(Debug)]
pub enum Event {
    /// An envelope came.
    Came(Envelope),
    /// A host is reached from now on.
    Up {
        /// Functions that it has.
        functions: Vec<Nf>,
        /// Which instance of them.
        instance: Instance,
    },
    /// A host that had these functions is gone, with all that it was asked.
    Lost {
        /// Functions that it had.
        functions: Vec<Nf>,
        /// Number of the instance of them.
        number: u8,
        /// Why, in words.
        why: &'static str,
    },
    /// Octets came that are no envelope of the host that sent them.
    Unreadable,
}

/// Carrier of envelopes to other hosts: a ring in shared memory, a connection.
pub trait Transport {
    /// Sends an envelope, in order with those before it to the same host. The receiver may sleep until
    /// [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Unsent`]: the envelope comes back.
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent>;

    /// Wakes whoever sleeps and was sent something.
    fn flush(&mut self);

    /// The next of what came; none if there is nothing now.
    fn receive(&mut self) -> Option<Event>;

    /// Announces that the host is about to sleep. False if something came meanwhile: then it does not sleep.
    fn may_sleep(&mut self) -> bool;
}
