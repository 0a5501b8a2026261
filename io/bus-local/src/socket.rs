//! Link by a socket (SOCK_SEQPACKET): frames of length, version and an envelope's octets.
//!
//! The kernel keeps frames apart and in order, holds them while the peer sleeps, and wakes it.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendFlags};
use zerocopy::big_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::link::{Broken, Link};

/// Version of frames: the layout of their messages.
pub(crate) const VERSION: u64 = sluice_sbi::LAYOUT;

/// Octets before those of an envelope.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    /// Octets after the head.
    length: U16,
    version: U64,
}

const HEAD: usize = size_of::<Head>();

/// Link to a peer: an end of a socket.
pub(crate) struct Socket(pub OwnedFd);

impl Link for Socket {
    fn send(&mut self, octets: &[u8]) -> Result<bool, Broken> {
        let length = u16::try_from(octets.len()).map_err(|_| Broken("a message is too long"))?;
        let head = Head {
            length: length.into(),
            version: VERSION.into(),
        };
        let parts = [IoSlice::new(head.as_bytes()), IoSlice::new(octets)];
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let nothing = &mut SendAncillaryBuffer::default();
        match rustix::net::sendmsg(&self.0, &parts, nothing, flags) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => Ok(false),
            Err(_) => Err(Broken("its connection has ended")),
        }
    }

    fn flush(&mut self) {
        // The peer was woken by what was sent.
    }

    fn receive(&mut self, room: &mut [u8]) -> Result<Option<usize>, Broken> {
        let mut head = Head::new_zeroed();
        let mut parts = [IoSliceMut::new(head.as_mut_bytes()), IoSliceMut::new(room)];
        let nothing = &mut RecvAncillaryBuffer::default();
        let received = rustix::net::recvmsg(&self.0, &mut parts, nothing, RecvFlags::DONTWAIT);
        let received = match received {
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(_) => return Err(Broken("its connection has ended")),
        };
        if received.bytes == 0 {
            return Err(Broken("its connection has ended"));
        }
        let length = usize::from(head.length.get());
        let is_frame = received.bytes == HEAD + length && head.version.get() == VERSION;
        // What is longer than the room comes in part.
        if !is_frame || received.flags.contains(ReturnFlags::TRUNC) {
            return Err(Broken("it sent what is no frame"));
        }
        Ok(Some(length))
    }

    fn sleep(&self, _: bool) {
        // The kernel knows it.
    }

    fn has_more(&self) -> bool {
        // Whatever is there wakes us.
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    use sluice_bus::LONGEST;

    fn pair() -> [Socket; 2] {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let ends = rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None);
        let ends: [OwnedFd; 2] = ends.expect("descriptors").into();
        ends.map(Socket)
    }

    fn frame(length: usize, version: u64, octets: &[u8]) -> Vec<u8> {
        let length = u16::try_from(length).expect("short");
        [
            &length.to_be_bytes(),
            version.to_be_bytes().as_slice(),
            octets,
        ]
        .concat()
    }

    #[test]
    fn octets_of_all_lengths_come_as_they_were_sent_in_order() {
        let [mut one, mut other] = pair();
        let mut room = [0; LONGEST];
        for length in 0..=LONGEST {
            let octets: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
            assert_eq!(one.send(&octets), Ok(true));
            assert_eq!(other.receive(&mut room), Ok(Some(length)));
            assert_eq!(room[..length], octets);
            assert_eq!(other.receive(&mut room), Ok(None));
        }
    }

    #[test]
    fn a_frame_is_length_version_and_octets() {
        let [mut one, mut other] = pair();
        assert_eq!(one.send(b"abc"), Ok(true));
        let mut room = [0; 32];
        let (_, length) = rustix::net::recv(&other.0, &mut room, RecvFlags::empty()).expect("one");
        assert_eq!(room[..length], frame(3, VERSION, b"abc"));
        rustix::net::send(&other.0, &room[..length], SendFlags::empty()).expect("room");
        assert_eq!(one.receive(&mut room), Ok(Some(3)));
        assert_eq!(&room[..3], b"abc");
        assert_eq!(other.receive(&mut room), Ok(None));
    }

    #[test]
    fn a_full_socket_has_room_again_when_the_other_side_took_what_was_sent() {
        let [mut one, mut other] = pair();
        let octets = [7; LONGEST];
        let mut sent = 0;
        while one.send(&octets) == Ok(true) {
            sent += 1;
        }
        assert!(sent > 16, "{sent}");
        assert_eq!(one.send(&octets), Ok(false));
        let mut room = [0; LONGEST];
        for _ in 0..sent {
            assert_eq!(other.receive(&mut room), Ok(Some(LONGEST)));
        }
        assert_eq!(other.receive(&mut room), Ok(None));
        assert_eq!(one.send(&octets), Ok(true));
    }

    #[test]
    fn what_is_no_frame_breaks_the_link() {
        let mut room = [0; LONGEST];
        let wrong = [
            vec![7],
            frame(3, VERSION, b"abc")[..HEAD - 1].to_vec(),
            frame(3, VERSION, b"ab"),
            frame(3, VERSION, b"abcd"),
            frame(3, VERSION ^ 1, b"abc"),
            frame(LONGEST, VERSION, &[0; LONGEST + 1]),
            frame(LONGEST + 1, VERSION, &[0; LONGEST + 1]),
        ];
        for octets in wrong {
            let [one, mut other] = pair();
            rustix::net::send(&one.0, &octets, SendFlags::empty()).expect("room");
            let broken = Broken("it sent what is no frame");
            assert_eq!(other.receive(&mut room), Err(broken), "{octets:?}");
        }
    }

    #[test]
    fn what_an_end_sent_before_it_went_still_comes() {
        let [mut one, mut other] = pair();
        assert_eq!(one.send(b"last"), Ok(true));
        drop(one);
        let mut room = [0; LONGEST];
        assert_eq!(other.receive(&mut room), Ok(Some(4)));
        let broken = Broken("its connection has ended");
        assert_eq!(other.receive(&mut room), Err(broken));
        assert_eq!(other.send(b"a"), Err(broken));
    }
}
