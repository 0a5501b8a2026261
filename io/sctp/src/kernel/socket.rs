//! The kernel's SCTP socket, one-to-many (RFC 6458, 3): its options, and messages with ancillary data.

use std::ffi::{c_int, c_void};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt,
};

use super::filter::Instruction;
use super::message::{self, HEAD, Number, Place, SEND_RECEIVE, SOL_SCTP};
use crate::endpoint::Config;
use crate::limits;

// Options of `linux/sctp.h`.
const RTOINFO: c_int = 0;
const ASSOCINFO: c_int = 1;
const INITMSG: c_int = 2;
const NODELAY: c_int = 3;
const PEER_ADDR_PARAMS: c_int = 9;
const EVENTS: c_int = 11;
const BINDX_ADD: c_int = 100;
const CONNECTX3: c_int = 111;

/// Flags of a message that is sent (RFC 6458, 5.3.2).
const ABORT: u16 = 1 << 2;
const EOF: u16 = 0x200;

/// A notification, not a message.
const MSG_NOTIFICATION: c_int = 0x8000;

/// Associations that may wait to be told of.
const BACKLOG: i32 = limits::ASSOCIATIONS as i32;

/// A socket.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

/// Received message or notification.
pub(crate) struct Received {
    /// Octets of the message, or of the notification.
    pub length: usize,
    /// The message has ended with these.
    pub is_last: bool,
    /// Contents.
    pub what: What,
}

pub(crate) enum What {
    /// A part of a message, and where it belongs; none if the kernel did not say.
    Message(Option<Place>),
    /// A notification, and from where.
    Notification(Option<SocketAddr>),
}

impl Socket {
    /// A socket of the kernel of the current namespace; its error tells whether there is SCTP.
    pub fn new(is_ipv4: bool) -> io::Result<Self> {
        let family = match is_ipv4 {
            true => AddressFamily::INET,
            false => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::SEQPACKET, flags, Some(ipproto::SCTP))?;
        Ok(Self(socket))
    }

    /// Binds all of these addresses, which have one port.
    pub fn bind(&self, local: &[SocketAddr]) -> io::Result<()> {
        let Some((first, others)) = local.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        bind(&self.0, first)?;
        if others.is_empty() {
            return Ok(());
        }
        self.set(BINDX_ADD, &message::to_addresses(others))
    }

    /// Takes associations that peers begin.
    pub fn listen(&self) -> io::Result<()> {
        Ok(listen(&self.0, BACKLOG)?)
    }

    /// Timers, streams and buffers.
    pub fn configure(&self, config: &Config) -> io::Result<()> {
        let (octets, all) = (u32::to_ne_bytes, [0; 4]);
        let rto = [
            all,
            octets(config.rto_initial_ms),
            octets(config.rto_max_ms),
            octets(config.rto_min_ms),
        ];
        self.set(RTOINFO, &rto.concat())?;
        // Retransmissions, then four values that are told, not asked for: zeros leave them alone.
        let mut association = [0; 20];
        association[4..6].copy_from_slice(&config.retransmissions.to_ne_bytes());
        self.set(ASSOCINFO, &association)?;
        let most_ms = u16::try_from(config.rto_max_ms).unwrap_or(u16::MAX);
        let init = [
            limits::STREAMS,
            limits::STREAMS,
            config.init_attempts,
            most_ms,
        ];
        self.set(INITMSG, &init.map(u16::to_ne_bytes).concat())?;
        self.set(NODELAY, &1i32.to_ne_bytes())?;
        self.set(PEER_ADDR_PARAMS, &path_parameters(config))?;
        // Which association a message is of, and what becomes of associations.
        self.set(EVENTS, &[1, 1, 0, 0, 0, 0, 0, 0])?;
        if sockopt::set_socket_recv_buffer_size_force(&self.0, limits::BUFFER_BYTES).is_err() {
            sockopt::set_socket_recv_buffer_size(&self.0, limits::BUFFER_BYTES)?;
        }
        if sockopt::set_socket_send_buffer_size_force(&self.0, limits::BUFFER_BYTES).is_err() {
            sockopt::set_socket_send_buffer_size(&self.0, limits::BUFFER_BYTES)?;
        }
        Ok(())
    }

