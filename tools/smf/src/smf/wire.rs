//! UDP transport of the SMF: a kernel socket, read and written in batches.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use sluice_host::udp::{BATCH_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_n4::Outbox;

/// Octets of a request in the send batch; longer messages are sent one by one.
const SEND_STRIDE: usize = 2048;
/// The longest UDP payload of IPv4.
const RECV_STRIDE: usize = 65_507;
/// How long a full send buffer is waited for; what is not sent then is retransmitted later.
const PATIENCE: Duration = Duration::from_millis(100);

/// The socket, and datagrams that wait to be sent.
#[derive(Debug)]
pub struct Wire {
    socket: UdpSocket,
    outgoing: SendBatch,
}

impl Wire {
    /// Over a socket that is bound to our N4 address.
    pub fn new(socket: UdpSocket) -> Self {
        Self {
            socket,
            outgoing: SendBatch::new(BATCH_MAX, SEND_STRIDE),
        }
    }

    /// Room for whatever may come at a time.
    pub fn room() -> RecvBatch {
        RecvBatch::new(BATCH_MAX, RECV_STRIDE)
    }

    /// Takes what has come; says how many datagrams. It does not wait.
    pub fn receive(&self, incoming: &mut RecvBatch) -> usize {
        // What is pending, as an error of an earlier send, is taken by the call.
        self.socket.recv(incoming).unwrap_or(0)
    }

    /// Waits until something has come, at most so long.
    ///
    /// # Errors
    /// Those of poll(2).
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        self.socket.wait(timeout)
    }

    pub fn flush(&mut self) {
        // PFCP sends again what was lost (TS 29.244, 6.4).
        self.socket.flush(&mut self.outgoing, PATIENCE, |_, _| {});
    }
}

impl Outbox for Wire {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let SocketAddr::V4(to) = to else { return };
        if self.outgoing.is_full() {
            self.flush();
        }
        if !self.outgoing.push_bytes(bytes, to, None) {
            self.flush();
            // As above.
            let _ = self.socket.send(bytes, to, None);
        }
    }
}
