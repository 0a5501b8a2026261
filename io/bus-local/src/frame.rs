//! Frames between a manager and its members: JSON in one datagram of a Unix socket, with descriptors beside.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};
use sluice_sbi::Instance;

use crate::link::Carrier;

/// Longest frame in octets: less than what a Unix socket takes at a time (net.core.wmem_default).
pub(crate) const LONGEST: usize = 128 << 10;

/// Longest text that goes in a frame; JSON makes at most two octets of one.
const INLINE: usize = 32 << 10;

/// Longest text beside a frame: a million subscribers with their keys.
const TEXT_MOST: u64 = 512 << 20;

/// Message between a member and its manager. Descriptors come with the frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Frame {
    /// Member: it is there. Its doorbell comes with it if it has rings.
    Join {
        /// Carrier of its envelopes.
        carrier: Carrier,
        /// Layout of its messages, and of what carries them.
        layout: String,
        /// Program, for people.
        name: String,
        /// Functions that it hosts, by their names in the TS.
        functions: Vec<String>,
        /// Instance of them.
        instance: Numbered,
    },
    /// Manager: the member is one from now on.
    Welcome,
    /// Manager: it is not.
    Refused {
        /// Why, in words.
        why: String,
    },
    /// Manager: there is another member, or a new link to one. The peer's doorbell comes with it, or an end of a socket.
    Peer {
        /// Number of the member, which none before it had.
        id: u64,
        /// Number of the link, which none before it had.
        link: u64,
        /// Functions that it hosts.
        functions: Vec<String>,
        /// Instance of them.
        instance: Numbered,
    },
    /// An arena. Member: for this peer; manager: of this peer. It comes with the frame.
    Arena {
        /// Number of the peer.
        peer: u64,
        /// Number of the link.
        link: u64,
    },
    /// Member: this link has broken, and it wants another one.
    Again {
        /// Number of the peer.
        peer: u64,
        /// Number of the link.
        link: u64,
    },
    /// Manager: this peer is gone.
    Gone {
        /// Number of the peer.
        id: u64,
    },
    /// Manager: what the member is to know of the core; member: what the core is to know of it. In a form of their own,
    /// or memory that has it comes with the frame.
    Tell {
        /// That.
        text: String,
    },
    /// Manager: a question of an operator, in a form of their own, or memory that has it comes with the frame.
    Ask {
        /// To be named in the answer.
        id: u64,
        /// The question.
        text: String,
    },
    /// Member: the answer, or memory that has it comes with the frame.
    Answer {
        /// To which question.
        id: u64,
        /// The answer.
        text: String,
    },
}

/// Instance of functions on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Numbered {
    pub number: u8,
    pub priority: u16,
    pub capacity: u16,
}

impl From<Instance> for Numbered {
    fn from(instance: Instance) -> Self {
        let Instance {
            number,
            priority,
            capacity,
        } = instance;
        Self {
            number,
            priority,
            capacity,
        }
    }
}

impl From<Numbered> for Instance {
    fn from(numbered: Numbered) -> Self {
        let Numbered {
            number,
            priority,
            capacity,
        } = numbered;
        Self {
            number,
            priority,
            capacity,
        }
    }
}

/// Sends a frame with a descriptor, or none.
///
/// # Errors
/// The socket's; a frame for which there is no room now is lost, and the caller gives the socket up.
pub(crate) fn send(
    socket: impl AsFd,
    frame: &Frame,
    with: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let octets = serde_json::to_vec(frame)?;
    if octets.len() > LONGEST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let with: Vec<BorrowedFd<'_>> = with.into_iter().collect();
    if !with.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&with)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(socket, &[IoSlice::new(&octets)], &mut ancillary, flags)?;
    Ok(())
}

/// Sends a frame of a text, which goes in memory beside it where it is longer than a frame.
///
/// # Errors
/// As [`send`]; what the kernel says of the memory.
pub(crate) fn send_long(
    socket: impl AsFd,
    text: String,
    frame: impl FnOnce(String) -> Frame,
) -> io::Result<()> {
    if text.len() <= INLINE {
        return send(socket, &frame(text), None);
    }
    let flags = MemfdFlags::CLOEXEC;
    let mut memory = File::from(rustix::fs::memfd_create("sluice-text", flags)?);
    memory.write_all(text.as_bytes())?;
    memory.rewind()?;
    send(socket, &frame(String::new()), Some(memory.as_fd()))
}

/// Text of a frame that was sent so; what is longer than a text may be, or none, is empty.
pub(crate) fn long(text: String, memory: Option<OwnedFd>) -> String {
    let Some(memory) = memory else {
        return text;
    };
    let mut read = String::new();
    let taken = File::from(memory).take(TEXT_MOST).read_to_string(&mut read);
    match taken {
        Ok(length) if (length as u64) < TEXT_MOST => read,
        _ => String::new(),
    }
}

/// Outcome of a look at a socket.
pub(crate) enum Came {
    /// A frame, and the descriptor that came with it.
    Frame(Frame, Option<OwnedFd>),
    /// Nothing now.
    Nothing,
    /// The other end is gone, or speaks another language.
    End,
}

/// Takes the next frame, without waiting, by way of `room` for [`LONGEST`] octets.
pub(crate) fn receive(socket: impl AsFd, room: &mut [u8]) -> Came {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut into = [IoSliceMut::new(room)];
    let received = match rustix::net::recvmsg(socket, &mut into, &mut ancillary, flags) {
        Ok(received) => received.bytes,
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Came::Nothing,
        Err(_) => return Came::End,
    };
    let mut with = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            with = descriptors.last().or(with);
        }
    }
    // An empty datagram is the end of the connection.
    match serde_json::from_slice(room.get(..received).unwrap_or_default()) {
        Ok(frame) => Came::Frame(frame, with),
        Err(_) => Came::End,
    }
}
