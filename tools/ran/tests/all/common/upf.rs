//! The least that a UPF does: takes G-PDUs of uplink and sends their packets on to the UE whose
//! address they name.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sluice_host::netns::Ns;
use sluice_host::udp::{BATCH_MAX, RecvBatch, SendBatch, UdpSocket};
use sluice_wire::gtpu::{
    self, GPdu, Message, PduType, ShortContainer, g_pdu_header_with_container,
};
use sluice_wire::icmpv6::{Discovery, ON_LINK_HOP_LIMIT, PrefixInformation, RouterAdvertisement};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv6::{Ipv6, Ipv6Header, Protocol};

#[derive(Clone, Copy)]
struct Route {
    gnb: Ipv4Addr,
    teid: Teid,
    qfi: Qfi,
}

/// Packets that the UPF received.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// G-PDUs of uplink: who sent them, TEID, QFI, bytes inside.
    pub uplink: HashMap<(Ipv4Addr, u32, u8), (u64, u64)>,
    pub error_indications: Vec<u32>,
    pub echo_responses: Vec<u16>,
    pub notifications: u64,
    pub wrong: u64,
    /// G-PDUs that gNBs sent on, as their UEs had left.
    pub forwarded: u64,
}

#[derive(Default)]
struct Shared {
    routes: HashMap<Ipv4Addr, Route>,
    /// By the prefix, upper 64 bits.
    routes_ipv6: HashMap<u64, Route>,
    /// By the UPF's TEID.
    prefixes: HashMap<Teid, u64>,
    /// By the UPF's TEID, where what gNBs send on goes.
    forwarding: HashMap<Teid, Route>,
    seen: Seen,
}

pub struct Upf {
    shared: Arc<Mutex<Shared>>,
    socket: Arc<UdpSocket>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upf {
    pub fn start(ns: &Ns) -> Self {
        let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, gtpu::PORT);
        let socket = Arc::new(UdpSocket::bind(ns, address).expect("bind"));
        let (shared, stop) = (
            Arc::<Mutex<Shared>>::default(),
            Arc::<AtomicBool>::default(),
        );
        let (theirs, end, port) = (Arc::clone(&shared), Arc::clone(&stop), Arc::clone(&socket));
        let thread = std::thread::spawn(move || {
            let mut incoming = RecvBatch::new(BATCH_MAX, 2048);
            let mut outgoing = SendBatch::new(BATCH_MAX, 2048);
            while !end.load(Ordering::Relaxed) {
                if port.wait(Duration::from_millis(20)).expect("poll") {
                    burst(&port, &theirs, &mut incoming, &mut outgoing);
                }
            }
        });
        Self {
            shared,
            socket,
            stop,
            thread: Some(thread),
        }
    }

    /// Sends what is for `ue` to `gnb` from now on.
    pub fn route(&self, ue: Ipv4Addr, gnb: Ipv4Addr, teid: Teid, qfi: Qfi) {
        self.shared
            .lock()
            .expect("lock")
            .routes
            .insert(ue, Route { gnb, teid, qfi });
    }

    /// The session of the UPF's TEID has this prefix: Router Solicitations are answered with it, and
    /// what is for it goes to `gnb`.
    pub fn route_ipv6(&self, ours: Teid, prefix: u64, gnb: Ipv4Addr, teid: Teid, qfi: Qfi) {
        let mut shared = self.shared.lock().expect("lock");
        shared.prefixes.insert(ours, prefix);
        shared.routes_ipv6.insert(prefix, Route { gnb, teid, qfi });
    }

    /// Sends late packets from a gNB's tunnel on to `gnb` (TS 23.502, 4.9.1.3.3).
    pub fn forward(&self, ours: Teid, gnb: Ipv4Addr, teid: Teid, qfi: Qfi) {
        let mut shared = self.shared.lock().expect("lock");
        shared.forwarding.insert(ours, Route { gnb, teid, qfi });
    }

    /// Sends bytes to UDP port 2152 of a gNB.
    pub fn send(&self, bytes: &[u8], gnb: Ipv4Addr) {
        let to = SocketAddrV4::new(gnb, gtpu::PORT);
        self.socket.send(bytes, to, None).expect("send");
    }

    pub fn seen(&self) -> Seen {
        self.shared.lock().expect("lock").seen.clone()
    }
}

