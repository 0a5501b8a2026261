//! Link to one peer: what rings and sockets have in common.

use serde::{Deserialize, Serialize};

use crate::{ring, socket};

/// Carrier of envelopes between two programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// References in shared memory.
    Ring,
    /// Frames on a socket.
    Socket,
}

impl Carrier {
    /// Layout of messages and of what carries them: programs that differ in it are not joined.
    pub(crate) fn layout(self) -> String {
        let layout = match self {
            Self::Ring => ring::LAYOUT,
            Self::Socket => socket::VERSION,
        };
        format!("{layout:016x}")
    }

    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Ring => "rings",
            Self::Socket => "sockets",
        }
    }
}

/// The link cannot be used any more; why, in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Broken(pub &'static str);

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
