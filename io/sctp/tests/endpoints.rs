//! Two endpoints in one process, and a network between them that the test rules.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_sctp::{AllowList, Association, Config, Endpoint, Event, Loss, NGAP_PPID, Peer, Sctp};

/// usrsctp is one for the process, so is its time; tests take turns.
static NOW_MS: Mutex<u64> = Mutex::new(0);

/// usrsctp keeps a port for a while after it was closed, so each world has others: its server's, and
/// the next one is its client's.
static PORT: AtomicU16 = AtomicU16::new(38_412);

/// A sequence that looks random and is the same in each run.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Fate of a datagram in the network.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Lost,
    /// Behind the next one.
    Later,
}

type Rule = dyn FnMut(bool, &[u8]) -> Fate;

struct World {
    now_ms: MutexGuard<'static, u64>,
    port: u16,
    server: Endpoint,
    client: Endpoint,
    at_server: Vec<Event>,
    at_client: Vec<Event>,
    /// From the client or not, and its octets.
    fate: Box<Rule>,
    carried: usize,
    /// First chunk types that were carried.
    chunks: Vec<u8>,
}

fn peer(last: u8) -> Peer {
    Peer {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
        udp_port: 0,
    }
}

fn allowed(prefix: &str) -> AllowList {
    AllowList::new(vec![prefix.parse().expect("a prefix")])
}

fn config(port: u16) -> Config {
    Config::new(port, allowed("10.0.0.0/30"))
}

fn open(config: Config) -> Endpoint {
    Endpoint::open(config).expect("open")
}

impl World {
    fn new() -> Self {
        Self::with(|config| config)
    }

    fn with(change: fn(Config) -> Config) -> Self {
        let now_ms = NOW_MS.lock().unwrap_or_else(PoisonError::into_inner);
        let port = PORT.fetch_add(2, Ordering::Relaxed);
        Self {
            now_ms,
            port,
            server: open(change(config(port))),
            client: open(change(config(port + 1))),
            at_server: Vec::new(),
            at_client: Vec::new(),
            fate: Box::new(|_, _| Fate::Arrives),
            carried: 0,
            chunks: Vec::new(),
        }
    }

    /// With an association: the server's name of it and the client's.
    fn associated() -> (Self, Association, Association) {
        Self::associated_by(|config| config)
    }

    fn associated_by(change: fn(Config) -> Config) -> (Self, Association, Association) {
        let mut world = Self::with(change);
        let client = world.client.connect(peer(1), world.port).expect("begun");
        world.pass(50);
        let [
            Event::Up {
                association,
                peer: from,
                streams,
            },
        ] = world.at_server[..]
        else {
            panic!("{:?}", world.at_server);
        };
        assert_eq!((from, streams), (peer(2), 16));
        assert!(matches!(world.at_client[..], [Event::Up { association: up, .. }] if up == client));
        world.at_server.clear();
        world.at_client.clear();
        (world, association, client)
    }

    /// Carries what there is, and that much time.
    fn pass(&mut self, ms: u64) {
        let end = *self.now_ms + ms;
        loop {
            while self.carry() {}
            self.at_server.extend(self.server.take_events());
            self.at_client.extend(self.client.take_events());
            if *self.now_ms >= end {
                return;
            }
            *self.now_ms += 10;
            self.server.time(*self.now_ms);
            self.client.time(*self.now_ms);
        }
    }

    fn carry(&mut self) -> bool {
        let from_client = self.client.take_datagrams();
        let from_server = self.server.take_datagrams();
        let from_client = from_client
            .into_iter()
            .map(|(to, octets)| (true, to, octets));
        let from_server = from_server
            .into_iter()
            .map(|(to, octets)| (false, to, octets));
        let mut all: Vec<_> = from_client.chain(from_server).collect();
        let mut at = 0;
        while at < all.len() {
            let (is_client, to, octets) = &all[at];
            let (is_client, to) = (*is_client, *to);
            self.chunks.push(octets[12]);
            match (self.fate)(is_client, octets) {
                Fate::Lost => {}
                Fate::Later if at + 1 < all.len() => {
                    all.swap(at, at + 1);
                    self.deliver(all[at].0, all[at].1, &all[at].2.clone());
                    self.deliver(all[at + 1].0, all[at + 1].1, &all[at + 1].2.clone());
                    at += 1;
                }
                Fate::Later | Fate::Arrives => self.deliver(is_client, to, &octets.clone()),
            }
            at += 1;
        }
        at > 0
    }

