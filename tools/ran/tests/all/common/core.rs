//! A core on a thread: N2 over SCTP, and N4 over a kernel socket where it has sessions.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sluice_core_runtime::system;
use sluice_host::netns::Ns;
use sluice_sbi::{AssociationId, Instant};
use sluice_sctp::{
    AllowList, Association, Carrier, Config as SctpConfig, Endpoint, Event, NGAP_PORT, NGAP_PPID,
    Node, Sctp as _,
};
use sluice_smf::Smf;
use sluice_testbed::core::{self as testbed, amf, home_key_a, slice, subscriber_of};
use sluice_wiring::Core;

pub use sluice_testbed::core::{K_HEX, OPC_HEX};

/// Behaviour of the core.
pub struct Plan {
    /// The AMF's address.
    pub amf: Ipv4Addr,
    /// SCTP inside UDP, at this port.
    pub udp_port: Option<u16>,
    /// Subscribers from 001010000000001 on.
    pub subscribers: u32,
    /// Sessions: the SMF, its own address and N4 port being in the same namespace.
    pub smf: Option<(sluice_smf::Config, SocketAddr)>,
}

/// How the core stands.
#[derive(Clone, Debug, Default)]
pub struct Status {
    pub registered: usize,
    pub connected: usize,
    pub gnbs: usize,
    pub sessions: usize,
    pub upfs: usize,
}

/// A core that runs until it is dropped.
pub struct CoreThread {
    status: Arc<Mutex<Status>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CoreThread {
    pub fn start(ns: &Ns, plan: Plan) -> Self {
        let amf = plan.amf.into();
        let carrier = match plan.udp_port {
            Some(port) => Carrier::udp(ns, SocketAddr::new(amf, port)),
            None => Carrier::ip(ns, amf),
        };
        let all = "0.0.0.0/0".parse().expect("a prefix");
        let endpoint = SctpConfig::new(NGAP_PORT, AllowList::new(vec![all]));
        let carrier = carrier.expect("a socket");
        let n4 = plan.smf.as_ref().map(|(_, at)| {
            let socket = ns.run(|| UdpSocket::bind(at)).expect("entered");
            let socket = socket.expect("N4's address");
            socket.set_nonblocking(true).expect("a socket");
            socket
        });
        let status = Arc::new(Mutex::new(Status::default()));
        let ends = Arc::new(AtomicBool::new(false));
        let (told, end) = (Arc::clone(&status), Arc::clone(&ends));
        let work = move || {
            let node = Node::new(Endpoint::open(endpoint).expect("a port"), carrier);
            let core = functions(plan);
            Loop {
                core,
                node,
                n4,
                streams: BTreeMap::new(),
            }
            .run(&told, &end);
        };
        Self {
            status,
            ends,
            thread: Some(std::thread::spawn(work)),
        }
    }

    pub fn status(&self) -> Status {
        self.status.lock().expect("the core's thread lives").clone()
    }
}

impl Drop for CoreThread {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Loop {
    core: Core,
    node: Node,
    n4: Option<UdpSocket>,
    streams: BTreeMap<Association, u16>,
}

impl Loop {
    fn run(mut self, status: &Mutex<Status>, ends: &AtomicBool) {
        self.core.time(system::now());
        while !ends.load(Ordering::Relaxed) {
            self.turn();
            let amf = self.core.amf().expect("its own AMF");
            let mut status = status.lock().expect("the test lives");
            (status.registered, status.connected) = (amf.registered(), amf.connected());
            status.gnbs = self.streams.len();
            status.sessions = self.core.smf().map_or(0, Smf::sessions);
        }
        self.node.close();
    }

    fn turn(&mut self) {
        let events = self.node.turn(Duration::from_millis(2)).expect("a socket");
        for event in events {
            match event {
                Event::Up {
                    association,
                    streams,
                    ..
                } => {
                    self.streams.insert(association, streams);
                }
                Event::Message {
                    association,
                    stream,
                    ppid: NGAP_PPID,
                    octets,
                } => {
                    let id = AssociationId(association.0);
                    self.core.n2(system::now(), id, stream, &octets);
                }
                Event::Message { .. } => {}
                Event::Lost { association, .. } => {
                    self.streams.remove(&association);
                    let id = AssociationId(association.0);
                    self.core.association_lost(system::now(), id);
                }
            }
            self.send();
        }
        let mut room = [0; 9000];
        while let Some(Ok((length, from))) = self.n4.as_ref().map(|n4| n4.recv_from(&mut room)) {
            self.core.n4(system::now(), from, &room[..length]);
            self.send();
        }
        let now = system::now();
        if self.core.next_deadline() != Instant::NEVER && self.core.next_deadline() <= now.instant {
            self.core.time(now);
        }
        self.send();
        self.core.take_call_flow();
        self.core.sessions().take_records();
    }

    fn send(&mut self) {
        for message in self.core.take_to_upf() {
            if let Some(n4) = &self.n4 {
                let _ = n4.send_to(&message.octets, message.to);
            }
        }
        for message in self.core.take_to_ran() {
            let to = Association(message.association.0);
            let streams = self.streams.get(&to).copied().unwrap_or(1);
            let stream = message.stream % streams.max(1);
            let _ = self.node.sctp.send(to, stream, NGAP_PPID, &message.octets);
        }
        self.node.flush();
    }
}

/// The public key of the home network, number 1 of profile A, as hex digits.
pub fn home_key_hex() -> String {
    let octets = home_key_a().public().octets();
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn functions(plan: Plan) -> Core {
    let (config, subscriber) = (
        amf(&[slice(1)]),
        subscriber_of(slice(1), &["internet", "lab"]),
    );
    let subscribers = (plan.subscribers, &subscriber);
    let core = testbed::functions(config, true, subscribers, || Box::new(system::random));
    match plan.smf {
        Some((config, _)) => core.with_smf(Smf::new(config).expect("a sound configuration")),
        None => core,
    }
}
