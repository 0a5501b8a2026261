//! Two endpoints with real sockets between them: over UDP on loopback, over IP between namespaces.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use sluice_host::netns::{Netns, Ns};
use sluice_host::veth::{Veth, VethEnd};
use sluice_host::{clock, env_check, poll};
use sluice_sctp::{AllowList, Carrier, Config, Endpoint, Event, NGAP_PPID, Peer, Sctp, limits};

/// An endpoint and its socket.
struct Host {
    endpoint: Endpoint,
    carrier: Carrier,
    events: Vec<Event>,
}

impl Host {
    fn new(port: u16, allowed: &str, carrier: Carrier) -> Self {
        let allowed = AllowList::new(vec![allowed.parse().expect("a prefix")]);
        let endpoint = Endpoint::open(Config::new(port, allowed)).expect("open");
        Self {
            endpoint,
            carrier,
            events: Vec::new(),
        }
    }

    fn turn(&mut self) {
        let mut room = vec![0; limits::DATAGRAM_BYTES];
        poll::wait_readable(&self.carrier, Duration::from_millis(1)).expect("poll");
        while let Some((from, octets)) = self.carrier.receive(&mut room).expect("received") {
            self.endpoint.input(from, octets);
        }
        self.endpoint.time(clock::monotonic_ns() / 1_000_000);
        for (to, octets) in self.endpoint.take_datagrams() {
            self.carrier.send(to, &octets).expect("sent");
        }
        self.events.extend(self.endpoint.take_events());
    }
}

/// The client sets up an association and sends a long message, which comes back.
fn exchange(client: &mut Host, server: &mut Host, to: Peer, port: u16) {
    let sent = vec![5; 20_000];
    let begun = client.endpoint.connect(to, port).expect("begun");
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(
            Instant::now() < end,
            "{:?} {:?}",
            client.events,
            server.events
        );
        client.turn();
        server.turn();
        for event in std::mem::take(&mut server.events) {
            if let Event::Message {
                association,
                stream,
                octets,
                ..
            } = event
            {
                let answer = server
                    .endpoint
                    .send(association, stream, NGAP_PPID, &octets);
                answer.expect("sent");
            }
        }
        for event in std::mem::take(&mut client.events) {
            match event {
                Event::Up { association, .. } => {
                    assert_eq!(association, begun);
                    client
                        .endpoint
                        .send(begun, 2, NGAP_PPID, &sent)
                        .expect("sent");
                }
                Event::Message { stream, octets, .. } => {
                    assert_eq!((stream, octets), (2, sent));
                    return;
                }
                Event::Lost { why, .. } => panic!("{why}"),
            }
        }
    }
}

#[test]
fn messages_pass_over_udp() {
    let ns = Ns::current().expect("namespace");
    let carrier = |port| Carrier::udp(&ns, SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let at = 39_899;
    let mut server = Host::new(38_500, "127.0.0.0/8", carrier(at).expect("open"));
    let mut client = Host::new(38_501, "127.0.0.0/8", carrier(0).expect("open"));
    let to = Peer {
        address: Ipv4Addr::LOCALHOST.into(),
        udp_port: at,
    };
    exchange(&mut client, &mut server, to, 38_500);
}

#[test]
fn messages_pass_over_ip_between_namespaces() {
    if !env_check::is_network_admin() {
        println!("skipped: needs root");
        return;
    }
    let [a, b] = ["sctp-a", "sctp-b"].map(|label| Netns::create(label).expect("namespace"));
    let addresses = [Ipv4Addr::new(10, 38, 4, 1), Ipv4Addr::new(10, 38, 4, 2)];
    let end = |ns: &Netns, address| VethEnd::bare(ns, "n2").with_address(address, 24);
    let _veth = Veth::create(&end(&a, addresses[0]), &end(&b, addresses[1]), 1500).expect("veth");
    let carrier = |ns: &Netns, at: Ipv4Addr| Carrier::ip(ns, IpAddr::V4(at)).expect("open");
    let mut server = Host::new(38_510, "10.38.4.2", carrier(&a, addresses[0]));
    let mut client = Host::new(38_511, "10.38.4.1", carrier(&b, addresses[1]));
    let to = Peer {
        address: addresses[0].into(),
        udp_port: 0,
    };
    exchange(&mut client, &mut server, to, 38_510);
    assert_eq!(server.endpoint.counters().not_allowed, 0);
}