    fn deliver(&mut self, is_client: bool, to: Peer, octets: &[u8]) {
        self.carried += 1;
        if is_client {
            assert_eq!(to, peer(1));
            self.server.input(peer(2), octets);
        } else {
            assert_eq!(to, peer(2));
            self.client.input(peer(1), octets);
        }
    }
}

fn messages(events: &[Event]) -> Vec<(u16, u32, &[u8])> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Message {
                stream,
                ppid,
                octets,
                ..
            } => Some((*stream, *ppid, octets.as_slice())),
            _ => None,
        })
        .collect()
}

#[test]
fn messages_arrive_whole_on_their_streams() {
    let (mut world, server, client) = World::associated();
    let long = vec![7; 60_000];
    world
        .client
        .send(client, 0, NGAP_PPID, b"setup")
        .expect("sent");
    world
        .client
        .send(client, 15, NGAP_PPID, &long)
        .expect("sent");
    world
        .server
        .send(server, 3, NGAP_PPID, b"answer")
        .expect("sent");
    world.pass(500);
    assert_eq!(
        messages(&world.at_server),
        [(0, 60, &b"setup"[..]), (15, 60, &long[..])]
    );
    assert_eq!(messages(&world.at_client), [(3, 60, &b"answer"[..])]);
    assert!(
        world
            .client
            .send(client, 16, NGAP_PPID, b"no such stream")
            .is_err()
    );
    assert!(world.client.send(client, 0, NGAP_PPID, b"").is_err());
    assert!(
        world
            .client
            .send(Association(99), 0, NGAP_PPID, b"x")
            .is_err()
    );
}

#[test]
fn lost_and_reordered_datagrams_are_made_good() {
    let (mut world, server, client) = World::associated_by(|config| Config {
        heartbeat_ms: 600_000,
        retransmissions: 20,
        ..config
    });
    let mut sequence = Sequence(7);
    world.fate = Box::new(move |_, _| match sequence.below(10) {
        0 | 1 => Fate::Lost,
        2 | 3 => Fate::Later,
        _ => Fate::Arrives,
    });
    for number in 0..200_u16 {
        let octets = number.to_be_bytes();
        let stream = number % 16;
        world
            .client
            .send(client, stream, NGAP_PPID, &octets)
            .expect("sent");
        world
            .server
            .send(server, stream, NGAP_PPID, &octets)
            .expect("sent");
        world.pass(10);
    }
    // What is sent again must be old by the host's clock, too.
    for _ in 0..2000 {
        let are_here = |events: &[Event]| messages(events).len() == 200;
        if are_here(&world.at_server) && are_here(&world.at_client) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        world.pass(10);
    }
    for events in [&world.at_server, &world.at_client] {
        let got = messages(events);
        let lost = events
            .iter()
            .find(|event| matches!(event, Event::Lost { .. }));
        assert_eq!((got.len(), lost), (200, None));
        for stream in 0..16 {
            let numbers = got.iter().filter(|message| message.0 == stream);
            let numbers: Vec<_> = numbers.map(|message| message.2.to_vec()).collect();
            assert!(numbers.is_sorted(), "in order on stream {stream}");
        }
    }
}

#[test]
fn an_abort_reaches_the_peer_and_an_end_is_in_order() {
    let (mut world, server, client) = World::associated();
    world.client.abort(client);
    world.pass(50);
    let why = Loss::Aborted;
    assert_eq!(
        world.at_server,
        [Event::Lost {
            association: server,
            why
        }]
    );
    assert_eq!(world.at_client, []);
    assert_eq!(
        (world.server.associations(), world.client.associations()),
        (0, 0)
    );
    drop(world);

    let (mut world, server, client) = World::associated();
    world
        .client
        .send(client, 0, NGAP_PPID, b"last words")
        .expect("sent");
    world.client.shutdown(client);
    world.pass(1000);
    assert_eq!(messages(&world.at_server), [(0, 60, &b"last words"[..])]);
    let why = Loss::Ended;
    assert_eq!(
        world.at_server[1..],
        [Event::Lost {
            association: server,
            why
        }]
    );
    assert_eq!(
        world.at_client,
        [Event::Lost {
            association: client,
            why
        }]
    );
}

