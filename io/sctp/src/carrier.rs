//! Sockets that carry datagrams of SCTP: IP protocol 132, or UDP (RFC 6951).
//!
//! A kernel with SCTP of its own answers what comes over IP, too, as it knows none of our
//! associations. Where there is such a kernel, its SCTP or UDP is to be used.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, bind, ipproto,
    recvfrom, sendto, socket_with, sockopt,
};
use sluice_host::HostError;
use sluice_host::netns::Ns;

use crate::limits;
use crate::transport::Peer;

/// Octets of an IPv4 header without options.
const IPV4_HEADER: usize = 20;

/// How datagrams are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// With the IP header in front when received.
    Ipv4,
    /// Without.
    Ipv6,
    Udp,
}

/// A socket of one address; it never blocks.
#[derive(Debug)]
pub struct Carrier {
    socket: OwnedFd,
    kind: Kind,
}

impl Carrier {
    /// SCTP over IP at an address in `ns`. Needs CAP_NET_RAW.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn ip(ns: &Ns, local: IpAddr) -> Result<Self, HostError> {
        let what = format!("open SCTP over IP at {local} in {}", ns.describe());
        let (family, kind) = match local {
            IpAddr::V4(_) => (AddressFamily::INET, Kind::Ipv4),
            IpAddr::V6(_) => (AddressFamily::INET6, Kind::Ipv6),
        };
        let local = SocketAddr::new(local, 0);
        let opened = ns.run(|| open(family, SocketType::RAW, ipproto::SCTP, local))?;
        let socket = opened.map_err(HostError::os(what))?;
        Ok(Self { socket, kind })
    }

    /// SCTP over UDP at an address and port in `ns`.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn udp(ns: &Ns, local: SocketAddr) -> Result<Self, HostError> {
        let what = format!("open SCTP over UDP at {local} in {}", ns.describe());
        let family = match local {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let opened = ns.run(|| open(family, SocketType::DGRAM, ipproto::UDP, local))?;
        let socket = opened.map_err(HostError::os(what))?;
        let kind = Kind::Udp;
        Ok(Self { socket, kind })
    }

    /// Sends a datagram. One that the kernel has no room for is lost, as on any network; SCTP sends
    /// it again.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn send(&self, to: Peer, datagram: &[u8]) -> io::Result<()> {
        let to = SocketAddr::new(to.address, to.udp_port);
        match sendto(&self.socket, datagram, SendFlags::empty(), &to) {
            Ok(_) | Err(Errno::WOULDBLOCK | Errno::NOBUFS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a datagram: from whom, and its octets in `room`; none when there is none now.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn receive<'a>(&self, room: &'a mut [u8]) -> io::Result<Option<(Peer, &'a [u8])>> {
        let (length, from) = match recvfrom(&self.socket, &mut *room, RecvFlags::empty()) {
            Ok((_, length, from)) => (length, from),
            // An ICMP error for something sent before is told here; the next may be a datagram.
            Err(Errno::WOULDBLOCK | Errno::CONNREFUSED) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some(from) = from.and_then(socket_address) else {
            return Ok(None);
        };
        let octets = room.get(..length).unwrap_or_default();
        let (octets, udp_port) = match self.kind {
            Kind::Ipv4 => (behind_ipv4(octets), 0),
            Kind::Ipv6 => (octets, 0),
            Kind::Udp => (octets, from.port()),
        };
        let address = from.ip();
        Ok(Some((Peer { address, udp_port }, octets)))
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn socket_address(any: SocketAddrAny) -> Option<SocketAddr> {
    any.try_into().ok()
}

/// Payload behind the IPv4 header, which the kernel has checked.
fn behind_ipv4(packet: &[u8]) -> &[u8] {
    let length = packet
        .first()
        .map_or(0, |octet| usize::from(octet & 0xf) * 4);
    packet.get(length.max(IPV4_HEADER)..).unwrap_or_default()
}

fn open(
    family: AddressFamily,
    kind: SocketType,
    protocol: rustix::net::Protocol,
    local: SocketAddr,
) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, kind, flags, Some(protocol))?;
    // Without CAP_NET_ADMIN the system's own maximum is what we get.
    if sockopt::set_socket_recv_buffer_size_force(&socket, limits::BUFFER_BYTES).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, limits::BUFFER_BYTES)?;
    }
    bind(&socket, &local)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_options_is_skipped_whole() {
        let mut packet = vec![0x46; 24];
        packet.extend([1, 2, 3]);
        assert_eq!(behind_ipv4(&packet), [1, 2, 3]);
        assert!(behind_ipv4(&[0x45; 7]).is_empty());
        assert!(behind_ipv4(&[]).is_empty());
    }
}
