//! Arguments of sendmsg(2) and sendmmsg(2): destination, source address and segment size.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd as _, BorrowedFd};

use crate::udp::empty_header;
use crate::udp::name::{Name, to_in_addr, to_in6_addr};
use crate::udp::{Control, NO_CONTROL};

/// Sends one datagram by itself.
pub(in crate::udp) fn send_one(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    to: SocketAddr,
    from: Option<IpAddr>,
) -> io::Result<()> {
    let mut vector = [vector_of(bytes)];
    let mut parts = Parts::new(&mut vector, to, from);
    let header = parts.header();
    // SAFETY: the header points to `parts` and `bytes`, which outlive the call.
    unsafe { send_message(socket, &header) }
}

/// # Safety
/// The header must describe memory that may be read until this returns.
pub(super) unsafe fn send_message(socket: BorrowedFd<'_>, header: &libc::msghdr) -> io::Result<()> {
    // SAFETY: as promised by the caller.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), header, 0) };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Buffers that a message header points to.
pub(super) struct Parts<'v> {
    name: Name,
    name_len: libc::socklen_t,
    vectors: &'v mut [libc::iovec],
    control: Control,
    /// Octets of `control` that are in use.
    control_len: usize,
}

impl<'v> Parts<'v> {
    pub fn new(vectors: &'v mut [libc::iovec], to: SocketAddr, from: Option<IpAddr>) -> Self {
        let mut parts = Self {
            name: Name::new(to),
            name_len: Name::len(to),
            vectors,
            control: NO_CONTROL,
            control_len: 0,
        };
        if let Some(from) = from {
            parts.set_source(from);
        }
        parts
    }

    pub fn header(&mut self) -> libc::msghdr {
        let mut header = empty_header().msg_hdr;
        header.msg_name = (&raw mut self.name).cast();
        header.msg_namelen = self.name_len;
        header.msg_iov = self.vectors.as_mut_ptr();
        header.msg_iovlen = self.vectors.len() as _;
        if self.control_len > 0 {
            header.msg_control = self.control.0.as_mut_ptr().cast();
            header.msg_controllen = self.control_len as _;
        }
        header
    }

    /// The datagram is to be split every `len` octets.
    pub fn set_segment(&mut self, len: u16) {
        self.set_control(libc::SOL_UDP, libc::UDP_SEGMENT, len);
    }

    fn set_source(&mut self, from: IpAddr) {
        match from {
            IpAddr::V4(from) => self.set_source_ipv4(from),
            IpAddr::V6(from) => {
                let info = libc::in6_pktinfo {
                    ipi6_addr: to_in6_addr(from),
                    ipi6_ifindex: 0,
                };
                self.set_control(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
            }
        }
    }

    fn set_source_ipv4(&mut self, from: Ipv4Addr) {
        let info = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: to_in_addr(from),
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        self.set_control(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
    }

    /// The one control message. Its value is not longer than the longest that there is room for.
    fn set_control<T: Copy>(&mut self, level: libc::c_int, kind: libc::c_int, value: T) {
        const { assert!(size_of::<T>() <= size_of::<libc::in6_pktinfo>()) };
        let len = size_of::<T>() as libc::c_uint;
        // SAFETY: CMSG_SPACE only computes a length.
        self.control_len = unsafe { libc::CMSG_SPACE(len) } as usize;
        let header = self.header();
        // SAFETY: the control buffer is aligned for `cmsghdr` and has CMSG_SPACE of an
        // `in6_pktinfo`, so its first message fits; the write needs no alignment.
        unsafe {
            let message = libc::CMSG_FIRSTHDR(&header);
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            (*message).cmsg_len = libc::CMSG_LEN(len) as _;
            libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
        }
    }
}

pub(super) fn vector_of(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}