#[test]
fn a_closed_endpoint_tells_its_peers() {
    let (mut world, server, _) = World::associated();
    let spare = open(config(PORT.fetch_add(2, Ordering::Relaxed)));
    let client = std::mem::replace(&mut world.client, spare);
    for (to, octets) in client.close() {
        assert_eq!((to, octets[12]), (peer(1), 6), "ABORT");
        world.server.input(peer(2), &octets);
    }
    world.pass(0);
    let why = Loss::Aborted;
    assert_eq!(
        world.at_server,
        [Event::Lost {
            association: server,
            why
        }]
    );
}

/// usrsctp asks the host's clock whether a path has been idle, so this test waits.
#[test]
fn heartbeats_are_answered_and_keep_an_association_up() {
    let mut world = World::new();
    let quick = |port| Config {
        heartbeat_ms: 100,
        rto_min_ms: 20,
        rto_initial_ms: 20,
        rto_max_ms: 50,
        ..Config::new(port, allowed("10.0.0.0/30"))
    };
    let port = PORT.fetch_add(2, Ordering::Relaxed);
    world.server = Endpoint::open(quick(port)).expect("open");
    world.client = Endpoint::open(quick(port + 1)).expect("open");
    world.client.connect(peer(1), port).expect("begun");
    world.pass(50);
    world.chunks.clear();
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(10));
        world.pass(10);
    }
    let of = |kind| world.chunks.iter().filter(|chunk| **chunk == kind).count();
    // RFC 9260, 3.3.6 and 3.3.7.
    assert!((4..=60).contains(&of(4)), "{}", of(4));
    assert_eq!(of(4), of(5));
    assert!(matches!(world.at_client[..], [Event::Up { .. }]));
    assert!(matches!(world.at_server[..], [Event::Up { .. }]));
    // A peer that disappears is missed although nobody has anything to say.
    world.fate = Box::new(|_, _| Fate::Lost);
    for _ in 0..500 {
        std::thread::sleep(Duration::from_millis(10));
        world.pass(10);
    }
    let why = Loss::Silent;
    assert!(matches!(world.at_server[1..], [Event::Lost { why: got, .. }] if got == why));
    assert!(matches!(world.at_client[1..], [Event::Lost { why: got, .. }] if got == why));
}

#[test]
fn a_peer_that_disappears_is_noticed_within_a_minute() {
    let (mut world, server, _) = World::associated();
    world.fate = Box::new(|_, _| Fate::Lost);
    world.pass(60_000);
    let why = Loss::Silent;
    assert_eq!(
        world.at_server,
        [Event::Lost {
            association: server,
            why
        }]
    );
    assert_eq!(world.server.associations(), 0);
}

#[test]
fn nobody_answers_and_that_is_told() {
    let mut world = World::new();
    world.fate = Box::new(|_, _| Fate::Lost);
    let association = world.client.connect(peer(1), world.port).expect("begun");
    world.pass(60_000);
    let why = Loss::NotSetUp;
    assert_eq!(world.at_client, [Event::Lost { association, why }]);
}

#[test]
fn a_peer_that_begins_anew_has_another_association() {
    let (mut world, server, _) = World::associated();
    // The client's process is gone without a word; the next one has the same port.
    let spare = open(config(PORT.fetch_add(2, Ordering::Relaxed)));
    drop(std::mem::replace(&mut world.client, spare));
    let again = Endpoint::open(Config::new(world.port + 1, allowed("10.0.0.0/30"))).expect("open");
    drop(std::mem::replace(&mut world.client, again));
    world.client.connect(peer(1), world.port).expect("begun");
    world.pass(100);
    let [
        Event::Lost { association, why },
        Event::Up {
            association: next, ..
        },
    ] = world.at_server[..]
    else {
        panic!("{:?}", world.at_server);
    };
    assert_eq!((association, why), (server, Loss::Restarted));
    assert!(next > server);
}

