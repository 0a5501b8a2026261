//! N4 transports of the benchmark, here the daemon's kernel socket on loopback; and the limit: the
//! cheapest loop that could answer at all.

use super::load::Wire;
use sluice_control::core::{Env, UpfControl};
use sluice_host::netns::Ns;
use sluice_host::udp::{BATCH_MAX, DATAGRAM_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_n4::Outbox;
use sluice_port_dpdk::MbufPool;
use sluice_upf_daemon::n4::{N4, Outside, listen};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Cause, Header, IeType, write_message};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Octets of a datagram.
const ROOM: usize = 2048;

/// The N4 loop's side of a way.
pub trait Door {
    /// Environment of the core, by which it sends.
    type Around: Env;

    /// Hands what has arrived to `handle`. Returns how many datagrams there were.
    fn receive(&mut self, handle: impl FnMut(&[(SocketAddr, &[u8])], &mut Self::Around)) -> usize;

    fn around(&mut self) -> &mut Self::Around;

    /// Sends what still waits.
    fn flush(&mut self);

    /// A turn of the cheapest loop that could answer. Returns how many datagrams there were.
    fn limit(&mut self, _: &mut UpfControl<<Self::Around as Env>::Packet>) -> usize {
        let work = self.receive(super::n4_transport::answer_all);
        self.flush();
        work
    }
}

impl Door for N4<MbufPool> {
    type Around = Outside<MbufPool>;

    fn receive(
        &mut self,
        handle: impl FnMut(&[(SocketAddr, &[u8])], &mut Outside<MbufPool>),
    ) -> usize {
        N4::receive(self, handle)
    }

    fn around(&mut self) -> &mut Outside<MbufPool> {
        self.outside()
    }

    fn flush(&mut self) {
        N4::flush(self);
    }
}

/// How SMFs' datagrams go through the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagrams {
    /// Datagrams of one length leave together.
    Together,
    /// Each by itself, as most SMFs send.
    Apart,
}

pub struct SocketWire {
    socket: UdpSocket,
    to: SocketAddrV4,
    received: RecvBatch,
    sending: SendBatch,
}

impl SocketWire {
    /// The daemon's sockets and the SMFs', on ports of loopback that are free.
    pub fn pair(pool: MbufPool, datagrams: Datagrams) -> Result<(N4<MbufPool>, Self), String> {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let error = |e: sluice_host::HostError| e.to_string();
        let ns = Ns::current().map_err(error)?;
        // The kernel names a free port; nobody else is likely to take it in between.
        let port = UdpSocket::bind(&ns, any).map_err(error)?.local().port();
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let mut wire = Self {
            socket: UdpSocket::bind(&ns, any).map_err(error)?,
            to,
            received: RecvBatch::new(BATCH_MAX, DATAGRAM_MAX),
            sending: SendBatch::new(BATCH_MAX, ROOM),
        };
        if datagrams == Datagrams::Together {
            wire.sending = wire.sending.in_any_order();
            // Else the N4 thread would split on the way through loopback what leaves as one.
            let together = wire.socket.receive_together();
            together.map_err(|e| format!("receive datagrams together: {e}"))?;
        }
        let socket = listen(to).map_err(error)?;
        Ok((
            N4::new(vec![socket], (None, None), pool).map_err(error)?,
            wire,
        ))
    }
}

impl Wire for SocketWire {
    fn send(&mut self, bytes: &[u8]) -> bool {
        if self.sending.is_full() {
            self.flush();
        }
        self.sending.push_bytes(bytes, self.to, None)
    }

    fn flush(&mut self) {
        if !self.sending.is_empty() {
            // A datagram that is lost is missed by the caller.
            let patience = Duration::from_millis(100);
            self.socket.flush(&mut self.sending, patience, |_, _| {});
        }
    }

    fn receive(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let taken = self.socket.recv(&mut self.received).unwrap_or(0);
        for datagram in self.received.iter() {
            take(datagram.bytes);
        }
        taken
    }
}

pub fn answer_all(requests: &[(SocketAddr, &[u8])], out: &mut impl Outbox) {
    for (peer, request) in requests {
        answer(*peer, request, out);
    }
}

/// Answers one request with "accepted", whatever it asks for.
#[inline]
fn answer(peer: SocketAddr, request: &[u8], out: &mut impl Outbox) {
    let Ok((header, _)) = Header::parse(request) else {
        return;
    };
    let Some(message_type) = header.message_type.response() else {
        return;
    };
    let header = Header {
        message_type,
        seid: header.seid.map(|_| Seid(1)),
        ..header
    };
    let mut answer = [0; 32];
    let written = write_message(&mut answer, &header, |w| {
        w.ie(IeType::CAUSE, |w| w.u8(Cause::REQUEST_ACCEPTED.0))
    });
    if let Ok(len) = written {
        out.send(peer, &answer[..len]);
    }
}
