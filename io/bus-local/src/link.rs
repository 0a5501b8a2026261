//! Link to one peer: what rings and sockets have in common.

use serde::{Deserialize, Serialize};

use sluice_bus::LONGEST;
use sluice_shared_ring::ring::{SLOTS, words};
pub(crate) use sluice_shared_ring::{Broken, Ring};

use crate::socket;

/// Layout of arenas and messages: programs that differ in it are not joined.
const RING_LAYOUT: u64 = sluice_sbi::LAYOUT ^ ((words(LONGEST) as u64) << 40) ^ (SLOTS << 8) ^ 1;

/// Carrier of envelopes between two programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// References in shared memory.
    Ring,
    /// Frames on a socket.
    Socket,
    /// None: members have HTTP/2 between them, and no links.
    Http2,
}

impl Carrier {
    /// Layout of messages and of what carries them: programs that differ in it are not joined.
    pub(crate) fn layout(self) -> String {
        let layout = match self {
            Self::Ring => RING_LAYOUT,
            Self::Socket | Self::Http2 => socket::VERSION,
        };
        format!("{layout:016x}")
    }

    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Ring => "rings",
            Self::Socket => "sockets",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// Link to a peer, by which octets of envelopes go both ways.
pub(crate) trait Link: Send {
    /// Sends octets; false if there is no room now.
    fn send(&mut self, octets: &[u8]) -> Result<bool, Broken>;

    /// Wakes the peer if it sleeps and was sent something.
    fn flush(&mut self);

    /// Copies the next of what the peer sent into `room`: its length.
    fn receive(&mut self, room: &mut [u8]) -> Result<Option<usize>, Broken>;

    /// Tells the peer that we sleep from now on, or are awake.
    fn sleep(&self, sleeps: bool);

    /// Whether the peer has sent what was not taken and would wake nobody who sleeps.
    fn has_more(&self) -> bool;
}

impl Link for Ring<LONGEST> {
    fn send(&mut self, octets: &[u8]) -> Result<bool, Broken> {
        Self::send(self, octets)
    }

    fn flush(&mut self) {
        Self::flush(self);
    }

    fn receive(&mut self, room: &mut [u8]) -> Result<Option<usize>, Broken> {
        Self::receive(self, room)
    }

    fn sleep(&self, sleeps: bool) {
        Self::sleep(self, sleeps);
    }

    fn has_more(&self) -> bool {
        Self::has_more(self)
    }
}
