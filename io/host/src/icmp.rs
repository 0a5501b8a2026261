//! ICMP and ICMPv6 over a raw socket in a namespace (raw(7), icmp(7), ipv6(7)).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, ipproto, recv, sendto,
    socket_with, sockopt,
};

use crate::HostError;
use crate::netns::Ns;

/// Sends from, and hears what comes to, one address; never blocks.
#[derive(Debug)]
pub struct IcmpSocket {
    socket: OwnedFd,
}

impl IcmpSocket {
    /// Opens it in `ns`, which must have the address. Needs CAP_NET_RAW. What is sent is never
    /// fragmented.
    pub fn open(ns: &Ns, local: impl Into<IpAddr>) -> Result<Self, HostError> {
        let local = local.into();
        let socket = ns.run(|| open(local))?;
        let what = || format!("open an ICMP socket of {local} in {}", ns.describe());
        Ok(Self {
            socket: socket.map_err(HostError::os(what()))?,
        })
    }

    /// Sends a message of the family of the socket; the kernel puts the IP header before it, and
    /// the checksum into one of ICMPv6.
    pub fn send(&self, message: &[u8], to: impl Into<IpAddr>) -> io::Result<()> {
        let to = SocketAddr::new(to.into(), 0);
        Ok(sendto(&self.socket, message, SendFlags::empty(), &to).map(|_| ())?)
    }

    /// Takes a message, of IPv4 with its IP header; `None` when there is none now. What is longer than
    /// `room` is cut.
    pub fn recv(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match recv(&self.socket, room, RecvFlags::empty()) {
            Ok((_, length)) => Ok(Some(length)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for IcmpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(local: IpAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (family, protocol) = match local {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let socket = socket_with(family, SocketType::RAW, flags, Some(protocol))?;
    match local {
        IpAddr::V4(_) => {
            sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DO)?;
        }
        IpAddr::V6(_) => {
            sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::DO)?;
        }
    }
    bind(&socket, &SocketAddr::new(local, 0))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{env_check, poll};
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::time::Duration;

    /// Type 8, code 0, the checksum of the rest, identifier 1, sequence 1 (RFC 792).
    const REQUEST: [u8; 8] = [8, 0, 0xf7, 0xfd, 0, 1, 0, 1];

    #[test]
    fn the_kernel_answers_an_echo_at_loopback() {
        if !env_check::is_network_admin() {
            println!("skipped: needs root");
            return;
        }
        let ns = Ns::current().expect("namespace");
        let socket = IcmpSocket::open(&ns, Ipv4Addr::LOCALHOST).expect("socket");
        socket.send(&REQUEST, Ipv4Addr::LOCALHOST).expect("send");
        let mut room = [0; 128];
        // On loopback our own request is heard too; others may ping meanwhile.
        for _ in 0..100 {
            poll::wait_readable(&socket, Duration::from_secs(5)).expect("poll");
            let length = socket.recv(&mut room).expect("recv").expect("message");
            if room.get(20..length) == Some(&[0, 0, 0xff, 0xfd, 0, 1, 0, 1]) {
                return;
            }
        }
        panic!("no answer");
    }

    #[test]
    fn the_kernel_answers_an_echo_of_icmpv6_at_loopback() {
        if !env_check::is_network_admin() {
            println!("skipped: needs root");
            return;
        }
        let ns = Ns::current().expect("namespace");
        let Ok(socket) = IcmpSocket::open(&ns, Ipv6Addr::LOCALHOST) else {
            println!("skipped: needs IPv6 on lo");
            return;
        };
        let request = [128, 0, 0, 0, 0, 1, 0, 1];
        socket.send(&request, Ipv6Addr::LOCALHOST).expect("send");
        let mut room = [0; 128];
        for _ in 0..100 {
            poll::wait_readable(&socket, Duration::from_secs(5)).expect("poll");
            let length = socket.recv(&mut room).expect("recv").expect("message");
            if length == 8 && room[0] == 129 && room[4..8] == [0, 1, 0, 1] {
                return;
            }
        }
        panic!("no answer");
    }
}
