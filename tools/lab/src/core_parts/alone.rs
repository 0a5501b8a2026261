//! Crypto and SCTP alone, without a core around them: what procedures cannot do without.

use crate::experiments::Problem;
use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_sctp::{
    AllowList, Association, Carrier, Config, Endpoint, Event, NGAP_PORT, NGAP_PPID, Node, Peer,
    Prefix, Sctp as _,
};
use sluice_security::{
    Ciphering, Direction, Integrity, Kseaf, NasCount, NasKeys, Sqn, Subscriber, access_key,
    hxres_star, kamf, kseaf,
};
use sluice_testbed::core as testbed;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// NAS messages of a procedure that the network protects or verifies: a registration's from Security Mode Command to Registration
/// Complete; a session's with its Service Request; a deregistration's two.
const PROTECTED: [usize; 3] = [5, 4, 2];
/// Octets of such a message.
const NAS_OCTETS: usize = 64;
/// Octets of an NGAP message with it, as they are on average.
const NGAP_OCTETS: usize = 96;
const ROUNDS: u32 = 500;
/// NGAP messages of a measurement, and those that are under way at a time.
const MESSAGES: usize = 4_000;
const WINDOW: usize = 8;
/// For all of them, on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);
const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// CPU of the network's crypto of a registration (5G-AKA, SUCI of the null scheme), of a session's creation with its Service
/// Request, and of a deregistration, in microseconds.
pub fn crypto_us() -> Result<[f64; 3], Problem> {
    let challenge = each(|round| black_box(authenticate(round)).map(|_| ()))?;
    let kamf = authenticate(0).ok_or_else(|| "keys cannot be derived".to_owned())?;
    let access = each(|_| {
        black_box(access_key(&kamf, NasCount::default()));
        Some(())
    })?;
    let nas = NasKeys::new(&kamf, Ciphering::Nea2, Integrity::Nia2);
    let message = each(|round| {
        let mut octets = [round as u8; NAS_OCTETS];
        nas.cipher(NasCount::default(), Direction::Downlink, &mut octets);
        black_box(nas.mac(NasCount::default(), Direction::Downlink, &octets));
        Some(())
    })?;
    let [registration, session, deregistration] = PROTECTED.map(|count| count as f64 * message);
    // The user plane needs a key of its gNB, in both.
    Ok([
        registration + challenge + access,
        session + access,
        deregistration,
    ])
}

/// Keys of a UE that has been challenged.
fn authenticate(round: u32) -> Option<sluice_security::Kamf> {
    let network = testbed::plmn().serving_network_name();
    let subscriber = Subscriber::new(&testbed::credentials());
    let rand = [round as u8; 16];
    let challenge = subscriber.challenge(rand, Sqn::new(u64::from(round)), &network);
    black_box(hxres_star(rand, &challenge.xres_star));
    let kseaf: Kseaf = kseaf(&challenge.kausf, &network);
    let kamf = kamf(&kseaf, &testbed::supi(1), &[0, 0])?;
    black_box(NasKeys::new(&kamf, Ciphering::Nea2, Integrity::Nia2));
    Some(kamf)
}

/// CPU of one of many, in microseconds.
fn each(mut work: impl FnMut(u32) -> Option<()>) -> Result<f64, Problem> {
    let before = clock::thread_cpu_ns();
    for round in 0..ROUNDS {
        work(black_box(round)).ok_or_else(|| "crypto fails".to_owned())?;
    }
    Ok((clock::thread_cpu_ns() - before) as f64 / f64::from(ROUNDS) / 1e3)
}

/// CPU of one end of SCTP over UDP for a message that it sends or takes, in microseconds.
pub fn sctp_message_us() -> Result<f64, Problem> {
    let mut ends = Ends::connect()?;
    let before = clock::thread_cpu_ns();
    let mut moved = 0;
    while moved < MESSAGES {
        moved += ends.exchange(true)? + ends.exchange(false)?;
    }
    let cpu_ns = clock::thread_cpu_ns() - before;
    // Each message was sent by one end and taken by the other.
    Ok(cpu_ns as f64 / moved as f64 / 2.0 / 1e3)
}

