//! A gNB's SCTP association with its AMF, set up again when it is lost.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;
use sluice_n2::RanUeId;
use sluice_sctp::{
    AllowList, Association, Config, Event, Loss, NGAP_PPID, Node, Opening, OpeningError, Peer,
    Prefix, Sctp as _,
};

use crate::Failure;
use crate::scenario::{N2, Over};

/// From one try to set up the association to the next.
const AGAIN: Duration = Duration::from_secs(1);

/// Event of an N2 link.
pub enum Happened {
    Up,
    Message(Vec<u8>),
    /// The association is gone, or was never up.
    Lost,
}

/// A gNB has no way to its AMF.
fn not_opened(name: &str, amf: SocketAddr, error: &OpeningError) -> Failure {
    let remedy = if error.is_not_our_address() {
        "\ngive the address to an interface there, or name one that it has: gnbs.n2.local; if another namespace has it, \
         name that one: gnbs.n2.namespace"
    } else if error.is_taken() {
        "\nend the program that has it, or name another address (gnbs.n2.local) or port (gnbs.n2.udp_port or \
         gnbs.n2.sctp_port)"
    } else {
        ""
    };
    Failure::lacking(format!(
        "gNB {name}, towards the AMF {amf}: {error}{remedy}"
    ))
}

/// A gNB's association.
pub struct Link {
    pub node: Node,
    peer: Peer,
    port: u16,
    association: Option<Association>,
    /// Towards the AMF; 0 while the association is not up.
    streams: u16,
    last_try: Instant,
    /// The last reason why there is none.
    pub why: Option<Loss>,
    /// Messages that SCTP did not take.
    pub unsent: u64,
}

impl Link {
    /// Opens a gNB's socket; no association is begun.
    pub fn open(name: &str, n2: &N2, member: usize, ns: &Ns) -> Result<Self, Failure> {
        let port = n2.sctp_port + member as u16;
        let allowed = Prefix::new(n2.amf.ip(), width(n2.amf.ip()));
        let allowed = AllowList::new(allowed.into_iter().collect());
        let udp_ports = (n2.over == Over::Udp).then_some(n2.udp_ports);
        let opening = Opening {
            choice: n2.sctp,
            addresses: n2.locals_of(member),
            udp_port: udp_ports.map(|(ours, _)| ours),
            config: Config::new(port, allowed),
            listens: false,
        };
        let node = opening
            .open(ns)
            .map_err(|error| not_opened(name, n2.amf, &error))?;
        let udp_port = udp_ports.map_or(0, |(_, theirs)| theirs);
        let peer = Peer {
            address: n2.amf.ip(),
            udp_port,
        };
        Ok(Self {
            node,
            peer,
            port: n2.amf.port(),
            association: None,
            streams: 0,
            last_try: Instant::now(),
            why: None,
            unsent: 0,
        })
    }

    pub fn connect(&mut self) {
        self.last_try = Instant::now();
        self.association = self.node.sctp.connect(self.peer, self.port);
        self.node.flush();
    }

    /// Begins one where there is none, from time to time.
    pub fn keep(&mut self, now: Instant) {
        if self.association.is_none() && now.duration_since(self.last_try) >= AGAIN {
            self.connect();
        }
    }

    /// Takes what has come, without waiting.
    pub fn turn(&mut self) -> std::io::Result<Vec<Happened>> {
        let events = self.node.take()?;
        Ok(events
            .into_iter()
            .filter_map(|one| self.take(one))
            .collect())
    }

    fn take(&mut self, event: Event) -> Option<Happened> {
        match event {
            Event::Up {
                association,
                streams,
                ..
            } if self.association == Some(association) => {
                self.streams = streams;
                Some(Happened::Up)
            }
            Event::Message {
                association,
                ppid: NGAP_PPID,
                octets,
                ..
            } if self.association == Some(association) => Some(Happened::Message(octets)),
            Event::Lost { association, why } if self.association == Some(association) => {
                (self.association, self.streams, self.why) = (None, 0, Some(why));
                Some(Happened::Lost)
            }
            // Of an association before this one, or another protocol.
            Event::Up { .. } | Event::Message { .. } | Event::Lost { .. } => None,
        }
    }

    /// Sends a message: those of a UE on one stream of those that are not the gNB's own (TS 38.412,
    /// 7).
    pub fn send(&mut self, about: Option<RanUeId>, octets: &[u8]) {
        let stream = match (about, self.streams) {
            (None, _) | (_, 0 | 1) => 0,
            (Some(ran), streams) => 1 + (ran.0 % u32::from(streams - 1)) as u16,
        };
        let sent = self
            .association
            .map(|to| self.node.sctp.send(to, stream, NGAP_PPID, octets));
        if !matches!(sent, Some(Ok(()))) {
            self.unsent += 1;
        }
    }

    /// Aborts the association, as a gNB does that loses its power and comes back.
    pub fn abort(&mut self) {
        if let Some(association) = self.association.take() {
            self.node.sctp.abort(association);
            self.node.flush();
        }
        self.streams = 0;
    }

    /// Begins to end the association in order.
    pub fn shut_down(&mut self) {
        if let Some(association) = self.association {
            self.node.sctp.shutdown(association);
            self.node.flush();
        }
    }

    /// Waits for its end until then; why it ended.
    pub fn close(mut self, end: Instant) -> Option<Loss> {
        while self.association.is_some() && Instant::now() < end {
            let Ok(events) = self.node.turn(Duration::from_millis(10)) else {
                break;
            };
            for event in events {
                self.take(event);
            }
        }
        self.node.close();
        self.why
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn an_address_that_cannot_be_had_is_told_with_that_of_the_amf_and_the_key() {
        let amf: SocketAddr = "192.0.2.1:38412".parse().unwrap();
        let told = |kind: io::ErrorKind| {
            let action = "open SCTP over UDP at 192.0.2.7:9899";
            let why = sluice_host::HostError::os(action)(io::Error::from(kind));
            not_opened("gnb2", amf, &OpeningError::Carrier(why)).why
        };
        for (kind, key) in [
            (io::ErrorKind::AddrNotAvailable, "gnbs.n2.namespace"),
            (io::ErrorKind::AddrInUse, "gnbs.n2.udp_port"),
        ] {
            let told = told(kind);
            for part in [
                "gnb2",
                "192.0.2.7:9899",
                "192.0.2.1:38412",
                "gnbs.n2.local",
                key,
            ] {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
        assert!(!told(io::ErrorKind::PermissionDenied).contains("gnbs.n2"));
    }
}
