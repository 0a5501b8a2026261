//! ICMP and ICMPv6 echo from UEs through their TUN devices.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use sluice_host::HostError;
use sluice_host::clock;
use sluice_host::icmp::IcmpSocket;
use sluice_host::netns::Ns;
use sluice_host::poll::{Poller, Ready};
use sluice_wire::icmp::{self, Echo, EchoKind, Icmp, Message};
use sluice_wire::icmpv6;

/// The longest packet that may come.
const ROOM: usize = 9000;
/// The time when it was sent stands first in an echo's data.
const STAMP: usize = 8;
/// Behind it stands the round.
const STAMPS: usize = STAMP + 4;
/// From one look at the wish for an end to the next.
const LOOK: Duration = Duration::from_millis(50);
/// Round trips are told from 1 us to 10 minutes.
const RTT_NS: (u64, u64) = (1_000, 600_000_000_000);

/// UEs that ping, and settings of the pings.
#[derive(Clone, Debug)]
pub struct Plan {
    pub from: Vec<(Ns, IpAddr)>,
    /// Address to ping, of the same family.
    pub to: IpAddr,
    pub count: u32,
    /// From one to the next, of each.
    pub interval: Duration,
    /// Behind the headers of IP and ICMP; at least 8.
    pub payload_bytes: u16,
    /// How long the last answers may take.
    pub wait: Duration,
    pub identifier: u16,
}

/// Results of the pings.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Echoes sent, or refused by the kernel.
    pub sent: u64,
    pub received: u64,
    /// Answers that had come before.
    pub duplicates: u64,
    /// Round trips, in nanoseconds.
    pub rtt_ns: Histogram<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        let (least, most) = RTT_NS;
        let rtt_ns = Histogram::new_with_bounds(least, most, 3);
        Self {
            sent: 0,
            received: 0,
            duplicates: 0,
            rtt_ns: rtt_ns.unwrap_or_else(|e| unreachable!("bounds in order: {e}")),
        }
    }
}

impl Tally {
    /// Echoes without an answer.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.duplicates += other.duplicates;
        // Both have the same bounds.
        let _ = self.rtt_ns.add(&other.rtt_ns);
    }
}

/// Pings until all is done, or `stop` is set.
///
/// # Errors
/// Where a UE's address or namespace has gone.
pub fn run(plan: &Plan, stop: &AtomicBool) -> Result<Tally, HostError> {
    let mut runner = Runner::new(plan)?;
    runner.send_all(stop);
    runner.wait_for_the_last(stop);
    Ok(runner.tally)
}

/// The same on a thread of its own.
pub fn start(plan: Plan, stop: Arc<AtomicBool>) -> std::io::Result<Running> {
    std::thread::Builder::new()
        .name("ping".to_owned())
        .spawn(move || run(&plan, &stop))
}

/// Pings on their way.
pub type Running = std::thread::JoinHandle<Result<Tally, HostError>>;

struct Runner<'p> {
    plan: &'p Plan,
    sockets: Vec<Option<IcmpSocket>>,
    poller: Option<Poller>,
    /// One bit for each echo: it was answered.
    answered: Vec<u64>,
    data: Vec<u8>,
    message: Vec<u8>,
    tally: Tally,
}

impl<'p> Runner<'p> {
    fn new(plan: &'p Plan) -> Result<Self, HostError> {
        let poller = Poller::new().ok();
        let mut sockets = Vec::with_capacity(plan.from.len());
        for (token, (ns, address)) in plan.from.iter().enumerate() {
            // A UE that has gone meanwhile answers nothing: its echoes are lost.
            let socket = IcmpSocket::open(ns, *address).ok();
            if let (Some(poller), Some(socket)) = (&poller, &socket) {
                poller
                    .add(socket, token as u64)
                    .map_err(|source| HostError::Os {
                        action: "watch a socket".to_owned(),
                        source,
                    })?;
            }
            sockets.push(socket);
        }
        let payload = usize::from(plan.payload_bytes).max(STAMPS);
        let echoes = plan.from.len() * plan.count as usize;
        Ok(Self {
            plan,
            sockets,
            poller,
            answered: vec![0; echoes.div_ceil(64)],
            data: vec![0x5a; payload],
            message: vec![0; icmp::HEADER_LEN + payload],
            tally: Tally::default(),
        })
    }

