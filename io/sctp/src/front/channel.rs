//! End of the socket between a front and the program that speaks NGAP.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendFlags};

use super::frame::Frame;
use crate::limits;

/// Octets before those of a message in the longest frame, or more.
const HEAD_BYTES: usize = 64;

/// Outcome of a look at the socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// A frame.
    Frame(Frame),
    /// Nothing is there.
    Nothing,
    /// The other end is gone, or sends what is no frame.
    End,
}

/// End of the socket, and what waits for room in it.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    room: Box<[u8]>,
}

impl Channel {
    /// Of a socket (SOCK_SEQPACKET) that does not block.
    pub fn new(socket: OwnedFd) -> Self {
        let room = vec![0; HEAD_BYTES + limits::MESSAGE_BYTES];
        Self {
            socket,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            room: room.into(),
        }
    }

    /// Sends a frame, or keeps it until there is room.
    pub fn send(&mut self, frame: &Frame) {
        let octets = frame.encode();
        self.waiting_bytes += octets.len();
        self.waiting.push_back(octets);
        self.flush();
    }

    /// Sends what waits, as much as there is room for. An end that is gone is told by [`Channel::receive`].
    pub fn flush(&mut self) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while let Some(octets) = self.waiting.front() {
            match rustix::net::send(&self.socket, octets, flags) {
                Ok(_) => {
                    self.waiting_bytes -= octets.len();
                    self.waiting.pop_front();
                }
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => return,
                Err(_) => {
                    self.waiting.clear();
                    self.waiting_bytes = 0;
                }
            }
        }
    }

    /// Whether frames wait for room.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether so much waits that nothing more is to be sent before there is room.
    pub fn is_full(&self) -> bool {
        self.waiting_bytes >= limits::FRONT_BYTES
    }

    /// The next frame.
    pub fn receive(&mut self) -> Received {
        let mut parts = [IoSliceMut::new(&mut self.room)];
        let nothing = &mut RecvAncillaryBuffer::default();
        let received = rustix::net::recvmsg(&self.socket, &mut parts, nothing, RecvFlags::DONTWAIT);
        let (length, flags) = match received {
            Ok(received) => (received.bytes, received.flags),
            Err(Errno::AGAIN | Errno::INTR) => return Received::Nothing,
            Err(_) => return Received::End,
        };
        // What is longer than the room comes in part; the end of the stream has no octets.
        if length == 0 || flags.contains(ReturnFlags::TRUNC) {
            return Received::End;
        }
        let frame = self.room.get(..length).and_then(Frame::decode);
        frame.map_or(Received::End, Received::Frame)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