#[test]
fn what_may_not_speak_is_not_heard() {
    let mut world = World::new();
    world.client.connect(peer(1), world.port).expect("begun");
    let (_, init) = world.client.take_datagrams().remove(0);
    // Another address, another port, no port, too short.
    world.server.input(peer(9), &init);
    let mut other = init.clone();
    other[3] ^= 1;
    world.server.input(peer(2), &other);
    let mut no_port = init.clone();
    no_port[..2].fill(0);
    world.server.input(peer(2), &no_port);
    world.server.input(peer(2), &init[..15]);
    world.server.input(peer(2), &[]);
    let counters = world.server.counters();
    assert_eq!((counters.not_allowed, counters.other_port), (1, 1));
    assert_eq!((counters.malformed, counters.taken), (3, 0));
    assert!(world.server.take_datagrams().is_empty());
    // A wrong checksum is taken, and nobody answers it.
    let mut damaged = init.clone();
    damaged[8] ^= 1;
    world.server.input(peer(2), &damaged);
    assert!(world.server.take_datagrams().is_empty());
    world.server.input(peer(2), &init);
    assert_eq!(world.server.take_datagrams()[0].1[12], 2, "INIT ACK");
}

#[test]
fn one_peer_has_few_associations() {
    use sluice_sctp::limits::ASSOCIATIONS_PER_PEER;
    let mut world = World::new();
    let mut clients = Vec::new();
    for number in 0..=ASSOCIATIONS_PER_PEER as u16 {
        let config = Config::new(50_000 + number, allowed("10.0.0.0/30"));
        let mut client = Endpoint::open(config).expect("open");
        client.connect(peer(1), world.port).expect("begun");
        for _ in 0..3 {
            for (_, octets) in client.take_datagrams() {
                world.server.input(peer(2), &octets);
            }
            for (_, octets) in world.server.take_datagrams() {
                client.input(peer(1), &octets);
            }
        }
        clients.push(client);
    }
    assert_eq!(world.server.associations(), ASSOCIATIONS_PER_PEER);
    assert_eq!(world.server.counters().too_many, 1);
    let last = clients.last_mut().expect("one").take_events();
    assert!(
        matches!(
            last[..],
            [
                Event::Up { .. },
                Event::Lost {
                    why: Loss::Aborted,
                    ..
                }
            ]
        ),
        "{last:?}"
    );
}

/// CRC32c of a datagram whose checksum is 0 (RFC 9260, appendix A).
fn checksum(octets: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for octet in octets {
        crc ^= u32::from(*octet);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    (!crc).to_le_bytes()
}

#[test]
fn random_datagrams_do_no_harm() {
    let (mut world, server, client) = World::associated();
    let mut sequence = Sequence(11);
    let mut real = Vec::new();
    world
        .client
        .send(client, 0, NGAP_PPID, b"to be damaged")
        .expect("sent");
    real.extend(world.client.take_datagrams());
    let (mut at_server, mut taken) = (0, 0);
    for round in 0..100_000_u32 {
        let length = 16 + sequence.below(200) as usize;
        let mut datagram: Vec<u8> = match real.last() {
            // Half of them begin with the tags of the association.
            Some((_, octets)) if round % 2 == 0 => octets.clone(),
            _ => Vec::new(),
        };
        datagram.truncate(12 + sequence.below(20) as usize);
        datagram.resize_with(length.max(datagram.len()), || sequence.next() as u8);
        datagram[..2].copy_from_slice(&(world.port + 1).to_be_bytes());
        datagram[2..4].copy_from_slice(&world.port.to_be_bytes());
        // Chunks of types that exist, with lengths that fit nearly.
        datagram[12] =
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 64, 130, 192][sequence.below(16) as usize];
        if round % 3 != 0 {
            let left = datagram.len() as u64 - 12;
            let length = (left + sequence.below(4)).saturating_sub(sequence.below(4));
            datagram[14..16].copy_from_slice(&(length as u16).to_be_bytes());
        }
        datagram[8..12].fill(0);
        let sum = checksum(&datagram);
        datagram[8..12].copy_from_slice(&sum);
        world.server.input(peer(2), &datagram);
        taken += 1;
        // What is said of it goes nowhere.
        world.server.take_datagrams();
        at_server += world.server.take_events().len();
        if round % 100 == 0 {
            *world.now_ms += 10;
            world.server.time(*world.now_ms);
        }
    }
    assert!(world.server.counters().taken >= taken);
    assert!(at_server < 100_000);
    // Another gNB can still set up an association.
    let _ = server;
    world.server.abort(server);
    world.client.abort(client);
    world.pass(1000);
    world.at_server.clear();
    world.client.connect(peer(1), world.port).expect("begun");
    world.pass(100);
    assert!(
        matches!(world.at_server[..], [Event::Up { .. }]),
        "{:?}",
        world.at_server
    );
}