    /// UEs take turns, so that packets leave evenly.
    fn send_all(&mut self, stop: &AtomicBool) {
        let ues = self.plan.from.len() as u64;
        let start_ns = clock::monotonic_ns();
        let interval_ns = self.plan.interval.as_nanos() as u64;
        for echo in 0..ues * u64::from(self.plan.count) {
            let (round, ue) = (echo / ues, echo % ues);
            let due_ns = start_ns + round * interval_ns + ue * interval_ns / ues;
            while let Some(rest) = due_ns.checked_sub(clock::monotonic_ns()) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if rest == 0 {
                    break;
                }
                self.receive(Duration::from_nanos(rest).min(LOOK));
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
            self.send(ue as usize, round as u32);
        }
    }

    fn wait_for_the_last(&mut self, stop: &AtomicBool) {
        let end_ns = clock::monotonic_ns() + self.plan.wait.as_nanos() as u64;
        while self.tally.lost() > 0 && !stop.load(Ordering::Relaxed) {
            let Some(rest) = end_ns.checked_sub(clock::monotonic_ns()) else {
                return;
            };
            self.receive(Duration::from_nanos(rest).min(LOOK));
        }
    }

    /// The sequence has 16 bits; the data tells the rest.
    fn send(&mut self, ue: usize, round: u32) {
        self.tally.sent += 1;
        let Some(socket) = self.sockets.get(ue).and_then(Option::as_ref) else {
            return;
        };
        self.data[..STAMP].copy_from_slice(&clock::monotonic_ns().to_be_bytes());
        self.data[STAMP..STAMPS].copy_from_slice(&round.to_be_bytes());
        let echo = Echo {
            identifier: self.plan.identifier,
            sequence: round as u16,
            data: &self.data,
        };
        let length = icmp::write_echo(&mut self.message, EchoKind::Request, &echo);
        if let (IpAddr::V6(_), Some(kind)) = (self.plan.to, self.message.first_mut()) {
            // The rest is the same; the kernel writes the checksum.
            *kind = icmpv6::ECHO_REQUEST;
        }
        if let Some(message) = length.and_then(|length| self.message.get(..length)) {
            // What the kernel refuses is not answered, and so counted as lost.
            let _ = socket.send(message, self.plan.to);
        }
    }

    /// Takes answers, at most that long.
    fn receive(&mut self, timeout: Duration) {
        let mut ready = Ready::with_capacity(64);
        match &self.poller {
            Some(poller) if poller.wait(&mut ready, Some(timeout)).is_ok() => {}
            _ => std::thread::sleep(timeout.min(LOOK)),
        }
        let mut room = [0; ROOM];
        for token in ready.tokens() {
            let ue = token as usize;
            while let Some(Ok(Some(length))) = self
                .sockets
                .get(ue)
                .and_then(Option::as_ref)
                .map(|socket| socket.recv(&mut room))
            {
                if let Some(packet) = room.get(..length) {
                    self.take(ue, packet);
                }
            }
        }
    }

    fn take(&mut self, ue: usize, packet: &[u8]) {
        let Some((round, sent_ns)) = answer(packet, self.plan.to, self.plan.identifier) else {
            return;
        };
        if round >= self.plan.count {
            return;
        }
        let echo = ue * self.plan.count as usize + round as usize;
        let Some(word) = self.answered.get_mut(echo / 64) else {
            return;
        };
        let bit = 1 << (echo % 64);
        if *word & bit != 0 {
            self.tally.duplicates += 1;
            return;
        }
        *word |= bit;
        self.tally.received += 1;
        let took_ns = clock::monotonic_ns().saturating_sub(sent_ns);
        self.tally.rtt_ns.saturating_record(took_ns.max(RTT_NS.0));
    }
}