    /// Has the kernel drop packets that the filter does not let pass.
    pub fn filter(&self, program: &[Instruction]) -> io::Result<()> {
        let description = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_ptr().cast_mut().cast(),
        };
        // SAFETY: `Instruction` is laid out as `sock_filter`; the kernel reads both during the call.
        let set = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                ptr::from_ref(&description).cast::<c_void>(),
                size_of::<libc::sock_fprog>() as u32,
            )
        };
        done(set as isize).map(drop)
    }

    fn set(&self, option: c_int, value: &[u8]) -> io::Result<()> {
        // SAFETY: the kernel reads as many octets as it is told during the call.
        let set = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                SOL_SCTP,
                option,
                value.as_ptr().cast::<c_void>(),
                value.len() as u32,
            )
        };
        done(set as isize).map(drop)
    }

    /// Begins an association with a peer; its number.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<Number> {
        /// `struct sctp_getaddrs_old` of `linux/sctp.h`.
        #[repr(C)]
        struct Addresses {
            number: Number,
            octets: c_int,
            addresses: *const u8,
        }
        let address = message::to_addresses(&[peer]);
        let mut asked = Addresses {
            number: 0,
            octets: address.len() as c_int,
            addresses: address.as_ptr(),
        };
        let mut length = size_of::<Addresses>() as u32;
        // SAFETY: the kernel reads the addresses, and writes the number, during the call.
        let got = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                SOL_SCTP,
                CONNECTX3,
                ptr::from_mut(&mut asked).cast::<c_void>(),
                &raw mut length,
            )
        };
        match done(got as isize) {
            Ok(_) => Ok(asked.number),
            // It goes on: the socket does not wait.
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(asked.number),
            Err(error) => Err(error),
        }
    }

    /// Sends a message in order.
    pub fn send(&self, place: Place, octets: &[u8]) -> io::Result<()> {
        self.send_with(place, 0, octets)
    }

    /// Aborts an association.
    pub fn abort(&self, number: Number) -> io::Result<()> {
        self.send_with(about(number), ABORT, &[])
    }

    /// Ends an association in order.
    pub fn shutdown(&self, number: Number) -> io::Result<()> {
        self.send_with(about(number), EOF, &[])
    }

    fn send_with(&self, place: Place, flags: u16, octets: &[u8]) -> io::Result<()> {
        let control = Aligned(message::to_place(place, flags));
        let mut part = libc::iovec {
            iov_base: octets.as_ptr().cast_mut().cast(),
            iov_len: octets.len(),
        };
        // SAFETY: all zeros are a header without name, parts and control.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = ptr::from_ref(&control.0).cast_mut().cast();
        header.msg_controllen = control.0.len();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the kernel reads what the header leads to, all of which lives through the call.
        let sent = unsafe { libc::sendmsg(self.0.as_raw_fd(), &raw const header, flags) };
        done(sent).map(drop)
    }

    /// Takes what is there; none if there is nothing now.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<Option<Received>> {
        let mut control = Aligned([0u8; CONTROL]);
        let mut name = [0u8; size_of::<libc::sockaddr_storage>()];
        let mut part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // SAFETY: as in `send_with`.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_name = name.as_mut_ptr().cast();
        header.msg_namelen = name.len() as u32;
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control.0.len();
        // SAFETY: the kernel writes to what the header leads to, at most as much as that says, during the
        // call.
        let got = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
        let length = match done(got) {
            Ok(length) => length.min(room.len()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let what = if header.msg_flags & MSG_NOTIFICATION != 0 {
            let name = name.get(..header.msg_namelen as usize);
            What::Notification(name.and_then(message::address))
        } else {
            let control = control.0.get(..header.msg_controllen);
            What::Message(control.and_then(message::place))
        };
        Ok(Some(Received {
            length,
            is_last: header.msg_flags & libc::MSG_EOR != 0,
            what,
        }))
    }
}

/// Room for ancillary data: ours, and some that nobody asked for.
const CONTROL: usize = 4 * (HEAD + SEND_RECEIVE);

/// Octets that begin where a header of ancillary data may.
#[repr(align(8))]
struct Aligned<T>(T);

fn about(number: Number) -> Place {
    Place {
        number,
        stream: 0,
        ppid: 0,
    }
}

/// Heartbeats and delayed acknowledgements of all paths (`struct sctp_paddrparams`).
fn path_parameters(config: &Config) -> [u8; 156] {
    const HEARTBEATS: u32 = 1 << 0;
    const DELAY: u32 = 1 << 5;
    let mut octets = [0; 156];
    // Behind the number of an association and an address, which are all of them.
    octets[132..136].copy_from_slice(&config.heartbeat_ms.to_ne_bytes());
    octets[136..138].copy_from_slice(&config.retransmissions.to_ne_bytes());
    octets[142..146].copy_from_slice(&config.sack_ms.to_ne_bytes());
    octets[146..150].copy_from_slice(&(HEARTBEATS | DELAY).to_ne_bytes());
    octets
}

fn done(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
