//! Socket addresses of both families as the kernel has them.

use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A `sockaddr_in` or a `sockaddr_in6`, told apart by the family with which both begin.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Name {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

const _: () = assert!(
    offset_of!(libc::sockaddr_in, sin_family) == offset_of!(libc::sockaddr_in6, sin6_family)
);

impl Name {
    /// Room for either.
    pub const EMPTY: Self = Self {
        v6: libc::sockaddr_in6 {
            sin6_family: 0,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

    pub fn new(address: SocketAddr) -> Self {
        let mut name = Self::EMPTY;
        match address {
            SocketAddr::V4(address) => {
                name.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: to_in_addr(*address.ip()),
                    sin_zero: [0; 8],
                };
            }
            SocketAddr::V6(address) => {
                name.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: to_in6_addr(*address.ip()),
                    sin6_scope_id: address.scope_id(),
                };
            }
        }
        name
    }

    /// Octets of an address of the family.
    pub fn len(address: SocketAddr) -> libc::socklen_t {
        let len = match address {
            SocketAddr::V4(_) => size_of::<libc::sockaddr_in>(),
            SocketAddr::V6(_) => size_of::<libc::sockaddr_in6>(),
        };
        len as libc::socklen_t
    }

    /// The address; that of an unknown family is 0.0.0.0.
    pub fn address(&self) -> SocketAddr {
        // SAFETY: a name begins as `EMPTY`, the longer of both with each octet written, and both are plain
        // numbers, of which any octets are a value.
        let (v4, v6) = unsafe { (self.v4, self.v6) };
        if i32::from(v6.sin6_family) == libc::AF_INET6 {
            let ip = from_in6_addr(v6.sin6_addr);
            let port = u16::from_be(v6.sin6_port);
            return SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into();
        }
        SocketAddrV4::new(from_in_addr(v4.sin_addr), u16::from_be(v4.sin_port)).into()
    }
}

pub(super) fn to_in_addr(address: Ipv4Addr) -> libc::in_addr {
    libc::in_addr {
        s_addr: u32::from_ne_bytes(address.octets()),
    }
}

pub(super) fn from_in_addr(address: libc::in_addr) -> Ipv4Addr {
    Ipv4Addr::from(address.s_addr.to_ne_bytes())
}

pub(super) fn to_in6_addr(address: Ipv6Addr) -> libc::in6_addr {
    libc::in6_addr {
        s6_addr: address.octets(),
    }
}

pub(super) fn from_in6_addr(address: libc::in6_addr) -> Ipv6Addr {
    Ipv6Addr::from(address.s6_addr)
}

/// No address, where the kernel has told none.
pub(super) const UNTOLD: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