/// Round and time of sending, if a message is an answer to an echo of this run.
fn answer(message: &[u8], family: IpAddr, identifier: u16) -> Option<(u32, u64)> {
    let echo = match family {
        IpAddr::V4(_) => {
            let header = usize::from(message.first()? & 15) * 4;
            match Icmp::parse(message.get(header..)?).ok()?.message() {
                Message::EchoReply(echo) => echo,
                _ => return None,
            }
        }
        IpAddr::V6(_) => reply_of_icmpv6(message)?,
    };
    let stamp = echo.data.first_chunk::<STAMP>()?;
    let round = echo.data.get(STAMP..)?.first_chunk::<4>()?;
    let found = (u32::from_be_bytes(*round), u64::from_be_bytes(*stamp));
    (echo.identifier == identifier).then_some(found)
}

/// The kernel gives ICMPv6 without IP header, and has checked the checksum (RFC 3542, 3).
fn reply_of_icmpv6(message: &[u8]) -> Option<Echo<'_>> {
    let (head, data) = message.split_first_chunk::<{ icmp::HEADER_LEN }>()?;
    let [kind, code, _, _, i1, i2, s1, s2] = *head;
    (kind == icmpv6::ECHO_REPLY && code == 0).then_some(Echo {
        identifier: u16::from_be_bytes([i1, i2]),
        sequence: u16::from_be_bytes([s1, s2]),
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_host::env_check;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn loopback_answers_every_echo_once() {
        if !env_check::is_network_admin() {
            println!("skipped: needs root");
            return;
        }
        let ns = Ns::current().expect("namespace");
        let plan = Plan {
            from: [1, 2, 3]
                .map(|n| (ns.clone(), Ipv4Addr::new(127, 0, 0, n).into()))
                .to_vec(),
            to: Ipv4Addr::LOCALHOST.into(),
            count: 20,
            interval: Duration::from_millis(5),
            payload_bytes: 100,
            wait: Duration::from_secs(5),
            identifier: 77,
        };
        let tally = run(&plan, &AtomicBool::new(false)).expect("sockets");
        assert_eq!((tally.sent, tally.lost(), tally.duplicates), (60, 0, 0));
        assert!(tally.rtt_ns.len() == 60 && tally.rtt_ns.max() > 0);
        // Nobody is there.
        let plan = Plan {
            to: Ipv4Addr::new(127, 0, 0, 9).into(),
            from: vec![(ns, Ipv4Addr::new(192, 0, 2, 1).into())],
            count: 3,
            wait: Duration::from_millis(20),
            ..plan
        };
        let tally = run(&plan, &AtomicBool::new(false)).expect("no sockets");
        assert_eq!((tally.sent, tally.lost()), (3, 3));
        let stopped = run(&plan, &AtomicBool::new(true)).expect("no sockets");
        assert_eq!(stopped.sent, 0);
    }

    #[test]
    fn only_answers_of_this_run_count() {
        let mut packet = vec![0x45; 20];
        let mut data = [0; STAMPS];
        data[STAMP + 3] = 9;
        let echo = Echo {
            identifier: 5,
            sequence: 9,
            data: &data,
        };
        let mut message = [0; 64];
        let length = icmp::write_echo(&mut message, EchoKind::Reply, &echo).expect("room");
        packet.extend_from_slice(&message[..length]);
        let v4 = Ipv4Addr::LOCALHOST.into();
        assert_eq!(answer(&packet, v4, 5), Some((9, 0)));
        assert_eq!(answer(&packet, v4, 6), None);
        for end in 0..packet.len() {
            assert_eq!(answer(&packet[..end], v4, 5), None, "{end}");
        }
        // Without IP header, and of another type.
        let (v6, mut message) = (Ipv6Addr::LOCALHOST.into(), packet.split_off(20));
        assert_eq!(answer(&message, v6, 5), None);
        message[0] = icmpv6::ECHO_REPLY;
        assert_eq!(answer(&message, v6, 5), Some((9, 0)));
        for end in 0..message.len() {
            assert_eq!(answer(&message[..end], v6, 5), None, "{end}");
        }
    }
}
