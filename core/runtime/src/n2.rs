//! N2 of a core: its functions on one thread, joined with SCTP (TS 38.412).

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use sluice_sbi::{AssociationId, Instant, Ladder};
use sluice_sctp::{Association, Event, NGAP_PPID, Peer, Sctp as _};
use sluice_wiring::{Core, ToRan};

use crate::node::Node;
use crate::system;

/// What N2 has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// NGAP messages of gNBs.
    pub received: u64,
    /// NGAP messages for gNBs.
    pub sent: u64,
    /// Messages with another payload protocol identifier, which are not NGAP.
    pub other_protocol: u64,
    /// Associations aborted as the gNB did not take what was sent to it.
    pub stuck: u64,
}

/// An association with a gNB.
#[derive(Clone, Copy, Debug)]
struct Gnb {
    peer: Peer,
    /// Towards the gNB.
    streams: u16,
}

/// A core and its node.
pub struct N2 {
    core: Core,
    node: Node,
    gnbs: BTreeMap<Association, Gnb>,
    counters: Counters,
}

impl N2 {
    /// Of its parts.
    pub fn new(core: Core, node: Node) -> Self {
        Self {
            core,
            node,
            gnbs: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// The core, for operators.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// What N2 has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// gNBs whose associations are up.
    pub fn gnbs(&self) -> impl Iterator<Item = Peer> + '_ {
        self.gnbs.values().map(|gnb| gnb.peer)
    }

    /// What was said since the last call.
    pub fn take_ladder(&mut self) -> Ladder {
        self.core.take_ladder()
    }

    /// Waits for gNBs or a deadline, at most `patience`, and does what is to be done.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn turn(&mut self, patience: Duration) -> io::Result<()> {
        let until = self.core.next_deadline();
        let left_ns = until.0.saturating_sub(system::now().instant.0);
        let patience = match until {
            Instant::NEVER => patience,
            _ => patience.min(Duration::from_nanos(left_ns)),
        };
        for event in self.node.turn(patience)? {
            self.take(event);
        }
        let now = system::now();
        if self.core.next_deadline() <= now.instant {
            self.core.time(now);
            self.send();
        }
        self.node.flush();
        Ok(())
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Up {
                association,
                peer,
                streams,
            } => {
                self.gnbs.insert(association, Gnb { peer, streams });
            }
            Event::Message {
                association,
                stream,
                ppid: NGAP_PPID,
                octets,
            } => {
                self.counters.received += 1;
                let id = AssociationId(association.0);
                self.core.n2(system::now(), id, stream, &octets);
                self.send();
            }
            Event::Message { .. } => self.counters.other_protocol += 1,
            Event::Lost { association, .. } => self.lose(association),
        }
    }

    fn lose(&mut self, association: Association) {
        if self.gnbs.remove(&association).is_some() {
            let id = AssociationId(association.0);
            self.core.association_lost(system::now(), id);
            self.send();
        }
    }

    /// Sends what the core wants sent. A gNB that does not take it has missed a message for good: it
    /// is aborted, and begins anew.
    fn send(&mut self) {
        loop {
            let messages = self.core.take_to_ran();
            if messages.is_empty() {
                return;
            }
            for message in messages {
                let association = Association(message.association.0);
                let Some(gnb) = self.gnbs.get(&association) else {
                    continue;
                };
                let stream = stream(&message, gnb.streams);
                let octets = &message.octets;
                let sent = self.node.sctp.send(association, stream, NGAP_PPID, octets);
                match sent {
                    Ok(()) => self.counters.sent += 1,
                    Err(_) => {
                        self.counters.stuck += 1;
                        self.node.sctp.abort(association);
                        self.gnbs.remove(&association);
                        self.core
                            .association_lost(system::now(), message.association);
                    }
                }
            }
        }
    }

    /// Aborts all associations and closes; the core goes on without gNBs.
    pub fn close(self) -> Core {
        self.node.close();
        self.core
    }
}

/// Stream 0 is the gNB's own (TS 38.412, 7); those of UEs share the others that there are.
fn stream(message: &ToRan, streams: u16) -> u16 {
    match (message.stream, streams) {
        (0, _) | (_, 0 | 1) => 0,
        (stream, streams) => 1 + (stream - 1) % (streams - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ues_share_the_streams_that_there_are() {
        let on = |stream, streams| {
            let message = ToRan {
                association: AssociationId(1),
                stream,
                octets: Vec::new(),
            };
            super::stream(&message, streams)
        };
        assert_eq!([on(0, 16), on(1, 16), on(15, 16)], [0, 1, 15]);
        assert_eq!([on(1, 2), on(2, 2), on(15, 2)], [1, 1, 1]);
        assert_eq!([on(7, 1), on(0, 1)], [0, 0]);
        assert_eq!([on(3, 3), on(4, 3)], [1, 2]);
    }
}