impl Drop for Upf {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn burst(
    socket: &UdpSocket,
    shared: &Mutex<Shared>,
    incoming: &mut RecvBatch,
    outgoing: &mut SendBatch,
) {
    socket.recv(incoming).expect("recv");
    let mut shared = shared.lock().expect("lock");
    for datagram in incoming.iter() {
        let IpAddr::V4(from) = datagram.from.ip() else {
            panic!("{datagram:?}");
        };
        match Message::parse(datagram.bytes) {
            Ok(Message::GPdu(g_pdu)) => {
                forward(&mut shared, from, datagram.bytes, &g_pdu, outgoing)
            }
            Ok(Message::ErrorIndication(e)) => shared.seen.error_indications.push(e.teid),
            Ok(Message::EchoResponse { sequence }) => shared.seen.echo_responses.push(sequence),
            Ok(Message::EchoRequest { sequence }) => {
                outgoing.push_bytes(&gtpu::echo_response(sequence), datagram.from, None);
            }
            Ok(Message::SupportedExtensionHeadersNotification { .. }) => {
                shared.seen.notifications += 1;
            }
            _ => shared.seen.wrong += 1,
        }
    }
    drop(shared);
    socket.flush(outgoing, Duration::from_secs(1), |index, error| {
        panic!("{index}: {error}")
    });
}

fn forward(
    shared: &mut Shared,
    from: Ipv4Addr,
    bytes: &[u8],
    g_pdu: &GPdu,
    outgoing: &mut SendBatch,
) {
    let packet = g_pdu.payload(bytes).expect("inside");
    if let Some(route) = shared.forwarding.get(&g_pdu.teid) {
        assert_eq!(g_pdu.pdu_type, Some(PduType::Downlink));
        shared.seen.forwarded += 1;
        return push(*route, packet, outgoing);
    }
    assert_eq!(g_pdu.pdu_type, Some(PduType::Uplink));
    let qfi = g_pdu.qfi.expect("a container").get();
    let count = shared
        .seen
        .uplink
        .entry((from, g_pdu.teid.get(), qfi))
        .or_default();
    *count = (count.0 + 1, count.1 + packet.len() as u64);
    if packet[0] >> 4 == 6 {
        return forward_ipv6(shared, g_pdu.teid, packet, outgoing);
    }
    let octets = packet[16..20].first_chunk::<4>().expect("four");
    if let Some(route) = shared.routes.get(&Ipv4Addr::from(*octets)) {
        push(*route, packet, outgoing);
    }
}

/// A Router Solicitation is answered, what else is of the link ends here.
fn forward_ipv6(shared: &Shared, ours: Teid, packet: &[u8], outgoing: &mut SendBatch) {
    let ip = Ipv6::parse(packet).expect("IPv6");
    if !ip.source().is_unicast_link_local() {
        if let Some(route) = shared.routes_ipv6.get(&ip.destination_prefix()) {
            push(*route, packet, outgoing);
        }
        return;
    }
    let asks = matches!(Discovery::parse(&ip), Ok(Discovery::RouterSolicitation(_)));
    let session = shared.prefixes.get(&ours).filter(|_| asks);
    if let Some(prefix) = session {
        assert_eq!(ip.hop_limit(), ON_LINK_HOP_LIMIT);
        let advertisement = advertisement(*prefix, ip.source());
        push(shared.routes_ipv6[prefix], &advertisement, outgoing);
    }
}

fn advertisement(prefix: u64, to: Ipv6Addr) -> Vec<u8> {
    let source = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    let advertisement = RouterAdvertisement {
        hop_limit: 64,
        managed: false,
        other: false,
        router_lifetime_s: 1800,
        reachable_time_ms: 0,
        retrans_timer_ms: 0,
        source_mac: None,
        prefix: Some(PrefixInformation {
            prefix,
            on_link: false,
            autonomous: true,
            valid_lifetime_s: 86_400,
            preferred_lifetime_s: 86_400,
        }),
        mtu: Some(1400),
        rdnss: &[],
        rdnss_lifetime_s: 0,
    };
    let mut message = [0; 128];
    let length = advertisement.write(&mut message, source, to).expect("room");
    let header = Ipv6Header {
        hop_limit: ON_LINK_HOP_LIMIT,
        ..Ipv6Header::new(Protocol::ICMPV6, source, to)
    };
    let mut packet = header.to_bytes(length).expect("short").to_vec();
    packet.extend_from_slice(&message[..length]);
    packet
}

fn push(route: Route, packet: &[u8], outgoing: &mut SendBatch) {
    let container = ShortContainer::downlink(route.qfi, false);
    let header = g_pdu_header_with_container(route.teid, container, packet.len()).expect("short");
    let slot = outgoing.slot().expect("as many as came in");
    slot[..16].copy_from_slice(&header);
    slot[16..16 + packet.len()].copy_from_slice(packet);
    outgoing.push(
        0..16 + packet.len(),
        SocketAddrV4::new(route.gnb, gtpu::PORT),
        None,
    );
}
