//! Distance to a UPF: a relay of N4 (UDP) that holds each datagram for a while, as a line of some hundred kilometres does.
//!
//! The relay stands for netem, which not each kernel has.

use crate::experiments::Problem;
use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_host::poll::{Poller, Ready};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::upf::PFCP_PORT;

/// Between two looks at whether it shall end.
const TICK: Duration = Duration::from_millis(50);
/// Longest datagram.
const OCTETS: usize = 16_384;

/// Datagrams on their way in one direction, in the order in which they are due.
#[derive(Default)]
struct Line {
    under_way: VecDeque<(u64, Vec<u8>, SocketAddr)>,
}

impl Line {
    /// Takes all that has come to `socket`; each leaves for where `to` says, `delay` later.
    fn take(
        &mut self,
        socket: &UdpSocket,
        delay: Duration,
        mut to: impl FnMut(SocketAddr) -> Option<SocketAddr>,
    ) {
        let mut room = [0; OCTETS];
        while let Ok((length, from)) = socket.recv_from(&mut room) {
            let due_ns = clock::monotonic_ns() + delay.as_nanos() as u64;
            let octets = room.get(..length).unwrap_or_default().to_vec();
            if let Some(to) = to(from) {
                self.under_way.push_back((due_ns, octets, to));
            }
        }
    }

    /// Sends what is due.
    fn send(&mut self, socket: &UdpSocket) {
        let now_ns = clock::monotonic_ns();
        while let Some((_, octets, to)) = self
            .under_way
            .pop_front_if(|(due_ns, ..)| *due_ns <= now_ns)
        {
            // What is lost is asked again.
            let _ = socket.send_to(&octets, to);
        }
    }

    fn due_ns(&self) -> Option<u64> {
        self.under_way.front().map(|(due_ns, ..)| *due_ns)
    }
}

/// A relay on a thread of its own, which ends with the value.
pub struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// SMFs know the UPF by `address`; it is at `upf`. Each way takes `delay`.
    pub fn start(
        ns: &Ns,
        address: Ipv4Addr,
        upf: Ipv4Addr,
        delay: Duration,
    ) -> Result<Self, Problem> {
        let bind = |address: Ipv4Addr, port: u16| {
            let bound = ns.run(|| {
                let socket = UdpSocket::bind((address, port))?;
                socket.set_nonblocking(true)?;
                std::io::Result::Ok(socket)
            });
            let socket = bound.map_err(|e| Problem::Failed(e.to_string()))?;
            socket.map_err(|e| Problem::Failed(format!("relay of N4 at {address}: {e}")))
        };
        let near = bind(address, PFCP_PORT)?;
        let far = bind(address, 0)?;
        let upf = SocketAddr::from((upf, PFCP_PORT));
        let stop = Arc::<AtomicBool>::default();
        let end = Arc::clone(&stop);
        let failed = |e: std::io::Error| Problem::Failed(format!("relay of N4: {e}"));
        let poller = Poller::new().map_err(failed)?;
        poller.add(&near, 0).map_err(failed)?;
        poller.add(&far, 1).map_err(failed)?;
        let relays = move || relay((&near, &far), &poller, (upf, delay), &end);
        let thread = Some(std::thread::spawn(relays));
        Ok(Self { stop, thread })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One SMF, whose address is that of the datagram before.
fn relay(
    (near, far): (&UdpSocket, &UdpSocket),
    poller: &Poller,
    (upf, delay): (SocketAddr, Duration),
    end: &AtomicBool,
) {
    let (mut up, mut down) = (Line::default(), Line::default());
    let (mut smf, mut ready) = (None, Ready::with_capacity(2));
    while !end.load(Ordering::Relaxed) {
        let now_ns = clock::monotonic_ns();
        let due_ns = [up.due_ns(), down.due_ns()].into_iter().flatten().min();
        let left = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        if poller
            .wait(&mut ready, Some(left.unwrap_or(TICK).min(TICK)))
            .is_err()
        {
            return;
        }
        up.take(near, delay, |from| {
            smf = Some(from);
            Some(upf)
        });
        down.take(far, delay, |_| smf);
        up.send(far);
        down.send(near);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn datagrams_take_the_time_of_both_ways() {
        // A network of its own for this process.
        let pid = std::process::id();
        let at = |last| Ipv4Addr::new(127, (pid >> 8) as u8 | 0x80, pid as u8, last);
        let delay = Duration::from_millis(20);
        let upf = UdpSocket::bind((at(2), PFCP_PORT)).unwrap();
        let smf = UdpSocket::bind((at(3), 0)).unwrap();
        for socket in [&upf, &smf] {
            socket
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
        }
        let _relay = Relay::start(&Ns::current().unwrap(), at(1), at(2), delay).unwrap();
        let began = Instant::now();
        let mut room = [0; 16];
        for round in 0..3_u8 {
            smf.send_to(&[round], (at(1), PFCP_PORT)).unwrap();
            let (length, from) = upf.recv_from(&mut room).unwrap();
            upf.send_to(&room[..length], from).unwrap();
            let (length, from) = smf.recv_from(&mut room).unwrap();
            assert_eq!(room[..length], [round]);
            assert_eq!(from, SocketAddr::from((at(1), PFCP_PORT)));
        }
        assert!(began.elapsed() >= 6 * delay);
    }
}