/// Both ends of an association, in this thread.
struct Ends {
    near: (Node, Association),
    far: (Node, Association),
    end: Instant,
}

impl Ends {
    fn connect() -> Result<Self, Problem> {
        let ports = [free_port()?, free_port()?];
        let mut near = node(NGAP_PORT, ports[0])?;
        let mut far = node(NGAP_PORT + 1, ports[1])?;
        let peer = Peer {
            address: LOCAL.into(),
            udp_port: ports[0],
        };
        let of_far = far.sctp.connect(peer, NGAP_PORT);
        let of_far = of_far.ok_or_else(|| "SCTP: no association".to_owned())?;
        let end = Instant::now() + LIMIT;
        let mut of_near = None;
        let mut is_up = false;
        while of_near.is_none() || !is_up {
            far.flush();
            for event in turn(&mut near)? {
                if let Event::Up { association, .. } = event {
                    of_near = Some(association);
                }
            }
            near.flush();
            is_up |= turn(&mut far)?
                .iter()
                .any(|event| matches!(event, Event::Up { .. }));
            in_time(end)?;
        }
        let of_near = of_near.ok_or_else(|| "SCTP: no association".to_owned())?;
        Ok(Self {
            near: (near, of_near),
            far: (far, of_far),
            end,
        })
    }

    /// One end sends some messages, and the other takes them; how many.
    fn exchange(&mut self, is_up: bool) -> Result<usize, Problem> {
        let (from, to) = match is_up {
            true => (&mut self.far, &mut self.near),
            false => (&mut self.near, &mut self.far),
        };
        for _ in 0..WINDOW {
            let sent = from.0.sctp.send(from.1, 1, NGAP_PPID, &[7; NGAP_OCTETS]);
            sent.map_err(|e| format!("SCTP: {e}"))?;
        }
        from.0.flush();
        let mut taken = 0;
        while taken < WINDOW {
            let events = turn(&mut to.0)?;
            let is_message = |event: &&Event| matches!(event, Event::Message { .. });
            taken += events.iter().filter(is_message).count();
            to.0.flush();
            in_time(self.end)?;
        }
        // Acknowledgements.
        turn(&mut from.0)?;
        Ok(taken)
    }
}

fn turn(node: &mut Node) -> Result<Vec<Event>, Problem> {
    let events = node.turn(Duration::ZERO);
    let events = events.map_err(|e| format!("SCTP: {e}"))?;
    Ok(events.into_iter().collect())
}

fn in_time(end: Instant) -> Result<(), Problem> {
    match Instant::now() < end {
        true => Ok(()),
        false => Err(Problem::Failed("SCTP: a message is missing".to_owned())),
    }
}

fn free_port() -> Result<u16, Problem> {
    let socket = UdpSocket::bind((LOCAL, 0)).and_then(|socket| socket.local_addr());
    Ok(socket.map_err(|e| e.to_string())?.port())
}

fn node(port: u16, udp: u16) -> Result<Node, Problem> {
    let ns = Ns::current().map_err(|e| e.to_string())?;
    let allowed = AllowList::new(Prefix::new(LOCAL.into(), 32).into_iter().collect());
    let endpoint = Endpoint::open(Config::new(port, allowed)).map_err(|e| e.to_string())?;
    let carrier = Carrier::udp(&ns, SocketAddr::from((LOCAL, udp)));
    let carrier = carrier.map_err(|e| e.to_string())?;
    Ok(Node::new(endpoint, carrier))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_has_more_crypto_than_a_deregistration() {
        let [registration, session, deregistration] = crypto_us().unwrap();
        assert!(registration > session && session > 0.0 && deregistration > 0.0);
    }

    #[test]
    fn a_message_by_sctp_takes_time() {
        assert!(sctp_message_us().unwrap() > 0.0);
    }
}
